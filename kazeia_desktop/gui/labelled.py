"""A control with its label before it, in one line."""

from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from kazeia_desktop.gui.theme import GRID


class Labelled(QWidget):
    """The control takes the room that is left."""

    def __init__(self, control: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.label = QLabel()
        self.label.setBuddy(control)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(GRID)
        line.addWidget(self.label)
        line.addWidget(control, 1)
