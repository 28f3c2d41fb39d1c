"""The last turns as a table, the newest first; no word of them."""

from datetime import datetime
from typing import Any, Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from kazeia_desktop.gui.activity.figures import STAGES
from kazeia_desktop.gui.activity.record import Activity, TurnFigures
from kazeia_desktop.gui.activity.stage_times import stage_word
from kazeia_desktop.gui.states import capital
from kazeia_desktop.gui.theme import TOUCH_PX
from kazeia_desktop.gui.words import Words

SHOWN: Final = 50
_FIXED: Final = 3  # time, kind, outcome
_ROWS_SEEN: Final = 6
_HEAD_PX: Final = 56  # two lines
_COLUMN_PX: Final = 116
Index = QModelIndex | QPersistentModelIndex
_NO_INDEX: Final = QModelIndex()


def outcome_word(reason: str, words: Words) -> str:
    """How a turn ended; see `events.TurnEnded`."""
    tr = words.tr
    match reason:
        case "done":
            return tr("Answered")
        case "interrupted":
            return tr("Interrupted")
        case "nothing":
            return tr("No words")
        case "echo":
            return tr("Own voice")
        case _:
            return tr("Failed")


class TurnModel(QAbstractTableModel):
    """A row a turn, at most `SHOWN`."""

    def __init__(self, activity: Activity, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._activity = activity
        self._words = words
        self._turns: list[TurnFigures] = []

    def refresh(self) -> None:
        """Take over the newest turns, and the language."""
        self.beginResetModel()
        self._turns = list(self._activity.turns)[: -SHOWN - 1 : -1]
        self.endResetModel()

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._turns)

    def columnCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else _FIXED + len(STAGES)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: ANN401 - Qt's
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() >= _FIXED:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.AccessibleTextRole:
            title = self.headerData(index.column(), Qt.Orientation.Horizontal)
            return self._words.tr("{what}: {text}", what=title, text=self._text(index))
        return self._text(index) if role == Qt.ItemDataRole.DisplayRole else None

    def _text(self, index: Index) -> str:
        turn, tr = self._turns[index.row()], self._words.tr
        match index.column():
            case 0:
                return datetime.fromtimestamp(turn.at_s).strftime("%H:%M:%S")
            case 1:
                return tr("Written") if turn.typed else tr("Spoken")
            case 2:
                return outcome_word(turn.reason, self._words)
            case column:
                value = turn.metrics.get(STAGES[column - _FIXED])
                return "–" if value is None else self._words.seconds(value)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: ANN401 - Qt's
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if section >= _FIXED else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter) | int(Qt.TextFlag.TextWordWrap)
        if role != Qt.ItemDataRole.DisplayRole or orientation is not Qt.Orientation.Horizontal:
            return None
        tr = self._words.tr
        fixed = (tr("Ended"), tr("Kind"), tr("Outcome"))
        return fixed[section] if section < _FIXED else capital(stage_word(STAGES[section - _FIXED], self._words))


class TurnTable(QTableView):
    """Shows a `TurnModel`. Tab leaves it; the arrows move in it."""

    def __init__(self, activity: Activity, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.turns = TurnModel(activity, words, self)
        self.setModel(self.turns)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        header.setFixedHeight(_HEAD_PX)
        header.setDefaultSectionSize(_COLUMN_PX)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.set_narrow(False)

    def set_narrow(self, narrow: bool) -> None:
        """Rows that a finger meets, and columns that keep their width where there is little room."""
        height = TOUCH_PX if narrow else 32
        self.verticalHeader().setDefaultSectionSize(height)
        mode = QHeaderView.ResizeMode.Fixed if narrow else QHeaderView.ResizeMode.Stretch
        self.horizontalHeader().setSectionResizeMode(mode)
        if narrow:
            for column in range(self.turns.columnCount()):
                self.setColumnWidth(column, _COLUMN_PX)
        self.setFixedHeight(_HEAD_PX + _ROWS_SEEN * height + 16 * narrow + 2)

    def retranslate(self) -> None:
        tr = self._words.tr
        self.setAccessibleName(tr("Last turns"))
        self.setAccessibleDescription(tr("The times of each turn, the newest first"))
        self.turns.refresh()
