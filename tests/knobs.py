"""Every knob of the schema, turned at random while Kazeia is talked to: what must never be, and what always must."""

import random
import threading
import time
import typing
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotated_types import Ge, Gt, Le, Lt

from kazeia_desktop import translations
from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.events import Event, Failed, Notice, State, StateChanged, TurnEnded, TurnStarted
from kazeia_desktop.pipeline.conversation import Conversation
from kazeia_desktop.settings.schema import SECTION_TITLES, Settings, section_type
from kazeia_desktop.settings.store import Value, with_value

QUESTIONS = ("Bonjour.", "Quel est ton nom ?", "Raconte une histoire courte.", "Combien font douze fois douze ?")
UNEXPECTED = ("unexpected", "Unexpected")
"""A sentence that says so tells of a fault of ours."""
PERSONAS = ("", "Tu es bref.", "Tu réponds toujours en une seule phrase. " * 20, "é" * 400)
_RECENT = 24
"""Events that are told of a conversation that hangs."""
_TRIES = 3
TURN_S = 90.0
"""So long a turn may take on a busy machine, models loaded anew included."""


def keys() -> tuple[str, ...]:
    """All settings, "section.field"."""
    return tuple(f"{section}.{name}" for section in SECTION_TITLES for name in section_type(section).model_fields)


@dataclass
class Knobs:
    """Draws valid values. fixed: key -> values to draw from instead of all that the schema allows."""

    draw: random.Random
    fixed: Mapping[str, Sequence[Value]] = field(default_factory=dict)

    def turned(self, settings: Settings) -> tuple[Settings, list[str]]:
        """One to three of them, and which."""
        chosen = [self.draw.choice(keys()) for _ in range(self.draw.randint(1, 3))]
        for key in chosen:
            settings = with_value(settings, key, self.value(key))
        return settings, chosen

    def value(self, key: str) -> Value:
        """A value that the schema takes, bounds more often than by chance."""
        if key in self.fixed:
            return self.draw.choice(self.fixed[key])
        section, _, name = key.partition(".")
        info = section_type(section).model_fields[name]
        kind: Any = info.annotation
        if typing.get_origin(kind) is typing.Literal:
            return self.draw.choice(typing.get_args(kind))  # type: ignore[no-any-return]
        if kind is bool:
            return self.draw.random() < 0.5
        if kind is str:
            return self.draw.choice(PERSONAS) if key == "llm.persona" else str(info.default)
        low, high = _bounds(info.metadata)
        bound = self.draw.random() < 0.3
        number = self.draw.choice((low, high)) if bound else self.draw.uniform(low, high)
        return round(number) if kind is int else number


def _bounds(metadata: Sequence[object]) -> tuple[float, float]:
    low, high = 0.0, 1.0
    for item in metadata:
        match item:
            case Ge(ge=bound):
                low = float(typing.cast(float, bound))
            case Gt(gt=bound):
                low = float(typing.cast(float, bound)) + 0.001
            case Le(le=bound):
                high = float(typing.cast(float, bound))
            case Lt(lt=bound):
                high = float(typing.cast(float, bound)) - 0.001
    return low, high


