"""Some sound through the loudspeaker of the settings, beside the conversation: a test, a recording, a sample."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from kazeia_desktop.audio.playback import Playback
from kazeia_desktop.errors import Cancelled
from kazeia_desktop.events import Event
from kazeia_desktop.frames import FloatArray, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import AudioSettings

_TURN: Final = 1
_BLOCK: Final = 12_000
CHIME_HZ: Final = 48_000


def play(frames: Iterable[SpeechFrame], audio: AudioSettings, cancel: CancelToken) -> None:
    """Play `frames` of one clause as they come and wait until they were heard.

    Raises:
        AudioDeviceError: there is no loudspeaker, or it refuses every format.
        Cancelled: `cancel` was set; the loudspeaker is silent at once.
        KazeiaError: what making the frames raises.
    """
    sink = Playback(audio, _ignore)
    sink.start()
    try:
        for frame in frames:
            sink.write(frame, cancel)
            if cancel.is_set():
                raise Cancelled
        last = SpeechFrame(_TURN, 0, np.zeros(0, np.float32), 24_000, end_of_clause=True, end_of_turn=True)
        sink.write(last, cancel)
        sink.wait_played(_TURN, cancel)
        cancel.raise_if_set()
    finally:
        sink.stop()


def play_samples(samples: FloatArray, rate_hz: int, audio: AudioSettings, cancel: CancelToken) -> None:
    """Play (n,) float32 mono in [-1, 1]; see `play`."""
    starts = range(0, len(samples), _BLOCK)
    play(
        (
            SpeechFrame(_TURN, 0, samples[at : at + _BLOCK], rate_hz, end_of_clause=at + _BLOCK >= len(samples))
            for at in starts
        ),
        audio,
        cancel,
    )


def chime() -> FloatArray:
    """(n,) float32 at 48 kHz: two soft tones, a fourth apart, that any loudspeaker can give."""
    at = np.arange(round(1.1 * CHIME_HZ)) / CHIME_HZ
    sound = np.zeros(len(at))
    for begin, hz in ((0.0, 523.25), (0.3, 698.46)):
        since = np.maximum(at - begin, 0.0)
        envelope = np.minimum(since / 0.01, 1.0) * np.exp(-4.0 * since)
        sound += 0.35 * envelope * (np.sin(2 * np.pi * hz * since) + 0.2 * np.sin(4 * np.pi * hz * since))
    sound *= np.minimum(1.0, (at[-1] - at) / 0.05)
    return sound.astype(np.float32)


def _ignore(_event: Event) -> None:
    """A change of device is heard."""
