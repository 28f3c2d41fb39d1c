"""Blind rounds: which of two sounds is X is drawn anew each round, and told only at the end."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

A, B = 0, 1


@dataclass(frozen=True, slots=True)
class Round:
    """x: which side was X. liked: the side that was preferred; None: neither."""

    x: int
    liked: int | None


@dataclass(slots=True)
class Blind:
    """Rounds of listening to X and Y. draw: 0 or 1, for tests."""

    draw: random.Random = field(default_factory=random.SystemRandom)
    rounds: list[Round] = field(default_factory=list)
    x: int = A

    def __post_init__(self) -> None:
        self.shuffle()

    def shuffle(self) -> None:
        """Another round."""
        self.x = self.draw.randrange(2)

    def side(self, is_x: bool) -> int:
        """The side that X, or Y, is now."""
        return self.x if is_x else 1 - self.x

    def prefer(self, is_x: bool | None) -> None:
        """Note what was preferred, None for neither, and draw the next round."""
        self.rounds.append(Round(self.x, None if is_x is None else self.side(is_x)))
        self.shuffle()

    def forget(self) -> None:
        """Other sounds."""
        self.rounds.clear()
        self.shuffle()

    def liked(self, side: int | None) -> int:
        """How often a side was preferred; None: neither."""
        return sum(one.liked == side for one in self.rounds)


def chance(rounds: Sequence[Round]) -> float:
    """How likely a preference at least as clear is by chance alone; rounds without one are left out."""
    n = sum(one.liked is not None for one in rounds)
    of_a = sum(one.liked == A for one in rounds)
    clear = max(of_a, n - of_a)
    tail = sum(math.comb(n, k) for k in range(clear, n + 1)) * 0.5**n
    return float(min(1.0, 2 * tail))
