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
    """

    make: Callable[[], PartT]
    undo: Callable[[], PartT]


@dataclass(frozen=True, slots=True)
class Replay:
    """A reply whose sound is kept, to be heard again."""

    turn_id: int
    clauses: tuple[KeptClause, ...]


Work: TypeAlias = Prompt | Amend | Forget | WithSession | Reload[ChatSession]
"""What the language model's thread is given."""

Saying: TypeAlias = Clause | Replay | Reload[SpeechSynthesizer]
"""What the voice's thread is given."""
