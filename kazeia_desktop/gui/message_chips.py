"""What a turn took, as small grey chips that open into the whole breakdown."""

from collections.abc import Mapping
from typing import Final

from PySide6.QtCore import QDate, QDateTime, QEvent, QLocale, QRectF, QSize, Qt
from PySide6.QtGui import QColor as Color
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from kazeia_desktop.gui.theme import GRID, SMALL_PX, TOUCH_PX, Tokens
from kazeia_desktop.gui.words import Words

_PAD: Final = 6
_GAP: Final = 4
_CHIP_PX: Final = 22
_KEPT_FIRST: Final = ("first_audio_ms", "total_ms", "stt_ms", "llm_ttft_ms", "endpoint_ms")
"""Which chips stay where there is no room for all."""


def headlines(metrics: Mapping[str, float | None], words: Words) -> dict[str, str]:
    """Name of a metric -> its chip, in the order of the turn. Without a sound the whole turn stands for it."""
    tr = words.tr
    told = {
        name: template
        for name, template in (
            ("endpoint_ms", tr("listening {time}")),
            ("stt_ms", tr("recognised {time}")),
            ("llm_ttft_ms", tr("first word {time}")),
            ("first_audio_ms", tr("first sound {time}")),
            ("total_ms", tr("in {time}")),
        )
        if metrics.get(name) is not None
    }
    if "first_audio_ms" in told:
        told.pop("total_ms", None)
    return {name: template.format(time=words.seconds(metrics[name] or 0.0)) for name, template in told.items()}


def breakdown(metrics: Mapping[str, float | None], words: Words) -> str:
    """Every stage that took time, one after the other; "" when nothing is known."""
    tr = words.tr
    rows = (
        ("endpoint_ms", tr("end of speech noticed")),
        ("stt_ms", tr("speech recognised")),
        ("llm_ttft_ms", tr("first word found")),
        ("first_clause_ms", tr("first clause found")),
        ("tts_ttfa_ms", tr("voice ready")),
        ("first_audio_ms", tr("first sound")),
        ("total_ms", tr("whole turn")),
    )
    known = [(label, metrics.get(key)) for key, label in rows]
    told = [f"{label} {words.seconds(value)}".replace(" ", "\u00a0") for label, value in known if value is not None]
    return "\u00a0· ".join(told)


def when(seconds: float, words: Words) -> str:
    """The time of day of a moment (seconds since 1970), in this machine's zone; with the date on another day."""
    moment = QDateTime.fromSecsSinceEpoch(int(seconds))
    time = moment.toString("HH:mm")
    if moment.date() == QDate.currentDate():
        return time
    return f"{words.locale.toString(moment.date(), QLocale.FormatType.ShortFormat)} {time}".replace(" ", "\u00a0")


class LatencyChips(QAbstractButton):
    """One button, drawn as chips; checked while the breakdown is open."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._tokens: Tokens | None = None
        self._chips: dict[str, str] = {}
        self._shown: list[str] = []
        self._room = 10_000
        self._touch = False
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._small = self.font()
        self._small.setPixelSize(SMALL_PX)
        self._metrics = QFontMetricsF(self._small)

    def dress(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self.update()

    def set_touch(self, touch: bool) -> None:
        """Whether the target is as high as a finger needs."""
        self._touch = touch
        self.setMinimumHeight(self.sizeHint().height())

    def set_chips(self, chips: dict[str, str], help_text: str) -> None:
        """What is told: name of a metric -> text."""
        self._chips = chips
        self.setText(" · ".join(chips.values()))
        self.setAccessibleName(f"{', '.join(chips.values())}. {help_text}")
        self.setToolTip(help_text)
        self._fit()

    def fit(self, room: int) -> None:
        """Leave out what does not fit into `room` px."""
        if room != self._room:
            self._room = room
            self._fit()

    @property
    def shown(self) -> list[str]:
        """The chips that are drawn."""
        return self._shown

    def _fit(self) -> None:
        kept: set[str] = set()
        width = 2.0
        for name in _KEPT_FIRST:
            if name in self._chips:
                width += self._width(self._chips[name]) + (_GAP if kept else 0)
                if kept and width > self._room:
                    break
                kept.add(name)
        self._shown = [text for name, text in self._chips.items() if name in kept]
        self.updateGeometry()
        self.update()

    def _width(self, text: str) -> float:
        return self._metrics.horizontalAdvance(text) + 2 * _PAD

    def sizeHint(self) -> QSize:
        width = sum(self._width(text) + _GAP for text in self._shown) - _GAP + 2
        return QSize(max(_CHIP_PX, round(width + 0.5)), TOUCH_PX if self._touch else _CHIP_PX + 4)

    minimumSizeHint = sizeHint

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.HoverEnter, QEvent.Type.HoverLeave):
            self.update()
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._tokens is None:
            return
        tokens = self._tokens
        painter = QPainter(self)
        painter.setFont(self._small)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        lively = self.underMouse() or self.isChecked()
        x, y = 1.0, (self.height() - _CHIP_PX) / 2
        for text in self._shown:
            box = QRectF(x, y, self._width(text), _CHIP_PX)
            painter.setPen(QPen(Color(tokens.outline if lively else tokens.line)))
            painter.setBrush(Color(tokens.hover) if self.isChecked() else Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), GRID, GRID)
            painter.setPen(Color(tokens.text if lively else tokens.quiet))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
            x += box.width() + _GAP
        if self.hasFocus():
            painter.setPen(QPen(Color(tokens.text), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            ring = QRectF(0.75, y - 1.25, self.width() - 1.5, _CHIP_PX + 2.5)
            painter.drawRoundedRect(ring, GRID, GRID)
        painter.end()
