"""The conversation as data: what was said by whom, and what became of it. Draws nothing."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from kazeia_desktop.events import Exchange

Index = QModelIndex | QPersistentModelIndex


_NOT_YET: Final = sys.maxsize
"""The turn of what is being said now: it gets its id when the user pauses."""


_NO_METRICS: Final[Mapping[str, float | None]] = MappingProxyType({})


class Speaker(StrEnum):
    USER = "user"
    KAZEIA = "kazeia"


@dataclass(slots=True)
class Message:
    """One bubble.

    settled: characters that are certain: recognised, spoken, or shown where nothing is spoken; the
        rest is drawn lighter.
    ended: "" while it grows, else the reason of `events.TurnEnded`.
    hearing: the user is still saying it. replayed: it is being said once more.
    opened: the user wants to see what it took.
    said_s: when it began, seconds since 1970; 0: nobody knows.
    """

    turn_id: int
    speaker: Speaker
    text: str = ""
    settled: int = 0
    ended: str = ""
    metrics: Mapping[str, float | None] = field(default_factory=lambda: _NO_METRICS)
    hearing: bool = False
    replayed: bool = False
    opened: bool = False
    said_s: float = 0.0


class Transcript(QAbstractListModel):
    """The messages of one conversation, oldest first, fed with the engine's events."""

    asked = Signal()  # the user has said something: whoever asks wants to see the answer

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._messages: list[Message] = []
        self.spoken = True  # whether replies are spoken, so that text settles when it is heard
        self._offset = 0  # turn ids of engines before this one count on
        self._replay = (0, 0)  # the engine's turn that replays, and whose reply

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self._messages) if parent is None or not parent.isValid() else 0

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self._messages[index.row()].text
        return None

    @property
    def messages(self) -> Sequence[Message]:
        """All of them, oldest first."""
        return self._messages

    def message(self, row: int) -> Message:
        return self._messages[row]

    def new_engine(self) -> None:
        """Turn ids begin again; what is open will not go on."""
        self.hearing(False)
        for message in [m for m in self._messages if not m.ended]:
            self._close(message, "interrupted")
        self._offset = self._messages[-1].turn_id if self._messages else 0

    def engine_turn(self, message: Message) -> int | None:
        """The turn as the engine knows it; None: it was another engine's, or has none yet."""
        ours = self._offset < message.turn_id < _NOT_YET
        return message.turn_id - self._offset if ours else None

    @property
    def last_answer(self) -> int | None:
        """The row of the newest answer to the newest question, which can be given anew; None: there is none."""
        for row in range(len(self._messages) - 1, -1, -1):
            message = self._messages[row]
            if message.turn_id == _NOT_YET:
                continue
            if message.speaker is Speaker.USER or self.engine_turn(message) is None:
                return None
            asked = row > 0 and self._messages[row - 1].turn_id == message.turn_id
            return row if asked else None
        return None

    # Events, in the order of a turn

    def hearing(self, speaks: bool) -> None:
        """The user begins to speak, or nothing came of it; `turn_started` makes a turn of it."""
        there = self._find_now()
        if speaks and there is None:
            self._append(Message(_NOT_YET, Speaker.USER, hearing=True))
        elif not speaks and there is not None:
            self._remove(there)

    def user_partial(self, text: str) -> None:
        """What was heard so far of what the user is saying: lighter, for it may still change."""
        said = self._find_now()
        if said is not None and said.text != text:
            said.text = text
            self._changed(said)

    def turn_started(self, turn_id: int, typed: bool) -> None:
        """The user has finished speaking: a bubble without settled words shows that it was heard."""
        if typed:
            return
        said = self._find_now()
        if said is None:
            self._append(Message(turn_id + self._offset, Speaker.USER))
        else:
            said.turn_id, said.hearing = turn_id + self._offset, False
            self._changed(said)
        self.asked.emit()

    def user_text(self, turn_id: int, text: str) -> None:
        message = self._find(turn_id, Speaker.USER) or self._append(Message(turn_id + self._offset, Speaker.USER))
        message.text, message.settled, message.ended = text, len(text), "done"
        self._changed(message)
        self.asked.emit()

    def reply_delta(self, turn_id: int, text: str) -> None:
        message = self._find(turn_id, Speaker.KAZEIA) or self._append(Message(turn_id + self._offset, Speaker.KAZEIA))
        if message.ended:
            return  # was under way when the turn was interrupted
        message.text += text
        if not self.spoken:
            message.settled = len(message.text)
        self._changed(message)

    def clause_started(self, turn_id: int, text: str) -> None:
        """The loudspeaker begins these words: they settle."""
        message = self._find(turn_id, Speaker.KAZEIA)
        if message is None or message.ended:
            return
        end = end_of(message.text, text, message.settled)
        if end is not None:
            message.settled = end
            self._changed(message)

    def turn_ended(self, turn_id: int, reply: str, reason: str, metrics: Mapping[str, float | None]) -> None:
        """`reply` is what stays in Kazeia's memory."""
        if turn_id == self._replay[0]:
            self._show_replay(False)
        said = self._find(turn_id, Speaker.USER)
        message = self._find(turn_id, Speaker.KAZEIA)
        if said is not None and not said.ended:
            if reason in ("nothing", "echo", "done", "interrupted"):  # not understood, or nobody waits for it any more
                self._remove(said)
            else:
                self._close(said, reason)
        elif said is not None and message is None and reason == "interrupted":
            self._close(said, reason)  # there is no answer at which it would be seen
        if message is None:
            return
        message.metrics = metrics
        if reason == "done":
            message.text = message.text.rstrip()
            message.settled = len(message.text)
        elif self.spoken:
            whole = end_of(message.text, reply, 0)
            # Cut within a clause, what was heard ends in a sign that is not in the text.
            message.settled = whole or end_of(message.text, reply.rstrip("…"), 0) or 0
        self._close(message, reason)

    def replay_started(self, turn_id: int, of: int) -> None:
        """The reply of turn `of` is said once more, as turn `turn_id`."""
        self._show_replay(False)
        self._replay = (turn_id, of)
        self._show_replay(True)

    def _show_replay(self, replayed: bool) -> None:
        message = self._find(self._replay[1], Speaker.KAZEIA)
        if message is not None:
            message.replayed = replayed
            self._changed(message)
        if not replayed:
            self._replay = (0, 0)

    def turns_removed(self, first: int, last: int) -> None:
        """The turns `first` to `last` are forgotten."""
        gone = range(first + self._offset, last + self._offset + 1)
        row = len(self._messages) - 1
        while row >= 0:
            end = row
            while row >= 0 and self._messages[row].turn_id in gone:
                row -= 1
            if row < end:
                self._remove_rows(row + 1, end)
            elif self._messages[row].turn_id < gone.start:
                break
            row -= 1

    def show_conversation(self, exchanges: Sequence[Exchange]) -> None:
        """Another conversation takes the place of what is here."""
        self.beginResetModel()
        self._messages = []
        for one in exchanges:
            turn_id = one.turn_id + self._offset
            asked_s, answered = one.asked_s or 0.0, bool(one.answer)
            ended = "done" if answered else one.reason
            asked = Message(turn_id, Speaker.USER, one.question, len(one.question), ended, said_s=asked_s)
            self._messages.append(asked)
            if answered:
                n, metrics = len(one.answer), one.metrics
                answer = Message(turn_id, Speaker.KAZEIA, one.answer, n, one.reason, metrics, said_s=asked_s)
                self._messages.append(answer)
        self.endResetModel()

    def clear(self) -> None:
        self.show_conversation(())

    def _close(self, message: Message, reason: str) -> None:
        message.ended = reason
        self._changed(message)

    def _find(self, turn_id: int, speaker: Speaker) -> Message | None:
        wanted = turn_id + self._offset
        for message in reversed(self._messages):
            if message.turn_id == wanted and message.speaker is speaker:
                return message
            if message.turn_id < wanted:
                break
        return None

    def _append(self, message: Message) -> Message:
        message.said_s = time.time()
        row = len(self._messages)
        self.beginInsertRows(QModelIndex(), row, row)
        self._messages.append(message)
        self.endInsertRows()
        return message

    def _find_now(self) -> Message | None:
        """What is being said now: among the last, for a reply that was begun goes on below it."""
        return next((m for m in reversed(self._messages[-4:]) if m.turn_id == _NOT_YET), None)

    def _remove(self, message: Message) -> None:
        row = self._row(message)
        self._remove_rows(row, row)

    def _remove_rows(self, first: int, last: int) -> None:
        self.beginRemoveRows(QModelIndex(), first, last)
        del self._messages[first : last + 1]
        self.endRemoveRows()

    def _row(self, message: Message) -> int:
        for row in range(len(self._messages) - 1, -1, -1):
            if self._messages[row] is message:
                return row
        raise ValueError("not a message of this transcript")

    def _changed(self, message: Message) -> None:
        index = self.index(self._row(message))
        self.dataChanged.emit(index, index)


def end_of(text: str, part: str, start: int) -> int | None:
    """Where `part` ends in `text`, found from `start` on, when spaces are not counted.

    None when it is not there: clauses are trimmed and joined anew, so spaces may differ.
    """
    wanted = [c for c in part if not c.isspace()]
    if not wanted:
        return None
    letters = [at for at in range(start, len(text)) if not text[at].isspace()]
    for first in range(len(letters) - len(wanted) + 1):
        if all(text[letters[first + n]] == c for n, c in enumerate(wanted)):
            return letters[first + len(wanted) - 1] + 1
    return None
