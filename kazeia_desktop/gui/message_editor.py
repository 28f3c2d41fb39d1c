"""What the user said, to be written anew in its own bubble."""

from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from kazeia_desktop.gui.theme import GRID
from kazeia_desktop.gui.words import Words

_FEWEST_LINES: Final = 2
_MOST_LINES: Final = 10


class MessageEditor(QWidget):
    """A field with what happens to the answers after it, and two buttons. Enter sends, Shift+Enter begins a line."""

    sent = Signal(str)
    cancelled = Signal()
    grown = Signal()  # another height is needed

    def __init__(self, text: str, words: Words, parent: QWidget) -> None:
        super().__init__(parent)
        self._words = words
        self.field = QPlainTextEdit(text, self)
        self.field.setTabChangesFocus(True)
        self.field.installEventFilter(self)
        self.field.moveCursor(self.field.textCursor().MoveOperation.End)
        self.note = QLabel(self)
        self.note.setObjectName("quiet")
        self.note.setWordWrap(True)
        self.cancel = QPushButton(self)
        self.cancel.clicked.connect(self.cancelled)
        self.send = QPushButton(self)
        self.send.setObjectName("primary")
        self.send.clicked.connect(self._send)
        buttons = QHBoxLayout()
        buttons.setSpacing(GRID)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.send)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 2, 0, 0)
        column.setSpacing(GRID)
        column.addWidget(self.field)
        column.addWidget(self.note)
        column.addLayout(buttons)
        self.field.textChanged.connect(self._changed)
        self.retranslate()
        self._changed()

    def retranslate(self) -> None:
        tr = self._words.tr
        self.field.setAccessibleName(tr("Write the message anew"))
        self.note.setText(tr("Kazeia answers anew; what came after is forgotten."))
        self.field.setAccessibleDescription(self.note.text())
        self.cancel.setText(tr("Cancel"))
        self.send.setText(tr("Send anew"))

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        return (self.field, self.cancel, self.send)

    def set_width(self, width: int) -> None:
        """Take so many px."""
        self.setFixedWidth(width)
        self.note.setFixedWidth(width)
        self.note.setFixedHeight(self.note.heightForWidth(width))
        line = self.field.fontMetrics().lineSpacing()
        room = max(1, width - 4 * GRID) // max(1, self.field.fontMetrics().averageCharWidth())
        lines = sum(1 + len(part) // room for part in self.field.toPlainText().split("\n"))
        self.field.setFixedHeight(min(max(lines, _FEWEST_LINES), _MOST_LINES) * line + 3 * GRID)

    def _changed(self) -> None:
        self.send.setEnabled(bool(self.field.toPlainText().strip()))
        before = self.field.height()
        if self.width() > 0 and self.isVisible():
            self.set_width(self.width())
            if self.field.height() != before:
                self.grown.emit()

    def _send(self) -> None:
        text = self.field.toPlainText().strip()
        if text:
            self.sent.emit(text)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.field and isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
            if enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self._send()
                return True
        return super().eventFilter(watched, event)
