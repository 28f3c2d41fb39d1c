"""Does the microphone hear? The bar moves when somebody speaks."""

import math
from typing import TYPE_CHECKING, Final

from PySide6.QtWidgets import QPushButton, QWidget

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.gui.card import describe, plain_label, say
from kazeia_desktop.gui.first_run.step import Step
from kazeia_desktop.gui.flow import FlowLayout
from kazeia_desktop.gui.jobs import Report
from kazeia_desktop.gui.level_bar import LevelBar
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.gui.quiet_microphone import Use
from kazeia_desktop.gui.shortcuts import keys_text
from kazeia_desktop.gui.sound_job import SoundJob
from kazeia_desktop.gui.theme import Tokens
from kazeia_desktop.gui.voices.device_choice import DeviceChoice
from kazeia_desktop.runtime.cancel import CancelToken

if TYPE_CHECKING:
    from kazeia_desktop.audio.recorder import Heard

_SPEECH: Final = 0.01
"""RMS: -40 dB, speech at arm's length."""
_REPORTS: Final = 4  # of 50 ms each: a click is no voice


class MicrophoneStep(Step):
    """Opens the microphone while it is seen; nothing is kept of what it hears."""

    def __init__(self, context: PageContext, tokens: Tokens) -> None:
        super().__init__(context, tokens)
        self._job = SoundJob(context, "test-microphone", Use.TEST, self._ended, waits=True)
        self._loud = 0
        self.heard = False
        self._problem: KazeiaError | None = None
        self.device = DeviceChoice("input", context)
        self.level = LevelBar(tokens)
        self.state = plain_label()
        self.problem = plain_label("fieldError")
        self.retry = QPushButton()
        for part in (self.device.widget, self.level, self.state, self.problem):
            part.setMaximumWidth(560)
            self.column.addWidget(part)
        line = FlowLayout()
        line.addWidget(self.retry)
        self.column.addLayout(line)
        self.device.chosen.connect(self._start)
        self.retry.clicked.connect(self._start)
        self.retranslate()

    @property
    def controls(self) -> tuple[QWidget, ...]:
        return (self.device.widget, self.retry)

    @property
    def primary(self) -> QPushButton | None:
        return self.retry if self._problem is not None else None

    @property
    def leads(self) -> tuple[QPushButton, ...]:
        return (self.retry,)

    @property
    def next_text(self) -> str:
        tr = self.context.words.tr
        return tr("Continue in writing") if self._problem is not None else tr("Continue")

    def enter(self) -> None:
        self.device.look_up()
        self.retranslate()  # the key may be another now
        self._start()

    def leave(self) -> None:
        self._job.stop()

    def _start(self) -> None:
        """With the device that is chosen now; also once more."""
        self.heard, self._loud = False, 0
        self._problem = None
        device = self.context.settings().audio.input_device

        def work(cancel: CancelToken, report: Report) -> None:
            from kazeia_desktop.audio.recorder import record

            record(device, math.inf, CancelToken(), cancel, report, keep=False)

        self._job.start(work, failed=self._failed, progressed=self._progressed)
        self._refresh()

    def _progressed(self, heard: "Heard") -> None:
        self.level.set_level(heard.rms, heard.clipped)
        self._loud = self._loud + 1 if heard.rms > _SPEECH else 0
        if self._loud >= _REPORTS and not self.heard:
            self.heard = True
            self._refresh()

    def _failed(self, error: KazeiaError) -> None:
        self._problem = error

    def _ended(self) -> None:
        self.level.set_level(0.0)
        self._refresh()

    def _refresh(self) -> None:
        tr = self.context.words.tr
        problem = self._problem
        told = (
            tr("I hear you: the microphone works.") if self.heard else tr("Say a few words: the bar moves with them.")
        )
        say(self.state, told if problem is None else "")
        say(self.problem, problem.told_in(self.context.words.language) if problem is not None else "")
        describe(self.device.widget, tr("Which microphone Kazeia listens to"))
        describe(self.retry, tr("Open the microphone again"))
        self.level.setVisible(problem is None)
        self.retry.setVisible(problem is not None)
        self.changed.emit()

    def dress(self, tokens: Tokens) -> None:
        super().dress(tokens)
        self.level.dress(tokens)

    def retranslate(self) -> None:
        tr = self.context.words.tr
        self.title.setText(tr("Your microphone"))
        keys = keys_text(self.context.settings().shortcuts.mute, self.context.words)
        self.text.setText(
            tr("Kazeia listens to it while its window is open, unless you switch it off ({keys}).", keys=keys)
            if keys
            else tr("Kazeia listens to it while its window is open, unless you switch it off.")
        )
        self.retry.setText(tr("Try again"))
        self.level.setAccessibleName(tr("Sound level"))
        self.device.take()
        self._refresh()
