"""What is said, on its way into the store: only whole turns, only what was heard, only when it is wanted."""

import threading
from concurrent.futures import Future
from typing import Final

from kazeia_desktop.events import Event, TurnEnded, UserText
from kazeia_desktop.memory.conversations import ConversationStore

_HEARD: Final = ("done", "interrupted")


class Recorder:
    """Listens to a conversation's events and keeps each exchange when its turn ends.

    Thread-safe; nothing here waits for the disk. A conversation begins with its first exchange.

    Args:
        store: where it is kept.
        keeps: whether anything is kept (the setting privacy.keep_conversations).
    """

    def __init__(self, store: ConversationStore, keeps: bool) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._keeps = keeps
        self._current: Future[int] | None = None
        self._asked: UserText | None = None
        self._whole = True

    @property
    def current(self) -> int | None:
        """The conversation that grows now; None before its first exchange, or when nothing is kept.

        Waits for the disk.
        """
        current = self._current
        return None if current is None or current.exception() is not None else current.result()

    @property
    def whole(self) -> bool:
        """Whether all that was said since the last `switch` could be kept: none of it was private."""
        return self._whole

    def apply(self, keeps: bool) -> None:
        """Keep from the next turn on, or nothing any more; what was kept stays until it is deleted."""
        with self._lock:
            if keeps != self._keeps:
                self._keeps = keeps
                self._current = self._asked = None

    def switch(self, conversation: int | None) -> None:
        """Go on with a kept conversation, or with a new one."""
        with self._lock:
            self._current = self._asked = None
            self._whole = True
            if conversation is not None:
                self._current = Future()
                self._current.set_result(conversation)

    def hear(self, event: Event) -> None:
        """Take notice of an event; returns at once.

        An exchange of which nothing was heard is not kept: its question is asked again or was withdrawn.
        """
        with self._lock:
            if not self._keeps:
                self._whole = self._whole and not isinstance(event, UserText)
            elif isinstance(event, UserText):
                self._asked = event
            elif isinstance(event, TurnEnded) and self._asked is not None and event.turn_id == self._asked.turn_id:
                asked, self._asked = self._asked, None
                if event.reason in _HEARD and event.reply.strip():
                    self._keep(asked, event.reply.strip())

    def _keep(self, asked: UserText, reply: str) -> None:
        self._current = self._store.add(
            self._current, asked.text, reply, asked.language
        )  # faults are told by the store
