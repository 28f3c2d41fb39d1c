"""Compare: one sentence and one seed, said with two voices, presets or backends; figures, and blind listening."""

import threading
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from kazeia_desktop.errors import KazeiaError, SettingsError
from kazeia_desktop.events import State
from kazeia_desktop.gui.card import plain_label, say
from kazeia_desktop.gui.compare.blind_card import BlindCard
from kazeia_desktop.gui.compare.side_card import SideCard
from kazeia_desktop.gui.compare.table import FigureTable
from kazeia_desktop.gui.compare.wave import Wave
from kazeia_desktop.gui.compare.work import WORKSHOP, Pair, Workshop
from kazeia_desktop.gui.engine import Choice
from kazeia_desktop.gui.flow import FlowLayout
from kazeia_desktop.gui.jobs import Job
from kazeia_desktop.gui.pages.page import Page, PageContext
from kazeia_desktop.gui.quiet_microphone import Use
from kazeia_desktop.gui.settings_panel.editors import ChoiceEditor, NumberEditor
from kazeia_desktop.gui.sound_job import SoundJob
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.settings.presets import Preset, PresetStore
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import with_value

_SENTENCES: Final = {
    "fr": (
        "Bonjour, je suis Kazeia, et voici comment je dis cette phrase.",
        "Prenez un coupe-vent, car il peut pleuvoir en Bretagne, même en été.",
        "Êtes-vous sûr de vouloir partir à sept heures ?",
    ),
    "en": (
        "Hello, I am Kazeia, and this is how I say this sentence.",
        "Take a windproof jacket, because it may rain by the sea, even in summer.",
        "Are you sure that you want to leave at seven o'clock?",
    ),
}
_LONGEST: Final = 400
_KINDS: Final = ("voices", "tts_models")
_BUSY: Final = (State.HEARING, State.THINKING, State.SPEAKING, State.LOADING)
_USUAL_S: Final = 5.0
"""Length of most sentences, for the progress bar."""


