"""Which set of models, and fetching it; one may go on while it is fetched."""

from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.gui.card import Card, describe, plain_label, say
from kazeia_desktop.gui.first_run.memory import ModelSet, Offer, look_up
from kazeia_desktop.gui.first_run.step import Step
from kazeia_desktop.gui.models import told
from kazeia_desktop.gui.models.queue import ModelQueue, Phase, Task, Verb
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.gui.theme import Tokens


class SetCard(Card):
    """A set with what it takes, and how far it is."""

    def __init__(self, context: PageContext, tokens: Tokens) -> None:
        super().__init__(context.words, tokens)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 1000)
        self.line = plain_label("quiet")
        self.column.addWidget(self.bar)
        self.column.addWidget(self.line)
        self.get = self.action()
        self.again, self.pause, self.cancel = self.action(), self.action(), self.action()


class ModelsStep(Step):
    """Two sets, one of which is fetched. The window's queue does it, also when the step is left."""

    def __init__(self, context: PageContext, tokens: Tokens) -> None:
        super().__init__(context, tokens)
        self.queue = ModelQueue.of(context)
        self.offer: Offer | None = None
        self._chosen = ""  # "starter" or "recommended", once it was asked for
        self._problem: KazeiaError | None = None
        self.cards = {name: SetCard(context, tokens) for name in ("starter", "recommended")}
        for name, card in self.cards.items():
            card.get.clicked.connect(lambda _=False, name=name: self.fetch(name))
            card.again.clicked.connect(lambda _=False, name=name: self._each(name, self.queue.again))
            card.pause.clicked.connect(lambda _=False, name=name: self._each(name, self.queue.pause))
            card.cancel.clicked.connect(lambda _=False, name=name: self._cancel(name))
            self.column.addWidget(card)
        self.note = plain_label("quiet")
        self.column.addWidget(self.note)
        self.queue.changed.connect(lambda _: self._refresh())
        self.queue.finished.connect(self._finished)
        self.retranslate()

    @property
    def controls(self) -> tuple[QWidget, ...]:
        return tuple(control for card in self.cards.values() for control in card.controls)

    @property
    def primary(self) -> QPushButton | None:
        if self.queue.busy or self._complete("starter") or self._complete("recommended"):
            return None
        wanted = (card.get for card in self.cards.values() if not card.get.isHidden() and card.get.isEnabled())
        return next(wanted, None)

    @property
    def leads(self) -> tuple[QPushButton, ...]:
        return tuple(card.get for card in self.cards.values())

    @property
    def settled(self) -> bool:
        return self.offer is not None or self._problem is not None

    @property
    def next_text(self) -> str:
        tr = self.context.words.tr
        if self.queue.busy:
            return tr("Continue meanwhile")
        return tr("Continue") if self._complete("starter") or self._complete("recommended") else tr("Later")

    def enter(self) -> None:
        self.look_up()

    def look_up(self) -> None:
        """What is here now."""
        paths = self.context.paths
        self.context.jobs.run("offer-models", lambda *_: look_up(paths), self._looked_up, self._failed)

    def _looked_up(self, offer: Offer) -> None:
        self.offer = offer
        # What was chosen is used as soon as all of it is here.
        if self._chosen and self._complete(self._chosen):
            self.context.change_all(self._set(self._chosen).settings)
            self._chosen = ""
        self._refresh()

    def _failed(self, error: KazeiaError) -> None:
        self._problem = error
        self._refresh()

    def _set(self, name: str) -> ModelSet:
        assert self.offer is not None
        return self.offer.starter if name == "starter" else self.offer.recommended

    def _complete(self, name: str) -> bool:
        return self.offer is not None and self._set(name).missing == 0

    # Fetching

    def fetch(self, name: str) -> None:
        """Download what is missing of a set."""
        if self.offer is None:
            return
        self._chosen = name
        chosen = self._set(name)
        for model, title in zip(chosen.names, chosen.titles, strict=True):
            if model not in chosen.present:
                self.queue.get(model, title)
        self._refresh()

    def _tasks(self, name: str) -> list[Task]:
        """Of the set's models that are being fetched; a model of both sets counts for the one that was chosen."""
        if self.offer is None:
            return []
        other = "recommended" if name == "starter" else "starter"
        mine, others = self._set(name).names, self._set(other).names
        own = any(self.queue.task(model) for model in mine if model not in others)
        if not own and self._chosen != name:
            return []
        tasks = [self.queue.task(model) for model in mine]
        return [task for task in tasks if task is not None and task.verb is Verb.GET]

    def _each(self, name: str, do: object) -> None:
        assert callable(do)
        for task in self._tasks(name):
            if task.phase is not Phase.DONE:
                do(task.key)

    def _cancel(self, name: str) -> None:
        self._chosen = ""
        for task in reversed(self._tasks(name)):  # those that wait first, so that none begins meanwhile
            self.queue.cancel(task.key)

    def _finished(self, task: Task) -> None:
        if task.verb is Verb.GET:
            self.look_up()

    # What is seen

    def _refresh(self) -> None:
        words = self.context.words
        tr = words.tr
        if self._problem is not None:
            say(self.note, told.error(self._problem, words))
        elif self.offer is not None:
            say(self.note, tr("{size} are free on the disk.", size=told.size(self.offer.free_bytes, words)))
        for name, card in self.cards.items():
            self._show(name, card)
        self.changed.emit()

    def _show(self, name: str, card: SetCard) -> None:
        words = self.context.words
        tr = words.tr
        card.get.setText(tr("Get this set"))
        card.pause.setText(tr("Pause"))
        card.cancel.setText(tr("Cancel"))
        card.title.setText(tr("Starter set") if name == "starter" else tr("Recommended set"))
        for control, text in (
            (card.get, tr("Download it; the network is used for that only")),
            (card.again, tr("Go on where it stopped")), (card.pause, tr("Stop; what is here is kept")),
            (card.cancel, tr("Stop, and delete what is half done")),
        ):  # fmt: skip
            describe(control, text)
        card.bar.hide()
        if self.offer is None:
            for button in card.buttons:
                button.hide()
            return
        models = self._set(name)
        size = told.size(models.total, words)
        size = tr("about {size}", size=size) if models.about else size
        what = (
            tr("Small and quick: Kazeia understands and answers simply. Enough to try it on any machine.")
            if name == "starter"
            else tr("Understands and answers much better. For a machine with 8 GB of memory or more.")
        )
        say(
            card.detail,
            "\n".join(
                (
                    what,
                    " · ".join((size, *models.licences)),
                    " · ".join(told.title(one, words) for one in models.titles),
                )
            ),
        )
        tasks = self._tasks(name)
        failed = next((task for task in tasks if task.phase is Phase.FAILED), None)
        going = any(task.phase in (Phase.WAITING, Phase.RUNNING) for task in tasks)
        stopped = not going and any(task.phase in (Phase.PAUSED, Phase.FAILED) for task in tasks)
        complete = models.missing == 0
        say(card.badge, tr("here") if complete else "")
        say(card.message, told.error(failed.error, words) if failed is not None and failed.error is not None else "")
        card.again.setText(tr("Try again") if failed is not None else tr("Resume"))
        card.get.setVisible(not complete and not going and not stopped)
        card.pause.setVisible(going)
        card.cancel.setVisible(going or stopped)
        card.again.setVisible(stopped)
        enough = models.missing < self.offer.free_bytes
        card.get.setEnabled(enough)
        if not enough and not complete:
            say(card.message, tr("There is not enough space on the disk for this set."))
        self._show_progress(card, models, tasks, going or stopped)
        for button in card.buttons:
            button.setAccessibleName(tr("{what}: {text}", what=button.text(), text=card.title.text()))

    def _show_progress(self, card: SetCard, models: ModelSet, tasks: list[Task], shown: bool) -> None:
        words = self.context.words
        done = models.total - models.missing
        running = next((task for task in tasks if task.phase is Phase.RUNNING), None)
        done += sum(
            task.progress.done_bytes for task in tasks if task.progress is not None and task.key not in models.present
        )
        card.bar.setVisible(shown)
        card.bar.setValue(round(1000 * min(1.0, done / models.total)) if models.total else 0)
        line = ""
        if running is not None:
            line = words.tr("{what}: {text}", what=running.title, text=told.progress(running.progress, words))
        elif shown:
            line = words.tr("Paused")
        say(card.line, line)
        card.bar.setAccessibleName(line)

    def retranslate(self) -> None:
        tr = self.context.words.tr
        self.title.setText(tr("The models"))
        self.text.setText(
            tr(
                "Kazeia needs models to hear, to think and to speak. They are fetched once and stay on this machine. "
                "You may go on while they are fetched, pause, and come back later."
            )
        )
        self._refresh()
