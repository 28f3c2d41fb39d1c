"""How many threads write fastest, while other programs take cores or leave them."""

import statistics
from collections import deque
from typing import Final

_LOOKS: Final = 3  # tokens by which a number of threads is judged
_SLOWED: Final = 1.3  # times the quickest: something else takes a core
_GAIN: Final = 0.95  # of the time: less is worth another number of threads
_AGING: Final = 1.002  # a token: a growing conversation takes longer, 0.2 per mille a token with the 0.5B model
_REST: Final = 3  # tokens until another number is tried
_LONGEST_REST: Final = 128


class Pace:
    """Chooses the number of threads of each token by what the ones before took. One thread at a time.

    llama.cpp's threads share every matrix and wait for each other some hundred times a token. Where another program
    takes a core, the thread on it stands for whole time slices, and all wait: on 2 cores a token of 13 ms takes 40
    then, but 18 with one thread, which the scheduler gives the other core. So when tokens take longer than they did,
    half of the threads are tried, and kept while they are quicker; more are tried again now and then.
    """

    def __init__(self) -> None:
        self._most = 0
        self._used = 0
        self._tried = 0  # in place of `used`; 0: none
        self._took: deque[float] = deque(maxlen=_LOOKS)  # with `used`
        self._quickest: dict[int, float] = {}
        self._verdicts: list[bool] = []
        self._pause = self._rest = 0

    def threads(self, most: int) -> int:
        """For the next token, of at most so many."""
        if most != self._most:
            self._most = self._used = most
            self._tried = 0
            self._took.clear()
            self._pause, self._rest = _REST, 0
        return self._tried or self._used

    def another_reply(self) -> None:
        """Another number may be tried at once: who took the cores may have finished."""
        self._rest = 0

    def took(self, seconds: float) -> None:
        """The token took so long."""
        if self._most <= 1:
            return
        n = self._tried or self._used
        self._quickest[n] = min(seconds, _AGING * self._quickest.get(n, seconds))
        if self._tried:
            self._judge(seconds)
            return
        self._took.append(seconds)
        self._rest -= 1
        if self._rest <= 0 and len(self._took) == _LOOKS:
            self._tried = self._another()
            self._verdicts.clear()

    def _judge(self, seconds: float) -> None:
        """Whether two of three tokens are quicker."""
        better = seconds < _GAIN * statistics.median(self._took)
        self._verdicts.append(better)
        if self._verdicts.count(better) <= _LOOKS // 2:
            return
        if better:
            self._used = self._tried
            self._took.clear()
            self._pause = _REST
        else:
            self._pause = min(2 * self._pause, _LONGEST_REST)
        self._tried = 0
        self._rest = self._pause

    def _another(self) -> int:
        """The number to try now; 0: none."""
        if self._used < self._most:
            return min(self._used + max(1, self._used // 2), self._most)
        fewer = self._used // 2
        slowed = statistics.median(self._took) > _SLOWED * self._quickest[self._used]
        # Once also unasked: a program that takes a core from the first token on makes that the usual pace.
        return fewer if slowed or fewer not in self._quickest else 0
