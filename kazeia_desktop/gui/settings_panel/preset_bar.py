"""Presets at the head of the settings: choose, save, rename, delete, share. Files are touched in jobs only."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.gui import icons
from kazeia_desktop.gui.engine import Choice
from kazeia_desktop.gui.jobs import Jobs
from kazeia_desktop.gui.settings_panel.editors import ChoiceEditor
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words
from kazeia_desktop.settings.presets import BUILT_IN, LONGEST_NAME, Preset, PresetStore, preset_of, write_preset
from kazeia_desktop.settings.schema import Settings

_OWN: Final = "own:"
"""Before the name of a preset of the user, among the choices."""
_NONE: Final = ""
"""Nothing fits: what is set is in no preset."""
_FILTER: Final = "TOML (*.toml)"


class PresetBar(QWidget):
    """Emits the settings that a chosen preset makes of the current ones."""

    settings_wanted = Signal(object)  # Settings
    changed = Signal()  # which presets there are

    def __init__(self, settings: Settings, words: Words, tokens: Tokens) -> None:
        super().__init__()
        self._settings = settings
        self._words = words
        self._jobs: Jobs | None = None
        self._store: PresetStore | None = None
        self._own: tuple[Preset, ...] = ()
        self._error: KazeiaError | None = None
        self._done: Callable[[], str] = str
        self._asked: Callable[[], None] = lambda: None
        self._question = self._of_saving
        self.title = QLabel(self)
        self.title.setObjectName("section")
        self.editor = ChoiceEditor()
        self.title.setWordWrap(True)
        self.title.setBuddy(self.editor.widget)
        self.editor.edited.connect(self._chosen)
        self.save = QToolButton(self)
        self.save.setObjectName("chip")
        self.save.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.save.clicked.connect(self._ask_to_save)
        self.more = QToolButton(self)
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.more.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        menu = QMenu(self.more)
        self.rename, self.delete, self.take_in, self.share = (QAction(menu) for _ in range(4))
        for action, do in (
            (self.rename, self._ask_to_rename),
            (self.delete, self._ask_to_delete),
            (self.take_in, self._ask_for_file),
            (self.share, self._ask_where),
        ):
            action.triggered.connect(do)
            menu.addAction(action)
        menu.insertSeparator(self.take_in)
        self.more.setMenu(menu)
        self.name = _NameField(self)
        self.name.setMaxLength(LONGEST_NAME)
        self.name.returnPressed.connect(lambda: self._asked())
        self.name.escaped.connect(self._end_asking)
        self.question = QLabel(self)
        self.question.setWordWrap(True)
        self.question.setTextFormat(Qt.TextFormat.PlainText)
        self.yes = QPushButton(self)
        self.yes.setObjectName("primary")
        self.yes.clicked.connect(lambda: self._asked())
        self.no = QPushButton(self)
        self.no.clicked.connect(self._end_asking)
        self.told = QLabel(self)
        self.told.setWordWrap(True)
        self.told.setTextFormat(Qt.TextFormat.PlainText)
        self.told.hide()
        self._lay_out()
        self._end_asking()
        self.dress(tokens)
        self.retranslate()
        self.setEnabled(False)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(GRID)
        head.addWidget(self.title, 1)
        head.addWidget(self.save)
        row = QHBoxLayout()
        row.setSpacing(GRID - 2)
        row.addWidget(self.editor.widget, 1)
        row.addWidget(self.more)
        self._asking = QWidget(self)
        buttons = QHBoxLayout()
        buttons.setSpacing(GRID)
        buttons.addStretch(1)
        buttons.addWidget(self.no)
        buttons.addWidget(self.yes)
        ask = QVBoxLayout(self._asking)
        ask.setContentsMargins(0, 0, 0, 0)
        ask.setSpacing(GRID)
        ask.addWidget(self.question)
        ask.addWidget(self.name)
        ask.addLayout(buttons)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, GRID)
        box.setSpacing(GRID)
        box.addLayout(head)
        box.addLayout(row)
        box.addWidget(self._asking)
        box.addWidget(self.told)

    # What there is

    def use(self, jobs: Jobs, folder: Path) -> None:
        """Where the user's presets are."""
        self._jobs, self._store = jobs, PresetStore(folder)
        self.setEnabled(True)

    def look_up(self) -> None:
        """Read the user's presets anew."""
        store = self._store
        if store is not None and self._jobs is not None:
            self._jobs.run("presets", lambda _token, _report: store.list(), done=self._listed)

    def _listed(self, found: tuple[tuple[Preset, ...], tuple[KazeiaError, ...]]) -> None:
        self._own, problems = found
        if problems:
            self._show_error(problems[0])
        self._show_choice()
        self.changed.emit()

    @property
    def presets(self) -> tuple[Preset, ...]:
        """The built-in ones, then the user's."""
        return (*BUILT_IN, *self._own)

    def take(self, settings: Settings) -> None:
        """The settings as they are now."""
        self._settings = settings
        self._show_choice()

    @property
    def _current(self) -> Preset | None:
        """The preset that fits what is set; the user's before a built-in one."""
        return next((p for p in (*self._own, *BUILT_IN) if p.fits(self._settings)), None)

    def _show_choice(self) -> None:
        words = self._words
        shown = [Choice(preset_key(preset), preset_title(preset, words)) for preset in self.presets]
        current = self._current
        if current is None:
            shown.insert(0, Choice(_NONE, words.tr("Your own choice, not saved")))
        self.editor.set_choices(shown)
        self.editor.show_value(_NONE if current is None else preset_key(current))
        own = current is not None and current.title is None
        self.rename.setEnabled(own)
        self.delete.setEnabled(own)

    def _chosen(self) -> None:
        key = self.editor.value()
        preset = next((p for p in self.presets if preset_key(p) == key), None)
        if preset is None:
            return
        self._say(None)
        self.settings_wanted.emit(preset.applied(self._settings))

    # What is asked in place

    def _ask(self, question: Callable[[], tuple[str, str]], do: Callable[[], None], name: str | None) -> None:
        """question: what is asked, and the word of the button that does it; name: to be edited, None: none."""
        self._question, self._asked = question, do
        self._say(None)
        self._tell_question()
        self.name.setVisible(name is not None)
        self.name.setText(name or "")
        self.name.selectAll()
        self._asking.show()
        (self.name if name is not None else self.no).setFocus()

    def _tell_question(self) -> None:
        asked, yes = self._question()
        self.question.setText(asked)
        self.name.setAccessibleName(asked)
        self.yes.setText(yes)

    def _end_asking(self) -> None:
        had_focus = self._asking.isAncestorOf(self.focusWidget()) if self.focusWidget() is not None else False
        self._asking.hide()
        if had_focus:
            self.editor.widget.setFocus()

    def _ask_to_save(self) -> None:
        tr = self._words.tr

        def do() -> None:
            name, settings = self.name.text(), self._settings
            self._in_store(
                lambda store: store.save(preset_of(name, settings)), lambda: tr("Saved as {name}.", name=name.strip())
            )

        current = self._current
        name = "" if current is None or current.title is not None else current.name
        self._ask(self._of_saving, do, name)

    def _of_saving(self) -> tuple[str, str]:
        return self._words.tr("Name of the new preset"), self._words.tr("Save")

    def _ask_to_rename(self) -> None:
        tr, current = self._words.tr, self._current
        if current is None:
            return

        def do() -> None:
            name = self.name.text()
            self._in_store(lambda store: store.rename(current.name, name), lambda: tr("Renamed."))

        self._ask(lambda: (tr("New name of “{name}”", name=current.name), tr("Rename")), do, current.name)

    def _ask_to_delete(self) -> None:
        tr, current = self._words.tr, self._current
        if current is None:
            return

        def do() -> None:
            self._in_store(
                lambda store: store.delete(current.name), lambda: tr("{name} was deleted.", name=current.name)
            )

        self._ask(lambda: (tr("Delete the preset “{name}” for good?", name=current.name), tr("Delete")), do, None)

    def _ask_for_file(self) -> None:
        dialog = QFileDialog(self, self._words.tr("Import a preset"), "", _FILTER)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda name: self.import_file(Path(name)))
        _open(dialog)

    def _ask_where(self) -> None:
        dialog = QFileDialog(self, self._words.tr("Share as a file"), f"{self._file_name()}.toml", _FILTER)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("toml")
        dialog.fileSelected.connect(lambda name: self.export_file(Path(name)))
        _open(dialog)

    def _file_name(self) -> str:
        current = self._current
        return "kazeia" if current is None else preset_title(current, self._words).replace("/", "-")

    def import_file(self, file: Path) -> None:
        """Keep a shared preset and choose it."""
        tr = self._words.tr

        def taken(preset: Preset) -> None:
            self.settings_wanted.emit(preset.applied(self._settings))
            self._finish(lambda: tr("{name} was imported and is chosen.", name=preset.name))

        self._in_store(lambda store: store.take_in(file), str, taken)

    def export_file(self, file: Path) -> None:
        """Write what is set, under the name of its preset or of the file."""
        tr, current = self._words.tr, self._current
        name = file.stem if current is None or current.title is not None else current.name
        settings = self._settings

        def write(_store: PresetStore) -> None:
            write_preset(file, Preset(name[:LONGEST_NAME], preset_of("x", settings).values))

        self._in_store(write, lambda: tr("Written to {file}.", file=str(file)))

    # Doing it

    def _in_store(
        self, do: Callable[[PresetStore], object], told: Callable[[], str], done: Callable[[Preset], None] | None = None
    ) -> None:
        store, jobs = self._store, self._jobs
        if store is None or jobs is None:
            return

        def work(_token: object, _report: object) -> object:
            return do(store)

        jobs.run("presets", work, done=done or (lambda _: self._finish(told)), failed=self._show_error)

    def _finish(self, told: Callable[[], str]) -> None:
        self._end_asking()
        self._say(told)
        self.look_up()

    def _show_error(self, error: KazeiaError) -> None:
        self._error = error
        self._tell()

    def _say(self, told: Callable[[], str] | None) -> None:
        self._error, self._done = None, told or str
        self._tell()

    def _tell(self) -> None:
        error = self._error
        text = self._done() if error is None else self._words.told(error.template, error.values)
        name = "quiet" if error is None else "fieldError"
        if self.told.objectName() != name:
            self.told.setObjectName(name)
            self.told.style().unpolish(self.told)
            self.told.style().polish(self.told)
        self.told.setText(text)
        self.told.setVisible(bool(text))
        self.editor.widget.setAccessibleDescription(text)

    # Finding, theme and language

    def matches(self, needle: str) -> bool:
        """Whether a search for `needle` (case-folded) finds the presets."""
        texts = (self.title.text(), "preset", "préréglage", *(preset_title(p, self._words) for p in self.presets))
        return any(needle in text.casefold() for text in texts)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self.more.setIcon(icons.icon("menu", tokens.text, 18))
        self.editor.dress(tokens)

    def retranslate(self) -> None:
        tr = self._words.tr
        self.title.setText(tr("Presets"))
        self.editor.widget.setAccessibleName(tr("Presets of voice and replies"))
        self.editor.widget.setToolTip(tr("Presets of voice and replies"))
        self.save.setText(tr("Save…"))
        self.save.setToolTip(tr("Keep the choices of voice and replies under a name"))
        self.save.setAccessibleName(tr("Save as a preset"))
        self.more.setToolTip(tr("Rename, delete, import or share a preset"))
        self.more.setAccessibleName(tr("More for presets"))
        self.rename.setText(tr("Rename…"))
        self.delete.setText(tr("Delete…"))
        self.take_in.setText(tr("Import from a file…"))
        self.share.setText(tr("Share as a file…"))
        self.no.setText(tr("Cancel"))
        self._tell_question()
        self._show_choice()
        self._tell()


class _NameField(QLineEdit):
    """Escape gives up the name, and nothing else."""

    escaped = Signal()

    def event(self, event: QEvent) -> bool:
        override = event.type() is QEvent.Type.ShortcutOverride
        if override and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.accept()  # not the window's
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
        else:
            super().keyPressEvent(event)


def preset_key(preset: Preset) -> str:
    """Names it among choices."""
    return preset.name if preset.title is not None else f"{_OWN}{preset.name}"


def preset_title(preset: Preset, words: Words) -> str:
    """How it is shown."""
    return preset.name if preset.title is None else words.of(preset.title)


def _open(dialog: QFileDialog) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
