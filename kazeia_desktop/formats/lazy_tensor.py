"""A tensor of a file, read as float32 by blocks of rows, so that no more than a block need be in memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Final

from kazeia_desktop.formats.problems import unreadable
from kazeia_desktop.frames import FloatArray

BLOCK_VALUES: Final = 1 << 21
"""Values of a block: 8 MB of float32."""


@dataclass(frozen=True, slots=True)
class LazyTensor:
    """Name, shape and a way to read rows.

    Attributes:
        file: where it is, for messages.
        name: as the file calls it, for messages.
        shape: as numpy has it, outermost first.
        read: (start, stop) along the first axis -> float32 of (stop - start, *shape[1:]).
    """

    file: Path
    name: str
    shape: tuple[int, ...]
    read: Callable[[int, int], FloatArray]

    def rows(self, start: int, stop: int) -> FloatArray:
        """(stop - start, *shape[1:]) float32.

        Raises:
            ModelCorruptError, ModelMissingError: the file changed or cannot be read.
        """
        return self.read(start, stop)

    def array(self) -> FloatArray:
        """The whole, float32 of `shape`."""
        return self.read(0, self.n_rows).reshape(self.shape)

    @property
    def n_rows(self) -> int:
        """The first axis; 1 for a scalar."""
        return self.shape[0] if self.shape else 1

    def blocks(self, values: int = BLOCK_VALUES) -> Iterator[FloatArray]:
        """All rows in order, in blocks of about `values` values."""
        step = max(1, values // max(1, prod(self.shape[1:])))
        for start in range(0, self.n_rows, step):
            yield self.read(start, min(start + step, self.n_rows))

    def reshaped(self, shape: tuple[int, ...]) -> "LazyTensor":
        """The same values with axes of length 1 added or removed after the first."""
        if prod(shape) != prod(self.shape) or shape[:1] != self.shape[:1]:
            raise ValueError(f"{self.shape} cannot become {shape}")
        read = self.read
        return LazyTensor(self.file, self.name, shape, lambda start, stop: read(start, stop).reshape(-1, *shape[1:]))

    def slice(self, start: int, stop: int, shape: tuple[int, ...]) -> "LazyTensor":
        """Rows `start` to `stop` as a tensor of `shape`: a page of a stack, for example."""
        width, read = prod(shape[1:]), self.read
        per_row = prod(self.shape[1:]) // width  # rows of the result in one row of this one

        def part(first: int, last: int) -> FloatArray:
            low, high = start + first // per_row, start + -(-last // per_row)
            values = read(low, high).reshape(-1, *shape[1:])
            skip = first - (low - start) * per_row
            return values[skip : skip + last - first]

        if (stop - start) * per_row != shape[0]:
            raise ValueError(f"rows {start} to {stop} of {self.shape} are not {shape}")
        return LazyTensor(self.file, f"{self.name}[{start}]", shape, part)


def read_bytes(path: Path, offset: int, count: int) -> bytes:
    """Exactly `count` bytes. Read, not mapped: a file that shrinks meanwhile is an error here, not a crash.

    Raises:
        ModelMissingError: the file cannot be read, or is shorter now.
    """
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(count)
        if len(data) != count:
            raise OSError(0, f"{offset + len(data)} < {offset + count} bytes")
    except OSError as error:
        raise unreadable(path, error) from error
    return data
