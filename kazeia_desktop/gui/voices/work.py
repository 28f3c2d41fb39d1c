"""What the page of voices does in jobs: speak a sentence, read a clip, keep, rename and delete a voice."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kazeia_desktop.frames import Clause, FloatArray, SpeechFrame
from kazeia_desktop.gui.voices.listing import VoiceItem
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import with_value

if TYPE_CHECKING:
    from kazeia_desktop.audio.voice_clip import Flaw
    from kazeia_desktop.tts.voice_files import AddedVoice

SENTENCES: Final = {
    "fr": "Bonjour, je suis Kazeia. Voici la voix avec laquelle je vous réponds.",
    "en": "Hello, I am Kazeia. This is the voice with which I answer you.",
}
"""In the language that Kazeia speaks, whatever that of the window."""


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """A recording that may become a voice.

    samples: (n,) float32 at 24 kHz; source: where it comes from; usable: nothing worse than a warning is wrong.
    """

    samples: FloatArray
    source: str
    flaws: "tuple[Flaw, ...]"
    usable: bool

    @property
    def seconds(self) -> float:
        return len(self.samples) / 24_000


def speak(
    paths: Paths, settings: Settings, item: VoiceItem, cancel: CancelToken, began: Callable[[], None] = lambda: None
) -> None:
    """Say the sample sentence in a voice, with a synthesizer of its own that is closed afterwards.

    Args:
        began: called when the first sound is there; a model takes seconds to load.

    Raises:
        KazeiaError: the voice or the loudspeaker fails. Cancelled.
    """
    from kazeia_desktop.audio.player import play
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore
    from kazeia_desktop.pipeline.builder import make_synthesizer

    for key, value in item.settings.items():
        settings = with_value(settings, key, value)
    text = SENTENCES[settings.tts.language]
    voice = make_synthesizer(settings, ModelStore(paths.models_dir, Catalog.load()), paths)

    def frames() -> Iterator[SpeechFrame]:
        cancel.raise_if_set()
        for number, frame in enumerate(voice.synthesize(Clause(1, 0, text, text, True), cancel)):
            if number == 0:
                began()
            yield frame

    try:
        play(frames(), settings.audio, cancel)
    finally:
        voice.close()


def play_clip(samples: FloatArray, settings: Settings, cancel: CancelToken) -> None:
    """Play a recording, (n,) float32 at 24 kHz. Raises KazeiaError, Cancelled."""
    from kazeia_desktop.audio.player import play_samples

    play_samples(samples, 24_000, settings.audio, cancel)


def play_added(paths: Paths, settings: Settings, name: str, cancel: CancelToken) -> None:
    """Play the recording that an added voice was made from. Raises KazeiaError, Cancelled."""
    from kazeia_desktop.tts.voice_store import VoiceStore

    play_clip(VoiceStore.of(paths).clip(name), settings, cancel)


def read_file(path: Path) -> Clip:
    """A WAV or FLAC file as a clip. Raises AudioFormatError where it cannot become a voice."""
    from kazeia_desktop.audio.voice_clip import read_clip

    return judge(read_clip(path), path.name)


def judge(samples: FloatArray, source: str) -> Clip:
    """A recording, (n,) float32 at 24 kHz, with what is wrong with it."""
    from kazeia_desktop.audio.voice_clip import RATE_HZ, WARNINGS, flaws_of

    flaws = flaws_of(samples, RATE_HZ)
    return Clip(samples, source, flaws, all(flaw in WARNINGS for flaw in flaws))


def keep(paths: Paths, settings: Settings, name: str, clip: Clip, consent: str) -> "AddedVoice":
    """Make a voice of a clip. Raises KazeiaError."""
    from kazeia_desktop.tts.voice_learning import encoder_for
    from kazeia_desktop.tts.voice_store import VoiceStore

    store = VoiceStore.of(paths)
    store.check_free(name)
    encoder, model = encoder_for(paths, settings)
    return store.add(name, clip.samples, consent, encoder, model, source=clip.source)


def rename(paths: Paths, name: str, new: str) -> "AddedVoice":
    """Raises KazeiaError."""
    from kazeia_desktop.tts.voice_store import VoiceStore

    return VoiceStore.of(paths).rename(name, new)


def remove(paths: Paths, name: str) -> None:
    """Delete an added voice with its recording. Raises KazeiaError."""
    from kazeia_desktop.tts.voice_store import VoiceStore

    VoiceStore.of(paths).remove(name)
