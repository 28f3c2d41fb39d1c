"""One thread that runs jobs in the order they were given, so that the event loop never waits."""

import logging
import time
from collections.abc import Callable
from typing import Final

from kazeia_desktop.runtime.channel import Channel, ChannelClosed
from kazeia_desktop.runtime.worker import Worker

_log = logging.getLogger(__name__)

Job = Callable[[], None]
_CAPACITY: Final = 256


class Lane:
    """Runs jobs one after the other; a job that raises is told and the next one runs.

    Args:
        name: of the thread.
        on_error: called in the thread with what a job raised.
    """

    def __init__(self, name: str, on_error: Callable[[Exception], None]) -> None:
        self._jobs: Channel[Job] = Channel(_CAPACITY)
        self._on_error = on_error
        self._worker = Worker(name, self._run, on_error)

    def start(self) -> None:
        self._worker.start()

    def do(self, job: Job) -> None:
        """Queue a job and return at once. After `finish`, and when hundreds wait, it is dropped."""
        try:
            self._jobs.put(job, timeout_s=0.0)
        except ChannelClosed:
            _log.debug("a job came after the end of %s", self._worker.name)
        except TimeoutError:
            _log.warning("%s does not keep up: a command was dropped", self._worker.name)

    def finish(self, last: Job) -> None:
        """Drop what waits, run `last`, end."""
        self._jobs.drain()
        self.do(last)
        self._jobs.close()

    def join(self, deadline_s: float) -> bool:
        """Wait for the end until `time.monotonic()` is `deadline_s`. Returns whether the thread has ended."""
        return self._worker.join(max(0.0, deadline_s - time.monotonic()))

    def _run(self) -> None:
        for job in self._jobs:
            try:
                job()
            except Exception as error:  # noqa: BLE001 - the last line of defence of a thread
                _log.debug("a job of %s failed", self._worker.name, exc_info=True)
                self._on_error(error)
