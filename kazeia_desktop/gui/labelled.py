"""A control with its label: before it, or above it where there is little room."""

from typing import Final

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLabel, QWidget

from kazeia_desktop.gui.theme import GRID

_ONE_LINE_PX: Final = 480


class Labelled(QWidget):
    """The control takes the room that is left."""

    def __init__(self, control: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.label = QLabel()
        self.label.setBuddy(control)
        self._line = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._line.setContentsMargins(0, 0, 0, 0)
        self._line.setSpacing(GRID)
        self._line.addWidget(self.label)
        self._line.addWidget(control, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        one_line = event.size().width() >= _ONE_LINE_PX
        self._line.setDirection(QBoxLayout.Direction.LeftToRight if one_line else QBoxLayout.Direction.TopToBottom)