class ComparePage(Page):
    """See the module."""

    in_parts = True

    def __init__(self, context: PageContext, tokens: Tokens, workshop: Workshop = WORKSHOP) -> None:
        super().__init__(context, tokens)
        words = context.words
        self._workshop = workshop
        self._busy = threading.Event()  # the conversation's turn goes first
        self._making: Job | None = None
        self._playing = SoundJob(context, "compare-play", Use.PLAY, self._show_playing)
        self._pair: Pair | None = None
        self._made_with: Settings | None = None
        self._error: KazeiaError | None = None
        self._progress = (0, 0.0)
        self.intro = plain_label("quiet")
        self.sentence = ChoiceEditor(open_to_text=True)
        self.sentence_label = QLabel()
        self.sentence_label.setBuddy(self.sentence.widget)
        line = self.sentence.combo.lineEdit()
        if line is not None:
            line.setMaxLength(_LONGEST)
        self.seed = NumberEditor(0, 2**31 - 1, whole=True)
        self.seed.show_value(1)
        self.seed_label = QLabel()
        self.seed_label.setBuddy(self.seed.widget)
        self.sides = tuple(SideCard(name, context.settings, words, tokens) for name in "AB")
        self.make, self.cancel = QPushButton(), QPushButton()
        self.make.setObjectName("primary")
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.progress.setRange(0, 1000)
        self.status = plain_label("quiet")
        self.plays = (QPushButton(), QPushButton())
        self.stop = QPushButton()
        self.waves = (Wave(tokens), Wave(tokens))
        self.table = FigureTable()
        self.blind = BlindCard(words, tokens)
        self._lay_out()
        self._connect()
        self._show_making()
        self._show_pair()
        self.dress(tokens)
        self.retranslate()

    def _lay_out(self) -> None:
        ask = QVBoxLayout()
        ask.setSpacing(GRID // 2)
        seed = QHBoxLayout()
        seed.setSpacing(GRID - 2)
        seed.addWidget(self.seed.widget)
        for button in self.seed.extras:
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            seed.addWidget(button)
        seed.addStretch(1)
        self.seed.widget.setMaximumWidth(160)
        for part in (self.sentence_label, self.sentence.widget, self.seed_label):
            ask.addWidget(part)
        ask.addLayout(seed)
        self._pair_row = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._pair_row.setSpacing(2 * GRID)
        for side in self.sides:
            self._pair_row.addWidget(side, 1, Qt.AlignmentFlag.AlignTop)
        do = FlowLayout()
        do.addWidget(self.make)
        do.addWidget(self.cancel)
        self.result = QWidget()
        made = QVBoxLayout(self.result)
        made.setContentsMargins(0, 0, 0, 0)
        made.setSpacing(2 * GRID)
        for player, wave in zip(self.plays, self.waves, strict=True):
            row = QHBoxLayout()
            row.setSpacing(GRID)
            row.addWidget(player)
            row.addWidget(wave, 1)
            made.addLayout(row)
        stop = QHBoxLayout()
        stop.addWidget(self.stop)
        stop.addStretch(1)
        made.addLayout(stop)
        made.addWidget(self.table)
        made.addWidget(self.blind)
        self.column.addWidget(self.intro)
        self.column.addLayout(ask)
        self.column.addLayout(self._pair_row)
        self.column.addLayout(do)
        self.column.addWidget(self.progress)
        self.column.addWidget(self.status)
        self.column.addWidget(self.result)
        self.column.addStretch(1)

    def _connect(self) -> None:
        bridge = self.context.bridge
        self.make.clicked.connect(self.make_both)
        self.cancel.clicked.connect(self.cancel_making)
        self.stop.clicked.connect(self.stop_playing)
        for at, button in enumerate(self.plays):
            button.clicked.connect(lambda _checked=False, at=at: self.play(at, "AB"[at]))
        self.blind.play_wanted.connect(self.play)
        bridge.choices_ready.connect(self._choices_ready)
        bridge.state_changed.connect(self._state_changed)
        for side in self.sides:
            side.choices_wanted.connect(bridge.request_choices)
            side.changed.connect(self._outdated)
        self.sentence.edited.connect(self._outdated)
        self.seed.edited.connect(self._outdated)

    # Looking up

    def prepare(self) -> None:
        for kind in _KINDS:
            self.context.bridge.request_choices(kind)
        store = PresetStore(self.context.paths.config_dir / "presets")
        self.context.jobs.run("presets", lambda _token, _report: store.list()[0], done=self._presets_found)

    def _presets_found(self, own: tuple[Preset, ...]) -> None:
        for side in self.sides:
            side.set_presets(own)

    def _choices_ready(self, kind: str, found: tuple[Choice, ...]) -> None:
        for side in self.sides:
            side.set_choices(kind, found)

    def _state_changed(self, state: State) -> None:
        if state in _BUSY:
            self._busy.set()
        else:
            self._busy.clear()
        self._show_making()

    def settings_changed(self, settings: Settings) -> None:
        for side in self.sides:
            side.take_base()

    def leave(self) -> None:
        self.stop_playing()

    # Making

    def _wanted(self) -> tuple[Settings, Settings]:
        seed = self.seed.value()
        one, other = (with_value(side.settings, "tts.seed", seed) for side in self.sides)
        return one, other

    def make_both(self) -> None:
        """Say the sentence with both sides."""
        if self._making is not None:
            return
        self.stop_playing()
        try:
            sides = self._wanted()
        except SettingsError as error:
            self._failed(error)
            return
        text, paths, busy, make = (
            str(self.sentence.value()).strip(),
            self.context.paths,
            self._busy,
            self._workshop.pair,
        )
        self._error, self._progress, self._pair = None, (0, 0.0), None
        self._show_pair()
        self._making = self.context.jobs.run(
            "compare",
            lambda token, report: make(paths, text, sides, busy, token, report),
            done=self._made,
            failed=self._failed,
            progressed=self._progressed,
            cancelled=self._ended,
        )
        self._show_making()
        self.cancel.setFocus()

    def cancel_making(self) -> None:
        """Give it up; within the voice's next piece of sound."""
        if self._making is not None:
            self._making.cancel()
            self._show_making()

    def _progressed(self, news: tuple[int, float]) -> None:
        self._progress = news
        self._show_making()

    def _made(self, pair: Pair) -> None:
        self._pair = pair
        self.blind.forget()
        self._ended()
        self._show_pair()
        self.plays[0].setFocus()

    def _failed(self, error: KazeiaError) -> None:
        self._error = error
        self._ended()

    def _ended(self) -> None:
        had_focus = self.cancel.hasFocus()
        self._making = None
        self._show_making()
        if had_focus:
            self.make.setFocus()

    def _outdated(self) -> None:
        """What is heard was made with other choices; it stays until it is made anew."""
        self._show_making()

    def _show_making(self) -> None:
        tr, making = self.context.words.tr, self._making is not None
        self.make.setEnabled(not making)
        self.cancel.setVisible(making)
        self.progress.setVisible(making)
        at, seconds = self._progress
        self.progress.setValue(round(500 * (at + min(seconds / _USUAL_S, 0.95))))
        name = "fieldError" if self._error is not None and not making else "quiet"
        if self.status.objectName() != name:
            self.status.setObjectName(name)
            self.status.style().unpolish(self.status)
            self.status.style().polish(self.status)
        if making and self._making is not None and self._making.token.is_set():
            text = tr("Stopping…")
        elif making and self._busy.is_set():
            text = tr("The conversation goes first: the comparison goes on afterwards.")
        elif making and not seconds:
            text = tr("Side {name}: the voice is loaded…", name="AB"[at])
        elif making:
            said = self.context.words.seconds(1000 * seconds)
            text = tr("Side {name}: {time} of sound are there.", name="AB"[at], time=said)
        elif self._error is not None:
            text = self.context.words.told(self._error.template, self._error.values)
        else:
            text = ""
        say(self.status, text)

    def _show_pair(self) -> None:
        pair = self._pair
        self.result.setVisible(pair is not None)
        self.table.show_pair(pair, self.context.words)
        for at, wave in enumerate(self.waves):
            wave.show_peaks(() if pair is None else pair.peaks[at])
        self._show_playing()

    # Hearing

    def play(self, side: int, letter: str) -> None:
        """Play a side through the loudspeaker of the settings, the microphone closed."""
        pair = self._pair
        if pair is None:
            return
        self.stop_playing()
        spoken, settings, play = pair.sides[side], self.context.settings(), self._workshop.play

        def failed(error: KazeiaError) -> None:
            self._error = error
            self._show_making()

        self._playing.start(lambda token, _report: play(spoken, settings, token), failed=failed)
        self._show_playing()

    def stop_playing(self) -> None:
        """Silence."""
        self._playing.stop()

    def _show_playing(self) -> None:
        self.stop.setEnabled(self._playing.running)

    # The page

    def title_text(self) -> str:
        return self.context.words.tr("Compare voices")

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        return (
            self.back, self.sentence.widget, self.seed.widget, *self.seed.extras,
            *self.sides[0].controls, *self.sides[1].controls, self.make, self.cancel, *self.plays, self.stop,
            *self.blind.controls,
        )  # fmt: skip

    def set_narrow(self, narrow: bool) -> None:
        direction = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        self._pair_row.setDirection(direction)

    def dress(self, tokens: Tokens) -> None:
        super().dress(tokens)
        self.seed.dress(tokens)
        for side in self.sides:
            side.dress(tokens)
        for wave in self.waves:
            wave.dress(tokens)

    def retranslate(self) -> None:
        super().retranslate()
        words, tr = self.context.words, self.context.words.tr
        self.intro.setText(
            tr("The same sentence, said twice with what you choose below. The conversation's own voice stays as it is.")
        )
        self.sentence_label.setText(tr("Sentence"))
        self.sentence.widget.setAccessibleName(tr("Sentence"))
        self.sentence.widget.setToolTip(tr("Choose a sentence, or write one"))
        known = {text for texts in _SENTENCES.values() for text in texts}
        written = str(self.sentence.value())
        self.sentence.set_choices([Choice(text, text) for text in _SENTENCES[words.language]])
        self.sentence.show_value(written if written not in {"", *known} else _SENTENCES[words.language][0])
        self.seed_label.setText(tr("Seed of both sides"))
        self.seed.widget.setAccessibleName(tr("Seed of both sides"))
        self.seed.widget.setToolTip(tr("The same seed makes the same choices; the light voice makes none"))
        self.seed.retranslate(words, tr("Seed of both sides"))
        self.make.setText(tr("Make both"))
        self.make.setToolTip(tr("Say the sentence with both sides, without a sound"))
        self.cancel.setText(tr("Cancel"))
        self.cancel.setToolTip(tr("Give up making both"))
        self.progress.setAccessibleName(tr("Progress of the comparison"))
        for player, name, wave in zip(self.plays, "AB", self.waves, strict=True):
            player.setText(tr("Play {name}", name=name))
            player.setToolTip(tr("Play side {name} through the loudspeaker", name=name))
            wave.setAccessibleName(tr("Outline of the sound of side {name}", name=name))
        self.stop.setText(tr("Stop"))
        self.stop.setToolTip(tr("Stop the sound"))
        for side in self.sides:
            side.retranslate()
        self.blind.retranslate()
        self._show_making()
        self.table.show_pair(self._pair, words)
