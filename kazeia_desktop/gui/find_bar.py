"""The bar that searches the conversation (Ctrl+F)."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QToolButton, QWidget

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.chat_view import ChatView
from kazeia_desktop.gui.message_search import MOST_FOUND, MessageSearch
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.transcript import Transcript
from kazeia_desktop.gui.words import Words

_WIDTH: Final = 400
_TYPING_MS: Final = 120
_GROWING_MS: Final = 400


class FindBar(QFrame):
    """Over the upper right corner of the conversation. Enter and Shift+Enter go to the next and previous place."""

    def __init__(self, chat: ChatView, transcript: Transcript, words: Words) -> None:
        super().__init__(chat)
        self._chat = chat
        self._transcript = transcript
        self._words = words
        self._places: list[tuple[int, int]] = []  # row and number, in reading order
        self._at = -1
        self._wanted_at: tuple[int, int] | None = None  # the place shown before what is said changed
        self.search = MessageSearch(transcript, self)
        self.search.changed.connect(self._found)
        self.setObjectName("kazeiaMessage")
        self.field = QLineEdit(self)
        self.field.installEventFilter(self)
        self.count = QLabel(self)
        self.count.setObjectName("quiet")
        self.previous = self._tool(lambda: self.step(-1))
        self.next = self._tool(lambda: self.step(1))
        self.close_button = self._tool(self.close_bar)
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID, GRID, GRID // 2, GRID)
        row.setSpacing(GRID // 2)
        row.addWidget(self.field, 1)
        row.addWidget(self.count)
        for button in (self.previous, self.next, self.close_button):
            row.addWidget(button)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.timeout.connect(self._look)
        self.field.textChanged.connect(lambda: self._typing.start(_TYPING_MS))
        for signal in (transcript.rowsInserted, transcript.rowsRemoved, transcript.dataChanged, transcript.modelReset):
            signal.connect(self._said)
        chat.installEventFilter(self)
        self.hide()

    def _tool(self, act: Callable[[], object]) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName("flat")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda: act())
        return button

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        for button, name in ((self.previous, "up"), (self.next, "down-small"), (self.close_button, "close")):
            button.setIcon(icons.icon(name, tokens.text, 16))

    def retranslate(self) -> None:
        tr = self._words.tr
        self.field.setPlaceholderText(tr("Search the conversation"))
        for widget, name in (
            (self.field, tr("Search the conversation")),
            (self.previous, tr("Previous place (Shift+Enter)")),
            (self.next, tr("Next place (Enter)")),
            (self.close_button, tr("Close the search (Escape)")),
        ):
            widget.setAccessibleName(name)
            if widget is not self.field:
                widget.setToolTip(name)
        self._show_count()

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        return (self.field, self.previous, self.next, self.close_button)

    def open_bar(self) -> None:
        """Show the bar, with what was searched last."""
        self.show()
        self.raise_()
        self._move()
        self._chat.set_top_room(self.height() + GRID)
        self.field.selectAll()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._look()

    def close_bar(self) -> None:
        """Hide the bar and every mark; the conversation stays where it is."""
        self._typing.stop()
        self.search.look_for("")
        self.hide()
        self._chat.set_top_room(0)
        self._chat.setFocus()

    def step(self, step: int) -> None:
        """The next place (1) or the previous one (-1), round the end."""
        if self._places:
            self._at = (self._at + step) % len(self._places)
            self._show_place()

    def _look(self) -> None:
        self._typing.stop()
        self._wanted_at = self._places[self._at] if 0 <= self._at < len(self._places) else None
        self._at = -1
        self.search.look_for(self.field.text())

    def _said(self) -> None:
        if self.isVisible() and self.field.text().strip() and not self._typing.isActive():
            self._typing.start(_GROWING_MS)

    def _found(self) -> None:
        marks = self.search.marks
        shown = self._places[self._at] if 0 <= self._at < len(self._places) else self._wanted_at
        self._places = [(row, n) for row in sorted(marks) for n in range(len(marks[row]))]
        if not self._places:
            self._at = -1
        elif shown in self._places:
            self._at = self._places.index(shown)
        elif self._wanted_at is None or self.search.done:
            self._at = len(self._places) - 1  # the newest
        if self._at >= 0 and self._places[self._at] != shown:
            self._wanted_at = None
            self._show_place()
        else:
            self._mark()
        self._show_count()

    def _mark(self) -> None:
        current = self._places[self._at] if 0 <= self._at < len(self._places) else (-1, -1)
        self._chat.set_marks(self.search.marks, current)

    def _show_place(self) -> None:
        self._mark()
        row, n = self._places[self._at]
        start, _ = self.search.marks[row][n]
        self._chat.reveal(row, start / max(1, len(self._transcript.message(row).text)))
        self._show_count()

    def _show_count(self) -> None:
        tr = self._words.tr
        if not self.field.text().strip():
            told = ""
        elif self._places:
            more = "+" if len(self._places) >= MOST_FOUND else ""
            told = tr("{number} of {total}", number=self._at + 1, total=f"{len(self._places)}{more}")
        else:
            told = tr("no match") if self.search.done else "…"
        self.count.setText(told)
        self.field.setAccessibleDescription(told)

    def _move(self) -> None:
        room = self._chat.width() - 4 * GRID
        width = min(_WIDTH, room)
        self.setGeometry(self._chat.width() - width - 2 * GRID, GRID, width, self.sizeHint().height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._chat and event.type() is QEvent.Type.Resize:
            self._move()
        elif watched is self.field and event.type() is QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                if self._typing.isActive():
                    self._look()
                else:
                    self.step(-1 if back else 1)
                return True
            if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
                self.step(-1 if event.key() == Qt.Key.Key_Up else 1)
                return True
        return super().eventFilter(watched, event)
