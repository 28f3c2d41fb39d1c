"""Timers and alarms: they ring when they are due, and alarms survive a restart."""

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kazeia_desktop.runtime.small_files import write_record

_log = logging.getLogger(__name__)

_VERSION: Final = 1
_JOIN_S: Final = 10.0
TIMER, ALARM = "timer", "alarm"
MAX_PENDING: Final = 50
_BUSY_S: Final = 0.25
"""After it could not ring because somebody is speaking."""
_LOOK_S: Final = 30.0
"""Between looks at the clock: it may have been set, or the machine may have slept."""
_LATE_S: Final = 60.0
_FORGOTTEN_S: Final = 24 * 3600


@dataclass(frozen=True, slots=True)
class Pending:
    """due_s: seconds since 1970. seconds: a timer's length. late: its time passed while Kazeia did not run."""

    kind: str
    due_s: float
    seconds: int = 0
    label: str = ""
    late: bool = False


class Timers:
    """What is to ring. Thread-safe; its thread runs only while something is pending.

    Args:
        file: keeps the alarms; None: nothing does. Their labels are words of the user and are kept only where
            `keeps_words` says so.
        ring: told what is due, in a thread of its own; false: not now, ask again shortly.
        now: seconds since 1970.
    """

    def __init__(
        self,
        file: Path | None,
        ring: Callable[[Pending], bool],
        keeps_words: Callable[[], bool] = lambda: False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._file = file
        self._ring = ring
        self._keeps_words = keeps_words
        self._now = now
        self._changed = threading.Condition()
        self._pending: list[Pending] = []
        self._thread: threading.Thread | None = None
        self._closed = False

    def start(self) -> None:
        """Take up the alarms of the last time."""
        now_s = self._now()
        with self._changed:
            for alarm in self._read():
                if alarm.due_s > now_s - _FORGOTTEN_S:
                    self._pending.append(replace(alarm, late=alarm.due_s < now_s - _LATE_S))
            self._wake()

    def add(self, pending: Pending) -> bool:
        """Let it ring when it is due; false when there are too many already."""
        with self._changed:
            if len(self._pending) >= MAX_PENDING:
                return False
            self._pending.append(pending)
            self._save()
            self._wake()
        return True

    def remove(self, gone: Sequence[Pending]) -> None:
        """They will not ring."""
        with self._changed:
            self._pending = [one for one in self._pending if not any(one is other for other in gone)]
            self._save()
            self._changed.notify_all()

    def pending(self, *kinds: str) -> list[Pending]:
        """What will ring, the next first; of some kinds only, where they are given."""
        with self._changed:
            return sorted((one for one in self._pending if not kinds or one.kind in kinds), key=lambda one: one.due_s)

    def ring_due(self) -> float | None:
        """Ring what is due. Returns in how many seconds to look again; None: nothing is pending."""
        with self._changed:
            due = [one for one in self._pending if one.due_s <= self._now()]
        rang = [one for one in due if self._ring(one)]
        if rang:
            self.remove(rang)
        if len(rang) < len(due):
            return _BUSY_S
        left = self.pending()
        return None if not left else max(0.0, min(_LOOK_S, left[0].due_s - self._now()))

    def close(self) -> None:
        """End the thread; alarms stay in the file. Closing twice is harmless."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_JOIN_S)
            if thread.is_alive():
                _log.error("the thread %s did not end within %.0f s", thread.name, _JOIN_S)

    def _wake(self) -> None:
        if self._pending and self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._run, name="timers")
            self._thread.start()
        self._changed.notify_all()

    def _run(self) -> None:
        while True:
            wait_s = self.ring_due()
            with self._changed:
                if self._closed or (wait_s is None and not self._pending):
                    self._thread = None
                    return
                if wait_s is None or wait_s > 0:
                    self._changed.wait(wait_s)

    def _read(self) -> list[Pending]:
        if self._file is None:
            return []
        try:
            kept = json.loads(self._file.read_text("utf-8"))
            return [Pending(ALARM, float(one["due"]), 0, str(one.get("label", ""))[:80]) for one in kept["alarms"]][
                :MAX_PENDING
            ]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            _log.info("the alarms cannot be read: %s", type(error).__name__)
            return []

    def _save(self) -> None:
        if self._file is None:
            return
        alarms = [one for one in self._pending if one.kind == ALARM]
        words = self._keeps_words()
        kept = [{"due": one.due_s} | ({"label": one.label} if words and one.label else {}) for one in alarms]
        try:
            if not kept:
                self._file.unlink(missing_ok=True)
                return
            write_record(self._file, _VERSION, {"alarms": kept})
        except OSError as error:
            _log.info("the alarms cannot be kept: %s", error.strerror)
