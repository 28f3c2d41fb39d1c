"""Where each of many rows begins, when their heights become known one by one."""

from collections.abc import Iterable
from itertools import accumulate


class Heights:
    """Heights of rows in px with their sums: a Fenwick tree. Reading and setting cost log n, removing n."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self.reset(heights)

    def reset(self, heights: Iterable[int]) -> None:
        """All rows anew."""
        self._rows = list(heights)
        sums = list(accumulate(self._rows, initial=0))
        self._tree = [total - sums[at & (at - 1)] for at, total in enumerate(sums)]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int) -> int:
        return self._rows[row]

    @property
    def total(self) -> int:
        return self.top(len(self._rows))

    def top(self, row: int) -> int:
        """The sum of the heights before `row`."""
        total = 0
        while row > 0:
            total += self._tree[row]
            row -= row & -row
        return total

    def row_at(self, y: int) -> int:
        """The row in which `y` lies; the first or the last where it lies outside."""
        at, step = 0, 1 << len(self._rows).bit_length()
        while step:
            if at + step < len(self._tree) and self._tree[at + step] <= y:
                at += step
                y -= self._tree[at]
            step >>= 1
        return max(0, min(at, len(self._rows) - 1))

    def set(self, row: int, height: int) -> None:
        change = height - self._rows[row]
        self._rows[row] = height
        at = row + 1
        while change and at < len(self._tree):
            self._tree[at] += change
            at += at & -at

    def append(self, height: int) -> None:
        self._rows.append(height)
        at = len(self._rows)
        self._tree.append(self.top(at - 1) + height - self.top(at - (at & -at)))

    def remove(self, first: int, last: int) -> None:
        """Rows `first` to `last`, both included."""
        del self._rows[first : last + 1]
        self.reset(self._rows)
