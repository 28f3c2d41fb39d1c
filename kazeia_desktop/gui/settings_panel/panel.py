"""The settings, generated from the schema: every field of every section, searchable."""

from functools import partial
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QToolButton, QVBoxLayout, QWidget

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.events import Notice, TurnEnded
from kazeia_desktop.gui import icons
from kazeia_desktop.gui.column_scroll import ColumnScroll
from kazeia_desktop.gui.engine import Choice
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.gui.settings_panel.editors import Value
from kazeia_desktop.gui.settings_panel.field import SettingField
from kazeia_desktop.gui.settings_panel.hints import StageHints
from kazeia_desktop.gui.settings_panel.keys_editor import is_keys
from kazeia_desktop.gui.settings_panel.preset_bar import PresetBar
from kazeia_desktop.gui.settings_panel.section_head import SectionHead
from kazeia_desktop.gui.shortcuts import keys_text
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.turns import Turns
from kazeia_desktop.gui.words import Words
from kazeia_desktop.settings.keys import canonical
from kazeia_desktop.settings.schema import SECTION_TITLES, Settings, Unfit, section_type
from kazeia_desktop.settings.store import with_value

_VOICE: Final = "tts"
_GROUND: Final = QPalette.ColorRole.AlternateBase  # the surface
_SHOWN_AT_ONCE: Final = 12
"""Fields that a search had hidden, between two turns of the event loop, which must not be away for long."""


