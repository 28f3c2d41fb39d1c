"""Between the list of conversations and the engine: what is opened, begun anew, offered to go on with."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from kazeia_desktop.events import ConversationOpened, Exchange
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.conversations.keeper import Keeper, Listed
from kazeia_desktop.gui.conversations.sidebar import Sidebar
from kazeia_desktop.memory.conversations import Summary


class ConversationController(QObject):
    """Opens conversations also while there is no engine yet: they are read at once, and told to it when it comes.

    Args:
        keeps: whether conversations are kept, as the settings say.
    """

    last_found = Signal(object)  # Summary or None: what may be offered to go on with, once

    def __init__(
        self, bridge: EngineBridge, sidebar: Sidebar, keeps: Callable[[], bool], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._sidebar = sidebar
        self._keeper: Keeper = sidebar.keeper
        self._keeps = keeps
        self._waiting: int | None = None  # told to the engine when it comes
        self._looked = False
        self.title = ""
        sidebar.open_wanted.connect(self.open)
        sidebar.new_wanted.connect(self.new)
        self._keeper.listed.connect(self._listed)
        self._keeper.deleted.connect(self._deleted)
        bridge.conversation_opened.connect(self._opened)
        bridge.turn_ended.connect(self._turn_ended)
        bridge.ready.connect(self._ready)

    @Slot(int)
    def open(self, conversation: int) -> None:
        """Go on with a kept conversation."""
        if self._bridge.engine is None:
            self._waiting = conversation
            self._keeper.read(conversation, self._read)
        else:
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
        """At the start: look for what may go on; `last_found` tells."""
        if self._keeps():
            self._sidebar.refresh()
        else:
            self._looked = True

    @property
    def waits(self) -> bool:
        """Whether a conversation was opened that the engine does not know yet."""
        return self._waiting is not None

    def _read(self, summary: Summary, said: list[tuple[str, str]]) -> None:
        if self._waiting == summary.id:
            turns = tuple(Exchange(at + 1, question, answer) for at, (question, answer) in enumerate(said))
            self._bridge.conversation_opened.emit(ConversationOpened(summary.id, summary.title, turns))

    @Slot(object)
    def _opened(self, opened: ConversationOpened) -> None:
        self.title = opened.title
        self._sidebar.conversation_opened(opened.id)

    @Slot(object)
    def _ready(self, _info: object) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._bridge.command(lambda engine: engine.open_conversation(waiting))

    @Slot(object)
    def _turn_ended(self, _ended: object) -> None:
        if self._keeps() and self._sidebar.isVisible():
            self._sidebar.refresh()

    @Slot(object)
    def _listed(self, listed: Listed) -> None:
        if not self._looked:
            self._looked = True
            self.last_found.emit(listed.found[0].conversation if listed.found else None)

    @Slot(int)
    def _deleted(self, conversation: int) -> None:
        if self._bridge.engine is None and self._sidebar.model.current == conversation:
            self.new()
