"""Deleting every kept conversation: a button below the list, a question in its place, and the work."""

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from kazeia_desktop.errors import KazeiaError, StorageError
from kazeia_desktop.gui import icons
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.conversations.ask_bar import AskBar
from kazeia_desktop.gui.jobs import Jobs
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words
from kazeia_desktop.memory.conversations import ConversationStore
from kazeia_desktop.paths import Paths


class _AskForAll(AskBar):
    """How many, and that nothing brings them back."""

    n = 0

    def retranslate(self) -> None:
        super().retranslate()
        tr = self._words.tr
        one = tr("Delete the only conversation for good? Nothing brings it back.")
        many = tr("Delete all {n} conversations for good? Nothing brings them back.", n=self.n)
        self.text.setText(one if self.n == 1 else many)
        self.yes.setText(tr("Delete all"))
        self.no.setText(tr("Keep them"))


class DeleteAll(QWidget):
    """The button, and the question that takes its place. Emits `agreed` when the answer is yes."""

    agreed = Signal()

    def __init__(self, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.button = QPushButton(self)
        self.button.clicked.connect(self._ask)
        self.ask = _AskForAll(words, self)
        self.ask.no.clicked.connect(self._kept)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(GRID)
        box.addWidget(self.button)
        box.addWidget(self.ask)
        self.dress(tokens)
        self.retranslate()

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        """The controls in the order of the Tab key."""
        return (self.button, self.ask.no, self.ask.yes)

    def show_total(self, n: int) -> None:
        """How many conversations are kept; without any there is nothing to delete."""
        self.ask.n = n
        self.ask.retranslate()
        if n == 0:
            self.ask.dismiss()
            self.button.show()
        self.setVisible(n > 0)

    def _ask(self) -> None:
        self.button.hide()
        self.ask.ask_to_delete("", self._agreed)

    def _agreed(self) -> None:
        self.button.show()
        self.agreed.emit()

    def _kept(self) -> None:
        self.button.show()
        self.button.setFocus()

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self.button.setIcon(icons.icon("delete", tokens.text, 18))

    def retranslate(self) -> None:
        tr = self._words.tr
        self.button.setText(tr("Delete all…"))
        self.button.setAccessibleName(tr("Delete all conversations"))
        self.button.setToolTip(tr("Delete all conversations, after a question"))
        self.ask.retranslate()


class Eraser(QObject):
    """Does it in a job: through the engine where there is one, so that it forgets what it has open too."""

    erased = Signal()
    failed = Signal(object)  # KazeiaError

    def __init__(self, bridge: EngineBridge, jobs: Jobs, paths: Paths, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._jobs = jobs
        self._paths = paths

    @Slot()
    def erase(self) -> None:
        """Delete all; `erased` or `failed` tells."""
        self._jobs.run("delete-all", lambda *_: self._work(), lambda _: self.erased.emit(), self._failed)

    def _failed(self, error: KazeiaError) -> None:
        self.failed.emit(error)

    def _work(self) -> None:
        engine = self._bridge.engine
        memory = None if engine is None else engine.memory
        if engine is not None and memory is not None:
            grows = memory.current is not None
            memory.delete_all()
            if grows:
                engine.new_conversation()
            return
        from kazeia_desktop.memory.states import StateFiles

        StateFiles(self._paths.states_dir, 0).remove_all()
        damage: list[StorageError] = []
        store = ConversationStore(self._paths.conversations_file, damage.append)
        try:
            store.delete_all()
        finally:
            store.close()
        if damage:
            raise damage[0]
