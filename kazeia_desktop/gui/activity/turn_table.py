"""The last turns as a table, the newest first; no word of them."""

from datetime import datetime
from typing import Any, Final

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QRect, Qt
from PySide6.QtGui import QFont, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from kazeia_desktop.gui.activity.figures import STAGES
from kazeia_desktop.gui.activity.record import Activity, TurnFigures
from kazeia_desktop.gui.activity.stage_times import stage_word
from kazeia_desktop.gui.states import capital
from kazeia_desktop.gui.theme import BODY_PX, GRID, SMALL_PX, TOUCH_PX
from kazeia_desktop.gui.words import Words

SHOWN: Final = 50
_FIXED: Final = 3  # time, kind, outcome
_ROWS_SEEN: Final = 6
_PADDING_PX: Final = 3 * GRID
"""One unit to both sides, and what the style adds around a text."""
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


def _metrics(font: QFont, px: int) -> QFontMetrics:
    sized = QFont(font)
    sized.setPixelSize(px)
    return QFontMetrics(sized)


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
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self._row_px = 0
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.turns.modelReset.connect(self._fit)
        self.set_narrow(False)

    def set_narrow(self, narrow: bool) -> None:
        """Rows that a finger meets."""
        self._row_px = TOUCH_PX if narrow else 32
        self.verticalHeader().setDefaultSectionSize(self._row_px)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Columns as wide as their longest word; room that is left is shared, where there is too little one scrolls.

        The heads wrap, and are as high as the highest.
        """
        turns, header = self.turns, self.horizontalHeader()
        heads, cells = (_metrics(self.font(), px) for px in (SMALL_PX, BODY_PX))  # as in the style sheet
        titles = [str(turns.headerData(column, Qt.Orientation.Horizontal)) for column in range(turns.columnCount())]
        widths = []
        for column, title in enumerate(titles):
            texts = [str(turns.data(turns.index(row, column))) for row in range(turns.rowCount())]
            words = [heads.horizontalAdvance(word) for word in title.split()]
            longest = max([0, *words, *map(cells.horizontalAdvance, texts)]) + _PADDING_PX
            widths.append(max(longest, self.sizeHintForColumn(column)))
        spare = max(0, self.viewport().width() - sum(widths)) // max(1, len(widths))
        height = 0
        for column, width in enumerate(widths):
            self.setColumnWidth(column, width + spare)
            room = QRect(0, 0, width + spare - _PADDING_PX, 1000)
            height = max(height, heads.boundingRect(room, Qt.TextFlag.TextWordWrap, titles[column]).height())
        header.setFixedHeight(height + _PADDING_PX)
        scrolls = sum(widths) > self.viewport().width()
        bar = self.horizontalScrollBar().sizeHint().height() if scrolls else 0
        self.setFixedHeight(height + _PADDING_PX + _ROWS_SEEN * self._row_px + bar + 2)

    def retranslate(self) -> None:
        tr = self._words.tr
        self.setAccessibleName(tr("Last turns"))
        self.setAccessibleDescription(tr("The times of each turn, the newest first"))
        self.turns.refresh()
