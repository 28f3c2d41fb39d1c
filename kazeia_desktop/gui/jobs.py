"""Work of the pages that takes time: each job in a thread of its own, its news in the window's thread."""

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot

from kazeia_desktop.errors import Cancelled, InferenceError, KazeiaError
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.worker import Worker

_log = logging.getLogger(__name__)

Report = Callable[[object], None]
"""Given to a job, which tells its progress with it. Of several reports in a row only the last is delivered."""
Work = Callable[[CancelToken, Report], Any]


class Job:
    """One piece of work. Every callback runs in the window's thread, exactly one of done, failed, cancelled last.

    Args:
        work: runs in the job's thread; polls the token. Raises KazeiaError where it cannot be done.
        done: hears what `work` returned.
        failed: hears why it could not be done.
        progressed: hears what `work` reported.
        cancelled: `cancel` stopped it.
    """

    def __init__(
        self,
        jobs: "Jobs",
        name: str,
        work: Work,
        done: Callable[[Any], None],
        failed: Callable[[KazeiaError], None],
        progressed: Callable[[Any], None],
        cancelled: Callable[[], None],
    ) -> None:
        self._jobs = jobs
        self._work = work
        self._done = done
        self._failed = failed
        self._progressed = progressed
        self._cancelled = cancelled
        self._news_lock = threading.Lock()  # else news come between a look and a change, and none after them is told
        self._news: list[object] = []
        self.token = CancelToken()
        self.worker = Worker(name, self._run, self._unexpected)

    def cancel(self) -> None:
        """Ask it to stop; harmless when it has ended."""
        self.token.set()

    def _run(self) -> None:
        try:
            result = self._work(self.token, self._report)
        except Cancelled:
            self._end(self._cancelled)
        except KazeiaError as error:
            told = error
            self._end(lambda: self._failed(told))
        else:
            self._end(lambda: self._done(result))

    def _unexpected(self, error: Exception) -> None:
        _log.error("the job %s failed", self.worker.name, exc_info=error)
        told = InferenceError(
            "Something unexpected went wrong ({reason}). Kazeia goes on; the log says more.",
            reason=f"{type(error).__name__}: {error}",
        )
        self._end(lambda: self._failed(told))

    def _report(self, news: object) -> None:
        with self._news_lock:
            waiting = bool(self._news)
            self._news[:] = [news]
        if not waiting:
            self._jobs.post(self._tell)

    def _tell(self) -> None:
        with self._news_lock:
            news, self._news = self._news, []
        if news and not self.token.is_set():
            self._progressed(news[-1])

    def _end(self, last: Callable[[], None]) -> None:
        def deliver() -> None:
            self._jobs.ended(self)
            last()

        self._jobs.post(deliver)


def _ignored(*_: object) -> None:
    """Nobody wants to know."""


class Jobs(QObject):
    """Starts jobs and ends them with the window. Lives in the window's thread.

    A thread of its own starts theirs: whoever starts a thread waits until it runs, and that was over a second while
    another one brought libraries into memory.
    """

    _arrived = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._running: list[Job] = []
        self._closed = False
        self._to_start: queue.SimpleQueue[Worker | None] = queue.SimpleQueue()
        self._starter: threading.Thread | None = None
        self._arrived.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def run(
        self,
        name: str,
        work: Work,
        done: Callable[[Any], None] = _ignored,
        failed: Callable[[KazeiaError], None] = _ignored,
        progressed: Callable[[Any], None] = _ignored,
        cancelled: Callable[[], None] = _ignored,
    ) -> Job:
        """Start a job; see Job. After `close` it is cancelled before it begins and tells nothing."""
        job = Job(self, name, work, done, failed, progressed, cancelled)
        if self._closed:
            job.cancel()
            return job
        self._running.append(job)
        if self._starter is None:
            self._starter = threading.Thread(target=self._start_each, name="jobs", daemon=True)
            self._starter.start()
        self._to_start.put(job.worker)
        return job

    def _start_each(self) -> None:
        while (worker := self._to_start.get()) is not None:
            worker.start()

    def close(self, deadline_s: float) -> bool:
        """Cancel every job and wait until `time.monotonic()` is `deadline_s`. Returns whether all have ended."""
        self._closed = True
        for job in self._running:
            job.cancel()
        if self._starter is not None:
            self._to_start.put(None)
            self._starter.join(max(0.0, deadline_s - time.monotonic()))
        ended = [job.worker.join(max(0.0, deadline_s - time.monotonic())) for job in self._running]
        return all(ended)

    # From any thread

    def post(self, call: Callable[[], None]) -> None:
        """Run `call` in the window's thread."""
        if not self._closed:
            self._arrived.emit(call)

    # In the window's thread

    def ended(self, job: Job) -> None:
        """A job is over: nobody waits for it at the end."""
        if job in self._running:
            self._running.remove(job)

    @Slot(object)
    def _deliver(self, call: Callable[[], None]) -> None:
        if not self._closed:
            call()
