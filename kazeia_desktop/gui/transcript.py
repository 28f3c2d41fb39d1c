"""The conversation as data: what was said by whom, and what became of it. Draws nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

Index = QModelIndex | QPersistentModelIndex


class Speaker(StrEnum):
    USER = "user"
    KAZEIA = "kazeia"


@dataclass(slots=True)
class Message:
    """One bubble.

    settled: characters that are certain: recognised, spoken, or shown where nothing is spoken; the
        rest is drawn lighter.
    ended: "" while it grows, else the reason of `events.TurnEnded`.
    """

    turn_id: int
    speaker: Speaker
    text: str = ""
    settled: int = 0
    ended: str = ""
    metrics: Mapping[str, float | None] = field(default_factory=dict)


class Transcript(QAbstractListModel):
    """The messages of one conversation, oldest first, fed with the engine's events."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._messages: list[Message] = []
        self.spoken = True  # whether replies are spoken, so that text settles when it is heard
        self._offset = 0  # turn ids of engines before this one count on

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self._messages) if parent is None or not parent.isValid() else 0

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self._messages[index.row()].text
        return None

    def message(self, row: int) -> Message:
        return self._messages[row]

    def new_engine(self) -> None:
        """Turn ids begin again; what is open will not go on."""
        for message in [m for m in self._messages if not m.ended]:
            self._close(message, "interrupted")
        self._offset = self._messages[-1].turn_id if self._messages else 0

    # Events, in the order of a turn

    def turn_started(self, turn_id: int, typed: bool) -> None:
        """The user has finished speaking: an empty bubble shows that it was heard."""
        if not typed:
            self._append(Message(turn_id + self._offset, Speaker.USER))

    def user_text(self, turn_id: int, text: str) -> None:
        message = self._find(turn_id, Speaker.USER) or self._append(Message(turn_id + self._offset, Speaker.USER))
        message.text, message.settled, message.ended = text, len(text), "done"
        self._changed(message)

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
        said = self._find(turn_id, Speaker.USER)
        if said is not None and not said.ended:
            if reason in ("nothing", "echo", "done"):
                self._remove(said)
            else:
                self._close(said, reason)
        message = self._find(turn_id, Speaker.KAZEIA)
        if message is None:
            return
        message.metrics = metrics
        if reason == "done":
            message.text = message.text.rstrip()
            message.settled = len(message.text)
        elif self.spoken:
            message.settled = end_of(message.text, reply, 0) or 0
        self._close(message, reason)

    def clear(self) -> None:
        self.beginResetModel()
        self._messages.clear()
        self.endResetModel()

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
        row = len(self._messages)
        self.beginInsertRows(QModelIndex(), row, row)
        self._messages.append(message)
        self.endInsertRows()
        return message

    def _remove(self, message: Message) -> None:
        row = self._row(message)
        self.beginRemoveRows(QModelIndex(), row, row)
        del self._messages[row]
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
