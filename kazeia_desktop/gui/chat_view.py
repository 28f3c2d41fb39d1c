"""The conversation while it happens, and what is seen before it begins.

Thousands of messages, but only the bubbles in and around the window exist; they are given other messages as one
scrolls (docs/adr/0006). A row's height is estimated from its text until it was measured once; what is on the screen
stays where it is when heights become known.
"""

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Final

from PySide6.QtCore import QEvent, QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QPalette, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QPushButton, QScroller, QWidget

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.bubble import Bubble
from kazeia_desktop.gui.bubble_pool import BubblePool
from kazeia_desktop.gui.focus_ring import FocusRing
from kazeia_desktop.gui.message_heights import Heights
from kazeia_desktop.gui.message_markup import LINE_PX
from kazeia_desktop.gui.theme import GRID, NARROW_PX, TEXT_COLUMNS, Tokens
from kazeia_desktop.gui.transcript import Index, Message, Speaker, Transcript
from kazeia_desktop.gui.welcome import Welcome
from kazeia_desktop.gui.words import Words

_NEAR_END_PX: Final = 8
_MARGIN: Final = 2 * GRID
_GAP: Final = GRID + GRID // 2
_BEYOND_PX: Final = 160
"""Bubbles exist so far outside of what is seen: the Tab key finds the next one, a wheel's step needs no new one."""
_AROUND_PX: Final = 52
"""Height of a bubble beside its lines, for the estimate."""
_CHIPS_PX: Final = 26
_DRAW_S: Final = 0.033
"""A reply that grows is drawn at most so often, and takes at most a sixth of the time."""


