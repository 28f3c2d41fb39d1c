"""What is said, on its way into the store: only whole turns, only what was heard, only when it is wanted."""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from kazeia_desktop.events import Event, TurnEnded, TurnsRemoved, UserText
from kazeia_desktop.memory.conversations import ConversationStore
from kazeia_desktop.memory.said import DONE


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
        self._asked_s = 0.0
        self._whole = True
        self._rows: dict[int, Sequence[int]] = {}  # turn -> its messages in the store, once they are written

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

    def switch(self, conversation: int | None, rows: Mapping[int, Sequence[int]] | None = None) -> None:
        """Go on with a kept conversation, or with a new one.

        Args:
            rows: turn -> ids of its messages, of what was said in it before.
        """
        with self._lock:
            self._current = self._asked = None
            self._whole = True
            self._rows = dict(rows or {})
            if conversation is not None:
                self._current = Future()
                self._current.set_result(conversation)

    def remove(self, first: int, last: int) -> None:
        """The turns `first` to `last` are kept no longer, also when they end only now."""
        gone = range(first, last + 1)
        with self._lock:
            if self._asked is not None and self._asked.turn_id in gone:
                self._asked = None
            rows = [self._rows.pop(turn) for turn in list(self._rows) if turn in gone]
            if rows:
                self._store.remove(rows)

    def hear(self, event: Event) -> None:
        """Take notice of an event; returns at once.

        A question that was stopped before anything was heard is kept without an answer.
        """
        if isinstance(event, TurnsRemoved):
            self.remove(event.first, event.last)
            return
        with self._lock:
            if not self._keeps:
                self._whole = self._whole and not isinstance(event, UserText)
            elif isinstance(event, UserText):
                self._asked, self._asked_s = event, self._store.now_s()
            elif isinstance(event, TurnEnded) and self._asked is not None and event.turn_id == self._asked.turn_id:
                asked, self._asked = self._asked, None
                if event.reason == "interrupted" or (event.reason == DONE and event.reply.strip()):
                    self._keep(asked, event)

    def _keep(self, asked: UserText, end: TurnEnded) -> None:
        rows: list[int] = []
        self._rows[asked.turn_id] = rows
        # Faults are told by the store.
        self._current = self._store.add(
            self._current, asked.text, end.reply.strip(), asked.language, rows,
            ended=end.reason, metrics=end.metrics, asked_s=self._asked_s,
        )  # fmt: skip
