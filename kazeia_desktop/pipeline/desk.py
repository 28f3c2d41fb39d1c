"""Which turn is under way, and what the world is told about it."""

import logging
import threading
import time
from collections.abc import Callable

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.events import Event, Failed, State, StateChanged, TurnEnded, TurnStarted
from kazeia_desktop.pipeline.metrics import turn_metrics
from kazeia_desktop.pipeline.turn import Turn
from kazeia_desktop.runtime.cancel import CancelToken

_log = logging.getLogger(__name__)

_GONE = CancelToken()
_GONE.set()


class TurnDesk:
    """At most one turn is current. Beginning a turn needs the one before to be finished.

    Thread-safe. Events are passed on one at a time and in the order of what they tell; a listener
    returns at once and calls nothing back.
    """

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._listener = emit
        self._lock = threading.RLock()
        self._current: Turn | None = None
        self._last_id = 0
        self._state = State.LOADING
        self._resting = State.IDLE
        self._idle = CancelToken()
        self._closing = False

    def emit(self, event: Event) -> None:
        """Pass an event on."""
        with self._lock:
            self._listener(event)

    def emit_of(self, turn: Turn, event: Event) -> bool:
        """Pass on an event of `turn`, unless that has ended: nothing of a turn comes after its end."""
        with self._lock:
            if self._current is not turn:
                return False
            self._listener(event)
        return True

    def begin_after(
        self,
        stop: Callable[[Turn], object],
        typed: bool,
        cancel: CancelToken | None = None,
        asked: Callable[[Turn], Event] | None = None,
    ) -> Turn:
        """As `begin`, whatever other threads begin at the same time.

        Args:
            stop: ends the turn that is under way; called without the lock.
            asked: the event of what was asked, where that is known already.
        """
        while True:
            with self._lock:
                before = self._current
                if before is None:
                    turn = self.begin(typed, cancel)
                    if asked is not None:
                        self.emit(asked(turn))
                    return turn
            stop(before)

    def begin(self, typed: bool, cancel: CancelToken | None = None) -> Turn:
        """A new current turn; the caller has interrupted the one before.

        cancel: of work on it that was begun already.
        """
        with self._lock:
            self._idle.set()
            self._last_id += 1
            turn = Turn(self._last_id, typed, CancelToken() if cancel is None else cancel)
            self._current = turn
            self.emit(TurnStarted(turn.id, typed))
        return turn

    def reserve(self, n: int) -> int:
        """Ids for `n` turns that were before this engine; the first of them."""
        with self._lock:
            first, self._last_id = self._last_id + 1, self._last_id + n
            return first

    @property
    def last_id(self) -> int:
        """Of the newest turn; 0 before the first."""
        return self._last_id

    def begin_if_idle(self) -> Turn | None:
        """A turn that Kazeia begins by itself; None while somebody speaks, or something is being answered."""
        with self._lock:
            busy = self._current is not None or self._state in (State.HEARING, State.LOADING, State.ERROR)
            return None if busy or self._closing else self.begin(typed=True)

    @property
    def current(self) -> Turn | None:
        return self._current

    def turn(self, turn_id: int) -> Turn | None:
        """The turn of that id, when it is the current one and not cancelled; else None: drop the item."""
        turn = self._current
        return turn if turn is not None and turn.id == turn_id and not turn.cancel.is_set() else None

    def cancel_of(self, turn_id: int) -> CancelToken:
        """The turn's token; a set one when the turn is over."""
        turn = self.turn(turn_id)
        return _GONE if turn is None else turn.cancel

    def claim(self, turn: Turn) -> bool:
        """Take the right to finish `turn`: true for the first caller only. It is then no longer current."""
        with self._lock:
            if self._current is not turn:
                return False
            self._current = None
        return True

    def close_turn(self, turn: Turn, reply: str, reason: str) -> None:
        """Announce the end of a claimed turn and go back to rest."""
        turn.marks.set("end", time.monotonic())
        with self._lock:
            self.emit(TurnEnded(turn.id, reply, reason, turn_metrics(turn)))
            if self._current is None and self._state is not State.HEARING:
                self._enter(self._resting)

    def fail(self, error: KazeiaError, action: str, fatal: bool = False) -> None:
        """Tell of a fault; the conversation goes on unless it is fatal."""
        _log.info("%s", error)
        with self._lock:
            self.emit(Failed(error.template, error.values, action, fatal))
            if fatal:
                self._resting = State.ERROR
                self._enter(State.ERROR)

    def set_resting(self, state: State) -> None:
        """The state between turns: listening, muted, idle (no microphone) or error."""
        with self._lock:
            self._resting = state
            if self._current is None:
                self._enter(state)

    def rest(self) -> None:
        """Nobody speaks any more: back to the resting state unless a turn is under way."""
        with self._lock:
            if self._current is None:
                self._enter(self._resting)

    def hearing(self) -> None:
        """The user is speaking."""
        with self._lock:
            self._idle.set()
            self._enter(State.HEARING)

    def idle(self) -> CancelToken:
        """For what only an idle machine may do: set as soon as the user speaks or a turn begins, now or later."""
        with self._lock:
            if self._closing or self._current is not None or self._state is State.HEARING:
                return _GONE
            if self._idle.is_set():
                self._idle = CancelToken()
            return self._idle

    def end_idle(self, closing: bool = False) -> None:
        """Something else is to be done now; closing: for good."""
        with self._lock:
            self._closing = self._closing or closing
            self._idle.set()

    def advance(self, turn: Turn, state: State) -> None:
        """`turn` is now thinking or speaking; ignored when it is over."""
        with self._lock:
            if self._current is turn and not turn.cancel.is_set():
                self._enter(state)

    def _enter(self, state: State) -> None:
        if state is not self._state:
            self._state = state
            self._listener(StateChanged(state))

    @property
    def resting(self) -> State:
        return self._resting

    @property
    def state(self) -> State:
        return self._state
