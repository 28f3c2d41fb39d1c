"""A small line over the last minutes, drawn by ourselves, with its figures in words beside it."""

from collections import deque
from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from kazeia_desktop.gui.theme import RADIUS, SMALL_PX, Tokens

SPAN_S: Final = 300.0
_HEIGHT: Final = 120
_MARGIN: Final = 10.0
_GAP_S: Final = 3.0
"""Samples further apart than this are not joined: the page was not seen meanwhile."""
_GRID_LINES: Final = 3


def nice_top(largest: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, 50, ... that is not below `largest`; at least 1."""
    top = 1.0
    while True:
        for factor in (1.0, 2.0, 5.0):
            if factor * top >= largest:
                return factor * top
        top *= 10


class Plot(QWidget):
    """Values over the last five minutes, from 0 to a round number above the largest. Not a control: the label beside
    it says the same in words."""

    def __init__(self, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens = tokens
        self._points: deque[tuple[float, float]] = deque()
        self._unit = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(_HEIGHT)

    def sizeHint(self) -> QSize:
        return QSize(280, _HEIGHT)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        self.update()

    def set_unit(self, unit: str) -> None:
        """What is written after the number at the top."""
        self._unit = unit
        self.update()

    def add(self, at_s: float, value: float) -> None:
        """A value at a time in seconds, later than the last one's; what is older than the span is forgotten."""
        if self._points and at_s < self._points[-1][0]:  # the clock was set back
            self._points.clear()
        self._points.append((at_s, value))
        while self._points[0][0] < at_s - SPAN_S:
            self._points.popleft()
        self.update()

    @property
    def values(self) -> tuple[float, ...]:
        """What is drawn, oldest first."""
        return tuple(value for _, value in self._points)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        tokens = self._tokens
        painter.setPen(QPen(QColor(tokens.line), 1.0))
        painter.setBrush(QColor(tokens.surface))
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(frame, RADIUS, RADIUS)
        area = frame.adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        for line in range(_GRID_LINES):
            y = area.top() + area.height() * line / (_GRID_LINES - 1)
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        top = nice_top(max(self.values, default=0.0))
        font = painter.font()
        font.setPixelSize(SMALL_PX)
        painter.setFont(font)
        painter.setPen(QColor(tokens.quiet))
        painter.drawText(area.adjusted(4, 2, 0, 0), Qt.AlignmentFlag.AlignTop, f"{top:g}\u202f{self._unit}")
        if self._points:
            self._curve(painter, area, top)

    def _curve(self, painter: QPainter, area: QRectF, top: float) -> None:
        newest_s = self._points[-1][0]
        path = QPainterPath()
        before_s: float | None = None
        for at_s, value in self._points:
            x = area.right() - area.width() * (newest_s - at_s) / SPAN_S
            point = QPointF(x, area.bottom() - area.height() * value / top)
            if before_s is None or at_s - before_s > _GAP_S:
                path.moveTo(point)
            else:
                path.lineTo(point)
            before_s = at_s
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(self._tokens.user), 2.0, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawPath(path)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._tokens.user))
        painter.drawEllipse(QPointF(area.right(), area.bottom() - area.height() * self._points[-1][1] / top), 3.5, 3.5)


class Bar(QWidget):
    """A time as a bar: solid up to p50, lighter up to p95. The figures stand beside it."""

    def __init__(self, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens = tokens
        self._shares = (0.0, 0.0)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(16)
        self.setMinimumWidth(60)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        self.update()

    def show_shares(self, p50: float, p95: float) -> None:
        """Of the longest bar's length, in [0, 1]."""
        if (p50, p95) != self._shares:
            self._shares = (p50, p95)
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        soft = QColor(self._tokens.user)
        soft.setAlphaF(0.35)
        for color, share in ((soft, self._shares[1]), (QColor(self._tokens.user), self._shares[0])):
            if share > 0:
                painter.setBrush(color)
                painter.drawRoundedRect(QRectF(0, 4, max(4.0, share * self.width()), 8), 4, 4)
