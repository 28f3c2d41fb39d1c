"""Samples from one thread to another without a lock: for audio callbacks, which must not wait."""

import numpy as np

from kazeia_desktop.frames import FloatArray


class RingBuffer:
    """One writer, one reader. The writer never waits: when the ring is full the oldest samples are lost.

    Counts only grow, and each is changed by one side: under the interpreter's lock no other is needed.
    Memory is allocated once.

    Attributes:
        dropped: samples that were lost because the reader was late; changed by the reader.
    """

    def __init__(self, capacity: int) -> None:
        self._data = np.zeros(capacity, np.float32)
        self._written = 0
        self._read = 0
        self.dropped = 0

    def write(self, samples: FloatArray) -> None:
        """Append (n,) float32; of more than the capacity only the end is kept."""
        capacity = len(self._data)
        skipped = max(0, len(samples) - capacity)
        kept = samples[skipped:]
        at = (self._written + skipped) % capacity
        first = min(len(kept), capacity - at)
        self._data[at : at + first] = kept[:first]
        self._data[: len(kept) - first] = kept[first:]
        self._written += len(samples)  # last: the reader sees only what is there

    def available(self) -> int:
        """Samples that can be read."""
        return min(self._written - self._read, len(self._data))

    def read(self, n: int) -> FloatArray | None:
        """The oldest (n,) samples, or None when fewer are there."""
        capacity = len(self._data)
        while True:
            late = self._written - self._read - capacity
            if late > 0:
                self._read += late
                self.dropped += late
            if self._written - self._read < n:
                return None
            at = self._read % capacity
            first = min(n, capacity - at)
            out = np.empty(n, np.float32)
            out[:first] = self._data[at : at + first]
            out[first:] = self._data[: n - first]
            if self._written - self._read <= capacity:
                break  # else the writer overtook while it was copied: what was copied is torn
        self._read += n
        return out
