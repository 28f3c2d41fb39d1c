"""Recording from the microphone: device, level, time; the conversation does not listen meanwhile."""

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.gui.card import describe, plain_label, say
from kazeia_desktop.gui.jobs import Report
from kazeia_desktop.gui.level_bar import LevelBar
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.gui.quiet_microphone import Use
from kazeia_desktop.gui.sound_job import SoundJob
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.voices.device_choice import DeviceChoice
from kazeia_desktop.runtime.cancel import CancelToken

if TYPE_CHECKING:
    from kazeia_desktop.audio.recorder import Heard

LONGEST_S = 30.0
SHORTEST_S = 3.0
_LOUD = 0.003
"""RMS above which somebody may be speaking (-50 dB)."""


class RecordPart(QWidget):
    """Emits (n,) float32 at 24 kHz when a recording is over."""

    began = Signal()
    recorded = Signal(object)

    def __init__(self, context: PageContext, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._job = SoundJob(context, "record-voice", Use.RECORD, self._ended, waits=True)
        self._finish = CancelToken()
        self._heard: Heard | None = None
        self._problem: KazeiaError | None = None
        self.device = DeviceChoice("input", context)
        self.button = QPushButton()
        self.button.setObjectName("primary")
        self.level = LevelBar(tokens)
        self.time = plain_label("quiet")
        self.problem = plain_label("fieldError")
        self.button.clicked.connect(self._toggle)
        line = QHBoxLayout()
        line.setSpacing(GRID)
        line.addWidget(self.device.widget, 1)
        line.addWidget(self.button)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(GRID)
        box.addLayout(line)
        for part in (self.level, self.time, self.problem):
            box.addWidget(part)
        self.dress(tokens)
        self.retranslate()

    @property
    def controls(self) -> tuple[QWidget, ...]:
        """What takes the focus."""
        return (self.device.widget, self.button)

    @property
    def recording(self) -> bool:
        """Whether the microphone is open."""
        return self._job.running

    def prepare(self) -> None:
        """It is about to be seen."""
        self.device.look_up()

    def start(self) -> None:
        """Begin to record."""
        if self.recording:
            return
        self._problem, self._heard = None, None
        self._finish = finish = CancelToken()
        device = self._context.settings().audio.input_device

        def work(cancel: CancelToken, report: Report) -> Any:  # noqa: ANN401 - numpy stays out of the window's start
            from kazeia_desktop.audio.recorder import record

            return record(device, LONGEST_S, finish, cancel, report)

        self._job.start(work, self._recorded, self._failed, self._progressed)
        self.began.emit()
        self._refresh()

    def stop(self) -> None:
        """Drop what is being recorded."""
        self._job.stop()

    def _toggle(self) -> None:
        if self.recording:
            self._finish.set()
        else:
            self.start()

    def _progressed(self, heard: "Heard") -> None:
        self._heard = heard
        self.level.set_level(heard.rms, heard.clipped)
        self._refresh()

    def _recorded(self, samples: object) -> None:
        self.recorded.emit(samples)

    def _failed(self, error: KazeiaError) -> None:
        self._problem = error

    def _ended(self) -> None:
        self._heard = None
        self.level.set_level(0.0)
        self._refresh()

    def _refresh(self) -> None:
        tr, heard = self._context.words.tr, self._heard
        recording = self.recording
        self.button.setText(tr("Stop recording") if recording else tr("Record"))
        self.device.widget.setEnabled(not recording)
        describe(self.button, tr("The conversation does not listen while you record"))
        describe(self.device.widget, tr("Which microphone records"))
        self.level.setVisible(recording)
        told = ""
        if recording and heard is None:
            told = tr("The microphone is being opened…")
        elif heard is not None:
            seconds = self._context.words.locale.toString(heard.seconds, "f", 1)
            told = tr("{seconds} s of 3 to 30 s", seconds=seconds)
            if heard.clipped:
                told += " · " + tr("too loud: move away a little")
            elif heard.rms < _LOUD:
                told += " · " + tr("speak now")
        say(self.time, told)
        say(self.problem, self._problem.told_in(self._context.words.language) if self._problem else "")

    def retranslate(self) -> None:
        tr = self._context.words.tr
        self.device.take()
        self.level.setAccessibleName(tr("Sound level"))
        self._refresh()

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self.level.dress(tokens)
