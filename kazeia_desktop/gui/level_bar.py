"""How loud the microphone is, as a bar with the range that a voice should reach."""

import time
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from kazeia_desktop.gui.level_meter import height_of
from kazeia_desktop.gui.theme import Tokens

_HEIGHT: Final = 16
_TOP: Final = 24  # of level_meter.height_of
_CLIPPED_S: Final = 1.5
"""So long the bar stays red after a sample at full scale."""


class LevelBar(QWidget):
    """Draws only when what is seen changes. Red after clipping; the word beside it says so too."""

    def __init__(self, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens = tokens
        self._level = 0
        self._clipped_s = float("-inf")
        self._red = False
        self.setMinimumHeight(_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(240, _HEIGHT)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        self.update()

    @property
    def level(self) -> int:
        """0 to 24, as drawn."""
        return self._level

    def set_level(self, rms: float, clipped: bool = False) -> None:
        """Loudness of the last moments, of full scale."""
        if clipped:
            self._clipped_s = time.monotonic()
        red = time.monotonic() - self._clipped_s < _CLIPPED_S
        level = height_of(rms)
        if (level, red) != (self._level, self._red):
            self._level, self._red = level, red
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        groove = QRectF(0, (self.height() - 8) / 2, self.width(), 8)
        painter.setBrush(QColor(self._tokens.line))
        painter.drawRoundedRect(groove, 4, 4)
        if self._level:
            groove.setWidth(max(8.0, self.width() * self._level / _TOP))
            painter.setBrush(QColor(self._tokens.error if self._red else self._tokens.user))
            painter.drawRoundedRect(groove, 4, 4)
