"""Taking a model of the user's own: a GGUF file, a converted voice, or a Qwen3-TTS folder to convert."""

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.gui.card import Card, describe, say
from kazeia_desktop.gui.drop_target import DropTarget
from kazeia_desktop.gui.jobs import Job
from kazeia_desktop.gui.labelled import Labelled
from kazeia_desktop.gui.models import told, work
from kazeia_desktop.gui.models.row import DtypeChoice
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.gui.theme import Tokens


class ImportPart(DropTarget, Card):
    """Says what was chosen: `take_wanted` at once, `convert_wanted` when the weight type was chosen too."""

    take_wanted = Signal(object, str, str)  # path, kind, name
    convert_wanted = Signal(object, str, str)  # path, name, dtype

    def __init__(self, context: PageContext, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(context.words, tokens, parent)
        self._context = context
        self._job: Job | None = None
        self._problem: KazeiaError | None = None
        self._chosen: tuple[Path, str] | None = None  # a folder to convert, and its name
        self.setAcceptDrops(True)
        self.dtype = DtypeChoice(context.words)
        self._convert = Labelled(self.dtype.widget)
        self.column.addWidget(self._convert)
        self.start = self.action("primary")
        self.drop = self.action()
        self.file, self.folder = self.action(), self.action()
        self.start.clicked.connect(self._start)
        self.drop.clicked.connect(self._drop)
        self.file.clicked.connect(lambda: self._choose(QFileDialog.FileMode.ExistingFile))
        self.folder.clicked.connect(lambda: self._choose(QFileDialog.FileMode.Directory))
        self.retranslate()

    @property
    def controls(self) -> tuple[QWidget, ...]:
        return (self.dtype.combo, *super().controls)

    def open(self, path: Path) -> None:
        """Look at what was chosen or dropped."""
        self._problem, self._chosen = None, None
        paths = self._context.paths
        self._job = self._context.jobs.run(
            "look-at-model",
            lambda *_: work.look_at(paths, path),
            lambda found: self._looked(path, *found),
            self._failed,
        )
        self.retranslate()

    def _choose(self, mode: QFileDialog.FileMode) -> None:
        tr = self.words.tr
        dialog = QFileDialog(self, tr("A model of your own"))
        dialog.setFileMode(mode)
        if mode is QFileDialog.FileMode.ExistingFile:
            dialog.setNameFilters([tr("Language models (*.gguf)")])
        dialog.fileSelected.connect(lambda name: self.open(Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _looked(self, path: Path, kind: str, name: str) -> None:
        self._job = None
        if kind == "checkpoint":
            self._chosen = (path, name)
            self.retranslate()
            self.start.setFocus()
        else:
            self.retranslate()
            self.take_wanted.emit(path, kind, name)

    def _failed(self, error: KazeiaError) -> None:
        self._job, self._problem = None, error
        self.retranslate()

    def _start(self) -> None:
        if self._chosen is not None:
            path, name = self._chosen
            self._chosen = None
            self.retranslate()
            self.convert_wanted.emit(path, name, str(self.dtype.value()))

    def _drop(self) -> None:
        self._chosen = None
        self.retranslate()

    def retranslate(self) -> None:
        tr, chosen = self.words.tr, self._chosen
        self.title.setText(tr("A model of your own"))
        text = tr(
            "A GGUF file of a language model, a converted voice, or the folder of Qwen3-TTS, which is converted here. "
            "Choose it, or drop it here."
        )
        if chosen is not None:
            text = tr("{name} is Qwen3-TTS: choose the type of its weights, then convert it.", name=chosen[0].name)
        say(self.detail, text)
        say(self.message, told.error(self._problem, self.words) if self._problem is not None else "")
        self.dtype.translate(self.words)
        self._convert.label.setText(tr("Type of the weights"))
        self.start.setText(tr("Convert"))
        self.drop.setText(tr("Cancel"))
        self.file.setText(tr("Choose a file…"))
        self.file.setToolTip(tr("A model in one file (.gguf)"))
        self.folder.setText(tr("Choose a folder…"))
        self.folder.setToolTip(tr("A model in a folder of files"))
        for control, text in (
            (self.start, tr("Make Kazeia's own voice of it; the original stays")),
            (self.drop, tr("Choose something else")), (self.file, tr("A GGUF file of a language model")),
            (self.folder, tr("A converted voice, or the folder of Qwen3-TTS")),
            (self.dtype.combo, tr("Smaller weights are faster and less exact")),
        ):  # fmt: skip
            describe(control, text)
        for part in (self._convert, self.start, self.drop):
            part.setVisible(chosen is not None)
        for button in (self.file, self.folder):
            button.setVisible(chosen is None)
            button.setEnabled(self._job is None)

    def take(self, path: Path) -> None:
        self.open(path)
