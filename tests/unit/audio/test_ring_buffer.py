"""The ring between the audio callback and its reader."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.audio.ring_buffer import RingBuffer

pytestmark = pytest.mark.unit


def counting(begin: int, n: int) -> np.ndarray:
    return np.arange(begin, begin + n, dtype=np.float32)


@given(st.integers(1, 40), st.lists(st.tuples(st.booleans(), st.integers(0, 100)), max_size=40))
def test_it_is_a_queue_that_forgets_its_oldest(capacity: int, steps: list[tuple[bool, int]]) -> None:
    ring = RingBuffer(capacity)
    kept: list[float] = []
    n_written = n_lost = 0
    for is_write, n in steps:
        if is_write:
            ring.write(counting(n_written, n))
            kept += range(n_written, n_written + n)
            n_written += n
            n_lost += max(0, len(kept) - capacity)
            kept = kept[max(0, len(kept) - capacity) :]
        else:
            got = ring.read(n)
            assert ring.dropped == n_lost
            if n > len(kept):
                assert got is None
            else:
                assert got is not None
                assert got.tolist() == kept[:n]
                kept = kept[n:]
        assert ring.available() == len(kept)


def test_what_is_read_is_a_copy() -> None:
    ring = RingBuffer(4)
    ring.write(counting(0, 4))
    got = ring.read(4)
    ring.write(counting(4, 4))
    assert got is not None
    assert got.tolist() == [0, 1, 2, 3]


def test_a_reader_beside_a_fast_writer_never_gets_torn_samples() -> None:
    ring = RingBuffer(300)
    done = threading.Event()

    def write() -> None:
        n = 0
        while not done.is_set():
            ring.write(counting(n, 70) % 65_536)
            n = (n + 70) % 65_536

    writer = threading.Thread(target=write)
    writer.start()
    try:
        n_got = 0
        while n_got < 500:
            got = ring.read(97)
            if got is not None:
                n_got += 1
                assert set((np.diff(got) % 65_536).tolist()) == {1.0}
    finally:
        done.set()
        writer.join()
