"""One setting: its title, its editor made after its type, its help, and what is wrong with what was typed."""

import typing
from collections.abc import Sequence

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo
from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.gui import icons
from kazeia_desktop.gui.engine import Choice
from kazeia_desktop.gui.settings_panel.editors import (
    SMALLEST_STEP,
    ChoiceEditor,
    Editor,
    NumberEditor,
    SwitchEditor,
    TextEditor,
    Value,
)  # fmt: skip
from kazeia_desktop.gui.settings_panel.keys_editor import KeysEditor, is_keys
from kazeia_desktop.gui.settings_panel.labels import apply_words, literal_choice, unit_words
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words
from kazeia_desktop.settings.schema import shown_of

_OPEN_CHOICES = ("stt_models", "llm_models")
"""Where a path may stand instead of a name."""
_UNBOUNDED = 1e6
"""A larger bound is there for the computer's sake."""


class SettingField(QWidget):
    """Edits one field of the schema."""

    changed = Signal(str, object)  # key, value as the user left it
    choices_wanted = Signal(str)  # the list of that kind is being opened

    def __init__(self, key: str, info: FieldInfo, value: Value, words: Words, tokens: Tokens) -> None:
        super().__init__()
        self.key = key
        self._words = words
        self._shown = shown_of(info)
        self._default: Value = info.default
        self._literals: tuple[str, ...] = _literals(info)
        self.low, self.high = _range(info)
        self._found: tuple[Choice, ...] | None = None
        self._error: SettingsError | None = None
        self.editor = self._make_editor(info)

        self.title = QLabel(self)
        self.title.setWordWrap(True)
        self.title.setBuddy(self.editor.widget)
        self.badge = QLabel(self)
        self.badge.setObjectName("badge")
        self.reset = QToolButton(self)
        self.reset.setObjectName("chip")
        self.reset.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.reset.clicked.connect(self._reset)
        keep = self.reset.sizePolicy()
        keep.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(keep)
        self.unit = QLabel(self)
        self.unit.setObjectName("quiet")
        self.unit.setVisible(bool(self._shown.unit))
        self.help = QLabel(self)
        self.help.setObjectName("help")
        self.help.setWordWrap(True)
        self.wrong = QLabel(self)
        self.wrong.setObjectName("fieldError")
        self.wrong.setWordWrap(True)
        self.wrong.hide()

        head = QHBoxLayout()
        head.setSpacing(GRID // 2)
        head.addWidget(self.title, 1)
        head.addWidget(self.badge, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom)
        edit = QHBoxLayout()
        edit.setSpacing(GRID - 2)
        edit.addWidget(self.editor.widget, 1)
        edit.addWidget(self.unit)
        for button in self.editor.extras:
            edit.addWidget(button)
        edit.addWidget(self.reset)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, GRID)
        box.setSpacing(GRID // 2)
        box.addLayout(head)
        box.addLayout(edit)
        box.addWidget(self.wrong)
        box.addWidget(self.help)
        self._hint = ""
        self.editor.hinted.connect(self._take_hint)
        self.editor.edited.connect(lambda: self.changed.emit(self.key, self.editor.value()))
        if self.choices_from:
            self.editor.opened.connect(lambda: self.choices_wanted.emit(self.choices_from))
        self.dress(tokens)
        self.retranslate()
        self.show_value(value)

    @property
    def choices_from(self) -> str:
        """Which list of the machine it offers; "" for none."""
        return self._shown.choices_from

    def _make_editor(self, info: FieldInfo) -> Editor:
        kind = info.annotation
        if is_keys(self.key):
            return KeysEditor(self._words)
        if kind is bool:
            return SwitchEditor()
        if kind in (int, float):
            return NumberEditor(self.low, self.high, whole=kind is int)
        if self._literals:
            return ChoiceEditor()
        if self._shown.choices_from:
            return ChoiceEditor(open_to_text=self._shown.choices_from in _OPEN_CHOICES)
        return TextEditor()

    def show_value(self, value: Value) -> None:
        """The value that counts now; clears what was wrong."""
        with QSignalBlocker(self.editor):
            self.editor.show_value(value)
        self.reset.setVisible(value != self._default)
        self.show_error(None)

    def set_choices(self, found: Sequence[Choice]) -> None:
        """What is really there."""
        self._found = tuple(found)
        self._fill_choices()

    def show_error(self, error: SettingsError | None) -> None:
        """Say in place why what was typed does not fit; None: it does."""
        self._error = error
        self.wrong.setText(self._error_text())
        self.wrong.setVisible(error is not None)
        widget = self.editor.widget
        if widget.property("wrong") != (error is not None):
            widget.setProperty("wrong", error is not None)
            widget.style().unpolish(widget)
            widget.style().polish(widget)
        self._describe()

    def _error_text(self) -> str:
        error, words = self._error, self._words
        if error is None:
            return ""
        if isinstance(self.editor, NumberEditor):
            low, high = (words.locale.toString(float(x), "g", 10) for x in (self.low, self.high))
            if self.editor.whole:
                return words.tr(
                    "A whole number between {low} and {high}; the value before still counts.", low=low, high=high
                )
            return words.tr("A number between {low} and {high}; the value before still counts.", low=low, high=high)
        return words.told(error.template, error.values)

    def matches(self, needle: str) -> bool:
        """Whether a search for `needle` (case-folded) finds this setting, in either language."""
        shown = self._shown
        return any(needle in text.casefold() for text in (*shown.title, *shown.help, self.key))

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self.reset.setIcon(icons.icon("reset", tokens.quiet, 16))
        self.editor.dress(tokens)

    def retranslate(self) -> None:
        words = self._words
        title = words.of(self._shown.title)
        self.title.setText(title)
        self._tell_help()
        self.unit.setText(unit_words(self._shown.unit, words))
        self.badge.setText(apply_words(self._shown.apply, words))
        told = words.tr("Back to the default of “{title}”", title=title)
        self.reset.setToolTip(told)
        self.reset.setAccessibleName(told)
        self.editor.retranslate(words, title)
        self._fill_choices()
        self.wrong.setText(self._error_text())
        self._describe()

    def _take_hint(self, hint: str) -> None:
        self._hint = hint
        if hint:
            self.show_error(None)
        self._tell_help()
        self._describe()

    def _tell_help(self) -> None:
        told = " ".join(filter(None, (self._words.of(self._shown.help), self._range_text())))
        if self._shown.choices_from in ("inputs", "outputs"):
            told = ""  # what the empty value means is a choice of the list
        self.help.setText(self._hint or told)
        self.help.setVisible(bool(self.help.text()))

    def _range_text(self) -> str:
        """What a number may be, where a bound is worth saying."""
        if not isinstance(self.editor, NumberEditor):
            return ""
        low, high = (self._words.locale.toString(float(bound), "g", 10) for bound in (self.low, self.high))
        if self.high > _UNBOUNDED:
            return self._words.tr("From {low}.", low=low)
        return self._words.tr("From {low} to {high}.", low=low, high=high)

    def _fill_choices(self) -> None:
        words = self._words
        if self._literals:
            self.editor.set_choices([literal_choice(value, words) for value in self._literals])
        elif self._shown.choices_from in ("inputs", "outputs"):
            self.editor.set_choices([Choice("", words.tr("The system's choice")), *(self._found or ())])
        elif self._shown.choices_from in ("voices", "tts_models"):
            self.editor.set_choices([Choice("", words.tr("Automatic")), *(self._found or ())])
        elif self._shown.choices_from:
            self.editor.set_choices(self._found or ())

    def _describe(self) -> None:
        widget = self.editor.widget
        widget.setAccessibleName(" ".join(filter(None, (self.title.text(), self.unit.text()))))
        told = " ".join(filter(None, (self.wrong.text(), self.help.text())))
        widget.setAccessibleDescription(told or self.badge.text())

    def _reset(self) -> None:
        self.changed.emit(self.key, self._default)


def _literals(info: FieldInfo) -> tuple[str, ...]:
    return typing.get_args(info.annotation) if typing.get_origin(info.annotation) is typing.Literal else ()


def _range(info: FieldInfo) -> tuple[float, float]:
    low, high = -1e9, 1e9
    for item in info.metadata:
        match item:
            case Ge(ge=bound):
                low = float(typing.cast(float, bound))
            case Gt(gt=bound):
                low = float(typing.cast(float, bound)) + SMALLEST_STEP
            case Le(le=bound):
                high = float(typing.cast(float, bound))
            case Lt(lt=bound):
                high = float(typing.cast(float, bound)) - SMALLEST_STEP
    return low, high
