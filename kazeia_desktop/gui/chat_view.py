"""The conversation while it happens, and what is seen before it begins."""

import itertools
from typing import Final

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QPushButton, QScrollArea, QVBoxLayout, QWidget

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.bubble import Bubble
from kazeia_desktop.gui.theme import GRID, TEXT_COLUMNS, Tokens
from kazeia_desktop.gui.transcript import Index, Speaker, Transcript
from kazeia_desktop.gui.welcome import Welcome
from kazeia_desktop.gui.words import Words

_SHOWN_AT_ONCE: Final = 200
"""Bubbles that exist; older messages come back by a button, so that a long day stays quick."""
_NEAR_END_PX: Final = 8


class ChatView(QScrollArea):
    """Shows a Transcript; follows its end unless the user has scrolled up."""

    def __init__(self, transcript: Transcript, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._transcript = transcript
        self._words = words
        self._tokens = tokens
        self.bubbles: list[Bubble] = []
        self._first_row = 0  # the transcript's row of the first bubble
        self._following = True
        self.setObjectName("chat")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

        self._content = QWidget()
        self._content.setObjectName("chatContent")
        self._column = QVBoxLayout(self._content)
        self._column.setSpacing(GRID + GRID // 2)
        self.earlier = QPushButton()
        self.earlier.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.earlier.clicked.connect(self._show_earlier)
        self.earlier.hide()
        self.welcome = Welcome(words, tokens)
        self._column.addWidget(self.earlier, 0, Qt.AlignmentFlag.AlignHCenter)
        self._column.addWidget(self.welcome, 1)
        self._column.addStretch(0)
        self.setWidget(self._content)
        self.to_end = QPushButton(self)
        self.to_end.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.to_end.clicked.connect(self.follow)
        self.to_end.hide()

        bar = self.verticalScrollBar()
        bar.rangeChanged.connect(lambda _low, high: bar.setValue(high) if self._following else self._place_button())
        bar.valueChanged.connect(self._scrolled)
        transcript.rowsInserted.connect(self._inserted)
        transcript.rowsRemoved.connect(self._removed)
        transcript.dataChanged.connect(self._changed)
        transcript.modelReset.connect(self._rebuild)
        self.dress(tokens)
        self.retranslate()

    # Theme and language

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        self.to_end.setIcon(icons.icon("down", tokens.text, 16))
        self.welcome.dress(tokens)
        for bubble in self.bubbles:
            bubble.dress(tokens)

    def retranslate(self) -> None:
        tr = self._words.tr
        self.setAccessibleName(tr("Conversation"))
        self.earlier.setText(tr("Show earlier messages"))
        self.to_end.setText(tr("To the latest"))
        self.welcome.retranslate()
        for bubble in self.bubbles:
            bubble.retranslate()
        self._place_button()

    # Following the end

    def follow(self) -> None:
        """Scroll to the end and stay there."""
        self._following = True
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())
        self._place_button()

    @property
    def following(self) -> bool:
        return self._following

    def _scrolled(self, value: int) -> None:
        self._following = value >= self.verticalScrollBar().maximum() - _NEAR_END_PX
        self._place_button()

    def _place_button(self) -> None:
        self.to_end.setVisible(not self._following)
        if not self._following:
            self.to_end.adjustSize()
            size = self.to_end.sizeHint()
            self.to_end.setGeometry(
                (self.viewport().width() - size.width()) // 2,
                self.viewport().height() - size.height() - GRID,
                size.width(),
                size.height(),
            )

    # The transcript changed

    def _inserted(self, _parent: QModelIndex, first: int, last: int) -> None:
        for row in range(first, last + 1):
            if self._transcript.message(row).speaker is Speaker.USER:
                self._following = True  # whoever asks wants to see the answer
            self._add(row, len(self.bubbles))
        self._show_welcome()
        if self._following:
            while len(self.bubbles) > _SHOWN_AT_ONCE:
                self._drop(0)
                self._first_row += 1
        self.earlier.setVisible(self._first_row > 0)
        self._place_button()

    def _removed(self, _parent: QModelIndex, first: int, last: int) -> None:
        for _ in range(first, last + 1):
            if first >= self._first_row:
                self._drop(first - self._first_row)
            else:
                self._first_row -= 1
        self._show_welcome()

    def _changed(self, top: Index, bottom: Index) -> None:
        for row in range(max(top.row(), self._first_row), bottom.row() + 1):
            self.bubbles[row - self._first_row].show_message()

    def _rebuild(self) -> None:
        while self.bubbles:
            self._drop(0)
        self._first_row = max(0, self._transcript.rowCount() - _SHOWN_AT_ONCE)
        for row in range(self._first_row, self._transcript.rowCount()):
            self._add(row, len(self.bubbles))
        self.earlier.setVisible(self._first_row > 0)
        self._show_welcome()

    def _show_earlier(self) -> None:
        bar = self.verticalScrollBar()
        from_end = bar.maximum() - bar.value()
        self._following = False
        for _ in range(min(self._first_row, _SHOWN_AT_ONCE)):
            self._first_row -= 1
            self._add(self._first_row, 0)
        self.earlier.setVisible(self._first_row > 0)
        self._column.activate()
        self._content.adjustSize()
        bar.setValue(bar.maximum() - from_end)

    def _add(self, row: int, at: int) -> None:
        message = self._transcript.message(row)
        bubble = Bubble(message, self._words, self._tokens, self._content)
        bubble.set_width(self._bubble_width())
        side = Qt.AlignmentFlag.AlignRight if message.speaker is Speaker.USER else Qt.AlignmentFlag.AlignLeft
        self.bubbles.insert(at, bubble)
        self._column.insertWidget(2 + at, bubble, 0, side)  # after "earlier" and the welcome
        bubble.show()
        before: QWidget = self.bubbles[at - 1].tab_order[-1] if at else self.earlier
        for first, second in itertools.pairwise((before, *bubble.tab_order)):
            QWidget.setTabOrder(first, second)

    def _drop(self, at: int) -> None:
        bubble = self.bubbles.pop(at)
        self._column.removeWidget(bubble)
        bubble.hide()
        bubble.deleteLater()

    def _show_welcome(self) -> None:
        empty = not self.bubbles
        self.welcome.setVisible(empty)
        self._column.setStretch(1, 1 if empty else 0)
        self._column.setStretch(self._column.count() - 1, 0 if empty else 1)

    # Geometry: one centred column of at most 72 characters

    def _column_width(self) -> int:
        measure = self.fontMetrics().averageCharWidth() * TEXT_COLUMNS + 6 * GRID
        return min(self.viewport().width() - 4 * GRID, measure + 8 * GRID)

    def _bubble_width(self) -> int:
        return max(160, self._column_width() - min(8 * GRID, self._column_width() // 8))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        side = max(2 * GRID, (self.viewport().width() - self._column_width()) // 2)
        self._column.setContentsMargins(side, 2 * GRID, side, 2 * GRID)
        for bubble in self.bubbles:
            bubble.set_width(self._bubble_width())
        self._place_button()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_C and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            QApplication.clipboard().setText(self.conversation_text())
        elif event.key() == Qt.Key.Key_Space:
            event.ignore()  # the window's: interrupts
        else:
            super().keyPressEvent(event)

    def conversation_text(self) -> str:
        """The whole conversation, one line a message."""
        tr = self._words.tr
        messages = (self._transcript.message(row) for row in range(self._transcript.rowCount()))
        return "\n".join(
            tr("{what}: {text}", what=tr("You") if m.speaker is Speaker.USER else "Kazeia", text=m.text)
            for m in messages
            if m.text
        )
