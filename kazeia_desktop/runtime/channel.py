"""A bounded queue between two stages, whose end is `close()` and never a sentinel."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class ChannelClosed(Exception):
    """The channel is closed: nothing can be put, or nothing is left to get."""


class Channel(Generic[T]):
    """First in, first out; any number of writers and readers.

    `put` blocks while `capacity` items wait, so that a fast stage cannot run away from a slow one.
    After `close`, `put` raises at once and `get` hands out what is left, then raises.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, not {capacity}")
        self._capacity = capacity
        self._items: deque[T] = deque()
        self._closed = False
        self._changed = threading.Condition()

    def put(self, item: T, timeout_s: float | None = None) -> None:
        """Append `item`, waiting for room.

        Raises:
            ChannelClosed: closed before there was room.
            TimeoutError: no room within `timeout_s`.
        """
        with self._changed:
            self._wait_until(lambda: self._closed or len(self._items) < self._capacity, timeout_s)
            if self._closed:
                raise ChannelClosed
            self._items.append(item)
            self._changed.notify_all()

    def get(self, timeout_s: float | None = None) -> T:
        """Take the oldest item, waiting for one.

        Raises:
            ChannelClosed: closed and empty.
            TimeoutError: nothing came within `timeout_s`.
        """
        with self._changed:
            self._wait_until(lambda: self._closed or bool(self._items), timeout_s)
            if not self._items:
                raise ChannelClosed
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    def take_if(self, fits: Callable[[T], bool]) -> T | None:
        """Take the oldest item if it fits; None, at once, where it does not or nothing waits."""
        with self._changed:
            if not self._items or not fits(self._items[0]):
                return None
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    def _wait_until(self, ready: Callable[[], bool], timeout_s: float | None) -> None:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not ready():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            self._changed.wait(left)

    def close(self) -> None:
        """No more items; wakes everyone who waits. Closing twice is harmless."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def drain(self) -> list[T]:
        """Remove and return all that waits."""
        with self._changed:
            left = list(self._items)
            self._items.clear()
            self._changed.notify_all()
            return left

    @property
    def closed(self) -> bool:
        return self._closed

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        """Items until the channel is closed and empty."""
        while True:
            try:
                yield self.get()
            except ChannelClosed:
                return
