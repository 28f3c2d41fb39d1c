"""What is being fetched, checked, converted or taken in: one after the other, and what waits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.events import State
from kazeia_desktop.gui.jobs import Job, Report
from kazeia_desktop.gui.models import work
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.models.fetch import Progress
from kazeia_desktop.runtime.cancel import CancelToken


class Verb(StrEnum):
    """What a task does."""

    GET = "get"
    VERIFY = "verify"
    CONVERT = "convert"
    IMPORT = "import"


class Phase(StrEnum):
    """Where a task is."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"


@dataclass
class Task:
    """One piece of work on one model. Changed in the window's thread only.

    Attributes:
        key: of the model; of a new one, the name that it will get.
        work: runs in a job, returns what is told in `result`.
        progress: the last news; None before any.
    """

    key: str
    verb: Verb
    title: str
    work: Callable[[CancelToken, Report], object]
    phase: Phase = Phase.WAITING
    progress: Progress | None = None
    error: KazeiaError | None = None
    result: object = None
    _then: Phase | None = field(default=None, repr=False)  # what a stopped job becomes; None: it is forgotten


class ModelQueue(QObject):
    """One for the window: the page of models and the first steps share it. Lives in the window's thread."""

    changed = Signal(str)  # key of a task that is, was or is no more
    finished = Signal(object)  # Task that is done
    drained = Signal()  # nothing waits and nothing runs

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self._context = context
        self._tasks: dict[str, Task] = {}
        self._job: Job | None = None
        self._running: Task | None = None
        self._fetched = False
        self._state: State | None = None
        context.bridge.state_changed.connect(self._state_changed)

    @classmethod
    def of(cls, context: PageContext) -> "ModelQueue":
        """The window's."""
        return context.shared(cls, lambda: cls(context))

    @property
    def tasks(self) -> tuple[Task, ...]:
        """In the order in which they run."""
        return tuple(self._tasks.values())

    def task(self, key: str) -> Task | None:
        """What is being done with a model."""
        return self._tasks.get(key)

    @property
    def busy(self) -> bool:
        """Whether something runs or waits."""
        return any(task.phase in (Phase.WAITING, Phase.RUNNING) for task in self._tasks.values())

    # What the user does

    def get(self, key: str, title: str) -> None:
        """Download a model, or go on with it."""
        paths = self._context.paths
        self.add(Task(key, Verb.GET, title, lambda cancel, report: work.get(paths, key, cancel, report)))

    def verify(self, key: str, title: str) -> None:
        """Hash a model's files again."""
        paths = self._context.paths
        self.add(Task(key, Verb.VERIFY, title, lambda cancel, report: work.verify(paths, key, cancel)))

    def convert(self, source: Path, key: str, title: str, dtype: str) -> None:
        """Make Kazeia's own voice of a Qwen3-TTS folder; `key` is the new model's name."""
        paths = self._context.paths
        self.add(
            Task(
                key, Verb.CONVERT, title,
                lambda cancel, report: work.convert(paths, source, key, dtype, cancel, report),
            )
        )  # fmt: skip

    def requantize(self, source: Path, key: str, title: str, dtype: str, pure: bool) -> None:
        """Write a language model with other weights; `key` is the new model's name."""
        paths = self._context.paths
        self.add(
            Task(
                key, Verb.CONVERT, title,
                lambda cancel, report: work.requantize(paths, source, key, dtype, pure, cancel, report),
            )
        )  # fmt: skip

    def take_in(self, source: Path, kind: str, key: str, title: str) -> None:
        """Take a file or a converted voice of the user's own."""
        paths, settings = self._context.paths, self._context.settings()
        self.add(
            Task(
                key, Verb.IMPORT, title,
                lambda cancel, report: work.take_in(paths, settings, source, kind, key, cancel, report),
            )
        )  # fmt: skip

    def add(self, task: Task) -> None:
        """Put a task at the end; one that runs or waits for the same model stays as it is."""
        there = self._tasks.get(task.key)
        if there is not None and there.phase in (Phase.WAITING, Phase.RUNNING):
            return
        self._tasks.pop(task.key, None)
        self._tasks[task.key] = task
        self._next()
        self.changed.emit(task.key)

    def again(self, key: str) -> None:
        """Go on with what was paused, or try what failed."""
        task = self._tasks.pop(key, None)
        if task is not None:
            task.phase, task.error = Phase.WAITING, None
            self._tasks[key] = task
            self._next()
            self.changed.emit(key)

    def pause(self, key: str) -> None:
        """Stop a download; what was fetched is kept."""
        self._stop(key, Phase.PAUSED)

    def cancel(self, key: str) -> None:
        """Stop a task and forget it; nothing half-made is left."""
        task = self._tasks.get(key)
        if task is None:
            return
        if task is self._running:
            self._stop(key, None)
        else:
            self._forget(task)

    def forget(self, key: str) -> None:
        """A task that is over is no longer shown."""
        task = self._tasks.get(key)
        if task is not None and task.phase in (Phase.DONE, Phase.FAILED):
            del self._tasks[key]
            self.changed.emit(key)

    def _stop(self, key: str, then: Phase | None) -> None:
        task = self._tasks.get(key)
        if task is None or task.phase not in (Phase.WAITING, Phase.RUNNING):
            return
        task._then = then
        if task is self._running and self._job is not None:
            self._job.cancel()
        elif then is not None:
            task.phase = then
            self.changed.emit(key)

    def _forget(self, task: Task) -> None:
        """Remove a task, and what its download left."""
        self._tasks.pop(task.key, None)
        self.changed.emit(task.key)
        if task.verb is Verb.GET:
            paths, key = self._context.paths, task.key
            self._context.jobs.run(
                "discard-download", lambda cancel, _: work.discard(paths, key, cancel),
                lambda _: self.changed.emit(key), lambda _: self.changed.emit(key),
            )  # fmt: skip

    # Running

    def _next(self) -> None:
        if self._running is not None:
            return
        task = next((task for task in self._tasks.values() if task.phase is Phase.WAITING), None)
        if task is None:
            return
        task.phase, task._then = Phase.RUNNING, None
        self._running = task
        self._job = self._context.jobs.run(
            f"model-{task.verb}", task.work,
            lambda result: self._done(task, result), lambda error: self._failed(task, error),
            lambda news: self._progressed(task, news), lambda: self._stopped(task),
        )  # fmt: skip

    def _progressed(self, task: Task, news: Progress) -> None:
        task.progress = news
        self.changed.emit(task.key)

    def _done(self, task: Task, result: object) -> None:
        task.phase, task.result = Phase.DONE, result
        self._fetched = self._fetched or task.verb is Verb.GET
        self._over(task)
        self.finished.emit(task)

    def _failed(self, task: Task, error: KazeiaError) -> None:
        task.phase, task.error = Phase.FAILED, error
        self._over(task)

    def _stopped(self, task: Task) -> None:
        self._running = self._job = None
        if task._then is None:
            self._forget(task)
        else:
            task.phase = task._then
        self._over(task)

    def _over(self, task: Task) -> None:
        self._running = self._job = None
        self.changed.emit(task.key)
        self._next()
        if self._running is None:
            self.drained.emit()
            # The window stands there without models: now they may all be here.
            bridge = self._context.bridge
            stopped = any(task.phase in (Phase.PAUSED, Phase.FAILED) for task in self._tasks.values())
            if self._fetched and not stopped and bridge.engine is None and self._state is not State.LOADING:
                bridge.rebuild()
            self._fetched = stopped and self._fetched

    def _state_changed(self, state: State) -> None:
        self._state = state
