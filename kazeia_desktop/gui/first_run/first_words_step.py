"""The last step: a first exchange. As soon as a turn begins, the conversation takes over."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from kazeia_desktop.events import State
from kazeia_desktop.gui.card import describe, plain_label, say
from kazeia_desktop.gui.first_run.step import Step
from kazeia_desktop.gui.flow import FlowLayout
from kazeia_desktop.gui.models import told
from kazeia_desktop.gui.models.queue import ModelQueue, Phase
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.gui.theme import Tokens


class FirstWordsStep(Step):
    """Follows the engine's state."""

    models_wanted = Signal()

    def __init__(self, context: PageContext, tokens: Tokens) -> None:
        super().__init__(context, tokens)
        self._state = context.bridge.state
        self._seen = False
        self.queue = ModelQueue.of(context)
        self.line = plain_label("quiet")
        self.to_models = QPushButton()
        self.column.addWidget(self.line)
        line = FlowLayout()
        line.addWidget(self.to_models)
        self.column.addLayout(line)
        self.to_models.clicked.connect(self.models_wanted)
        context.bridge.state_changed.connect(self._state_changed)
        context.bridge.turn_started.connect(self._turn_started)
        self.queue.changed.connect(lambda _: self._refresh())
        self.retranslate()

    @property
    def controls(self) -> tuple[QWidget, ...]:
        return (self.to_models,)

    @property
    def primary(self) -> QPushButton | None:
        return self.to_models if not self.to_models.isHidden() else None

    @property
    def leads(self) -> tuple[QPushButton, ...]:
        return (self.to_models,)

    @property
    def next_text(self) -> str:
        return self.context.words.tr("To the conversation")

    def enter(self) -> None:
        self._seen = True
        self._refresh()

    def leave(self) -> None:
        self._seen = False

    def _state_changed(self, state: State) -> None:
        self._state = state
        self._refresh()

    def _turn_started(self, _turn: int, _typed: bool) -> None:
        if self._seen:
            self.next_wanted.emit()

    def _refresh(self) -> None:
        words = self.context.words
        tr, state = words.tr, self._state
        running = next((task for task in self.queue.tasks if task.phase is Phase.RUNNING), None)
        line, missing = "", False
        if running is not None and state in (State.ERROR, State.LOADING):
            text = tr("The models are still being fetched. You may wait here, or go on and come back.")
            line = tr("{what}: {text}", what=running.title, text=told.progress(running.progress, words))
        elif state is State.ERROR:
            text, missing = tr("Kazeia cannot start yet: a model is missing."), True
        elif state is State.LOADING:
            text = tr("Kazeia is getting ready: a few seconds more.")
        elif state in (State.IDLE, State.MUTED):
            text = tr("Write “Bonjour” below and press Enter: Kazeia answers.")
        else:
            text = tr("Say “Bonjour”: Kazeia answers.")
        self.text.setText(text)
        say(self.line, line)
        self.to_models.setVisible(missing)
        self.to_models.setText(tr("To the models"))
        describe(self.to_models, tr("See which models there are"))
        self.changed.emit()

    def retranslate(self) -> None:
        self.title.setText(self.context.words.tr("A first exchange"))
        self._refresh()
