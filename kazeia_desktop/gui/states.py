"""What each state is called; its colour is in `theme`, its icon is `resources/state-<name>.svg`."""

from typing import Final

from kazeia_desktop.events import State
from kazeia_desktop.gui.quiet_microphone import Use
from kazeia_desktop.gui.words import Words

UNUSED: Final = (State.IDLE, State.LISTENING, State.MUTED)
"""In these the window may use microphone and loudspeaker itself, and then says so."""


def state_word(state: State, words: Words) -> str:
    """The word of a state, as the presence bar shows it."""
    tr = words.tr
    match state:
        case State.LOADING:
            return tr("Loading…")
        case State.IDLE:
            return tr("Ready, in writing")
        case State.LISTENING:
            return tr("Listening")
        case State.HEARING:
            return tr("Hearing you")
        case State.THINKING:
            return tr("Thinking…")
        case State.SPEAKING:
            return tr("Speaking")
        case State.MUTED:
            return tr("Microphone off")
        case State.ERROR:
            return tr("Something is wrong")


def use_word(use: Use, words: Words) -> str:
    """What the window does itself while the conversation does not listen."""
    tr = words.tr
    match use:
        case Use.PAUSE:
            return tr("Conversation paused")
        case Use.TEST:
            return tr("Microphone test")
        case Use.RECORD:
            return tr("Recording")
        case Use.PLAY:
            return tr("Sound being played")


def part_word(part: str, words: Words) -> str:
    """What a part of the start (see `events.LoadProgress`) is called."""
    tr = words.tr
    match part:
        case "audio":
            return tr("sound")
        case "vad":
            return tr("speech detection")
        case "stt":
            return tr("speech recognition")
        case "llm":
            return tr("language model")
        case "tts":
            return tr("voice")
        case _:
            return part


def capital(text: str) -> str:
    """With a capital first letter; the rest as it is."""
    return text[:1].upper() + text[1:]
