"""One download of a model at a time, whoever starts it."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from kazeia_desktop.runtime.cancel import CancelToken

if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextlib.contextmanager
def exclusive(path: Path, cancel: CancelToken, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file `path`, waiting while another process or thread does.

    The system frees it when its holder dies, so nothing is ever left locked.

    Args:
        on_wait: called once when it has to wait.
    Raises:
        OSError: the file cannot be made.
        Cancelled: `cancel` was set while waiting.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not _try_lock(handle):
            on_wait()
            while not _try_lock(handle):
                cancel.wait(0.2)
                cancel.raise_if_set()
        yield
    finally:
        os.close(handle)  # and so unlocked
