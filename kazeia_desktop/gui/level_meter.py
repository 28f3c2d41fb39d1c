"""The ring: thin and still at rest, following the voice, an arc while thinking, bars while speaking; and beside it the
waveform of what Kazeia says.

Both draw only when what is seen changes: the ring at most 15 times a second, the waveform once a level, which come 20
times a second while Kazeia speaks.
"""

import math
import time
from collections import deque
from typing import Final

from PySide6.QtCore import QLineF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from kazeia_desktop.events import State
from kazeia_desktop.gui import icons
from kazeia_desktop.gui.theme import Tokens, state_color

_PERIOD_S: Final = 1 / 15
_FLOOR_DB: Final = -50.0
_CEILING_DB: Final = -12.0
"""A voice near a microphone is about -30 to -15 dB; speech of the light voice about -20."""
STEPS: Final = 24
"""Distinct heights: smaller changes are not seen."""
_BARS: Final = 7
_ARC_STEP: Final = 24  # degrees that the arc moves on with each word of the model
_SIZE: Final = 56
_WAVE_BARS: Final = 80  # four seconds
_WAVE_STEP_PX: Final = 6
_WAVE_HEIGHT_PX: Final = 24


def height_of(rms: float) -> int:
    """Loudness as seen, in 0..STEPS, on a scale of decibels."""
    if not rms > 0 or not math.isfinite(rms):
        return 0
    share = (20 * math.log10(rms) - _FLOOR_DB) / (_CEILING_DB - _FLOOR_DB)
    return round(STEPS * min(1.0, max(0.0, share)))


class LevelMeter(QWidget):
    """The ring with the icon of the state in it. The word beside it says the same: it is not read out."""

    spoke = Signal(int)  # how loud the voice is now, in 0..STEPS, while Kazeia speaks

    def __init__(self, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens = tokens
        self._state = State.LOADING
        self._level = 0
        self._bars: deque[int] = deque([0] * _BARS, maxlen=_BARS)
        self._angle = 90
        self._drawn_s = 0.0
        self.paints = 0  # counted for tests: an idle window draws nothing
        self.still = False  # reduced motion: nothing travels
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self._draw)
        self.setFixedSize(_SIZE, _SIZE)

    def sizeHint(self) -> QSize:
        return QSize(_SIZE, _SIZE)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        self.update()

    def set_state(self, state: State) -> None:
        if state is not self._state:
            self._state = state
            self._level = 0
            self._bars.extend([0] * _BARS)
            self._later.stop()
            self.update()

    def set_level(self, rms: float) -> None:
        """Loudness in [0, 1] of whoever speaks."""
        level = height_of(rms)
        if self._state is State.SPEAKING:
            self.spoke.emit(level)
            if (level or any(self._bars)) and not self.still:
                self._bars.append(level)
                self._draw_soon()
        elif self._state in (State.LISTENING, State.HEARING) and level != self._level:
            self._level = level
            self._draw_soon()

    def step(self) -> None:
        """The model has found another word."""
        if self._state is State.THINKING and not self.still:
            self._angle = (self._angle - _ARC_STEP) % 360
            self._draw_soon()

    def _draw_soon(self) -> None:
        if self._later.isActive():
            return
        wait_s = self._drawn_s + _PERIOD_S - time.monotonic()
        if wait_s <= 0:
            self._draw()
        else:
            self._later.start(math.ceil(wait_s * 1000))

    def _draw(self) -> None:
        self._drawn_s = time.monotonic()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        self.paints += 1
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = QColor(state_color(self._tokens, self._state))
        ring = QRectF(5, 5, _SIZE - 10, _SIZE - 10)
        match self._state:
            case State.LISTENING | State.HEARING:
                share = self._level / STEPS
                base = 4.0 if self._state is State.HEARING else 2.0
                self._glow(painter, color, share)
                self._circle(painter, color, ring, base + 4 * share)
            case State.THINKING:
                self._circle(painter, QColor(self._tokens.line), ring, 3.0)
                painter.setPen(QPen(color, 4.0, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
                painter.drawArc(ring, self._angle * 16, -100 * 16)
            case State.SPEAKING:
                self._circle(painter, color, ring, 3.0)
                if not self.still:
                    self._wave(painter, color)
                    return
            case State.ERROR:
                self._circle(painter, color, ring, 3.0)
            case _:
                self._circle(painter, QColor(self._tokens.outline), ring, 2.0)
        name = color.name()
        icons.renderer(f"state-{self._state}", name).render(painter, QRectF(_SIZE / 2 - 11, _SIZE / 2 - 11, 22, 22))

    def _circle(self, painter: QPainter, color: QColor, ring: QRectF, width: float) -> None:
        painter.setPen(QPen(color, width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(ring)

    def _glow(self, painter: QPainter, color: QColor, share: float) -> None:
        soft = QColor(color)
        soft.setAlphaF(0.16 * share)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(soft)
        painter.drawEllipse(QRectF(1, 1, _SIZE - 2, _SIZE - 2))

    def _wave(self, painter: QPainter, color: QColor) -> None:
        painter.setPen(QPen(color, 3.0, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        middle, gap = _SIZE / 2, 5.0
        levels = list(self._bars)
        for at in range(_BARS):
            room = 12.0 - 1.6 * abs(at - _BARS // 2)  # the circle narrows towards the sides
            half = 1.0 + room * levels[at] / STEPS
            x = middle + (at - _BARS // 2) * gap
            painter.drawLine(QRectF(x, middle - half, 0, 2 * half).topLeft(), QRectF(x, middle + half, 0, 0).topLeft())


class Waveform(QWidget):
    """How loud the voice was in the last seconds, the newest at the right. Silence draws a thin line, and nothing is
    drawn while nothing moves. The word beside it says the same: it is not read out.
    """

    def __init__(self, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens = tokens
        self.levels: deque[int] = deque(maxlen=_WAVE_BARS)
        self.paints = 0  # counted for tests
        self.setMinimumSize(_WAVE_STEP_PX * 8, _WAVE_HEIGHT_PX)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(_WAVE_HEIGHT_PX)

    def sizeHint(self) -> QSize:
        return QSize(_WAVE_STEP_PX * 24, _WAVE_HEIGHT_PX)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        self.update()

    def add(self, level: int) -> None:
        """The newest loudness, in 0..STEPS."""
        moves = bool(level) or any(self.levels)
        self.levels.append(level)
        if moves and self.isVisible():
            self.update()

    def clear(self) -> None:
        """Silence."""
        if self.levels:
            self.levels.clear()
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        self.paints += 1
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._tokens.kazeia), 3.0, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        middle, room = self.height() / 2, self.height() / 2 - 2.0
        fits = (self.width() - 4) // _WAVE_STEP_PX
        lines = []
        for back, level in enumerate(reversed(self.levels)):
            if back >= fits:
                break
            x = self.width() - 2.0 - back * _WAVE_STEP_PX
            half = max(0.5, room * level / STEPS)
            lines.append(QLineF(x, middle - half, x, middle + half))
        painter.drawLines(lines)
