"""What was said, as it is kept."""

import json
import math
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from kazeia_desktop.events import Exchange

USER: Final = "user"
ASSISTANT: Final = "assistant"
DONE: Final = "done"
NO_METRICS: Final[Mapping[str, float]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Said:
    """One message. role: "user" or "assistant"; of an answer that was interrupted, what was heard of it.

    ended: how the turn ended, as `events.TurnEnded` says; of a question: "done", or why it has no answer.
    metrics: what the turn took, by the names of `events.TurnEnded`; an answer's only.
    """

    role: str
    text: str
    said_s: float
    id: int = field(default=0, compare=False)
    ended: str = DONE
    metrics: Mapping[str, float] = field(default_factory=lambda: NO_METRICS)


@dataclass(frozen=True, slots=True)
class Kept:
    """A question with its answer; None: it has none, nothing of one was heard."""

    question: Said
    answer: Said | None

    @property
    def ended(self) -> str:
        """How the turn ended."""
        return self.question.ended if self.answer is None else self.answer.ended

    @property
    def rows(self) -> tuple[int, ...]:
        """Where its messages are in the store."""
        return (self.question.id,) if self.answer is None else (self.question.id, self.answer.id)

    def as_turn(self, turn_id: int) -> Exchange:
        """As it is told."""
        question, answer = self.question, self.answer
        text, metrics = ("", NO_METRICS) if answer is None else (answer.text, answer.metrics)
        return Exchange(turn_id, question.text, text, self.ended, metrics, question.said_s)


def kept(said: Iterable[Said]) -> Iterator[Kept]:
    """The turns of a conversation, oldest first; an answer to nothing is left out."""
    question: Said | None = None
    for message in said:
        if message.role == USER:
            if question is not None:
                yield Kept(question, None)
            question = message
        elif question is not None:
            yield Kept(question, message)
            question = None
    if question is not None:
        yield Kept(question, None)


def exchanges(said: Iterable[Said]) -> Iterator[tuple[str, str]]:
    """Questions with their answers, as a model remembers them; a question without an answer is left out."""
    return ((one.question.text, one.answer.text) for one in kept(said) if one.answer is not None)


def metrics_text(metrics: Mapping[str, float | None]) -> str:
    """JSON of what is known of them; "" for nothing."""
    known = {name: value for name, value in metrics.items() if value is not None and math.isfinite(value)}
    return json.dumps(known) if known else ""


def metrics_of(text: str) -> Mapping[str, float]:
    """As they were kept; nothing of what is no number, for the file is anybody's to edit."""
    if not text:
        return NO_METRICS
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return NO_METRICS
    if not isinstance(found, dict):
        return NO_METRICS
    return {name: float(value) for name, value in found.items() if _is_figure(value)}


def _is_figure(value: object) -> bool:
    """JSON knows no NaN, but what reads it here does; and it knows numbers that no float holds."""
    try:
        return type(value) in (int, float) and math.isfinite(typing.cast(float, value))
    except OverflowError:
        return False
