"""The cushion of a slow voice: a clause begins to sound when the rest of it will come in time.

A voice that needs r seconds for a second of sound is behind the loudspeaker by the end of a clause of T seconds unless
B >= T (1 - 1/r) of it were there when it began: what is missing then, T - B, takes r (T - B) to make, and the sound
lasts T. Sound comes in pieces, and each must be there when the one before is over; hence the exact condition, that for
every piece to come, the sound before it lasts until it comes:

    start >= now + r (what is to come, this piece included) - (what is there and to come before it)

A voice with r <= 1 begins at once, or as many milliseconds later as its growing pieces ask for.
"""

import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from kazeia_desktop.events import Notice
from kazeia_desktop.frames import Clause, SpeechFrame
from kazeia_desktop.tts.base import Pace

LONGEST_WAIT_S: Final = 20.0
"""So long a clause is held back at most; then it is heard with gaps rather than not."""
_LONG_WAIT_S: Final = 5.0
"""A silence that needs to be explained."""
_CHARACTERS_PER_S: Final = 15.0
"""French and English read aloud: 14-16; replaced by what this voice does."""
_REMEMBERED: Final = 8
_LEAST_SPREAD: Final = 0.03
"""Of the speed: a clause is never exactly as fast as the ones before."""
_CAUTION: Final = (1 + _LEAST_SPREAD) / (1 - _LEAST_SPREAD)
"""What came quickest of such a spread may be followed by what is slowest."""
_PIECE_S: Final = 0.32
"""Length of pieces, until one has come."""
_LEAST_CLAUSE_S: Final = 0.5
"""A shorter one says nothing of how fast the voice speaks or is made."""
_WEIGHT_S: Final = 2.0
"""What is known from before counts as much as so many seconds of the clause under way."""
_HOPEFUL_WEIGHT_S: Final = 0.3
"""And where it was hopeful: clauses that are made together come more slowly, each, than alone."""
_AT_ONCE: Final = 0.2
"""A clause this fast was made while the one before was heard: it tells nothing of the voice."""


