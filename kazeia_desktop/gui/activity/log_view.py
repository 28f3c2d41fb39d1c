"""The end of the log: level, search, follow, copy. The file is read in jobs, and only while it is seen."""

import logging
from pathlib import Path
from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QFontDatabase, QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import QCheckBox, QFrame, QGridLayout, QLabel, QLineEdit, QPlainTextEdit, QPushButton, QWidget

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.gui.activity.log_file import read_tail, shown
from kazeia_desktop.gui.engine import Choice
from kazeia_desktop.gui.jobs import Job, Jobs
from kazeia_desktop.gui.settings_panel.editors import ChoiceEditor
from kazeia_desktop.gui.theme import GRID, SMALL_PX, Tokens
from kazeia_desktop.gui.words import Words
from kazeia_desktop.log import FILE_NAME
from kazeia_desktop.paths import Paths

_PERIOD_MS: Final = 1000
_PAUSE_MS: Final = 200  # typing in the search field
_HEIGHT: Final = 320
_LEAST_PX: Final = 96


class LogView(QFrame):
    """Shows `kazeia.log` of a folder."""

    copied = Signal()

    def __init__(self, paths: Paths, jobs: Jobs, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._file = paths.log_dir / FILE_NAME
        self._jobs = jobs
        self._words = words
        self._job: Job | None = None
        self._seen: tuple[int, int] | None = None  # size, time: what is shown
        self._again = False
        self.setObjectName("card")
        self.level = ChoiceEditor()
        self.level.edited.connect(self.refresh)
        self.level.widget.setMinimumWidth(_LEAST_PX)
        self.search = QLineEdit(self)
        self.search.setClearButtonEnabled(True)
        self.search.setMaxLength(200)
        self.follow = QCheckBox(self)
        self.follow.setChecked(True)
        self.follow.toggled.connect(self._follow)
        self.copy_button = QPushButton(self)
        self.copy_button.clicked.connect(self._copy)
        self.text = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setUndoRedoEnabled(False)
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPixelSize(SMALL_PX)
        self.text.setFont(font)
        self.text.setStyleSheet(f"font-family: '{font.family()}'; font-size: {SMALL_PX}px;")
        self.text.setFixedHeight(_HEIGHT)
        self.told = QLabel(self)
        self.told.setObjectName("quiet")
        self.told.setWordWrap(True)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        self._grid.setSpacing(GRID)
        self._narrow: bool | None = None
        self.set_narrow(False)
        self._timer = QTimer(self)
        self._timer.setInterval(_PERIOD_MS)
        self._timer.timeout.connect(lambda: self._read(only_news=True))
        self._typed = QTimer(self)
        self._typed.setSingleShot(True)
        self._typed.setInterval(_PAUSE_MS)
        self._typed.timeout.connect(self.refresh)
        self.search.textChanged.connect(lambda _: self._typed.start())

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        """The controls in the order of the Tab key."""
        return (self.level.widget, self.search, self.follow, self.copy_button, self.text)

    def set_narrow(self, narrow: bool) -> None:
        """Two rows of controls and long lines broken where there is little room."""
        if narrow is self._narrow:
            return
        self._narrow = narrow
        wrap = QPlainTextEdit.LineWrapMode
        self.text.setLineWrapMode(wrap.WidgetWidth if narrow else wrap.NoWrap)
        for part in (self.level.widget, self.search, self.follow, self.copy_button, self.text, self.told):
            self._grid.removeWidget(part)
        if narrow:
            self._grid.addWidget(self.search, 0, 0, 1, 3)
            for column, part in enumerate((self.level.widget, self.follow, self.copy_button)):
                self._grid.addWidget(part, 1, column)
        else:
            self._grid.addWidget(self.level.widget, 0, 0)
            self._grid.addWidget(self.search, 0, 1)
            self._grid.addWidget(self.follow, 0, 2)
            self._grid.addWidget(self.copy_button, 0, 3)
        columns = 3 if narrow else 4
        self._grid.setColumnStretch(0, 1 if narrow else 0)
        self._grid.setColumnStretch(1, 0 if narrow else 1)
        self._grid.addWidget(self.text, 2, 0, 1, columns)
        self._grid.addWidget(self.told, 3, 0, 1, columns)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""

    def retranslate(self) -> None:
        tr = self._words.tr
        chosen = self.level.value() or "INFO"
        self.level.set_choices(
            [
                Choice("DEBUG", tr("Everything")),
                Choice("INFO", tr("News and above")),
                Choice("WARNING", tr("Warnings and errors")),
                Choice("ERROR", tr("Errors only")),
            ]
        )
        self.level.show_value(chosen)
        self.level.widget.setAccessibleName(tr("Which entries"))
        self.level.widget.setToolTip(tr("Which entries of the log are shown"))
        self.search.setPlaceholderText(tr("Search the log"))
        self.search.setAccessibleName(tr("Search the log"))
        self.search.setToolTip(tr("Show only entries with these words"))
        self.follow.setText(tr("Follow"))
        self.follow.setAccessibleName(tr("Follow"))
        self.follow.setToolTip(tr("Show new entries as they come"))
        self.copy_button.setText(tr("Copy"))
        self.copy_button.setAccessibleName(tr("Copy what is shown"))
        self.copy_button.setToolTip(tr("Copy the entries that are shown"))
        self.text.setAccessibleName(tr("Log"))
        self.text.setToolTip("")
        self.text.setAccessibleDescription(tr("The newest entries are at the end"))
        self._tell("")

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._read(only_news=False)
        self._follow(self.follow.isChecked())

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def refresh(self) -> None:
        """Read and filter anew."""
        self._read(only_news=False)

    def _follow(self, follow: bool) -> None:
        if follow and self.isVisible():
            self._timer.start()
        else:
            self._timer.stop()

    def _read(self, only_news: bool) -> None:
        if self._job is not None:
            self._again = self._again or not only_news
            return
        file, seen = self._file, self._seen if only_news else None
        least = logging.getLevelNamesMapping().get(self.level.value(), logging.INFO)
        words = self.search.text()

        def work(_cancel: object, _report: object) -> tuple[tuple[int, int], str] | None:
            state = _state(file)
            return None if state == seen else (state, shown(read_tail(file), least, words))

        self._job = self._jobs.run("log", work, done=self._done, failed=self._failed)

    def _done(self, found: tuple[tuple[int, int], str] | None) -> None:
        self._job = None
        if found is not None:
            self._seen, text = found
            self._show(text)
        if self._again:
            self._again = False
            self.refresh()

    def _failed(self, error: KazeiaError) -> None:
        self._job, self._again = None, False
        self._tell(self._words.told(error.template, error.values))

    def _show(self, text: str) -> None:
        if text != self.text.toPlainText():
            bar = self.text.verticalScrollBar()
            kept, at_end = bar.value(), bar.value() >= bar.maximum() - 2
            self.text.setPlainText(text)
            bar.setValue(bar.maximum() if at_end or self.follow.isChecked() else kept)
        self._tell("" if text else self._words.tr("No such entries."))

    def _tell(self, news: str) -> None:
        where = self._words.tr("The file is {path}.", path=str(self._file))
        self.told.setText(f"{news} {where}".strip())

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
        self.copied.emit()


def _state(file: Path) -> tuple[int, int]:
    """Size and time of the file; zeros where there is none."""
    try:
        found = file.stat()
    except OSError:
        return (0, 0)
    return (found.st_size, found.st_mtime_ns)
