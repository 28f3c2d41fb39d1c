"""What the engine tells, shown in the parts of the window and said to screen readers."""

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

from kazeia_desktop.events import Failed, Notice, State, TurnEnded
from kazeia_desktop.gui.banner import ErrorBanner, NoticeLine
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.chat_view import ChatView
from kazeia_desktop.gui.engine import EngineInfo
from kazeia_desktop.gui.header import Header
from kazeia_desktop.gui.presence_bar import PresenceBar
from kazeia_desktop.gui.states import capital, part_word
from kazeia_desktop.gui.transcript import Speaker, Transcript
from kazeia_desktop.gui.words import Words


class Teller(QObject):
    """Joins the bridge's signals to what shows them.

    Attributes:
        last_said: what the user said or wrote last, to say it again after a fault.
    """

    def __init__(
        self,
        window: QWidget,
        bridge: EngineBridge,
        transcript: Transcript,
        chat: ChatView,
        presence: PresenceBar,
        header: Header,
        banner: ErrorBanner,
        notice: NoticeLine,
        words: Words,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._transcript = transcript
        self._chat = chat
        self._presence = presence
        self._header = header
        self._banner = banner
        self._notice = notice
        self._words = words
        self._progress: tuple[str, float] = ("", 0.0)
        self.last_said = ""
        bridge.state_changed.connect(self._state_changed)
        bridge.load_progress.connect(self._load_progress)
        bridge.level_changed.connect(presence.meter.set_level)
        bridge.turn_started.connect(transcript.turn_started)
        bridge.user_partial.connect(transcript.user_partial)
        bridge.user_text.connect(self._user_text)
        bridge.reply_delta.connect(transcript.reply_delta)
        bridge.reply_delta.connect(lambda _turn, _text: presence.meter.step())
        bridge.clause_started.connect(transcript.clause_started)
        bridge.turn_ended.connect(self._turn_ended)
        bridge.notice.connect(notice.show_notice)
        bridge.failed.connect(self._failed)
        bridge.ready.connect(self._ready)

    @Slot(object)
    def _state_changed(self, state: State) -> None:
        if state is State.LOADING:
            self._transcript.new_engine()
            self._load_progress("", 0.0)
        self._presence.set_state(state)
        self._chat.welcome.set_state(state)

    @Slot(str, float)
    def _load_progress(self, part: str, fraction: float) -> None:
        self._progress = (part, fraction)
        tr = self._words.tr
        if part.startswith("fetch:"):
            text = tr("Fetching {name}: {percent} %", name=part[6:], percent=round(100 * fraction))
        elif part in ("", "ready"):
            text = ""
        else:
            text = capital(part_word(part, self._words))
        self._presence.set_progress(text, fraction)
        self._chat.welcome.set_progress(text)

    @Slot(object)
    def _ready(self, info: EngineInfo) -> None:
        self._transcript.spoken = bool(info.voice_name)
        self._presence.set_half_duplex(info.half_duplex)
        self._chat.welcome.set_placement(info.placement)
        self._header.set_voice(info.voice_name)
        if self._banner.error is not None and self._banner.error.fatal:
            self._banner.dismiss()

    def _user_text(self, turn_id: int, text: str) -> None:
        self.last_said = text
        self._transcript.user_text(turn_id, text)

    @Slot(object)
    def _turn_ended(self, ended: TurnEnded) -> None:
        self._transcript.turn_ended(ended.turn_id, ended.reply, ended.reason, ended.metrics)
        if ended.reason == "nothing":
            self._notice.show_notice(Notice("No words were understood. Please say it again.", {}))
        rows = self._transcript.rowCount()
        if ended.reason == "done" and rows and self._transcript.message(rows - 1).speaker is Speaker.KAZEIA:
            self._announce(self._transcript.message(rows - 1).text)

    @Slot(object)
    def _failed(self, error: Failed) -> None:
        self._banner.show_error(error)
        self._announce(self._banner.text.text())

    def _announce(self, text: str) -> None:
        """For screen readers."""
        if QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._window, text))

    def retranslate(self) -> None:
        """Write what is being loaded in the current language."""
        self._load_progress(*self._progress)
