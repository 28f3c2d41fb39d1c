"""The outline of a sound, small."""

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from kazeia_desktop.gui.theme import Tokens

BARS = 120


class Wave(QWidget):
    """Bars of what `peaks` says, 0..1; nothing to click."""

    def __init__(self, tokens: Tokens) -> None:
        super().__init__()
        self._peaks: tuple[float, ...] = ()
        self._color = tokens.kazeia
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(240, 44)

    def show_peaks(self, peaks: tuple[float, ...]) -> None:
        """At most BARS of them; () for none."""
        self._peaks = peaks
        self.update()

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._color = tokens.kazeia
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = QColor(self._color)
        step, middle = self.width() / BARS, self.height() / 2
        for at, peak in enumerate(self._peaks):
            height = max(2.0, peak * (self.height() - 4))
            bar = QRectF(at * step, middle - height / 2, max(1.0, step * 0.6), height)
            painter.fillRect(bar, color)
