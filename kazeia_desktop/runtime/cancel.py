"""A one-way switch that stops whoever polls it."""

import ctypes
import threading

from kazeia_desktop.errors import Cancelled


class CancelToken:
    """Set once, from any thread; never reset. Polling costs one attribute read.

    Native loops poll it once per text token, per encoder call and per codec frame.

    Attributes:
        native_flag: two bytes that C code can poll without the GIL: the first is 0 until `set`, then 1;
            the second stays 0. The token owns them: keep it as long as native code may look.
    """

    __slots__ = ("_event", "native_flag")

    def __init__(self) -> None:
        self._event = threading.Event()
        self.native_flag = ctypes.create_string_buffer(2)

    def set(self) -> None:
        """Ask whoever works under this token to stop."""
        self.native_flag[0] = b"\x01"
        self._event.set()

    def is_set(self) -> bool:
        """Whether `set` was called."""
        return self._event.is_set()

    def wait(self, timeout_s: float) -> bool:
        """Sleep until set, at most `timeout_s`. Returns whether it is set."""
        return self._event.wait(timeout_s)

    def raise_if_set(self) -> None:
        """Raises:
        Cancelled: the token is set.
        """
        if self._event.is_set():
            raise Cancelled
