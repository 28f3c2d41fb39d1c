"""What is wrong with a recording, and what helps, in plain words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kazeia_desktop.gui.words import Words

if TYPE_CHECKING:
    from kazeia_desktop.audio.voice_clip import Flaw


def advice(flaws: "Sequence[Flaw]", words: Words) -> list[str]:
    """One line a flaw; one that says that all is well where there is none."""
    tr = words.tr
    known = {
        "too_short": tr("Too short: speak for at least 3 s."),
        "too_long": tr("Too long: keep 30 s at most."),
        "silent": tr("Nothing was heard: check that the microphone is on, or choose another."),
        "little_speech": tr("Too quiet: come closer to the microphone, or raise its level."),
        "clipped": tr("Too loud, the sound is clipped: move away from the microphone, or lower its level."),
        "quiet": tr("A little quiet: it can be kept, but closer to the microphone is better."),
        "noisy": tr("Noisy: it can be kept, but a quieter room, without fan or music, gives a cleaner voice."),
    }
    return [known[flaw.value] for flaw in flaws] or [tr("The recording is clear: it can become a voice.")]