class Ear:
    """Hears every event; keeps what must not be."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.ended: Counter[str] = Counter()
        self.told: Counter[str] = Counter()
        self.faults: list[str] = []
        self.state = State.LOADING
        self._current: int | None = None
        self.recent: deque[str] = deque(maxlen=_RECENT)  # without a word of what was said

    def __call__(self, event: Event) -> None:
        with self._changed:
            match event:
                case TurnStarted(turn_id, typed):
                    self._current = turn_id
                    self._note(f"{turn_id} {'typed' if typed else 'spoken'}")
                case TurnEnded(turn_id, _, reason):
                    self.ended[reason] += 1
                    self._current = None if self._current == turn_id else self._current
                    self._note(f"{turn_id} {reason}")
                case StateChanged(state):
                    self.state = state
                    self._note(str(state))
                case Failed() | Notice():
                    self._judge(event)
                case _:
                    return
            self._changed.notify_all()

    def _was_stopped(self, before: int) -> bool:
        """Whether a turn was interrupted, and no other has begun."""
        return self.ended["interrupted"] > before and self._current is None

    def _note(self, what: str) -> None:
        self.recent.append(f"{time.monotonic():.2f} {what}")

    def _judge(self, event: Failed | Notice) -> None:
        self.told[event.template] += 1
        self._note(event.template)
        try:
            french = translations.translate(event.template, "fr", **event.values)
        except (KeyError, ValueError, IndexError) as error:
            self.faults.append(f"cannot be told: {event.template!r}: {error!r}")
            return
        if any(word in event.template for word in UNEXPECTED) or (isinstance(event, Failed) and event.fatal):
            self.faults.append(french)
        if "\n" in french or "{" in french or french == event.template:
            self.faults.append(f"not a plain line in French: {french!r}")

    def wait_for_turn(self, ask: Callable[[], None], *reasons: str) -> bool:
        """Ask, and wait until a turn ends so; once more where it was interrupted by what was said before."""

        def ended() -> int:
            return sum(self.ended[reason] for reason in reasons)

        for _ in range(_TRIES):
            with self._changed:
                before, stopped = ended(), self.ended["interrupted"]
            ask()
            with self._changed:
                self._changed.wait_for(lambda: ended() > before or self._was_stopped(stopped), TURN_S)  # noqa: B023
                if ended() > before:
                    return True
                if not self._was_stopped(stopped):
                    return False
        return False


@dataclass
class Outcome:
    """What came of it. hung: what was waited for in vain. left: threads that did not end."""

    changes: int = 0
    turned: Counter[str] = field(default_factory=Counter)
    checks: int = 0
    hung: list[str] = field(default_factory=list)
    longest_apply_s: float = 0.0
    close_s: float = 0.0
    left: list[str] = field(default_factory=list)

    def good(self, ear: Ear) -> bool:
        return not (self.hung or self.left or ear.faults)


def soak(
    conversation: Conversation,
    ear: Ear,
    knobs: Knobs,
    seconds: float,
    safe: Settings,
    pause_s: float,
    speak: Callable[[], None],
    before: frozenset[threading.Thread] = frozenset(),
) -> Outcome:
    """Turn knobs and talk until `seconds` are over, then close.

    Every now and then, with the settings `safe`, a whole turn must be answered.

    Args:
        speak: says something into the microphone.
        before: threads that were there before the conversation; none but these may be left.
    """
    outcome, settings = Outcome(), safe
    end = time.monotonic() + seconds
    draw = knobs.draw
    try:
        conversation.start()
        while time.monotonic() < end and not outcome.hung:
            settings, turned = knobs.turned(settings)
            outcome.turned.update(turned)
            outcome.changes += 1
            _apply(conversation, ear, settings, outcome)
            what = draw.random()
            if what < 0.35:
                conversation.send_text(draw.choice(QUESTIONS))
            elif what < 0.5:
                speak()
            elif what < 0.6:
                conversation.interrupt()
            elif what < 0.65:
                conversation.set_muted(draw.random() < 0.5)
            time.sleep(draw.uniform(0, pause_s))
            if draw.random() < 0.03:
                settings = safe
                _check(conversation, ear, safe, speak, outcome)
        _check(conversation, ear, safe, speak, outcome)
    finally:
        began = time.monotonic()
        conversation.close()
        outcome.close_s = time.monotonic() - began
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and (left := set(threading.enumerate()) - before - {threading.current_thread()}):
        for thread in left:
            thread.join(0.1)
    outcome.left = [thread.name for thread in set(threading.enumerate()) - before - {threading.current_thread()}]
    return outcome


def _apply(conversation: Conversation, ear: Ear, settings: Settings, outcome: Outcome) -> None:
    """As the window does: a value that does not fit is told."""
    began = time.monotonic()
    try:
        conversation.apply(settings)
    except KazeiaError as error:
        ear(Failed(error.template, error.values, "settings", fatal=False))
    outcome.longest_apply_s = max(outcome.longest_apply_s, time.monotonic() - began)


def _check(conversation: Conversation, ear: Ear, safe: Settings, speak: Callable[[], None], outcome: Outcome) -> None:
    """A typed turn is answered, and a spoken one comes to its end: no part is stuck, or still being loaded."""
    conversation.set_muted(False)
    conversation.interrupt()
    _apply(conversation, ear, safe, outcome)
    outcome.checks += 1
    typed = ear.wait_for_turn(lambda: conversation.send_text("Bonjour."), "done")
    spoken = typed and ear.wait_for_turn(speak, "done", "nothing", "echo")
    if not (typed and spoken):
        which = "typed" if not typed else "spoken"
        outcome.hung.append(f"no end of a {which} turn after {outcome.changes} changes, in {conversation.state}")
        outcome.hung += ear.recent
