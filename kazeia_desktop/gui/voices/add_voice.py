"""Adding a voice: a recording or a file, its check, who agreed, a name."""

from pathlib import Path
from typing import Final

from PySide6.QtCore import QDate, QLocale, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QFileDialog, QLineEdit, QVBoxLayout, QWidget

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.gui.card import Card, describe, plain_label, say
from kazeia_desktop.gui.drop_target import DropTarget
from kazeia_desktop.gui.jobs import Job
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.voices import work
from kazeia_desktop.gui.voices.advice import advice
from kazeia_desktop.gui.voices.recording import RecordPart

_KINDS: Final = (".wav", ".flac")
_ONE_LINE_PX: Final = 560


class AddVoice(DropTarget, Card):
    """The form. It stays open until the voice is kept or the user closes it."""

    closed = Signal()
    added = Signal(str)
    play_wanted = Signal(object)  # Clip
    stop_wanted = Signal()

    def __init__(self, context: PageContext, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(context.words, tokens, parent)
        self._context = context
        self.clip: work.Clip | None = None
        self._job: Job | None = None
        self._problem: KazeiaError | str | None = None
        self._playing = False
        self.setAcceptDrops(True)
        self.record = RecordPart(context, tokens)
        self.heard = plain_label()
        self.advice = plain_label("quiet")
        self.name, self.who, self.when, self.how = QLineEdit(), QLineEdit(), QLineEdit(), QLineEdit()
        self.agreed = QCheckBox()
        self._labels = [plain_label() for _ in range(4)]
        form = QVBoxLayout()  # a QFormLayout gives labels that wrap less room than there is
        form.setSpacing(GRID)
        for label, field in zip(self._labels, (self.name, self.who, self.when, self.how), strict=True):
            label.setBuddy(field)
            form.addWidget(label)
            form.addWidget(field)
            field.textChanged.connect(self._refresh)
        self._form = QWidget()
        box = QVBoxLayout(self._form)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(GRID)
        box.addLayout(form)
        box.addWidget(self.agreed)
        for part in (self.record, self.heard, self.advice, self._form):
            self.column.addWidget(part)
        self.listen = self.action()
        self.again = self.action()
        self.file = self.action()
        self.keep = self.action("primary")
        self.close_button = self.action()
        self.agreed.toggled.connect(self._refresh)
        self.record.recorded.connect(self._recorded)
        self.record.began.connect(self._recording_began)
        self.listen.clicked.connect(self._listen)
        self.again.clicked.connect(self._again)
        self.file.clicked.connect(self._choose)
        self.keep.clicked.connect(self._keep)
        self.close_button.clicked.connect(self._close)
        self.retranslate()

    @property
    def controls(self) -> tuple[QWidget, ...]:
        fields = (self.name, self.who, self.when, self.how, self.agreed)
        return (*self.record.controls, *fields, *super().controls)

    def prepare(self) -> None:
        """It is about to be seen."""
        self.record.prepare()
        if not self.when.text():
            self.when.setText(self._context.words.locale.toString(QDate.currentDate(), QLocale.FormatType.LongFormat))

    def leave(self) -> None:
        """It is no longer seen: the microphone is given back."""
        self.record.stop()

    def set_playing(self, playing: bool) -> None:
        """Whether the recording is heard."""
        self._playing = playing
        self._refresh()

    # Where the sound comes from

    def open_file(self, path: Path) -> None:
        """Read a file and judge it."""
        self.record.stop()
        self._problem = None
        self._busy(self._context.jobs.run("read-clip", lambda *_: work.read_file(path), self._taken, self._failed))

    def _choose(self) -> None:
        tr = self.words.tr
        dialog = QFileDialog(self, tr("A recording of one person"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([tr("Recordings (*.wav *.flac)")])
        dialog.fileSelected.connect(lambda name: self.open_file(Path(name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _recording_began(self) -> None:
        self.clip = self._problem = None
        self._refresh()

    def _recorded(self, samples: FloatArray) -> None:
        source = self.words.tr("recorded here")
        self._busy(
            self._context.jobs.run("judge-clip", lambda *_: work.judge(samples, source), self._taken, self._failed)
        )

    def _again(self) -> None:
        self.stop_wanted.emit()
        self.record.start()

    def _taken(self, clip: work.Clip) -> None:
        self._job = None
        self.clip = clip
        self._refresh()
        (self.name if self._usable else self.again).setFocus()

    def _failed(self, error: KazeiaError) -> None:
        self._job = None
        self._problem = error
        self._refresh()

    def _busy(self, job: Job) -> None:
        self._job = job
        self._refresh()

    # Keeping it

    @property
    def _usable(self) -> bool:
        return self.clip is not None and self.clip.usable

    @property
    def consent(self) -> str:
        """Who, when and how, as it is kept."""
        return ", ".join(field.text().strip() for field in (self.who, self.when, self.how))

    def _listen(self) -> None:
        if self._playing:
            self.stop_wanted.emit()
        elif self.clip is not None:
            self.play_wanted.emit(self.clip)

    def _keep(self) -> None:
        clip, name, consent = self.clip, self.name.text().strip(), self.consent
        if clip is None:
            return
        paths, settings = self._context.paths, self._context.settings()
        self._problem = None
        self.stop_wanted.emit()
        self._busy(
            self._context.jobs.run(
                "keep-voice", lambda *_: work.keep(paths, settings, name, clip, consent), self._kept, self._failed
            )
        )

    def _kept(self, voice: object) -> None:
        self._job = None
        self.clear()
        self.added.emit(getattr(voice, "name", ""))

    def _close(self) -> None:
        self.record.stop()
        self.stop_wanted.emit()
        self.clear()
        self.closed.emit()

    def clear(self) -> None:
        """As it was at first."""
        self.clip = self._problem = None
        for field in (self.name, self.who, self.how):
            field.clear()
        self.agreed.setChecked(False)
        self._refresh()

    # What is seen

    def _refresh(self) -> None:
        tr, clip = self.words.tr, self.clip
        busy = self._job is not None
        told = ""
        if clip is not None:
            seconds = self.words.locale.toString(clip.seconds, "f", 1)
            told = tr("{seconds} s ({source})", seconds=seconds, source=clip.source)
        say(self.heard, told)
        say(self.advice, "\n".join(advice(clip.flaws, self.words)) if clip is not None else "")
        self.advice.setObjectName("quiet" if self._usable else "fieldError")
        self.advice.style().polish(self.advice)
        problem = self._problem
        say(self.message, problem.told_in(self.words.language) if isinstance(problem, KazeiaError) else problem or "")
        self.record.setVisible(clip is None)
        self._form.setVisible(clip is not None and self._usable)
        self.listen.setVisible(clip is not None)
        self.again.setVisible(clip is not None)
        self.keep.setVisible(clip is not None and self._usable)
        self.listen.setText(tr("Stop") if self._playing else tr("Hear the recording"))
        filled = all(field.text().strip() for field in (self.name, self.who, self.when, self.how))
        self.keep.setEnabled(filled and self.agreed.isChecked() and not busy)
        needed = tr("Name, who, when, how and the box are needed.")
        describe(self.keep, tr("Keep the recording and the voice on this machine") if self.keep.isEnabled() else needed)
        for button in (self.again, self.file):
            button.setEnabled(not busy)

    def retranslate(self) -> None:
        tr = self.words.tr
        self.title.setText(tr("Add a voice"))
        say(
            self.detail,
            tr(
                "Record 3 to 30 s of one person who speaks calmly in a quiet room, or drop a WAV or FLAC file here. "
                "The recording stays on this machine."
            ),
        )
        texts = (
            tr("Name of the voice (letters, digits, - and _)"), tr("Who speaks and agreed to be imitated"),
            tr("When they agreed"), tr("How they agreed (in writing, aloud before the recording…)"),
        )  # fmt: skip
        for label, field, text in zip(self._labels, (self.name, self.who, self.when, self.how), texts, strict=True):
            label.setText(text)
            field.setAccessibleName(text)
        self._write_agreed()
        self.again.setText(tr("Record again"))
        self.file.setText(tr("Choose a file…"))
        self.keep.setText(tr("Keep this voice"))
        self.close_button.setText(tr("Close"))
        for control, text in (
            (self.listen, tr("Play what was recorded")), (self.again, tr("Drop this recording and record another")),
            (self.file, tr("A WAV or FLAC file of 3 to 30 s")),
            (self.close_button, tr("Close without keeping anything")),
            (self.agreed, tr("Without it no voice is kept")), (self.name, tr("1 to 40 letters, digits, - or _")),
            *((field, tr("Kept with the voice")) for field in (self.who, self.when, self.how)),
        ):  # fmt: skip
            describe(control, text)
        self.record.retranslate()
        self._refresh()

    def _write_agreed(self) -> None:
        """A check box does not wrap: in a narrow window its text is broken in the middle."""
        text = self.words.tr("This person agrees that Kazeia speaks with their voice")
        if self.width() < _ONE_LINE_PX:
            at = min((at for at, c in enumerate(text) if c == " "), key=lambda at: abs(at - len(text) / 2))
            text = f"{text[:at]}\n{text[at + 1 :]}"
        self.agreed.setText(text)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._write_agreed()

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self.tokens = tokens
        self.record.dress(tokens)

    def takes(self, path: Path) -> bool:
        return path.suffix.lower() in _KINDS

    def take(self, path: Path) -> None:
        self.open_file(path)
