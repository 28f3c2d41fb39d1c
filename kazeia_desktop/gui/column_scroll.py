"""Scrolls a column of controls whose edges stay where they are, whether there is a scroll bar or not."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from kazeia_desktop.gui.theme import GRID


class ColumnScroll(QScrollArea):
    """The column keeps two grid units to both sides; where there is more room than `widest`, it is in the middle.

    Args:
        name, inner: of the area and of what it scrolls, in the style sheet.
        top: above the column. widest: of the column, in px; None: as wide as there is room.

    Attributes:
        content: what is scrolled; column: its layout.
    """

    def __init__(
        self, name: str, inner: str, top: int = 0, widest: int | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._top, self._widest = top, widest
        self.content = QWidget()
        self.content.setObjectName(inner)
        self.column = QVBoxLayout(self.content)
        self.column.setContentsMargins(2 * GRID, top, 2 * GRID, 2 * GRID)
        self.setObjectName(name)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(self.content)

    @property
    def side_px(self) -> int:
        """From the area's left edge to the column, and from the column to its right edge."""
        return 2 * GRID if self._widest is None else max(2 * GRID, (self.width() - self._widest) // 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Also when a scroll bar comes or goes, which takes its room from the margin."""
        super().resizeEvent(event)
        bar = self.width() - self.viewport().width()
        self.column.setContentsMargins(self.side_px, self._top, max(0, self.side_px - bar), 2 * GRID)
