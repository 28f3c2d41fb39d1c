"""What stages hand to each other that is no part of a turn's text or sound (see frames.py for that)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from kazeia_desktop.frames import Clause, FloatArray, Transcript, Utterance
from kazeia_desktop.llm.base import ChatSession
from kazeia_desktop.pipeline.reply_audio import KeptClause
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.stt.base import SpeechRecognizer
from kazeia_desktop.tts.base import SpeechSynthesizer

PartT = TypeVar("PartT")


@dataclass(slots=True, eq=False)
class Draft:
    """What is being said, to be recognised before it has ended: shown as it is heard, and taken for the whole where
    only silence follows.

    samples, speech_end_s: as in Utterance. paused: the speaker has paused, and has probably finished.
    cancel: nobody wants it any more.
    done: the recogniser has been through with it. transcript: None where it was cancelled or failed; took_ms: how long
    that took. Written by the recogniser's thread.
    """

    samples: FloatArray
    speech_end_s: float
    paused: bool
    cancel: CancelToken = field(default_factory=CancelToken)
    done: bool = False
    transcript: Transcript | None = None
    took_ms: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """An utterance that has ended. draft: what was recognised of it already, all but silence; None: nothing."""

    utterance: Utterance
    draft: Draft | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user said or typed, on its way to the model.

    replaces: asked anew in the place of this turn, which is forgotten with all that came after it; 0: at the end.
    """

    turn_id: int
    text: str
    replaces: int = 0


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """What the user has probably finished saying. cancel: he goes on."""

    text: str
    cancel: CancelToken


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


Hearing: TypeAlias = Draft | Said | Reload[SpeechRecognizer]
"""What the recogniser's thread is given."""

Work: TypeAlias = Prompt | ReadAhead | Amend | Forget | WithSession | Reload[ChatSession]
"""What the language model's thread is given."""

Saying: TypeAlias = Clause | Replay | Look | Reload[SpeechSynthesizer]
"""What the voice's thread is given."""
