"""One of the two sides: a preset, a voice, and what else is to be different from what is set now."""

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QWidget

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.gui.card import Card
from kazeia_desktop.gui.engine import Choice
from kazeia_desktop.gui.settings_panel.editors import ChoiceEditor, Value
from kazeia_desktop.gui.settings_panel.field import SettingField
from kazeia_desktop.gui.settings_panel.preset_bar import preset_key, preset_title
from kazeia_desktop.gui.theme import Tokens
from kazeia_desktop.gui.words import Words
from kazeia_desktop.settings.presets import BUILT_IN, Preset
from kazeia_desktop.settings.schema import Settings, section_type, shown_of
from kazeia_desktop.settings.store import with_value

_SHOWN: Final = ("engine", "voice", "model", "talker")
_HIDDEN: Final = ("seed", "early_comma")
"""The seed is the same on both sides; where a reply is cut makes no difference to one sentence."""
_OTHERS: Final = tuple(name for name in section_type("tts").model_fields if name not in (*_SHOWN, *_HIDDEN))
_AS_SET: Final = "as-set"
_MORE: Final = "more"


class SideCard(Card):
    """What a side is said with. `changed`: what was made of it before is no longer true."""

    changed = Signal()
    choices_wanted = Signal(str)

    def __init__(self, name: str, base: Callable[[], Settings], words: Words, tokens: Tokens) -> None:
        super().__init__(words, tokens)
        self.name = name
        self._base = base
        self._own: tuple[Preset, ...] = ()
        self._choices: dict[str, tuple[Choice, ...]] = {}
        self._preset = _AS_SET
        self._overrides: dict[str, Value] = {}
        self.fields: dict[str, SettingField] = {}
        self.preset = ChoiceEditor()
        self.preset.edited.connect(self._preset_chosen)
        self.preset_label = QLabel()
        self.preset_label.setBuddy(self.preset.widget)
        self.more = ChoiceEditor()
        self.more.edited.connect(self._more_chosen)
        self.more_label = QLabel()
        self.more_label.setBuddy(self.more.widget)
        self.column.addWidget(self.preset_label)
        self.column.addWidget(self.preset.widget)
        for setting in _SHOWN:
            self._add(setting)
        self.column.addWidget(self.more_label)
        self.column.addWidget(self.more.widget)
        self.retranslate()

    @property
    def settings(self) -> Settings:
        """With what this side is said."""
        settings = self._base()
        preset = next((p for p in (*BUILT_IN, *self._own) if preset_key(p) == self._preset), None)
        if preset is not None:
            settings = preset.applied(settings)
        for key, value in self._overrides.items():
            settings = with_value(settings, key, value)
        return settings

    def _add(self, name: str) -> None:
        key = f"tts.{name}"
        value: Value = getattr(self.settings.tts, name)
        field = SettingField(key, section_type("tts").model_fields[name], value, self.words, self.tokens)
        field.badge.hide()
        field.help.hide()
        field.changed.connect(self._edited)
        field.choices_wanted.connect(self.choices_wanted)
        self.fields[key] = field
        if field.choices_from in self._choices:
            field.set_choices(self._choices[field.choices_from])
        at = self.column.indexOf(self.more_label)
        self.column.insertWidget(at if at >= 0 else self.column.count(), field)

    def _edited(self, key: str, value: Value) -> None:
        try:
            with_value(self.settings, key, value)
        except SettingsError as error:
            self.fields[key].show_error(error)
            return
        self._overrides[key] = value
        self._show()
        self.changed.emit()

    def _preset_chosen(self) -> None:
        self._preset = str(self.preset.value())
        self._overrides.clear()
        self._show()
        self.changed.emit()

    def _more_chosen(self) -> None:
        name = str(self.more.value())
        if name in _OTHERS and f"tts.{name}" not in self.fields:
            self._add(name)
            self._fill()
            self.fields[f"tts.{name}"].editor.widget.setFocus()

    def set_presets(self, own: Sequence[Preset]) -> None:
        """The user's."""
        self._own = tuple(own)
        if self._preset not in {_AS_SET, *map(preset_key, (*BUILT_IN, *self._own))}:
            self._preset = _AS_SET
        self._fill()

    def set_choices(self, kind: str, found: tuple[Choice, ...]) -> None:
        """What the machine has."""
        self._choices[kind] = found
        for field in self.fields.values():
            if field.choices_from == kind:
                field.set_choices(found)

    def take_base(self) -> None:
        """The settings of the window have changed."""
        self._show()

    def _show(self) -> None:
        tts = self.settings.tts
        for key, field in self.fields.items():
            field.show_value(getattr(tts, key.partition(".")[2]))
            field.help.hide()

    def _fill(self) -> None:
        words = self.words
        presets = [Choice(preset_key(p), preset_title(p, words)) for p in (*BUILT_IN, *self._own)]
        self.preset.set_choices([Choice(_AS_SET, words.tr("As it is set now")), *presets])
        self.preset.show_value(self._preset)
        fields = section_type("tts").model_fields
        left = [name for name in _OTHERS if f"tts.{name}" not in self.fields]
        self.more.set_choices(
            [
                Choice(_MORE, words.tr("Another setting…")),
                *(Choice(n, words.of(shown_of(fields[n]).title)) for n in left),
            ]
        )
        self.more.show_value(_MORE)

    @property
    def controls(self) -> tuple[QWidget, ...]:
        editors = [field.editor.widget for field in self.fields.values()]
        return (self.preset.widget, *editors, self.more.widget)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self.tokens = tokens
        for field in self.fields.values():
            field.dress(tokens)

    def retranslate(self) -> None:
        """Write every text anew."""
        tr = self.words.tr
        self.title.setText(tr("Side {name}", name=self.name))
        self.preset_label.setText(tr("Preset"))
        self.preset.widget.setAccessibleName(tr("Preset of side {name}", name=self.name))
        self.preset.widget.setToolTip(tr("What this side is said with"))
        self.more_label.setText(tr("Also different"))
        self.more.widget.setAccessibleName(tr("Another setting of side {name}", name=self.name))
        self.more.widget.setToolTip(tr("Choose a setting to give it another value on this side"))
        for field in self.fields.values():
            field.retranslate()
            field.help.hide()
            widget = field.editor.widget
            widget.setAccessibleName(f"{widget.accessibleName()} ({self.name})")
        self._fill()
