"""A frame around what has the keyboard, for what has none of its own; it lies above and moves nothing."""

from typing import Final

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QFocusEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from kazeia_desktop.gui.theme import RADIUS

_BY_KEYBOARD: Final = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)
_WIDTH_PX: Final = 2.0


class FocusRing(QWidget):
    """Shown while `target` has the focus and the keyboard brought it there; a touch leaves no frame behind."""

    def __init__(self, target: QWidget) -> None:
        super().__init__(target)
        self._target = target
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()
        target.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._target:
            if isinstance(event, QFocusEvent):
                self._place()
                self.setVisible(event.gotFocus() and event.reason() in _BY_KEYBOARD)
            elif event.type() == QEvent.Type.Resize and self.isVisible():
                self._place()
        return False

    def _place(self) -> None:
        self.setGeometry(self._target.rect())
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self.palette().windowText().color(), _WIDTH_PX))
        inner = _WIDTH_PX / 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inner, inner, -inner, -inner), RADIUS, RADIUS)
