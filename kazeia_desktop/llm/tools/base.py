"""What a tool is asked, and what it answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kazeia_desktop.llm.base import Message
from kazeia_desktop.runtime.cancel import CancelToken

Value = int | str | bool


@dataclass(frozen=True, slots=True)
class Call:
    """A tool's name with its arguments, checked.

    time; date (days: int from today); timer (seconds, label); alarm (hour, minute, days: 0 for the next time it is so
    late); cancel (what: "timer", "alarm" or "all"; which of them: seconds, or hour, minute and either:
    whether twelve hours later is meant as well); list; calculate (expression: see `calculator`); convert (value:
    decimal text, from, to: signs of `units`); volume (level: percent, or up: bool);
    elsewhere (what: see `ask_elsewhere`); harm; distress; translate (text, source, to: see `translation`).
    """

    tool: str
    arguments: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is said. undo: takes back what was done, when the user goes on speaking before hearing of it."""

    said: str
    undo: Callable[[], None] | None = None


class Ask(Protocol):
    """The model, asked beside the conversation; see ChatSession.aside."""

    def __call__(
        self, messages: Sequence[Message], cancel: CancelToken, max_tokens: int = 64, grammar: str | None = None
    ) -> str: ...


class Tools(Protocol):
    """What the conversation needs of the tools."""

    def answer(self, text: str, ask: Ask, cancel: CancelToken) -> Outcome | None:
        """Do what `text` asks for where that is a tool's; None: the model is to answer.

        Raises:
            InferenceError: the model failed.
        """
        ...
