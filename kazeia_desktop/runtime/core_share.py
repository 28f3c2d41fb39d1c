"""Stages that compute at the same time leave each other cores."""

import contextlib
from collections.abc import Iterator


class CoreShare:
    """How many cores one stage takes now, and what that leaves to another. From any thread.

    llama.cpp's threads wait for each other without sleeping: where there are more of them than free cores, each
    waits whole time slices for one that does not run, and so does everybody else.

    Attributes:
        n_cores: of the machine.
    """

    def __init__(self, n_cores: int) -> None:
        self.n_cores = n_cores
        self._taken = 0

    @contextlib.contextmanager
    def taking(self, threads: int) -> Iterator[None]:
        """Work with so many threads; one stage at a time."""
        self._taken = threads
        try:
            yield
        finally:
            self._taken = 0

    def left(self, threads: int) -> int:
        """Of so many threads, those that find a core; at least one."""
        return min(threads, max(1, self.n_cores - self._taken))
