"""One model in the list: what it is, what is being done with it, what can be done."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QProgressBar, QWidget

from kazeia_desktop.gui.card import Card, describe, plain_label, say
from kazeia_desktop.gui.engine import Choice
from kazeia_desktop.gui.labelled import Labelled
from kazeia_desktop.gui.models import told
from kazeia_desktop.gui.models.listing import ModelItem
from kazeia_desktop.gui.models.queue import Phase, Task, Verb
from kazeia_desktop.gui.models.smaller_part import SmallerPart
from kazeia_desktop.gui.settings_panel.editors import ChoiceEditor
from kazeia_desktop.gui.theme import Tokens
from kazeia_desktop.gui.words import Words

DTYPES = ("q8_0", "q4_0", "f16", "f32")


def dtype_choices(words: Words) -> list[Choice]:
    """The weight types of a converted voice, and what they are for."""
    tr = words.tr
    return [
        Choice("q8_0", tr("q8_0: the usual one")),
        Choice("q4_0", tr("q4_0: half as large, faster, a little less exact")),
        Choice("f16", tr("f16: twice as large, exact")),
        Choice("f32", tr("f32: four times as large, for comparisons")),
    ]


class DtypeChoice(ChoiceEditor):
    """Which weights a converted voice gets."""

    def __init__(self, words: Words) -> None:
        super().__init__()
        self.translate(words)

    def translate(self, words: Words) -> None:
        """Names in the current language."""
        kept = self.value() or DTYPES[0]
        self.combo.setAccessibleName(words.tr("Type of the weights"))
        self.set_choices(dtype_choices(words))
        self.show_value(kept)


class ModelRow(Card):
    """Shows a model and says what the user wants done with it."""

    get_wanted = Signal(str)
    pause_wanted = Signal(str)
    again_wanted = Signal(str)
    cancel_wanted = Signal(str)
    use_wanted = Signal(str)
    verify_wanted = Signal(str)
    convert_wanted = Signal(str, str)  # key, dtype
    delete_wanted = Signal(str)
    size_wanted = Signal(str, str)  # key, choice of smaller_part
    smaller_wanted = Signal(str, str)

    def __init__(self, key: str, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(words, tokens, parent)
        self.key = key
        self.item: ModelItem | None = None
        self.task: Task | None = None
        self._error = ""
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 1000)
        self.line = plain_label("quiet")
        self.dtype = DtypeChoice(words)
        self._convert = Labelled(self.dtype.widget)
        self.part = SmallerPart(words)
        self.part.hide()
        self.part.size_wanted.connect(lambda choice: self.size_wanted.emit(self.key, choice))
        self.part.changed.connect(self._show_smaller)
        self.made_of: tuple[str, int] | None = None  # in this run of Kazeia: of which model, and its bytes
        for part in (self.bar, self.line, self._convert, self.part):
            self.column.addWidget(part)
        self.get, self.again, self.pause, self.cancel = (self.action() for _ in range(4))
        self.use, self.convert, self.verify = (self.action() for _ in range(3))
        self.smaller, self.begin, self.leave = self.action(), self.action("primary"), self.action()
        self.delete = self.action()
        self.smaller.clicked.connect(self._open_smaller)
        self.begin.clicked.connect(self._begin_smaller)
        self.leave.clicked.connect(self._close_smaller)
        self.get.clicked.connect(lambda: self.get_wanted.emit(self.key))
        self.again.clicked.connect(self._again)
        self.pause.clicked.connect(lambda: self.pause_wanted.emit(self.key))
        self.cancel.clicked.connect(lambda: self.cancel_wanted.emit(self.key))
        self.use.clicked.connect(lambda: self.use_wanted.emit(self.key))
        self.verify.clicked.connect(lambda: self.verify_wanted.emit(self.key))
        self.convert.clicked.connect(lambda: self.convert_wanted.emit(self.key, str(self.dtype.value())))
        self.delete.clicked.connect(self._ask)

    @property
    def controls(self) -> tuple[QWidget, ...]:
        combo: QComboBox = self.dtype.combo
        return (combo, self.part.type.combo, *super().controls)

    def show_model(self, item: ModelItem | None, task: Task | None) -> None:
        """What is known now; a task without an item is of a model that is still to be made."""
        if item != self.item:
            self._error = ""
        self.item, self.task = item, task
        self.retranslate()

    def set_error(self, text: str) -> None:
        """What went wrong with something that is no task."""
        self._error = text
        self.retranslate()

    def _again(self) -> None:
        (self.again_wanted if self.task is not None else self.get_wanted).emit(self.key)

    # Smaller weights

    def _open_smaller(self) -> None:
        self.part.open()
        self._show_what_fits()

    def _close_smaller(self) -> None:
        self.part.hide()
        self._show_what_fits()
        self.smaller.setFocus()

    def _begin_smaller(self) -> None:
        self._close_smaller()
        self.smaller_wanted.emit(self.key, self.part.choice)

    def take_back(self) -> bool:
        """Escape: nothing is made."""
        opened = not self.part.isHidden()
        if opened:
            self._close_smaller()
        return opened or super().take_back()

    def _show_smaller(self) -> None:
        self.begin.setEnabled(self.part.worth_it)

    def _ask(self) -> None:
        tr, item = self.words.tr, self.item
        if item is None:
            return
        lost = {
            "stt": tr("It is in use: without it Kazeia cannot understand speech."),
            "llm": tr("It is in use: without it Kazeia cannot answer."),
            "voice": tr("It is in use: without it Kazeia speaks with another voice, or in writing."),
            "vad": tr("It is in use: without it Kazeia cannot listen."),
        }[item.kind]
        freed = tr("Delete {name} and free {size}?", name=item.title, size=told.size(item.used_bytes, self.words))
        self.ask(f"{lost} {freed}" if item.used else freed, tr("Delete"), lambda: self.delete_wanted.emit(self.key))

    # What is seen

    def retranslate(self) -> None:
        tr, item, task = self.words.tr, self.item, self.task
        title = item.title if item is not None else task.title if task is not None else self.key
        self.title.setText(told.title(title, self.words))
        say(self.badge, self._badge())
        say(self.detail, self._details())
        say(self.message, self._problem())
        self._convert.label.setText(tr("Type of the weights"))
        self.dtype.translate(self.words)
        self.get.setText(tr("Get"))
        self.again.setText(tr("Try again") if self.message.text() else tr("Resume"))
        self.pause.setText(tr("Pause"))
        self.cancel.setText(tr("Cancel"))
        self.use.setText(tr("Use"))
        self.convert.setText(tr("Convert"))
        self.verify.setText(tr("Verify"))
        self.smaller.setText(tr("Make smaller…"))
        self.begin.setText(tr("Make it"))
        self.leave.setText(tr("Cancel"))
        self.part.retranslate()
        self.delete.setText(tr("Delete"))
        for button in self.buttons:
            button.setAccessibleName(tr("{what}: {text}", what=button.text(), text=self.title.text()))
            button.setToolTip(button.accessibleName())
        for control, text in (
            (self.get, tr("Download it; the network is used for that only")),
            (self.again, tr("Go on where it stopped")), (self.pause, tr("Stop; what is here is kept")),
            (self.cancel, tr("Stop, and delete what is half done")), (self.use, tr("Kazeia uses it from now on")),
            (self.convert, tr("Make Kazeia's own voice of it; the original stays")),
            (self.verify, tr("Compare every file with its known hash")),
            (self.smaller, tr("Make a smaller one of it, faster and less exact; the original stays")),
            (self.begin, tr("Write the smaller model; the original stays")),
            (self.leave, tr("Nothing is changed")),
            (self.delete, tr("Delete it from the disk, after a question")),
            (self.dtype.combo, tr("Smaller weights are faster and less exact")),
        ):  # fmt: skip
            describe(control, text)
        self._show_what_fits()

    def _show_what_fits(self) -> None:
        item, task = self.item, self.task
        phase = task.phase if task is not None else None
        going = phase in (Phase.WAITING, Phase.RUNNING)
        fetching = task is not None and task.verb is Verb.GET
        stopped = phase is Phase.PAUSED or (phase is Phase.FAILED and task is not None and task.verb is not Verb.VERIFY)
        kept = item is not None and item.partial_bytes > 0 and phase is None
        present = item is not None and item.present and not going
        self.get.setVisible(item is not None and not item.present and not going and not stopped and not kept
                            and item.origin == "catalogue")  # fmt: skip
        self.again.setVisible(stopped or kept)
        self.pause.setVisible(going and fetching)
        self.cancel.setVisible(going or stopped or kept)
        self.use.setVisible(present and item is not None and not item.used and bool(item.settings))
        self.convert.setVisible(present and item is not None and item.convertible)
        self._convert.setVisible(not self.convert.isHidden())
        can = present and item is not None and item.gguf is not None
        opened = can and not self.part.isHidden()
        self.part.setVisible(opened)
        self.smaller.setVisible(can and not opened)
        self.begin.setVisible(opened)
        self.leave.setVisible(opened)
        self.verify.setVisible(present and item is not None and item.origin != "local" and not opened)
        self.use.setVisible(not self.use.isHidden() and not opened)
        self.delete.setVisible(item is not None and not going and (present or item.problem is not None) and not opened)
        running = phase is Phase.RUNNING
        share = told.share(task.progress) if task is not None else 0.0
        self.bar.setVisible(running or phase is Phase.PAUSED or kept)
        if kept and item is not None and item.size:
            share = min(1.0, item.partial_bytes / item.size)
        unknown = running and task is not None and (task.progress is None or not task.progress.total_bytes)
        self.bar.setRange(0, 0 if unknown and task is not None and task.verb is not Verb.GET else 1000)
        self.bar.setValue(round(1000 * share))
        self.bar.setAccessibleName(self.line.text())
        say(self.line, self._progress(kept))

    def _progress(self, kept: bool) -> str:
        tr, item, task = self.words.tr, self.item, self.task
        if task is None:
            if kept and item is not None:
                here = told.size(item.partial_bytes, self.words)
                return tr("Stopped: {size} are here. It goes on from there.", size=here)
            if self.made_of is not None and item is not None and item.size:
                name, before = self.made_of
                sizes = {"before": told.size(before, self.words), "after": told.size(item.size, self.words)}
                return tr("Made of {name}: {before} before, {after} now.", name=name, **sizes)
            return ""
        match task.phase:
            case Phase.WAITING:
                return tr("Waits for its turn")
            case Phase.PAUSED:
                return " · ".join(filter(None, (tr("Paused"), told.progress(task.progress, self.words, paused=True))))
            case Phase.RUNNING if task.verb is Verb.VERIFY:
                return tr("Being verified…")
            case Phase.RUNNING:
                return told.progress(task.progress, self.words)
            case Phase.DONE if task.verb is Verb.VERIFY:
                return tr("Verified: every file is as it should be.")
            case _:
                return ""

    def _badge(self) -> str:
        tr, item = self.words.tr, self.item
        if item is None:
            return ""
        if item.used:
            return tr("in use")
        if item.present and not item.usable:
            return tr("here, to be converted")
        if item.present:
            return tr("here, checked") if item.verified else tr("here, not checked yet")
        return " · ".join(
            filter(None, (tr("starter set") if item.starter else "", tr("recommended") if item.recommended else ""))
        )

    def _details(self) -> str:
        tr, item = self.words.tr, self.item
        if item is None:
            return ""
        if item.size is None:
            size = tr("size not known before the download")
        else:
            size = told.size(item.size, self.words)
            size = tr("about {size}", size=size) if item.about else size
        origin = {"catalogue": item.source, "local": tr("your own file"), "converted": tr("converted here")}[
            item.origin
        ]
        parts = [size, item.dtype, item.licence, origin]
        if item.used_bytes and item.used_bytes != item.size and not item.partial_bytes:
            parts.append(tr("{size} on the disk", size=told.size(item.used_bytes, self.words)))
        return " · ".join(filter(None, parts))

    def _problem(self) -> str:
        if self.task is not None and self.task.error is not None:
            return told.error(self.task.error, self.words)
        if self.item is not None and self.item.problem is not None:
            return self.item.problem.told_in(self.words.language)
        return self._error
