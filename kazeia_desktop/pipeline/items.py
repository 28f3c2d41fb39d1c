"""What stages hand to each other that is no part of a turn's text or sound (see frames.py for that)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from kazeia_desktop.frames import Clause
from kazeia_desktop.llm.base import ChatSession
from kazeia_desktop.pipeline.reply_audio import KeptClause
from kazeia_desktop.tts.base import SpeechSynthesizer

PartT = TypeVar("PartT")


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user said or typed, on its way to the model.

    replaces: asked anew in the place of this turn, which is forgotten with all that came after it; 0: at the end.
    """

    turn_id: int
    text: str
    replaces: int = 0


@dataclass(frozen=True, slots=True)
class Forget:
    """The turns `first` to `last` leave the session's history."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Amend:
    """The turn was interrupted; `heard` is what stays of its reply."""

    turn_id: int
    heard: str


@dataclass(frozen=True, slots=True)
class WithSession:
    """Something to do with the session between two replies, in the session's own thread.

    do: gives the session another history; returns its turns with their questions.
    """

    do: Callable[[ChatSession], Sequence[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class Reload(Generic[PartT]):
    """Replace the stage's model. Made in the stage's own thread: nothing else uses it meanwhile.

    make: loads the new one; raises a KazeiaError where it cannot. undo: loads the one before.
    is_needed: asked when it comes to it: perhaps the change was taken back meanwhile.
    settle: applies what has changed while it was loaded; raises a KazeiaError where it does not fit.
    made: the new one, where it was loaded beside the old one; what `make` returns.
    """

    make: Callable[[], PartT]
    undo: Callable[[], PartT]
    is_needed: Callable[[], bool] = lambda: True
    settle: Callable[[PartT], None] = lambda _: None
    made: PartT | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """A reply whose sound is kept, to be heard again."""

    turn_id: int
    clauses: tuple[KeptClause, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """Wakes a stage that was told something beside its channel."""


Work: TypeAlias = Prompt | Amend | Forget | WithSession | Reload[ChatSession]
"""What the language model's thread is given."""

Saying: TypeAlias = Clause | Replay | Look | Reload[SpeechSynthesizer]
"""What the voice's thread is given."""
