"""Says what kept the window's thread when it was away too long. For those who build Kazeia: KAZEIA_WATCHDOG=1."""

import logging
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QObject

from kazeia_desktop.runtime.worker import Worker

_log = logging.getLogger(__name__)

LATE_MS: Final = 50
_BEAT_MS: Final = 10
_FRAMES: Final = 8


class LoopWatchdog(QObject):
    """A timer beats in the window's thread; another thread listens, and logs the stack when a beat stays away.

    It costs a hundred wakings a second: not for everybody. `stop` ends it.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._watched = threading.get_ident()
        self._beat_s = time.monotonic()
        self._stopped = threading.Event()
        self._worker = Worker("watchdog", self._watch, lambda error: _log.error("the watchdog failed", exc_info=error))
        self.startTimer(_BEAT_MS)
        self._worker.start()

    def timerEvent(self, event: QEvent) -> None:
        self._beat_s = time.monotonic()

    def stop(self) -> None:
        """End its thread."""
        self._stopped.set()
        self._worker.join(1.0)

    def _watch(self) -> None:
        told_s = 0.0  # the beat of which was told
        while not self._stopped.wait(_BEAT_MS / 1000):
            beat_s = self._beat_s
            if beat_s != told_s and 1000 * (time.monotonic() - beat_s) > LATE_MS + _BEAT_MS:
                told_s = beat_s
                _log.warning("the window has been away for more than %d ms: %s", LATE_MS, self._stack())

    def _stack(self) -> str:
        """Where the window's thread is, the innermost call first; no values."""
        frame = sys._current_frames().get(self._watched)
        calls = traceback.extract_stack(frame)[-_FRAMES:] if frame is not None else []
        return " < ".join(f"{Path(call.filename).name}:{call.lineno} {call.name}" for call in reversed(calls))
