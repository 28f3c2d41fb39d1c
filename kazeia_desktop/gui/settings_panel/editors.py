"""One editor a type of setting. All speak the same way: `value`, `show_value`, `edited`."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QLocale, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QValidator, QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QPlainTextEdit, QWidget

from kazeia_desktop.gui.bridge import Choice

Value = str | int | float | bool

SMALLEST_STEP: Final = 0.001
"""Numbers are edited with three decimals."""
_PAUSE_MS: Final = 800
"""A long text is taken over when typing pauses."""


class Editor(QObject):
    """Base: `widget` edits a value and emits `edited` when the user has changed it."""

    edited = Signal()

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.widget = widget

    def value(self) -> Value:
        """As the user left it; perhaps not valid."""
        raise NotImplementedError

    def show_value(self, value: Value) -> None:
        """Without `edited`."""
        raise NotImplementedError

    def set_locale(self, locale: QLocale) -> None:
        """How numbers are written."""

    def set_choices(self, choices: Sequence[Choice]) -> None:
        """What can be chosen, where something can."""


class SwitchEditor(Editor):
    """A check box."""

    def __init__(self) -> None:
        self.box = QCheckBox()
        super().__init__(self.box)
        self.box.clicked.connect(lambda _: self.edited.emit())

    def value(self) -> bool:
        return self.box.isChecked()

    def show_value(self, value: Value) -> None:
        self.box.setChecked(bool(value))


class _Spin(QDoubleSpinBox):
    """Takes any number that is typed, so that one out of range can be explained; the arrows stay in range."""

    def __init__(self, low: float, high: float, decimals: int) -> None:
        super().__init__()
        self._low, self._high = low, high
        self.setDecimals(decimals)
        self.setRange(-1e12, 1e12)
        self.setKeyboardTracking(False)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def stepBy(self, steps: int) -> None:
        self.setValue(min(self._high, max(self._low, self.value() + steps * self.singleStep())))

    def stepEnabled(self) -> QDoubleSpinBox.StepEnabledFlag:
        flags = QDoubleSpinBox.StepEnabledFlag.StepNone
        if self.value() > self._low:
            flags |= QDoubleSpinBox.StepEnabledFlag.StepDownEnabled
        if self.value() < self._high:
            flags |= QDoubleSpinBox.StepEnabledFlag.StepUpEnabled
        return flags

    def textFromValue(self, value: float) -> str:
        """Without zeros that say nothing: 0,5 instead of 0,50."""
        text = super().textFromValue(value)
        point = self.locale().decimalPoint()
        return text.rstrip("0").rstrip(point) if point in text else text

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """A comma and a point are both decimal signs."""
        point = self.locale().decimalPoint()
        text = text.replace("." if point == "," else ",", point)
        state, fixed, at = super().validate(text, position)
        return state, fixed, at

    def valueFromText(self, text: str) -> float:
        point = self.locale().decimalPoint()
        return super().valueFromText(text.replace("." if point == "," else ",", point))

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # scrolls the panel; nobody wants to change a setting by passing over it


class NumberEditor(Editor):
    """A number with arrows. whole: only integers."""

    def __init__(self, low: float, high: float, whole: bool) -> None:
        self.spin = _Spin(low, high, 0 if whole else 3)
        super().__init__(self.spin)
        self._whole = whole
        span = high - low
        self.spin.setSingleStep((1 if span <= 1000 else 10 if span <= 5000 else 256) if whole else 0.05)
        self.spin.valueChanged.connect(lambda _: self.edited.emit())

    def value(self) -> int | float:
        return round(self.spin.value()) if self._whole else round(self.spin.value(), 3)

    def show_value(self, value: Value) -> None:
        if float(value) != self.spin.value():
            blocked = self.spin.blockSignals(True)
            self.spin.setValue(float(value))
            self.spin.blockSignals(blocked)

    def set_locale(self, locale: QLocale) -> None:
        self.spin.setLocale(locale)


class _Combo(QComboBox):
    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class ChoiceEditor(Editor):
    """A list to choose from; open: a value of one's own can be typed (a path)."""

    def __init__(self, open_to_text: bool = False) -> None:
        self.combo = _Combo()
        super().__init__(self.combo)
        self._choices: tuple[Choice, ...] = ()
        self.combo.setEditable(open_to_text)
        self.combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.combo.activated.connect(lambda _: self.edited.emit())
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
        current = self.value()
        self._choices = tuple(choices)
        self._fill(current)

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