class ChatView(QAbstractScrollArea):
    """Shows a Transcript; follows its end unless the user has scrolled up."""

    menu_wanted = Signal(int, object)  # row, QPoint (global)
    edited = Signal(int, str)  # row, what the user wants to have said
    pointed = Signal(object, bool)  # Bubble; whether the mouse came or left
    moved = Signal()  # bubbles are elsewhere
    dressed = Signal(object)  # Tokens
    retranslated = Signal()

    def __init__(self, transcript: Transcript, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._transcript = transcript
        self._words = words
        self._tokens = tokens
        self._shown: dict[int, Bubble] = {}  # row -> its bubble
        self._heights = Heights()
        self._measured = bytearray()
        self._widths = (0, False)  # of bubbles, whether for fingers
        self._columns = 60  # characters in a line, about
        self._following = True
        self._anchor = (0, 0)  # a row, and where its top is in the viewport
        self._placing = False
        self._chained: list[QWidget] = []
        self._marks: Mapping[int, tuple[tuple[int, int], ...]] = {}
        self._mark = (-1, -1)  # row and number of the mark that is shown
        self._stale: set[int] = set()
        self._drawn_s = self._draw_cost_s = 0.0
        self.setObjectName("chat")
        self.setFrameShape(self.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setObjectName("chatContent")
        self.viewport().setBackgroundRole(QPalette.ColorRole.Window)  # a style sheet does not reach a viewport
        QScroller.grabGesture(self.viewport(), QScroller.ScrollerGestureType.TouchGesture)

        self.welcome = Welcome(words, tokens)
        self.welcome.setParent(self.viewport())
        FocusRing(self)
        self.to_end = QPushButton(self.viewport())
        self.to_end.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.to_end.clicked.connect(self.follow)
        self.to_end.hide()
        self._pool = BubblePool(self, words, tokens, lambda: self._shown.values(), self._join)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self._draw_stale)
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(0)
        self._again.timeout.connect(self._remeasure)

        self.verticalScrollBar().setSingleStep(2 * LINE_PX)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        transcript.rowsInserted.connect(self._inserted)
        transcript.rowsRemoved.connect(self._removed)
        transcript.dataChanged.connect(self._changed)
        transcript.modelReset.connect(self._rebuild)
        transcript.asked.connect(self.follow)
        for keys, step in (("Ctrl+Up", -1), ("Ctrl+Down", 1)):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(lambda step=step: self._step(step))
        self.dress(tokens)
        self.retranslate()

    # Theme and language

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        self.to_end.setIcon(icons.icon("down", tokens.text, 16))
        self.welcome.dress(tokens)
        self._pool.dress(tokens)
        self.dressed.emit(tokens)

    def retranslate(self) -> None:
        tr = self._words.tr
        self.setAccessibleName(tr("Conversation"))
        self.to_end.setText(tr("To the latest"))
        self.welcome.retranslate()
        self._pool.retranslate()
        self._again.start()
        self.retranslated.emit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.StyleChange, QEvent.Type.FontChange):
            self._again.start()

    # What exists

    @property
    def bubbles(self) -> list[Bubble]:
        """The bubbles that exist, in the order of their messages."""
        return [self._shown[row] for row in sorted(self._shown)]

    def bubble_at(self, row: int) -> Bubble | None:
        """The bubble of a row, while it exists."""
        return self._shown.get(row)

    def row_of(self, bubble: Bubble) -> int | None:
        """The row whose message the bubble draws; None: it draws none, or one that is just being removed."""
        row = next((row for row, one in self._shown.items() if one is bubble), None)
        return None if row is None or row >= self._transcript.rowCount() else row

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        """What the Tab key reaches after the view itself; bubbles come between."""
        return (self.to_end,)

    # Following the end

    def follow(self) -> None:
        """Scroll to the end and stay there."""
        self._following = True
        self._place()

    @property
    def following(self) -> bool:
        return self._following

    def reveal(self, row: int, part: float = 0.0) -> None:
        """Scroll so that a row is seen; of a row that is higher than the window, the place at `part` (0..1) of it."""
        view = self.viewport().height()
        self._following = False
        self._anchor = (row, view // 3)
        self._place()
        height = self._heights[row] - _GAP
        top = view // 3 if height * part < view // 2 else round(view // 2 - height * part)
        bubble = self._shown.get(row)
        if part or bubble is None or bubble.y() < 0 or bubble.geometry().bottom() > view:
            self._anchor = (row, top)
            self._place()
        self._take_following()

    def _scrolled(self, value: int) -> None:
        if self._placing:
            return
        self._following = value >= self.verticalScrollBar().maximum() - _NEAR_END_PX
        seen = (row for row in sorted(self._shown) if self._top(row) + self._heights[row] > value)
        row = next(seen, None)
        if row is None or self._top(row) > value + self.viewport().height():
            row = self._heights.row_at(value - _MARGIN)
        self._anchor = (row, self._top(row) - value)
        self._place()

    def _take_following(self) -> None:
        bar = self.verticalScrollBar()
        self._following = bar.value() >= bar.maximum() - _NEAR_END_PX
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
            self.to_end.raise_()

    # The transcript changed

    def _inserted(self, _parent: QModelIndex, first: int, last: int) -> None:
        for row in range(first, last + 1):
            self._heights.append(self._estimate(self._transcript.message(row)))
            self._measured.append(False)
        self._place()

    def _removed(self, _parent: QModelIndex, first: int, last: int) -> None:
        self._placing = True  # what loses the keyboard or its editor must not ask for rows that are gone
        if (focused := self.focused_row()) is not None and first <= focused <= last:
            self.setFocus()
        for row in [row for row in self._shown if first <= row <= last]:
            self._pool.give_back(self._shown.pop(row))
        n = last - first + 1
        self._shown = {row - n if row > last else row: bubble for row, bubble in self._shown.items()}
        self._stale = {row - n if row > last else row for row in self._stale if not first <= row <= last}
        self._heights.remove(first, last)
        del self._measured[first : last + 1]
        row, top = self._anchor
        self._anchor = (row - n if row > last else min(row, max(0, first - 1)), top)
        self.set_marks({}, (-1, -1))
        self._placing = False
        self._place()

    def _changed(self, top: Index, bottom: Index) -> None:
        now_s = time.perf_counter()
        wait_s = max(_DRAW_S, 6 * self._draw_cost_s) - (now_s - self._drawn_s)
        for row in range(top.row(), bottom.row() + 1):
            message = self._transcript.message(row)
            if row not in self._shown:
                self._heights.set(row, self._estimate(message))
                self._measured[row] = False
            else:
                self._stale.add(row)
                if message.ended:
                    wait_s = 0.0
        if not self._stale:
            self._place()
        elif wait_s <= 0:
            self._draw_stale()
        elif not self._later.isActive():
            self._later.start(round(1000 * wait_s) + 1)

    def _draw_stale(self) -> None:
        self._later.stop()
        started_s = time.perf_counter()
        stale, self._stale = self._stale, set()
        for row in stale:
            bubble = self._shown.get(row)
            if bubble is not None:
                bubble.show_message()
                self._measured[row] = False
        self._place()
        self._drawn_s = time.perf_counter()
        self._draw_cost_s = self._drawn_s - started_s

    def _rebuild(self) -> None:
        self._placing = True
        if self.focused_row() is not None:
            self.setFocus()
        gone, self._shown = self._shown, {}  # hiding one brings the mouse to the next: none has a row any more
        for bubble in gone.values():
            self._pool.give_back(bubble)
        self._stale.clear()
        self._marks, self._mark = {}, (-1, -1)
        self._following = True
        self._estimate_all()
        self._placing = False
        self._place()

    # Geometry: one centred column of at most 72 characters

    def _column_width(self) -> int:
        measure = self.fontMetrics().averageCharWidth() * TEXT_COLUMNS + 6 * GRID
        return min(self.viewport().width() - 4 * GRID, measure + 8 * GRID)

    def _bubble_width(self) -> int:
        return max(160, self._column_width() - min(8 * GRID, self._column_width() // 8))

    def _estimate(self, message: Message) -> int:
        lines = 1 + len(message.text) // self._columns + message.text.count("\n")
        return _GAP + _AROUND_PX + lines * LINE_PX + (_CHIPS_PX if message.metrics else 0)

    def _estimate_all(self) -> None:
        """As `_estimate` for every row, in a few ms for thousands."""
        columns = self._columns = max(12, (self._widths[0] - 70) // max(1, self.fontMetrics().averageCharWidth()))
        beside = _GAP + _AROUND_PX + LINE_PX
        self._heights.reset(
            beside + LINE_PX * (len(one.text) // columns + one.text.count("\n")) + (_CHIPS_PX if one.metrics else 0)
            for one in self._transcript.messages
        )
        self._measured = bytearray(len(self._heights))

    def _remeasure(self) -> None:
        """Another style, width or language: nothing that was measured still counts."""
        self._widths = (self._bubble_width(), self.window().width() < NARROW_PX)
        self._estimate_all()
        for bubble in self._shown.values():
            bubble.set_width(*self._widths)
            bubble.show_message()
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        widths = (self._bubble_width(), self.window().width() < NARROW_PX)
        self.welcome.setGeometry(self.viewport().rect())
        if widths[1] != self._widths[1] and self._widths[0]:
            self._again.start()  # the window is being styled anew: not both in one go
            return
        if widths != self._widths:
            self._widths = widths
            self._estimate_all()
        self._place()

    def _top(self, row: int) -> int:
        """Where a row begins in the whole conversation."""
        return _MARGIN + self._heights.top(row)

    def _place(self) -> None:
        """Make and measure the bubbles that are seen, and put each where it belongs."""
        if self._placing or self._widths[0] == 0:
            return
        self._placing = True
        try:
            n = len(self._heights)
            self.welcome.setVisible(n == 0)
            value = self._settle(n)
            self._put(value)
        finally:
            self._placing = False
        self._place_button()
        self.moved.emit()

    def _settle(self, n: int) -> int:
        """Measure until the heights of all that is seen are known; the value of the scroll bar."""
        view, bar = self.viewport().height(), self.verticalScrollBar()
        while True:
            most = max(0, 2 * _MARGIN - _GAP + self._heights.total - view) if n else 0
            row, top = self._anchor
            value = most if self._following or not n else max(0, min(most, self._top(min(row, n - 1)) - top))
            wanted = self._rows_around(value, view) if n else range(0)
            for gone in [row for row in self._shown if row not in wanted and not self._shown[row].busy]:
                self._pool.give_back(self._shown.pop(gone))
            if not self._measure(wanted):
                break
        bar.setPageStep(view)
        bar.setRange(0, most)
        bar.setValue(value)
        return value

    def _rows_around(self, value: int, view: int) -> range:
        first = self._heights.row_at(value - _BEYOND_PX - _MARGIN)
        last = self._heights.row_at(value + view + _BEYOND_PX - _MARGIN)
        return range(first, last + 1)

    def _measure(self, rows: range) -> bool:
        """Whether a height was not as thought."""
        changed = False
        for row in rows:
            bubble = self._shown.get(row)
            if bubble is None:
                bubble = self._shown[row] = self._pool.take(self._transcript.message(row), self._widths)
                bubble.set_marks(*self._marks_of(row))
                self._measured[row] = False
            if not self._measured[row]:
                bubble.set_width(*self._widths)
                height = bubble.height() + _GAP
                changed = changed or height != self._heights[row]
                self._heights.set(row, height)
                self._measured[row] = True
        return changed

    def _put(self, value: int) -> None:
        width = self._column_width()
        side = max(2 * GRID, (self.viewport().width() - width) // 2)
        view = self.viewport().height()
        for row, bubble in self._shown.items():
            user = bubble.message.speaker is Speaker.USER
            x = side + width - bubble.width() if user else side
            y = max(-bubble.height() - view, min(2 * view, self._top(row) - value))
            bubble.move(x, y)
            if bubble.isHidden():
                bubble.show()
        self._chain()

    def _chain(self) -> None:
        """The Tab key goes from message to message."""
        order = [widget for bubble in self.bubbles for widget in bubble.tab_order]
        if order != self._chained:
            self._chained = order
            for first, second in itertools.pairwise((self, *order, self.to_end)):
                QWidget.setTabOrder(first, second)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._pool.fill(self._widths)

    def _join(self, bubble: Bubble) -> None:
        """A bubble is new: hear of what is done with it."""
        bubble.menu_wanted.connect(lambda place: self._of(bubble, lambda row: self.menu_wanted.emit(row, place)))
        bubble.edited.connect(lambda text: self._of(bubble, lambda row: self.edited.emit(row, text)))
        bubble.resized.connect(lambda: self._of(bubble, self._resized))
        bubble.pointed.connect(lambda there: self.pointed.emit(bubble, there))

    def _of(self, bubble: Bubble, act: Callable[[int], object]) -> None:
        row = self.row_of(bubble)
        if row is not None:
            act(row)

    def _resized(self, row: int) -> None:
        self._measured[row] = False
        if self._following:  # what was opened stays where the user looks
            self._following = False
            self._anchor = (row, self._top(row) - self.verticalScrollBar().value())
            self._place()
            self._take_following()
        else:
            self._place()

    # Searching

    def set_top_room(self, px: int) -> None:
        """Leave so many px above the conversation to the search."""
        self.setViewportMargins(0, px, 0, 0)

    def set_marks(self, marks: Mapping[int, tuple[tuple[int, int], ...]], current: tuple[int, int]) -> None:
        """Places that were searched: row -> (start, end) of each; current: row and number of the one that is shown."""
        self._marks, self._mark = marks, current
        for row, bubble in self._shown.items():
            bubble.set_marks(*self._marks_of(row))

    def _marks_of(self, row: int) -> tuple[tuple[tuple[int, int], ...], int]:
        return self._marks.get(row, ()), self._mark[1] if row == self._mark[0] else -1

    # Keyboard

    def focused_row(self) -> int | None:
        """The row whose bubble has the keyboard."""
        focus = QApplication.focusWidget()
        for row, bubble in self._shown.items():
            if focus is not None and (bubble is focus or bubble.isAncestorOf(focus)):
                return row
        return None

    def _step(self, step: int) -> None:
        """Ctrl+Up, Ctrl+Down: the message before or after."""
        n, row = self._transcript.rowCount(), self.focused_row()
        if not n:
            return
        if row is None:
            value = self.verticalScrollBar().value() + self.viewport().height() - _MARGIN
            row = self._heights.row_at(value - _MARGIN)
        else:
            row = max(0, min(n - 1, row + step))
        self.reveal(row)
        bubble = self._shown[row]
        (bubble.editor.field if bubble.editor is not None else bubble.text).setFocus(Qt.FocusReason.TabFocusReason)

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab: what gets the keyboard is scrolled into view."""
        moved = super().focusNextPrevChild(next)
        row = self.focused_row()
        if row is not None and not self._placing:
            self.reveal(row)
        return moved

    def keyPressEvent(self, event: QKeyEvent) -> None:
        bar = self.verticalScrollBar()
        if event.key() == Qt.Key.Key_C and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            QApplication.clipboard().setText(self.conversation_text())
        elif event.key() == Qt.Key.Key_Space:
            event.ignore()  # the window's: interrupts
        elif event.key() == Qt.Key.Key_Home:
            bar.setValue(0)
        elif event.key() == Qt.Key.Key_End:
            self.follow()
        elif event.key() == Qt.Key.Key_Menu and self._transcript.rowCount() and self.focused_row() is None:
            self._step(0)
            row = self.focused_row()
            if row is not None:
                bubble = self._shown[row]
                self.menu_wanted.emit(row, bubble.more.mapToGlobal(bubble.more.rect().bottomLeft()))
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
