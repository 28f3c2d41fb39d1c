"""What the conversation tells whoever watches it: the window, `kazeia talk`, tests.

Events are emitted from worker threads, in order per turn; a listener returns at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class State(StrEnum):
    """What Kazeia is doing; exactly one at a time."""

    LOADING = "loading"
    IDLE = "idle"  # no microphone: text only
    LISTENING = "listening"
    HEARING = "hearing"
    THINKING = "thinking"
    SPEAKING = "speaking"
    MUTED = "muted"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class StateChanged:
    state: State


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """A part (stt, llm, tts, ...) is being loaded or is ready. fraction: 0..1 of the whole start."""

    part: str
    fraction: float


@dataclass(frozen=True, slots=True)
class Level:
    """Loudness of the microphone or, while speaking, of the voice: RMS in [0, 1], about 15 times a second."""

    rms: float


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The user began turn `turn_id`; typed: it came from the text field."""

    turn_id: int
    typed: bool


@dataclass(frozen=True, slots=True)
class UserPartial:
    """What the user has said so far, as it is heard while he speaks: may still change. The turn has not begun."""

    text: str


@dataclass(frozen=True, slots=True)
class UserText:
    """What the user said or typed in this turn, final."""

    turn_id: int
    text: str
    language: str


@dataclass(frozen=True, slots=True)
class ReplyDelta:
    """More text of the reply, as displayed."""

    turn_id: int
    text: str


@dataclass(frozen=True, slots=True)
class ClauseStarted:
    """The loudspeaker begins this clause."""

    turn_id: int
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over.

    reply: what stays in the history: all of the reply, or what was heard of it when interrupted.
    reason: done, interrupted, nothing (no words understood), echo (our own voice), error.
    metrics: times in ms by name as in `kazeia ask`; None where a stage cannot tell.
    """

    turn_id: int
    reply: str
    reason: str
    metrics: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to know that is not an error: a device came back, history was shortened.

    template and values as in KazeiaError, so that it can be told in either language.
    """

    template: str
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Failed:
    """A stage failed. action: what button helps: "retry", "models", "settings", "devices" or "".

    template and values as in KazeiaError. fatal: the conversation cannot go on.
    """

    template: str
    values: Mapping[str, object]
    action: str
    fatal: bool


@dataclass(frozen=True, slots=True)
class Exchange:
    """A turn of a kept conversation: what was said, and what was heard as the answer; "": there was none.

    reason, metrics: as in TurnEnded. asked_s: when it was asked, seconds since 1970, UTC; None where nobody knows.
    """

    turn_id: int
    question: str
    answer: str
    reason: str = "done"
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    asked_s: float | None = None


@dataclass(frozen=True, slots=True)
class ConversationOpened:
    """What is said from now on belongs to this kept conversation; id None: to a new one.

    exchanges: what was said in it before, oldest first, each with an id among this engine's turns.
    """

    id: int | None
    title: str
    exchanges: tuple[Exchange, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnsRemoved:
    """The turns `first` to `last` are forgotten: the user deleted them, or asks anew from `first` on."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ReplayStarted:
    """Turn `turn_id` says the reply of turn `of` once more; its TurnEnded tells when that is over."""

    turn_id: int
    of: int


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """Kazeia changed a setting because it was asked to; whoever keeps the settings keeps it.

    key: "section.field".
    """

    key: str
    value: float


@dataclass(frozen=True, slots=True)
class VoiceChanged:
    """Another voice was loaded and speaks from now on."""

    name: str


Event = (
    StateChanged
    | LoadProgress
    | Level
    | TurnStarted
    | UserPartial
    | UserText
    | ReplyDelta
    | ClauseStarted
    | TurnEnded
    | Notice
    | Failed
    | ConversationOpened
    | TurnsRemoved
    | ReplayStarted
    | SettingChanged
    | VoiceChanged
)
