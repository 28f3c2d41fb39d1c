"""The note of what Kazeia should always know about the user: read, edit, save."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QToolButton, QVBoxLayout, QWidget

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.conversations.keeper import Keeper
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words
from kazeia_desktop.memory.facts import LIMIT


class FactsEditor(QWidget):
    """Edits the note; `done` when it is saved or left as it was."""

    done = Signal()

    def __init__(self, keeper: Keeper, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self._words = words
        self._kept = ""
        self.back = QToolButton(self)
        self.back.setObjectName("flat")
        self.back.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.back.clicked.connect(self.done)
        self.title = QLabel(self)
        self.title.setObjectName("section")
        self.help = QLabel(self)
        self.help.setObjectName("help")
        self.help.setWordWrap(True)
        self.text = QPlainTextEdit(self)
        self.text.setTabChangesFocus(True)
        self.text.textChanged.connect(self._show_length)
        self.length = QLabel(self)
        self.length.setObjectName("quiet")
        self.save = QPushButton(self)
        self.save.setObjectName("primary")
        self.save.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.save.clicked.connect(lambda: keeper.write_facts(self.text.toPlainText()))
        head = QHBoxLayout()
        head.setSpacing(GRID // 2)
        head.addWidget(self.back)
        head.addWidget(self.title, 1)
        foot = QHBoxLayout()
        foot.addWidget(self.length, 1)
        foot.addWidget(self.save)
        box = QVBoxLayout(self)
        box.setContentsMargins(GRID, GRID // 2, GRID, GRID)
        box.setSpacing(GRID)
        box.addLayout(head)
        box.addWidget(self.help)
        box.addWidget(self.text, 1)
        box.addLayout(foot)
        keeper.facts_read.connect(self._show)
        keeper.facts_written.connect(self._written)
        self.dress(tokens)
        self.retranslate()

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        """The controls in the order of the Tab key."""
        return (self.back, self.text, self.save)

    def prepare(self) -> None:
        """It is about to be seen: read the note."""
        self.text.setEnabled(False)
        self._keeper.read_facts()

    def _show(self, text: str) -> None:
        self._kept = text
        self.text.setPlainText(text)
        self.text.setEnabled(True)
        self.text.setFocus()
        self._show_length()

    def _written(self) -> None:
        self._kept = self.text.toPlainText().strip()
        self.done.emit()

    def _show_length(self) -> None:
        written = self.text.toPlainText().strip()
        n = len(written)
        self.length.setText(self._words.tr("{n} of {limit} characters", n=n, limit=LIMIT))
        self.save.setEnabled(self.text.isEnabled() and n <= LIMIT and written != self._kept)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self.back.setIcon(icons.icon("back", tokens.text, 20))

    def retranslate(self) -> None:
        tr = self._words.tr
        self.title.setText(tr("Note about you"))
        self.help.setText(
            tr("What Kazeia should always know: your name, your family, what you like. It stays on this machine.")
        )
        self.back.setToolTip(tr("Back to the conversations"))
        self.back.setAccessibleName(tr("Back to the conversations"))
        self.text.setAccessibleName(tr("Note about you"))
        self.text.setPlaceholderText(tr("For example: I live in Rennes. I like short answers."))
        self.save.setText(tr("Save"))
        self._show_length()
