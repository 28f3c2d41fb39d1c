"""One named thread that runs one stage."""

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger(__name__)


class Worker:
    """A non-daemon thread: it must end before the process does, so that nothing is cut off half-way.

    Args:
        name: the stage's name; shown by debuggers and in the log.
        target: runs once in the thread and returns when its channel is closed.
        on_error: called in the thread with what `target` raised: the last line of defence.
    """

    def __init__(self, name: str, target: Callable[[], None], on_error: Callable[[Exception], None]) -> None:
        self._target = target
        self._on_error = on_error
        self._thread = threading.Thread(target=self._run, name=name, daemon=False)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            self._target()
        except Exception as error:  # noqa: BLE001 - the last line of defence of a thread
            _log.debug("worker %s failed", self._thread.name, exc_info=True)
            self._on_error(error)

    def join(self, timeout_s: float) -> bool:
        """Wait for the end, at most `timeout_s`. Returns whether the thread has ended."""
        if self._thread.ident is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def name(self) -> str:
        return self._thread.name

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()
