"""Is the loudspeaker heard? Two tones at once, then a sentence where a voice is there."""

from typing import Final

from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget

from kazeia_desktop.errors import AudioDeviceError, Cancelled, KazeiaError
from kazeia_desktop.gui.card import describe, plain_label, say
from kazeia_desktop.gui.first_run.step import Step
from kazeia_desktop.gui.flow import FlowLayout
from kazeia_desktop.gui.jobs import Report
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.gui.quiet_microphone import Use
from kazeia_desktop.gui.sound_job import SoundJob
from kazeia_desktop.gui.theme import Tokens
from kazeia_desktop.gui.voices import work
from kazeia_desktop.gui.voices.device_choice import DeviceChoice
from kazeia_desktop.gui.voices.listing import VoiceItem
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings

TONES: Final = "tones"
PREPARING: Final = "preparing"
SPEAKING: Final = "speaking"


def sound(paths: Paths, settings: Settings, cancel: CancelToken, report: Report) -> None:
    """The chime, which is there at once; then the light voice's sentence, whose model takes seconds to load.

    Args:
        report: hears TONES, PREPARING, SPEAKING; without a voice that can speak, the first alone.

    Raises:
        AudioDeviceError: the loudspeaker cannot be used. Cancelled.
    """
    from kazeia_desktop.audio.player import CHIME_HZ, chime, play_samples

    report(TONES)
    play_samples(chime(), CHIME_HZ, settings.audio, cancel)
    report(PREPARING)
    try:
        work.speak(paths, settings, VoiceItem("light", "", ""), cancel, lambda: report(SPEAKING))
    except (AudioDeviceError, Cancelled):
        raise
    except KazeiaError:  # no model yet, or no espeak-ng: the tones are enough
        return


class LoudspeakerStep(Step):
    """Plays when asked; the answer leads on, or to another device."""

    def __init__(self, context: PageContext, tokens: Tokens) -> None:
        super().__init__(context, tokens)
        self._sound = SoundJob(context, "test-loudspeaker", Use.PLAY, self._ended)
        self._phase = ""
        self._played = False
        self._problem: KazeiaError | None = None
        self.device = DeviceChoice("output", context)
        self.play, self.heard, self.unheard = QPushButton(), QPushButton(), QPushButton()
        self.busy = QProgressBar()
        self.busy.setTextVisible(False)
        self.busy.setRange(0, 0)
        self.state = plain_label()
        self.problem = plain_label("fieldError")
        for part in (self.device.widget, self.busy, self.state, self.problem):
            part.setMaximumWidth(560)
        self.column.addWidget(self.device.widget)
        line = FlowLayout()
        for button in (self.play, self.heard, self.unheard):
            line.addWidget(button)
        self.column.addLayout(line)
        for part in (self.busy, self.state, self.problem):
            self.column.addWidget(part)
        self.play.clicked.connect(self._toggle)
        self.heard.clicked.connect(self.next_wanted)
        self.unheard.clicked.connect(self._not_heard)
        self.device.chosen.connect(self.start)
        self.retranslate()

    @property
    def controls(self) -> tuple[QWidget, ...]:
        return (self.device.widget, self.play, self.heard, self.unheard)

    @property
    def primary(self) -> QPushButton | None:
        return self.heard if self._asks else self.play

    @property
    def leads(self) -> tuple[QPushButton, ...]:
        return (self.play, self.heard)

    @property
    def _asks(self) -> bool:
        """Whether something was to be heard."""
        return self._problem is None and (self._played or self._phase in (PREPARING, SPEAKING))

    def enter(self) -> None:
        self._played = False
        self.device.look_up()
        self._refresh()

    def leave(self) -> None:
        self._sound.stop()

    def _toggle(self) -> None:
        if self._sound.running:
            self._sound.stop()
        else:
            self.start()

    def start(self) -> None:
        """Play."""
        self._sound.stop()
        self._problem, self._played, self._phase = None, False, TONES
        paths, settings = self.context.paths, self.context.settings()
        self._sound.start(
            lambda cancel, report: sound(paths, settings, cancel, report),
            failed=self._failed,
            progressed=self._progressed,
        )
        self._refresh()

    def _progressed(self, phase: str) -> None:
        self._phase = phase
        self._refresh()

    def _failed(self, error: KazeiaError) -> None:
        self._problem = error

    def _ended(self) -> None:
        self._played, self._phase = True, ""
        self._refresh()

    def _not_heard(self) -> None:
        self.device.widget.setFocus()
        self.device.combo.showPopup()

    def _refresh(self) -> None:
        tr, problem = self.context.words.tr, self._problem
        self.play.setText(
            tr("Stop") if self._sound.running else tr("Play again") if self._played else tr("Play a sound")
        )
        for control, text in (
            (self.device.widget, tr("Which loudspeaker Kazeia speaks through")),
            (self.play, tr("Two tones, then a sentence where a voice is here")),
            (self.heard, tr("To the next step; what was not done can be done later")),
            (self.unheard, tr("Which loudspeaker Kazeia speaks through")),
        ):
            describe(control, text)
        self.heard.setVisible(self._asks)
        self.unheard.setVisible(self._asks)
        told = {
            TONES: tr("Two tones, then a sentence."),
            PREPARING: tr("Did you hear the two tones? The voice is being prepared: a few seconds."),
            SPEAKING: tr("Kazeia is speaking."),
        }.get(self._phase, "")
        if not told and self._asks:
            told = tr("Did you hear it? If not, raise the volume or choose another loudspeaker.")
        self.busy.setVisible(self._phase == PREPARING)
        self.busy.setAccessibleName(told)
        say(self.state, told)
        say(self.problem, problem.told_in(self.context.words.language) if problem is not None else "")
        self.changed.emit()

    def retranslate(self) -> None:
        tr = self.context.words.tr
        self.title.setText(tr("Your loudspeaker"))
        self.text.setText(tr("Kazeia answers aloud. With a headset you can interrupt it by speaking."))
        self.heard.setText(tr("I heard it"))
        self.unheard.setText(tr("Choose another"))
        self.device.take()
        self._refresh()
