"""Between the list of conversations and the engine: what is opened, begun anew, offered to go on with."""

from PySide6.QtCore import QObject, Signal, Slot

from kazeia_desktop.events import ConversationOpened, Exchange
from kazeia_desktop.gui.body import Body
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.chat_view import ChatView
from kazeia_desktop.gui.conversations.keeper import Keeper, Listed
from kazeia_desktop.gui.conversations.sidebar import Sidebar
from kazeia_desktop.gui.transcript import Transcript
from kazeia_desktop.memory.conversations import Summary


class ConversationController(QObject):
    """Opens conversations also while there is no engine yet: they are read at once, and told to it when it comes."""

    opened = Signal()  # a kept conversation goes on

    def __init__(
        self,
        bridge: EngineBridge,
        sidebar: Sidebar,
        body: Body,
        chat: ChatView,
        transcript: Transcript,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._sidebar = sidebar
        self._body = body
        self._chat = chat
        self._transcript = transcript
        self._keeper: Keeper = sidebar.keeper
        self._keeps = False
        self._waiting: int | None = None  # told to the engine when it comes
        self._asked: int | None = None  # of the engine, which has not opened it yet
        self._looks_for_last = False
        self._last = 0
        sidebar.open_wanted.connect(self.open)
        sidebar.close_wanted.connect(lambda: body.open_sidebar(False))
        body.sidebar_toggled.connect(self._toggled)
        chat.welcome.go_on_wanted.connect(lambda: self.open(self._last))
        self._keeper.listed.connect(self._listed)
        self._keeper.deleted.connect(self._deleted)
        bridge.conversation_opened.connect(self._opened)
        bridge.turn_ended.connect(self._turn_ended)
        bridge.ready.connect(self._ready)
        bridge.failed.connect(self._failed)

    def set_keeps(self, keeps: bool) -> None:
        """Whether conversations are kept. The one that is on is not gone on with when that changes."""
        if keeps != self._keeps:
            self._keeps = keeps
            self._sidebar.model.set_current(None)
        self._sidebar.show_keeps(keeps)

    def toggle(self) -> None:
        """Open or close the list."""
        self._body.open_sidebar(not self._body.sidebar_open)

    def search(self) -> None:
        """Search all conversations."""
        self._body.open_sidebar(True)
        self._sidebar.focus_search()

    @Slot(int)
    def open(self, conversation: int) -> None:
        """Go on with a kept conversation."""
        if self._bridge.engine is None:
            self._waiting = conversation
            self._keeper.read(conversation, self._read)
        elif conversation != self._asked:
            self._asked = conversation
            self._bridge.command(lambda engine: engine.open_conversation(conversation))

    @Slot()
    def new(self) -> None:
        """Begin anew; what was kept stays."""
        self._waiting = None
        if self._bridge.engine is None:
            self._bridge.conversation_opened.emit(ConversationOpened(None, ""))
        else:
            self._bridge.command(lambda engine: engine.new_conversation())

    def find_last(self) -> None:
        """At the start: offer to go on with the last conversation."""
        self._looks_for_last = True
        self._sidebar.refresh()

    def _read(self, summary: Summary, turns: list[Exchange]) -> None:
        if self._waiting == summary.id:
            self._bridge.conversation_opened.emit(ConversationOpened(summary.id, summary.title, tuple(turns)))

    @Slot(object)
    def _failed(self, _error: object) -> None:
        self._asked = None

    @Slot(object)
    def _opened(self, opened: ConversationOpened) -> None:
        self._asked = None
        self._looks_for_last = False
        self._chat.welcome.offer("")
        self._sidebar.conversation_opened(opened.id)
        if opened.id is not None:
            self._body.close_drawer()
            self.opened.emit()

    @Slot(object)
    def _ready(self, _info: object) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._bridge.command(lambda engine: engine.open_conversation(waiting))

    @Slot(object)
    def _turn_ended(self, _ended: object) -> None:
        if self._keeps and self._sidebar.isVisible():
            self._sidebar.refresh()

    @Slot(object)
    def _listed(self, listed: Listed) -> None:
        looks, self._looks_for_last = self._looks_for_last, False
        if looks and listed.found and self._transcript.rowCount() == 0:
            last: Summary = listed.found[0].conversation
            self._last = last.id
            self._chat.welcome.offer(last.title)
        elif self._last not in (hit.conversation.id for hit in listed.found) and not listed.wanted:
            self._chat.welcome.offer("")  # it was deleted

    def _toggled(self, opened: bool) -> None:
        if opened:
            self._sidebar.prepare()
            self._sidebar.take_focus()
        else:
            self._chat.setFocus()

    @Slot(int)
    def _deleted(self, conversation: int) -> None:
        if self._bridge.engine is None and self._sidebar.model.current == conversation:
            self.new()
