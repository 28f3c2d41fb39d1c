"""The page of voices: all that can speak, hearing them, choosing one, adding one."""

import itertools
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.gui.card import Card, describe, plain_label, say
from kazeia_desktop.gui.drop_target import DropTarget
from kazeia_desktop.gui.jobs import Job, Report
from kazeia_desktop.gui.pages.page import Page, PageContext
from kazeia_desktop.gui.quiet_microphone import Use
from kazeia_desktop.gui.sound_job import SoundJob
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.voices import work
from kazeia_desktop.gui.voices.add_voice import AddVoice
from kazeia_desktop.gui.voices.listing import Kind, VoiceItem, VoiceListing, look_up
from kazeia_desktop.gui.voices.row import VoiceRow
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings

_SECTIONS: tuple[tuple[Kind, ...], ...] = (("light",), ("speaker", "chance"), ("added", "damaged"), ("system",))


class VoicesPage(DropTarget, Page):
    """Reads the disk when it is shown, after each change, and when a setting of the voice changed elsewhere."""

    def __init__(self, context: PageContext, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(context, tokens, parent)
        self.rows: list[VoiceRow] = []
        self.listing: VoiceListing | None = None
        # Kazeia must not answer its own voice: the conversation does not listen meanwhile.
        self._sound = SoundJob(context, "play-voice", Use.PLAY, self._silent)
        self._player: VoiceRow | AddVoice | None = None
        self._loading: Job | None = None
        self._stale = False
        self._tts = context.settings().tts
        self.intro = plain_label("quiet")
        self.add_button = QPushButton()
        self.add_button.setObjectName("primary")
        self.add = AddVoice(context, tokens)
        self.add.hide()
        self.note = Card(context.words, tokens)
        self.to_models = self.note.action()
        self._list = QVBoxLayout()
        self._list.setSpacing(GRID)
        self.column.addWidget(self.intro)
        self.column.addWidget(self.note)
        self.column.addWidget(self.add_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.column.addWidget(self.add)
        self.column.addLayout(self._list)
        self.column.addStretch(1)
        self.note.hide()
        self.setAcceptDrops(True)
        self.add_button.clicked.connect(self._open_form)
        self.to_models.clicked.connect(lambda: context.show_page("models"))
        self.add.closed.connect(self._close_form)
        self.add.added.connect(self._added)
        self.add.play_wanted.connect(self._play_clip)
        self.add.stop_wanted.connect(self.stop)
        self.dress(tokens)
        self.retranslate()

    def title_text(self) -> str:
        return self.context.words.tr("Voices")

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        rows = itertools.chain.from_iterable(row.controls for row in self.rows)
        return (self.back, *self.note.controls, self.add_button, *self.add.controls, *rows)

    def prepare(self) -> None:
        if self.add.isVisibleTo(self):
            self.add.prepare()
        self.reload()

    def leave(self) -> None:
        self.stop()
        self.add.leave()

    def settings_changed(self, settings: Settings) -> None:
        changed, self._tts = settings.tts != self._tts, settings.tts
        if changed and self.isVisible():
            self.reload()

    # The list

    def reload(self) -> None:
        """Look everything up again."""
        if self._loading is not None:
            self._stale = True
            return
        paths, settings, bridge = self.context.paths, self.context.settings(), self.context.bridge

        def listed(*_: object) -> VoiceListing:
            engine = bridge.engine
            return look_up(paths, settings, engine.voice_name if engine is not None else "")

        self._loading = self.context.jobs.run("list-voices", listed, self._listed, self._not_listed)

    def _listed(self, listing: VoiceListing) -> None:
        self._loading = None
        if self._stale:
            self._stale = False
            self.reload()
            return
        if listing == self.listing:
            return
        self.listing = listing
        self._fill()

    def _not_listed(self, error: KazeiaError) -> None:
        self._loading = None
        say(self.intro, error.told_in(self.context.words.language))

    def _fill(self) -> None:
        listing = self.listing
        if listing is None:
            return
        self.stop()
        focused = next((row.item.name for row in self.rows if row.isAncestorOf(self.focusWidget() or self)), None)
        while (item := self._list.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.rows = []
        for kinds in _SECTIONS:
            items = [item for item in listing.items if item.kind in kinds]
            if not items:
                continue
            self._list.addWidget(self._heading(kinds[0]))
            for voice in items:
                row = VoiceRow(voice, self.context.words, self.tokens)
                row.listen_wanted.connect(self._listen)
                row.clip_wanted.connect(self._hear_recording)
                row.stop_wanted.connect(self.stop)
                row.use_wanted.connect(self._use)
                row.rename_wanted.connect(self._rename)
                row.delete_wanted.connect(self._delete)
                self.rows.append(row)
                self._list.addWidget(row)
        for first, second in itertools.pairwise(self.tab_order):
            QWidget.setTabOrder(first, second)
        again = next((row for row in self.rows if row.item.name == focused), None)
        if again is not None:
            again.listen.setFocus()
        self._tell_learner()

    def _heading(self, kind: Kind) -> QLabel:
        tr = self.context.words.tr
        heading = QLabel(
            {
                "light": tr("Light voice"),
                "speaker": tr("Kazeia's own voice"),
                "added": tr("Added voices"),
                "system": tr("Last resort"),
            }[kind]
        )
        heading.setObjectName("section")
        heading.setContentsMargins(0, GRID, 0, 0)
        return heading

    def row_of(self, name: str) -> VoiceRow | None:
        """The row of a voice that is listed."""
        return next((row for row in self.rows if row.item.name == name), None)

    def _tell_learner(self) -> None:
        listing = self.listing
        missing = listing is not None and not listing.learner
        self.note.setVisible(missing)
        self.add_button.setVisible(not missing and self.add.isHidden())
        if missing and listing is not None:
            tr = self.context.words.tr
            self.note.title.setText(tr("Added voices need Kazeia's own voice"))
            say(
                self.note.detail,
                tr("A recorded voice is spoken by a Qwen3-TTS Base model, and none is installed.")
                if listing.own_models == 0
                else tr("The installed own-voice model cannot learn a voice: that takes a Qwen3-TTS Base model."),
            )

    # Hearing

    def stop(self) -> None:
        """Silence."""
        self._sound.stop()  # a model that is just being loaded ends a moment later, unheard

    def _listen(self, item: VoiceItem) -> None:
        paths, settings = self.context.paths, self.context.settings()
        self._play(
            item.name, "voice",
            lambda cancel, report: work.speak(paths, settings, item, cancel, lambda: report("voice")),
        )  # fmt: skip

    def _hear_recording(self, item: VoiceItem) -> None:
        paths, settings = self.context.paths, self.context.settings()
        self._play(item.name, "clip", lambda cancel, _: work.play_added(paths, settings, item.name, cancel))

    def _play_clip(self, clip: work.Clip) -> None:
        settings = self.context.settings()
        self._begin(self.add, lambda cancel, _: work.play_clip(clip.samples, settings, cancel))
        self.add.set_playing(True)

    def _play(self, name: str, what: str, play: Callable[[CancelToken, Report], None]) -> None:
        row = self.row_of(name)
        if row is not None:
            self._begin(row, play)
            row.set_error("")
            row.set_playing(what, preparing=what == "voice")

    def _begin(self, player: VoiceRow | AddVoice, play: Callable[[CancelToken, Report], None]) -> None:
        """One sound at a time: the one before is stopped, and its job ends by itself."""

        def failed(error: KazeiaError) -> None:
            if isinstance(player, VoiceRow) and player in self.rows:
                player.set_error(error.told_in(self.context.words.language))

        def heard(what: object) -> None:
            if isinstance(player, VoiceRow) and player in self.rows:
                player.set_playing(str(what))

        self._sound.start(play, failed=failed, progressed=heard)
        self._player = player

    def _silent(self) -> None:
        player, self._player = self._player, None
        if isinstance(player, AddVoice):
            player.set_playing(False)
        elif player is not None and player in self.rows:
            player.set_playing("")

    # Changing

    def _use(self, item: VoiceItem) -> None:
        self.context.change_all(item.settings)

    def _rename(self, item: VoiceItem, new: str) -> None:
        paths = self.context.paths

        def renamed(voice: object) -> None:
            if item.used:
                self.context.change("tts.voice", str(getattr(voice, "name", new)))
            self.reload()

        self._change(item, "rename-voice", lambda: work.rename(paths, item.name, new), renamed)

    def _delete(self, item: VoiceItem) -> None:
        if item.used:
            self.context.change_all({"tts.voice": "", "tts.engine": "auto"})
        paths = self.context.paths
        self._change(item, "remove-voice", lambda: work.remove(paths, item.name), lambda _: self.reload())

    def _change(self, item: VoiceItem, name: str, do: Callable[[], object], done: Callable[[object], None]) -> None:
        def failed(error: KazeiaError) -> None:
            row = self.row_of(item.name)
            if row is not None:
                row.set_error(error.told_in(self.context.words.language))

        self.context.jobs.run(name, lambda *_: do(), done, failed)

    # The form

    def _open_form(self) -> None:
        self.add.show()
        self.add_button.hide()
        self.add.prepare()
        self.add.record.button.setFocus()

    def _close_form(self) -> None:
        self.add.hide()
        self._tell_learner()
        self.add_button.setFocus()

    def _added(self, _name: str) -> None:
        self._close_form()
        self.reload()

    # A file dropped anywhere on the page

    def takes(self, path: Path) -> bool:
        return self.add.takes(path) and not self.note.isVisible()

    def take(self, path: Path) -> None:
        self._open_form()
        self.add.open_file(path)

    # Theme and language

    def dress(self, tokens: Tokens) -> None:
        super().dress(tokens)
        self.add.dress(tokens)

    def retranslate(self) -> None:
        super().retranslate()
        tr = self.context.words.tr
        self.intro.setText(tr("Who Kazeia can speak as. Nothing that you record leaves this machine."))
        self.add_button.setText(tr("Add a voice"))
        self.add_button.setToolTip(tr("Record a voice, or take it from a file"))
        self.to_models.setText(tr("Go to the models"))
        describe(self.add_button, tr("Record one, or take a file"))
        describe(self.to_models, tr("See which models there are"))
        self.add.retranslate()
        self._tell_learner()
        self._fill()