class SettingsPanel(QWidget):
    """Edits a Settings tree. Emits the new tree; a value that does not fit stays where it was typed."""

    settings_changed = Signal(object)  # Settings
    close_wanted = Signal()
    choices_wanted = Signal(str)
    measured_wanted = Signal()
    made = Signal(object)  # QWidget: one more of `parts`, in its place

    def __init__(self, settings: Settings, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._words = words
        self._tokens = tokens
        self.fields: dict[str, SettingField] = {}
        self._headings: dict[str, SectionHead] = {}
        self._before_reset: dict[str, tuple[Settings, Settings]] = {}  # section -> settings before and after
        self.hints = StageHints()
        self.presets = PresetBar(settings, words, tokens)
        self.presets.settings_wanted.connect(self._take_and_tell)
        self._measured: Notice | None = None
        self.measured = QLabel()
        self.measured.setObjectName("quiet")
        self.measured.setWordWrap(True)
        self.measured.setTextFormat(Qt.TextFormat.PlainText)
        self.measured.hide()
        self._wanted_section = ""
        self.setObjectName("panel")
        self.setBackgroundRole(_GROUND)
        self.setAutoFillBackground(True)

        self.title = QLabel(self)
        self.title.setObjectName("title")
        self.close_button = QToolButton(self)
        self.close_button.setObjectName("flat")
        self.close_button.clicked.connect(self.close_wanted)
        self.search = QLineEdit(self)
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._filter)
        self._glass = self.search.addAction(
            icons.icon("search", tokens.quiet, 16), QLineEdit.ActionPosition.LeadingPosition
        )
        self.nothing = QLabel(self)
        self.nothing.setObjectName("quiet")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.nothing.hide()
        self._scroll = ColumnScroll("fields", "fieldsContent", parent=self)
        self._scroll.setFrameShape(ColumnScroll.Shape.NoFrame)
        self._scroll.viewport().setBackgroundRole(_GROUND)
        self._column = self._scroll.column
        self._column.setSpacing(GRID)
        self._column.addWidget(self.presets)
        self._column.addStretch(1)
        head = QHBoxLayout()
        head.setContentsMargins(2 * GRID, GRID // 2, GRID, GRID // 2)
        head.addWidget(self.title, 1)
        head.addWidget(self.close_button)
        find = QHBoxLayout()
        find.setContentsMargins(2 * GRID, 0, 2 * GRID, 0)
        find.addWidget(self.search)
        box = QVBoxLayout(self)
        box.setContentsMargins(1, 0, 0, 0)
        box.setSpacing(GRID)
        box.addLayout(head)
        box.addLayout(find)
        box.addWidget(self.nothing)
        box.addWidget(self._scroll, 1)
        self._to_show: list[SettingField] = []
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.timeout.connect(self._show_some)
        self._making, self._wording = Turns(self), Turns(self)
        self._making.done.connect(self._made_all)
        self._wording.done.connect(self._show_whole)
        self.dress(tokens)
        self.retranslate()

    @property
    def parts(self) -> tuple[QWidget, ...]:
        """What wears the style sheet from the beginning; the panel itself is painted by the palette."""
        bar = self._scroll.verticalScrollBar()
        return self.title, self.close_button, self.search, self.nothing, self.presets, self.measured, bar

    def paintEvent(self, event: QPaintEvent) -> None:
        """The line that separates it from the conversation."""
        QPainter(self).fillRect(0, 0, 1, self.height(), self.palette().mid())

    def use(self, context: PageContext) -> None:
        """What the panel may use of the window: the figures of turns, and where presets are kept."""
        self.presets.use(context.jobs, context.paths.config_dir / "presets")
        context.bridge.turn_ended.connect(self.turn_ended)
        context.bridge.ready.connect(lambda _: self._tell_hints())

    # Making it, a few fields at a time

    def prepare(self) -> None:
        """Make the fields, when the panel is opened for the first time; look up what can be chosen each time."""
        if self.complete:
            self._ask_for_choices()
        elif self._making.settled:
            for section in SECTION_TITLES:
                self._making.add(partial(self._make_heading, section))
                for name in section_type(section).model_fields:
                    self._making.add(partial(self._make_field, section, name))
            self._show_whole()

    @property
    def complete(self) -> bool:
        """Whether every field is there."""
        return bool(self.fields) and self._making.settled

    @property
    def settled(self) -> bool:
        """Whether nothing is being made or worded anew."""
        return self._making.settled and self._wording.settled

    def _made_all(self) -> None:
        self._column.activate()
        self._show_whole()
        self._show_resets()
        self._tell_hints()
        self._filter(self.search.text())
        self._ask_for_choices()
        self.show_section(self._wanted_section)

    def _show_whole(self) -> None:
        """Nothing half made, nor half in another language."""
        self._scroll.setUpdatesEnabled(self.settled)

    def _make_heading(self, section: str) -> None:
        heading = SectionHead(section, self._words, self._tokens, first=False)
        heading.back_wanted.connect(self._reset_section)
        heading.undo_wanted.connect(self._undo_reset)
        self._headings[section] = heading
        self._column.insertWidget(self._column.count() - 1, heading)
        self.made.emit(heading)
        if section == _VOICE:
            self._column.insertWidget(self._column.count() - 1, self.measured)

    def _make_field(self, section: str, name: str) -> None:
        key = f"{section}.{name}"
        info = section_type(section).model_fields[name]
        field = SettingField(key, info, self._value(key), self._words, self._tokens)
        field.changed.connect(self._edited)
        field.choices_wanted.connect(self.choices_wanted)
        self.fields[key] = field
        self._column.insertWidget(self._column.count() - 1, field)
        self.made.emit(field)

    def _ask_for_choices(self) -> None:
        self.presets.look_up()
        for kind in dict.fromkeys(f.choices_from for f in self.fields.values() if f.choices_from):
            self.choices_wanted.emit(kind)
        self.measured_wanted.emit()

    def turn_ended(self, ended: TurnEnded) -> None:
        """The figures of a turn, for the hints."""
        self.hints.add(ended.metrics)
        self._tell_hints()

    def _tell_hints(self) -> None:
        for section, heading in self._headings.items():
            heading.show_hint(self.hints.told(section, self._words))

    def set_measured(self, notice: Notice | None) -> None:
        """What was measured of the voice, under its heading; None: nothing to tell."""
        self._measured = notice
        self._tell_measured()

    def _tell_measured(self) -> None:
        notice = self._measured
        self.measured.setText("" if notice is None else self._words.told(notice.template, notice.values))
        heading = self._headings.get(_VOICE)
        self.measured.setVisible(notice is not None and heading is not None and heading.isVisibleTo(self))

    def set_choices(self, kind: str, found: tuple[Choice, ...]) -> None:
        """What the machine has, for the fields that asked for it."""
        for field in self.fields.values():
            if field.choices_from == kind:
                field.set_choices(found)

    # Editing

    def _value(self, key: str) -> Value:
        section, _, name = key.partition(".")
        value: Value = getattr(getattr(self._settings, section), name)
        return value

    def _edited(self, key: str, value: Value) -> None:
        field = self.fields[key]
        try:
            self._check_keys(key, value)
            changed = with_value(self._settings, key, value)
        except SettingsError as error:
            field.show_error(error)
            return
        if changed != self._settings:
            self._set(changed)
            self.settings_changed.emit(changed)
            if key.startswith(f"{_VOICE}."):
                self.measured_wanted.emit()
        field.show_value(self._value(key))

    def _check_keys(self, key: str, value: Value) -> None:
        """Say which shortcut has the keys already. Raises SettingsError."""
        try:
            keys = canonical(str(value), may_be_space=True) if is_keys(key) else ""
        except Unfit:
            return  # the schema says why
        for other, field in self.fields.items():
            if keys and other != key and is_keys(other) and self._value(other) == keys:
                raise SettingsError(
                    "{keys} is already the shortcut of “{title}”: choose another, or free it first.",
                    keys=keys_text(keys, self._words), title=field.title.text(),
                )  # fmt: skip

    def take(self, settings: Settings) -> None:
        """Show settings that were changed elsewhere."""
        self._set(settings)
        for key, field in self.fields.items():
            field.show_value(self._value(key))

    def _set(self, settings: Settings) -> None:
        self.hints.forget_changed(self._settings, settings)
        self._settings = settings
        self._tell_hints()
        self._show_resets()
        self.presets.take(settings)

    def _take_and_tell(self, settings: Settings) -> None:
        """Many settings at once: from a preset, or back to the defaults."""
        if settings != self._settings:
            self.take(settings)
            self.settings_changed.emit(settings)
            self.measured_wanted.emit()

    def _reset_section(self, section: str) -> None:
        before = self._settings
        after = before.model_copy(update={section: section_type(section)()})
        self._before_reset[section] = (before, after)
        self._take_and_tell(after)
        self._show_resets()

    def _undo_reset(self, section: str) -> None:
        before, _ = self._before_reset.pop(section)
        self._take_and_tell(self._settings.model_copy(update={section: getattr(before, section)}))

    def _show_resets(self) -> None:
        for section, heading in self._headings.items():
            now = getattr(self._settings, section)
            _, after = self._before_reset.get(section, (None, None))
            undoes = after is not None and getattr(after, section) == now
            if not undoes:
                self._before_reset.pop(section, None)
            heading.show_state(now != section_type(section)(), undoes)

    # Finding

    def show_section(self, section: str) -> None:
        """Scroll to a section; also when it is still being made."""
        self._wanted_section = section
        heading = self._headings.get(section)
        if heading is not None and self.complete:
            self._wanted_section = ""
            self.search.clear()
            self._show_some(len(self._to_show))
            self._column.activate()
            QTimer.singleShot(0, self, lambda: self._scroll.verticalScrollBar().setValue(heading.y() - GRID))

    def _filter(self, text: str) -> None:
        needle = text.strip().casefold()
        found: set[str] = set()
        to_show: list[SettingField] = []
        for key, field in self.fields.items():
            section = key.partition(".")[0]
            titles = (title.casefold() for title in SECTION_TITLES[section])
            fits = not needle or field.matches(needle) or any(needle in title for title in titles)
            if fits:
                found.add(section)
                if field.isHidden():
                    to_show.append(field)
            else:
                field.hide()
        for section, heading in self._headings.items():
            heading.setVisible(section in found)
        presets = not needle or self.presets.matches(needle)
        self.presets.setVisible(presets)
        self._tell_measured()
        self.nothing.setVisible(bool(self.fields) and not found and not presets)
        self._to_show = to_show
        self._show_some()

    def _show_some(self, at_once: int = _SHOWN_AT_ONCE) -> None:
        """Of the fields that fit again, the first ones; the others after a turn of the event loop."""
        now, self._to_show = self._to_show[:at_once], self._to_show[at_once:]
        for field in now:
            field.show()
        if self._to_show:
            self._rest.start()

    # Theme and language

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        self.close_button.setIcon(icons.icon("close", tokens.text, 18))
        self._glass.setIcon(icons.icon("search", tokens.quiet, 16))
        self.presets.dress(tokens)
        for heading in self._headings.values():
            heading.dress(tokens)
        for field in self.fields.values():
            field.dress(tokens)

    def retranslate(self) -> None:
        tr = self._words.tr
        self.title.setText(tr("Settings"))
        self.close_button.setToolTip(tr("Close the settings"))
        self.close_button.setAccessibleName(tr("Close the settings"))
        self.search.setPlaceholderText(tr("Search the settings"))
        self.search.setAccessibleName(tr("Search the settings"))
        self.nothing.setText(tr("No setting has this in its name or help."))
        self.presets.retranslate()
        for heading in self._headings.values():
            heading.retranslate()
        self._tell_hints()
        self._tell_measured()
        if self.fields:
            self._wording.clear()
            self._wording.add(*(field.retranslate for field in self.fields.values()))
            self._show_whole()
