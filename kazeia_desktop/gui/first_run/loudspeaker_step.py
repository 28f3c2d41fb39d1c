"""Is the loudspeaker heard? A sentence where a voice is there, else two tones."""

from collections.abc import Callable

from PySide6.QtWidgets import QPushButton, QWidget

from kazeia_desktop.errors import Cancelled, KazeiaError
from kazeia_desktop.gui.card import describe, plain_label, say
from kazeia_desktop.gui.first_run.step import Step
from kazeia_desktop.gui.flow import FlowLayout
from kazeia_desktop.gui.jobs import Job
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.gui.quiet_microphone import QuietMicrophone
from kazeia_desktop.gui.theme import Tokens
from kazeia_desktop.gui.voices import work
from kazeia_desktop.gui.voices.device_choice import DeviceChoice
from kazeia_desktop.gui.voices.listing import VoiceItem
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings


def sound(paths: Paths, settings: Settings, cancel: CancelToken) -> None:
    """The light voice's sentence, or the chime where it cannot speak yet. Raises KazeiaError, Cancelled."""
    from kazeia_desktop.audio.player import CHIME_HZ, chime, play_samples
    from kazeia_desktop.errors import AudioDeviceError

    try:
        work.speak(paths, settings, VoiceItem("light", "", ""), cancel)
    except (AudioDeviceError, Cancelled):
        raise
    except KazeiaError:  # no model yet, or no espeak-ng
        play_samples(chime(), CHIME_HZ, settings.audio, cancel)


class LoudspeakerStep(Step):
    """Plays when asked; the answer leads on, or to another device."""

    def __init__(self, context: PageContext, tokens: Tokens) -> None:
        super().__init__(context, tokens)
        self._job: Job | None = None
        self._played = False
        self._problem: KazeiaError | None = None
        self._give_back: Callable[[], None] = lambda: None
        self.device = DeviceChoice("output", context)
        self.play, self.heard, self.unheard = QPushButton(), QPushButton(), QPushButton()
        self.play.setObjectName("primary")
        self.state = plain_label()
        self.problem = plain_label("fieldError")
        for part in (self.device.widget, self.state, self.problem):
            part.setMaximumWidth(560)
        self.column.addWidget(self.device.widget)
        line = FlowLayout()
        for button in (self.play, self.heard, self.unheard):
            line.addWidget(button)
        self.column.addLayout(line)
        self.column.addWidget(self.state)
        self.column.addWidget(self.problem)
        self.play.clicked.connect(self._toggle)
        self.heard.clicked.connect(self.next_wanted)
        self.unheard.clicked.connect(self._not_heard)
        self.device.chosen.connect(self.start)
        self.retranslate()

    @property
    def controls(self) -> tuple[QWidget, ...]:
        return (self.device.widget, self.play, self.heard, self.unheard)

    def enter(self) -> None:
        self._played = False
        self.device.look_up()
        self._refresh()

    def leave(self) -> None:
        if self._job is not None:
            self._job.cancel()

    def _toggle(self) -> None:
        if self._job is None:
            self.start()
        else:
            self._job.cancel()

    def start(self) -> None:
        """Play."""
        self.leave()
        self._problem = None
        paths, settings = self.context.paths, self.context.settings()
        quiet = self.context.shared(QuietMicrophone, lambda: QuietMicrophone(self.context.bridge))
        give_back = quiet.begin()
        job: Job | None = None

        def ended() -> None:
            give_back()
            if self._job is job:
                self._job = None
                self._played = True
                self._refresh()

        def failed(error: KazeiaError) -> None:
            if self._job is job:
                self._problem = error
            ended()

        job = self._job = self.context.jobs.run(
            "test-loudspeaker", lambda cancel, _: sound(paths, settings, cancel), lambda _: ended(), failed,
            cancelled=ended,
        )  # fmt: skip
        self._refresh()

    def _not_heard(self) -> None:
        self.device.widget.setFocus()
        self.device.combo.showPopup()

    def _refresh(self) -> None:
        tr, problem = self.context.words.tr, self._problem
        self.play.setText(tr("Stop") if self._job is not None else tr("Play a sound"))
        for control, text in (
            (self.device.widget, tr("Which loudspeaker Kazeia speaks through")),
            (self.play, tr("A sentence, or two tones while no voice is here")),
            (self.heard, tr("To the next step; what was not done can be done later")),
            (self.unheard, tr("Which loudspeaker Kazeia speaks through")),
        ):
            describe(control, text)
        asked = self._played and problem is None
        self.heard.setVisible(asked)
        self.unheard.setVisible(asked)
        say(self.state, tr("Did you hear it? If not, raise the volume or choose another loudspeaker.") if asked else "")
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
