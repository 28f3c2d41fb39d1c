"""One editor a type of setting. All speak the same way: `value`, `show_value`, `edited`."""

import math
from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QLocale, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPalette, QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QPlainTextEdit, QToolButton, QWidget

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.engine import Choice
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words

Value = str | int | float | bool

SMALLEST_STEP: Final = 0.001
"""Numbers are edited with three decimals."""
_ARROW: Final = 16
_PAUSE_MS: Final = 800
"""A long text is taken over when typing pauses."""


class Editor(QObject):
    """Base: `widget` edits a value and emits `edited` when the user has changed it."""

    edited = Signal()
    opened = Signal()  # what can be chosen is about to be seen
    hinted = Signal(str)  # what to do now, in the place of the help; "" for the help

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.widget = widget

    def value(self) -> Value:
        """As the user left it; perhaps not valid."""
        raise NotImplementedError

    def show_value(self, value: Value) -> None:
        """Without `edited`."""
        raise NotImplementedError

    @property
    def extras(self) -> Sequence[QToolButton]:
        """Buttons that stand beside the widget."""
        return ()

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""

    def retranslate(self, words: Words, title: str) -> None:
        """Numbers and names in the current language; title: of the setting."""

    def set_choices(self, choices: Sequence[Choice]) -> None:
        """What can be chosen, where something can."""


class SwitchEditor(Editor):
    """A check box."""

    def __init__(self) -> None:
        self.box = QCheckBox()
        super().__init__(self.box)
        self.box.clicked.connect(lambda _: self.edited.emit())

    def retranslate(self, words: Words, title: str) -> None:
        self.box.setText(words.tr("on"))

    def value(self) -> bool:
        return self.box.isChecked()

    def show_value(self, value: Value) -> None:
        self.box.setChecked(bool(value))


class _NumberField(QLineEdit):
    """Takes anything that is typed, so that what does not fit can be explained; the arrows stay in range."""

    stepped = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1, Qt.Key.Key_PageUp: 10, Qt.Key.Key_PageDown: -10}
        step = steps.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self.stepped.emit(step)


class NumberEditor(Editor):
    """A number with buttons for less and more. whole: only integers."""

    def __init__(self, low: float, high: float, whole: bool) -> None:
        self.field = _NumberField()
        self.field.setMinimumWidth(64)
        super().__init__(self.field)
        self._low, self._high, self.whole = low, high, whole
        span = high - low
        self._step = (1 if span <= 1000 else 10 if span <= 5000 else 256) if whole else 0.05
        self._locale = QLocale.c()
        self._last: int | float = 0
        self.field.editingFinished.connect(self._finished)
        self.field.stepped.connect(self._step_by)
        self.less, self.more = self._stepper(-1), self._stepper(1)

    def _stepper(self, step: int) -> QToolButton:
        button = QToolButton()
        button.setAutoRepeat(True)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the arrow keys do the same in the field
        button.clicked.connect(lambda: self._step_by(step))
        return button

    @property
    def extras(self) -> Sequence[QToolButton]:
        return (self.less, self.more)

    def dress(self, tokens: Tokens) -> None:
        self.less.setIcon(icons.icon("minus", tokens.text, _ARROW))
        self.more.setIcon(icons.icon("plus", tokens.text, _ARROW))

    def retranslate(self, words: Words, title: str) -> None:
        kept = self.value()
        self._locale = words.locale
        if not isinstance(kept, str):
            self.field.setText(self._written(kept))
        for button, told in (
            (self.less, words.tr("Less: {title}", title=title)),
            (self.more, words.tr("More: {title}", title=title)),
        ):
            button.setAccessibleName(told)
            button.setToolTip(told)

    def value(self) -> int | float | str:
        """What was typed, as a number where it is one. A comma and a point are both decimal signs."""
        text = self.field.text().strip()
        try:
            number = float(text.replace(",", ".").replace("\u2212", "-"))
        except ValueError:
            return text
        if not math.isfinite(number):
            return text
        return int(number) if self.whole and number == int(number) else number

    def show_value(self, value: Value) -> None:
        self._last = float(value) if not self.whole else int(value)
        if self.value() != self._last:
            self.field.setText(self._written(self._last))

    def _written(self, number: int | float) -> str:
        return self._locale.toString(float(number), "g", 10)

    def _finished(self) -> None:
        if self.value() != self._last:
            self.edited.emit()

    def _step_by(self, steps: int) -> None:
        value = self.value()
        start = self._last if isinstance(value, str) else value
        moved = round(start + steps * self._step, 3)
        self.field.setText(self._written(min(self._high, max(self._low, moved))))
        self.edited.emit()


class _Combo(QComboBox):
    """Draws its own arrow: a style sheet cannot tint one."""

    opened = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)

    def showPopup(self) -> None:
        super().showPopup()
        self.opened.emit()

    def fit_popup(self) -> None:
        """The list has changed while it is seen: give it the room it needs now."""
        if self.view().isVisible():
            super().showPopup()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        color = self.palette().color(QPalette.ColorRole.ButtonText).name()
        painter = QPainter(self)
        icons.icon("chevron", color, _ARROW).paint(
            painter, self.width() - _ARROW - GRID, (self.height() - _ARROW) // 2, _ARROW, _ARROW
        )


class ChoiceEditor(Editor):
    """A list to choose from; open: a value of one's own can be typed (a path)."""

    def __init__(self, open_to_text: bool = False) -> None:
        self.combo = _Combo()
        super().__init__(self.combo)
        self._choices: tuple[Choice, ...] = ()
        self.combo.setEditable(open_to_text)
        self.combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.combo.activated.connect(lambda _: self.edited.emit())
        self.combo.opened.connect(self.opened)
        line = self.combo.lineEdit()
        if line is not None:
            line.editingFinished.connect(self.edited.emit)

    def value(self) -> str:
        if self.combo.isEditable():
            text = self.combo.currentText().strip()
            return next((c.value for c in self._choices if c.title == text), text)
        return str(self.combo.currentData() or "")

    def show_value(self, value: Value) -> None:
        self._fill(str(value))

    def set_choices(self, choices: Sequence[Choice]) -> None:
        if tuple(choices) == self._choices and self.combo.count():
            return  # an open list keeps its place
        current = self.value()
        self._choices = tuple(choices)
        self._fill(current)
        self.combo.fit_popup()

    def _fill(self, current: str) -> None:
        known = any(c.value == current for c in self._choices)
        shown = self._choices if known else (Choice(current, current), *self._choices)
        blocked = self.combo.blockSignals(True)
        self.combo.clear()
        for choice in shown:
            self.combo.addItem(choice.title, choice.value)
        self.combo.setCurrentIndex(next(i for i, c in enumerate(shown) if c.value == current))
        self.combo.blockSignals(blocked)


class _Text(QPlainTextEdit):
    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setTabChangesFocus(True)
        self.setFixedHeight(110)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.left.emit()


class TextEditor(Editor):
    """Several lines."""

    def __init__(self) -> None:
        self.text = _Text()
        super().__init__(self.text)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(self.edited)
        self.text.textChanged.connect(self._pause.start)
        self.text.left.connect(self._leave)

    def _leave(self) -> None:
        if self._pause.isActive():
            self._pause.stop()
            self.edited.emit()

    def value(self) -> str:
        return self.text.toPlainText()

    def show_value(self, value: Value) -> None:
        if str(value) != self.text.toPlainText():
            blocked = self.text.blockSignals(True)
            self.text.setPlainText(str(value))
            self.text.blockSignals(blocked)
