"""Between the conversation and what is kept of it: exchanges, the model's state, the note of facts.

What needs the session is done in the language model's own thread (`Conversation` sees to that); the rest may be
called from any.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kazeia_desktop.errors import StorageError
from kazeia_desktop.events import ConversationOpened, Event, Notice
from kazeia_desktop.llm.base import ChatSession, Message
from kazeia_desktop.memory.conversations import ConversationStore
from kazeia_desktop.memory.facts import FactsNote
from kazeia_desktop.memory.recorder import Recorder
from kazeia_desktop.memory.said import ASSISTANT, DONE, USER, Kept, kept
from kazeia_desktop.memory.states import StateFiles
from kazeia_desktop.paths import Paths
from kazeia_desktop.pipeline.heard import without_cut
from kazeia_desktop.settings.schema import PrivacySettings

_log = logging.getLogger(__name__)

_MB: Final = 1 << 20
_WORTH_SAVING: Final = 100
"""Characters of a conversation that is worth a state: a shorter one is read as fast."""
_SPARED: Final[Mapping[bool | None, str]] = {True: "is taken over", False: "does not fit", None: "was not kept"}


class Memory:
    """What Kazeia keeps between conversations.

    Attributes:
        store: the kept conversations; lists, searches, renames and exports from any thread.

    Args:
        emit: told of faults, and of the conversation that grows now.
    """

    def __init__(self, paths: Paths, settings: PrivacySettings, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._settings = settings
        self.store = ConversationStore(paths.conversations_file, self._tell)
        self._recorder = Recorder(self.store, settings.keep_conversations)
        self._states = StateFiles(paths.states_dir, settings.saved_states_mb * _MB)
        self._facts = FactsNote(paths.facts_file)
        self._given = ""  # facts that the session has
        self._lock = threading.Lock()  # of the states
        self._told = ""
        self._behind = 0  # removals that the session has not followed yet

    def hear(self, event: Event) -> None:
        """Take notice of an event of the conversation; returns at once."""
        self._recorder.hear(event)

    def before(self, emit: Callable[[Event], None]) -> Callable[[Event], None]:
        """A listener that takes notice of an event and passes it on to `emit`."""

        def both(event: Event) -> None:
            self.hear(event)
            emit(event)

        return both

    def apply(self, settings: PrivacySettings) -> None:
        """From any thread; what was kept stays until it is deleted."""
        self._settings = settings
        self._recorder.apply(settings.keep_conversations)
        with self._lock:
            self._states.max_bytes = settings.saved_states_mb * _MB
            self._states.trim()

    @property
    def current(self) -> int | None:
        """The kept conversation that grows now; None before its first exchange, or when nothing is kept."""
        return self._recorder.current

    def delete(self, conversation: int) -> None:
        """Delete a kept conversation with its state. The one that grows now goes on as a new one.

        Raises:
            StorageError: there is none.
        """
        if self.current == conversation:
            self._recorder.switch(None)
        with self._lock:
            self._states.remove(conversation)
        self.store.delete(conversation)

    def delete_all(self) -> int:
        """Delete every kept conversation; how many there were."""
        self._recorder.switch(None)
        with self._lock:
            self._states.remove_all()
        return self.store.delete_all()

    def remove(self, first: int, last: int) -> None:
        """The turns `first` to `last` leave what is kept; `removed` follows when the session has forgotten them.

        May wait for the disk.
        """
        with self._lock:
            self._behind += 1
        self._recorder.remove(first, last)
        current = self.current
        if current is not None:
            with self._lock:
                self._states.remove(current)  # it holds their words

    # In the language model's thread

    def removed(self) -> None:
        """The session has forgotten what `remove` told of."""
        with self._lock:
            self._behind -= 1

    def before_reply(self, session: ChatSession) -> None:
        """Give the session the facts as they are now."""
        facts = self._facts.text() if self._settings.use_facts else ""
        if facts != self._given:
            self._given = facts
            session.apply_facts(facts)
        if self._facts.problem is not None and self._settings.use_facts:
            self._tell(self._facts.problem)

    def new_session(self, session: ChatSession) -> None:
        """Another session answers now: it has no facts yet."""
        self._given = ""
        self.before_reply(session)

    def open(self, conversation: int, session: ChatSession, reserve: Callable[[int], int]) -> ConversationOpened:
        """Go on with a kept conversation: its exchanges enter the session, its state where it fits.

        Args:
            reserve: the first of so many turn ids, for what was said before.
        Raises:
            StorageError: there is none, or it cannot be read.
        """
        summary, said = self.store.get(conversation), self.store.messages(conversation)
        self.leave(session)
        turns = list(kept(said))
        first = reserve(len(turns))
        self.before_reply(session)
        session.restore(_remembered(turns))
        with self._lock:
            spared = self._states.load(conversation, session.load_state)
        _log.info("a kept conversation of %d messages goes on; its state %s", len(said), _SPARED[spared])
        self._recorder.switch(conversation, {first + i: turn.rows for i, turn in enumerate(turns)})
        exchanges = tuple(turn.as_turn(first + i) for i, turn in enumerate(turns))
        return ConversationOpened(summary.id, summary.title, exchanges)

    def begin(self, session: ChatSession) -> ConversationOpened:
        """Forget what was said in the session, and begin a new conversation."""
        self.leave(session)
        session.reset()
        self._recorder.switch(None)
        return ConversationOpened(None, "")

    def leave(self, session: ChatSession) -> None:
        """Keep the session's state beside the conversation, so that going on with it is instant."""
        current = self.current
        if current is None or not self._recorder.whole or self._behind:
            return  # the session knows what nobody wanted kept
        if sum(len(message.text) for message in session.history) < _WORTH_SAVING:
            return
        with self._lock:
            self._states.save(current, session.save_state)

    def close(self) -> None:
        """Write what waits."""
        self.store.close()

    def _tell(self, error: StorageError) -> None:
        """Once until something else goes wrong."""
        if str(error) != self._told:
            self._told = str(error)
            self._emit(Notice(error.template, error.values))


def _remembered(turns: Iterable[Kept]) -> list[Message]:
    """As the session remembers them: a question without an answer was withdrawn."""
    history = []
    for turn in turns:
        if turn.answer is not None:
            answer = turn.answer.text
            history += [Message(USER, turn.question.text)]
            history += [Message(ASSISTANT, answer if turn.ended == DONE else without_cut(answer))]
    return history
