"""The activity page: times of the last turns, memory and processor, the turns one by one, and the log."""

from pathlib import Path
from typing import Final

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QPushButton, QWidget

from kazeia_desktop import __version__
from kazeia_desktop.errors import KazeiaError, StorageError
from kazeia_desktop.events import Notice
from kazeia_desktop.gui.activity.diagnostics import Session, look_up, report
from kazeia_desktop.gui.activity.figures import exported
from kazeia_desktop.gui.activity.load_view import LoadView
from kazeia_desktop.gui.activity.log_file import read_tail
from kazeia_desktop.gui.activity.log_view import LogView
from kazeia_desktop.gui.activity.stage_times import StageTimes
from kazeia_desktop.gui.activity.turn_table import TurnTable
from kazeia_desktop.gui.pages.page import Page, PageContext
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.log import FILE_NAME, INCIDENTS
from kazeia_desktop.runtime.small_files import write_atomically

EXPORT_NAME: Final = "kazeia-activity.json"
_REFRESH_MS: Final = 250
"""Turns that end quickly one after the other are counted once."""


class ActivityPage(Page):
    """Everything on it is figures; the log is what the log file holds."""

    def __init__(self, context: PageContext, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(context, tokens, parent)
        words = context.words
        self.times = StageTimes(context.activity, words, tokens)
        self.load = LoadView(words, tokens)
        self.table = TurnTable(context.activity, words)
        self.log = LogView(context.paths, context.jobs, words, tokens)
        self.export = QPushButton(self)
        self.export.clicked.connect(self._choose_file)
        self.clear = QPushButton(self)
        self.clear.clicked.connect(context.activity.clear)
        self.diagnostics = QPushButton(self)
        self.diagnostics.clicked.connect(self._copy_diagnostics)
        self.news = QLabel(self)
        self.news.setObjectName("quiet")
        self.news.setWordWrap(True)
        self._dialog: QFileDialog | None = None
        self._told: Notice | None = None
        self._heads = [QLabel(self) for _ in range(3)]
        for head in self._heads:
            head.setObjectName("section")
        buttons = QHBoxLayout()
        buttons.setSpacing(GRID)
        for button in (self.export, self.clear):
            buttons.addWidget(button)
        buttons.addStretch(1)
        below = QHBoxLayout()
        below.setSpacing(GRID)
        below.addWidget(self._heads[2], 1)
        below.addWidget(self.diagnostics)
        for part in (self.times, self.load):
            self.column.addWidget(part)
        self.column.addWidget(self._heads[1])
        self.column.addWidget(self.table)
        self.column.addLayout(buttons)
        self.column.addLayout(below)
        self.column.addWidget(self.log)
        self.column.addWidget(self.news)
        self.column.insertWidget(0, self._heads[0])
        self.column.addStretch(1)
        self._counting = QTimer(self)
        self._counting.setSingleShot(True)
        self._counting.setInterval(_REFRESH_MS)
        self._counting.timeout.connect(self._refresh)
        context.activity.changed.connect(self._changed)
        self.dress(tokens)
        self.retranslate()

    def title_text(self) -> str:
        return self.context.words.tr("Activity")

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        return (self.back, self.table, self.export, self.clear, self.diagnostics, *self.log.tab_order)

    def prepare(self) -> None:
        self._tell(None)
        self._refresh()

    def set_narrow(self, narrow: bool) -> None:
        for part in (self.times, self.load, self.table, self.log):
            part.set_narrow(narrow)

    def dress(self, tokens: Tokens) -> None:
        super().dress(tokens)
        for part in (self.times, self.load, self.log):
            part.dress(tokens)

    def retranslate(self) -> None:
        super().retranslate()
        tr = self.context.words.tr
        titles = (tr("Times of the last turns"), tr("Last turns"), tr("Log"))
        for head, title in zip(self._heads, titles, strict=True):
            head.setText(title)
        for button, text, tip in (
            (self.export, tr("Export…"), tr("Save the figures as a JSON file; no words are in it")),
            (self.clear, tr("Clear"), tr("Forget the turns that are counted here; the conversation stays")),
            (
                self.diagnostics,
                tr("Copy diagnostics"),
                tr("Versions, devices, models, settings, errors and figures for a report; nothing that was said"),
            ),
        ):
            button.setText(text)
            button.setAccessibleName(text)
            button.setToolTip(tip)
        for part in (self.times, self.load, self.table, self.log):
            part.retranslate()
        self._show_news()

    def _changed(self) -> None:
        if self.isVisible() and not self._counting.isActive():
            self._counting.start()

    def _refresh(self) -> None:
        self.times.refresh()
        self.table.turns.refresh()
        some = bool(self.context.activity.turns)
        self.export.setEnabled(some or bool(self.load.samples))
        self.clear.setEnabled(some)

    # Export

    def _choose_file(self) -> None:
        tr = self.context.words.tr
        dialog = QFileDialog(self, tr("Export the figures"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter("JSON (*.json)")
        dialog.setDefaultSuffix("json")
        dialog.selectFile(EXPORT_NAME)
        dialog.fileSelected.connect(lambda chosen: self.export_to(Path(chosen)))
        dialog.finished.connect(dialog.deleteLater)
        self._dialog = dialog
        dialog.open()

    def export_to(self, file: Path) -> None:
        """Write the figures as JSON; what they mean is told in docs/activity.md."""
        content = exported(tuple(self.context.activity.turns), tuple(self.load.samples), __version__)

        def work(_cancel: object, _report: object) -> None:
            try:
                write_atomically(file, content)
            except OSError as error:
                raise StorageError(
                    "The figures cannot be written to {file} ({reason}). Choose another folder or free space.",
                    file=str(file), reason=error.strerror or type(error).__name__,
                ) from error  # fmt: skip

        self.context.jobs.run(
            "export",
            work,
            done=lambda _: self._tell(Notice("The figures are in {file}.", {"file": str(file)})),
            failed=self._failed,
        )

    # Diagnostics

    def _copy_diagnostics(self) -> None:
        activity, info = self.context.activity, self.context.activity.info
        session = Session(
            str(activity.state),
            self._screen(),
            self.context.settings(),
            {} if info is None else info.placement,
            tuple(activity.turns),
            tuple(activity.faults),
            INCIDENTS.last(),
            self.load.samples[-1] if self.load.samples else None,
        )
        paths = self.context.paths
        self.diagnostics.setEnabled(False)

        def work(_cancel: object, _report: object) -> str:
            return report(session, look_up(paths, read_tail(paths.log_dir / FILE_NAME)))

        self.context.jobs.run("diagnostics", work, done=self._copied, failed=self._failed)

    def _copied(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self.diagnostics.setEnabled(True)
        self._tell(Notice("The diagnostics are copied. Nothing that was said is in them.", {}))

    def _screen(self) -> str:
        screen = self.screen()
        size = self.window().size()
        return (
            f"{QGuiApplication.platformName()}, scale {screen.devicePixelRatio():g}, "
            f"window {size.width()} x {size.height()}"
        )

    # News

    def _failed(self, error: KazeiaError) -> None:
        self.diagnostics.setEnabled(True)
        self._tell(Notice(error.template, error.values))

    def _tell(self, notice: Notice | None) -> None:
        self._told = notice
        self._show_news()

    def _show_news(self) -> None:
        told = self._told
        self.news.setText("" if told is None else self.context.words.told(told.template, told.values))
        self.news.setVisible(told is not None)
