"""One sound at a time that the window itself plays or records, while the conversation does not listen."""

from collections.abc import Callable
from typing import Any

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.gui.jobs import Job, Work
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.gui.quiet_microphone import QuietMicrophone, Use


def _ignored(*_: object) -> None:
    """Nobody wants to know."""


class SoundJob:
    """Runs in a job; the microphone is given back when the job has really ended. Lives in the window's thread.

    Args:
        ended: it is over in any way: by itself, by a fault, or because it was stopped.
        waits: a job that was stopped still counts until it has ended, and what is started meanwhile begins then (a
            microphone is not opened twice). Without it, a stopped job counts no more and its news are dropped.
    """

    def __init__(
        self, context: PageContext, name: str, use: Use, ended: Callable[[], None], waits: bool = False
    ) -> None:
        self._context = context
        self._name = name
        self._use = use
        self._ended = ended
        self._waits = waits
        self._job: Job | None = None
        self._next: Callable[[], None] | None = None

    @property
    def running(self) -> bool:
        """Whether something is played or recorded."""
        return self._job is not None

    def start(
        self,
        work: Work,
        done: Callable[[Any], None] = _ignored,
        failed: Callable[[KazeiaError], None] = _ignored,
        progressed: Callable[[Any], None] = _ignored,
    ) -> None:
        """Begin, in place of what runs. `done` and `failed` are called before `ended`; see `Job`."""
        if self._job is not None and self._waits:
            self._next = lambda: self.start(work, done, failed, progressed)
            self._job.cancel()
            return
        self.stop()
        give_back = QuietMicrophone.of(self._context).begin(self._use)
        job: Job | None = None

        def over(tell: Callable[[], None] = _ignored) -> None:
            give_back()
            if self._job is job:
                self._job = None
                if self._next is None:
                    tell()
                self._over()

        def news(what: object) -> None:
            if self._job is job:
                progressed(what)

        job = self._job = self._context.jobs.run(
            self._name, work,
            lambda result: over(lambda: done(result)), lambda error: over(lambda: failed(error)), news, over,
        )  # fmt: skip

    def stop(self) -> None:
        """Stop what runs; harmless when nothing does."""
        self._next = None
        if self._job is None:
            return
        self._job.cancel()
        if not self._waits:
            self._job = None
            self._over()

    def _over(self) -> None:
        after, self._next = self._next, None
        if after is None:
            self._ended()
        else:
            after()
