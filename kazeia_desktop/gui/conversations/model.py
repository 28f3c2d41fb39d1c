"""The list of conversations as data: headings of days, and under them what was kept."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from kazeia_desktop.gui.conversations.days import heading, moment
from kazeia_desktop.gui.words import Words
from kazeia_desktop.memory.conversations import Found, Summary
from kazeia_desktop.memory.folding import words

_WORDS_BEFORE: Final = 2
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class Row:
    """A conversation, with where a search found something in it; or, without one, a heading."""

    title: str
    conversation: Summary | None = None
    excerpt: str = ""
    moment: str = ""


class ConversationList(QAbstractListModel):
    """Rows for a view. Editing a title does not change it: `renamed` asks whoever can.

    Args:
        now: seconds since 1970.
    """

    renamed = Signal(int, str)  # conversation, title as typed

    def __init__(self, words: Words, now: Callable[[], float] = time.time, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._now = now
        self._found: Sequence[Found] = ()
        self._wanted: list[str] = []
        self._rows: list[Row] = []
        self._current: int | None = None

    @property
    def current(self) -> int | None:
        """The conversation that goes on now."""
        return self._current

    @property
    def rows(self) -> Sequence[Row]:
        return self._rows

    def show_found(self, found: Sequence[Found], current: int | None, wanted: str = "") -> None:
        """Show these, the last changed first. Without an excerpt a Found is just listed.

        Args:
            wanted: what was searched: excerpts begin shortly before it, as a row has room for little.
        """
        self._found, self._current, self._wanted = found, current, words(wanted)
        self.retranslate()

    def set_current(self, current: int | None) -> None:
        """Mark another conversation as the one that goes on."""
        if current != self._current:
            self._current = current
            if self._rows:
                self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1))

    def retranslate(self) -> None:
        """Make the rows anew where they differ: another language, another day, other conversations."""
        now_s, rows, day = self._now(), [], ""
        for hit in self._found:
            one = hit.conversation
            under = heading(one.changed_s, now_s, self._words)
            if under != day:
                day = under
                rows.append(Row(day))
            rows.append(Row(one.title or "…", one, self._lead(hit), moment(one.changed_s, now_s, self._words)))
        if rows != self._rows:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()

    def _lead(self, hit: Found) -> str:
        if hit.excerpt == hit.conversation.title:
            return ""
        parts = hit.excerpt.split(" ")
        for at, part in enumerate(parts):
            if any(word.startswith(one) for word in words(part) for one in self._wanted):
                start = max(0, at - _WORDS_BEFORE)
                return ("…" if start else "") + " ".join(parts[start:])
        return hit.excerpt

    def row_of(self, conversation: int | None) -> int:
        """Where a conversation stands; -1: it is not shown."""
        for at, row in enumerate(self._rows):
            if row.conversation is not None and row.conversation.id == conversation:
                return at
        return -1

    def at(self, index: Index) -> Row | None:
        """The row of an index; None for none."""
        return self._rows[index.row()] if index.isValid() and index.row() < len(self._rows) else None

    def title_word(self) -> str:
        """What the field is called in which a title is edited."""
        return self._words.tr("Title of the conversation")

    # What the view asks

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self._rows) if parent is None or not parent.isValid() else 0

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.at(index)
        if row is None:
            return None
        if role == Qt.ItemDataRole.UserRole:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return row.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._told(row)
        if role == Qt.ItemDataRole.ToolTipRole and row.conversation is not None:
            return row.excerpt or row.title
        return None

    def _told(self, row: Row) -> str:
        if row.conversation is None:
            return row.title
        parts = [row.title, row.moment, row.excerpt]
        if row.conversation.id == self._current:
            parts.insert(1, self._words.tr("open now"))
        return ", ".join(filter(None, parts))

    def flags(self, index: Index) -> Qt.ItemFlag:
        row = self.at(index)
        if row is None or row.conversation is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row = self.at(index)
        title = " ".join(str(value).split())
        if row is None or row.conversation is None or not title or title == row.title:
            return False
        self.renamed.emit(row.conversation.id, title)
        return True