class Cushion:
    """Holds back the frames of one clause after the other. One thread.

    Args:
        tell: told once, when a clause will be held back for long: silence that lasts is no fault.
        clock: seconds.
    """

    def __init__(self, tell: Callable[[Notice], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._told = False
        self._clock = clock
        self._paces: deque[float] = deque(maxlen=_REMEMBERED)
        self._rates: deque[float] = deque(maxlen=_REMEMBERED)
        self._piece_s = _PIECE_S

    def forget(self) -> None:
        """Another voice: what was learned of the one before does not hold."""
        self._paces.clear()
        self._rates.clear()
        self._piece_s = _PIECE_S

    def frames(
        self,
        clause: Clause,
        made: Iterable[SpeechFrame],
        known: Pace | None,
        ahead_s: Callable[[], float],
        wait: Callable[[float], object],
    ) -> Iterator[SpeechFrame]:
        """The same frames, later where they would come too early.

        Args:
            made: of this clause, as the voice makes them.
            known: how fast the voice is, as measured before; None: begins when two pieces have told.
            ahead_s: how long the loudspeaker still plays what was written before.
            wait: sleeps so many seconds, less when the turn is cancelled; only for fractions of a piece's time.
        """
        began = self._clock()
        held: list[SpeechFrame] = []
        run = _Run(self._prior(known), self._length_s(clause), known.piece_s if known else self._piece_s)
        flowing = False
        for frame in made:
            now = self._clock()
            seconds = len(frame.samples) / frame.sample_rate_hz
            run.came(now, seconds)
            if flowing:
                yield frame
            elif frame.end_of_clause:
                yield from held
                held = []
                yield frame
            else:
                held.append(frame)
                flowing = seconds > 0 and self._may_begin(run, now - began, ahead_s, wait)
                if flowing:
                    yield from held
                    held = []
            if frame.end_of_clause:
                self._learn(clause, run)

    def _may_begin(
        self, run: "_Run", held_s: float, ahead_s: Callable[[], float], wait: Callable[[float], object]
    ) -> bool:
        """Whether to let go; may wait for less than half a piece's time first."""
        delay = run.delay_s()
        if delay is None:
            return False
        if delay > 0.0:
            delay -= ahead_s()
        self._tell_wait(held_s + delay)
        if delay <= 0.0 or held_s >= LONGEST_WAIT_S:
            return True
        if delay > 0.5 * run.next_s():  # the next piece will be nearer to the right moment
            return False
        wait(delay)
        return True

    def _tell_wait(self, wait_s: float) -> None:
        if wait_s >= _LONG_WAIT_S and not self._told:
            self._told = True
            self._tell(
                Notice(
                    "The voice is made ahead, so that it does not stop inside a sentence: it begins in about {seconds} "
                    "s.",
                    {"seconds": round(min(wait_s, LONGEST_WAIT_S))},
                )
            )

    def _prior(self, known: Pace | None) -> float | None:
        """The speed with its margin, from the last clauses, or from what was measured."""
        if self._paces:
            return statistics.mean(self._paces) * (1 + max(_LEAST_SPREAD, _spread(self._paces)))
        return None if known is None else known.rtf * (1 + _LEAST_SPREAD)

    def _length_s(self, clause: Clause) -> float:
        """How long the clause will sound; voices differ, and each is about even."""
        rate = statistics.mean(self._rates) / (1 + _spread(self._rates)) if self._rates else _CHARACTERS_PER_S
        return len(clause.spoken) / rate

    def _learn(self, clause: Clause, run: "_Run") -> None:
        pace = run.measured()
        if pace is not None and run.there_s >= _LEAST_CLAUSE_S:
            if pace > _AT_ONCE:
                self._paces.append(pace)
            self._rates.append(max(len(clause.spoken), 1) / run.there_s)
            self._piece_s = run.largest_s


def _spread(values: Sequence[float]) -> float:
    return statistics.pstdev(values) / statistics.mean(values)


class _Run:
    """What came of a clause so far. prior: its expected pace; length_s: expected; piece_s: of most pieces."""

    def __init__(self, prior: float | None, length_s: float, piece_s: float) -> None:
        self._prior = prior
        self._length_s = length_s
        self._usual_s = piece_s
        self.largest_s = 0.0
        self.there_s = 0.0
        self._last_s = 0.0
        self._first: tuple[float, float] | None = None  # when the first piece came, and its length
        self._now = 0.0

    def came(self, now: float, seconds: float) -> None:
        self._now = now
        if seconds <= 0:
            return
        self.there_s += seconds
        self._last_s = seconds
        self.largest_s = max(self.largest_s, seconds)
        if self._first is None:
            self._first = (now, seconds)

    def measured(self) -> float | None:
        """Time / length of what followed the first piece."""
        if self._first is None or self.there_s - self._first[1] <= 0:
            return None
        return (self._now - self._first[0]) / (self.there_s - self._first[1])

    def pace(self) -> float | None:
        """What was expected, corrected by what was measured; None while nothing is known."""
        measured = self.measured()
        if measured is None or self._first is None:
            return self._prior
        if self._prior is None:
            return measured * _CAUTION
        seconds = self.there_s - self._first[1]
        weight_s = _HOPEFUL_WEIGHT_S if measured > self._prior else _WEIGHT_S
        return (self._prior * weight_s + measured * _CAUTION * seconds) / (weight_s + seconds)

    def next_s(self) -> float:
        """How long the next piece takes to come."""
        return (self.pace() or 0.0) * self._next_piece()

    def _next_piece(self) -> float:
        """Pieces grow to twice the one before, up to the usual length."""
        return min(2 * self._last_s, max(self._usual_s, self._last_s))

    def delay_s(self) -> float | None:
        """How much later than now the clause may begin without a gap; None while the pace is not known."""
        pace = self.pace()
        if pace is None:
            return None
        delay, coming = 0.0, 0.0
        last = self._last_s
        left = max(self._length_s - self.there_s, 0.0)
        while left > 0:
            last = min(2 * last, max(self._usual_s, last))
            piece = min(last, left)
            delay = max(delay, pace * (coming + piece) - (self.there_s + coming))
            coming += piece
            left -= piece
        return delay
