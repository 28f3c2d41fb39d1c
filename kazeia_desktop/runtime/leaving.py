"""Ending the process when something in it does not end: a library that loads a model cannot be interrupted.

By then everything that is to last is on the disk: settings are written before the engine is closed, exchanges when
they end. What is left is given up: the system takes back memory, devices and files, as it does after a power cut, and
whatever is written is written beside and moved into its place.
"""

import contextlib
import ctypes
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import NoReturn

_log = logging.getLogger(__name__)


def still_running() -> list[str]:
    """The threads, beside this one, for which Python would wait before it ends."""
    own = threading.current_thread()
    return [thread.name for thread in threading.enumerate() if thread is not own and not thread.daemon]


def leave(code: int) -> NoReturn:
    """End now, whatever runs; the programs that this one started end too."""
    end_children()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    logging.shutdown()
    os._exit(code)


def end_children() -> None:
    """End what this process started and what that started, where the system tells (Linux)."""
    for child in reversed(_children(os.getpid())):
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):  # that thread ended just now
                for child in (task / "children").read_text().split():
                    found += [int(child), *_children(int(child))]
    return found


def skip_destructors() -> None:
    """When C's `exit` is called, end without what libraries registered before now to be done then.

    Qt calls it when the display is gone, in the middle of everything; the destructors of libraries whose threads still
    run then wait for ever, and a process without a window would go on listening. Where the C library is glibc.
    """
    if sys.platform != "linux":
        return
    try:
        library = ctypes.CDLL(None)
        library.on_exit(library._exit, None)
    except (AttributeError, OSError):
        _log.debug("this C library has no on_exit")
