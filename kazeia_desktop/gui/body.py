"""The middle of the window: the conversation, and the settings beside it or, where it is narrow, over it."""

from typing import Final

from PySide6.QtCore import QEasingCurve, QPoint, QPropertyAnimation, QRect, Qt, Signal
from PySide6.QtGui import QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from kazeia_desktop.gui.theme import TOUCH_PX

_PANEL_PX: Final = 400
_SLIDE_MS: Final = 160


class _Scrim(QWidget):
    """Dims what the drawer covers; a touch on it closes the drawer."""

    touched = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("scrim")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.touched.emit()


class Body(QWidget):
    """Places `main` and `panel`; closed at first."""

    panel_toggled = Signal(bool)

    def __init__(self, main: QWidget, panel: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._main = main
        self._panel = panel
        self._narrow = False
        self.reduced_motion = False
        self.setObjectName("ground")
        main.setParent(self)
        self._scrim = _Scrim(self)
        self._scrim.touched.connect(lambda: self.open_panel(False))
        self._scrim.hide()
        panel.setParent(self)
        panel.hide()
        self._slide = QPropertyAnimation(panel, b"pos", self)
        self._slide.setDuration(_SLIDE_MS)
        self._slide.setEasingCurve(QEasingCurve.Type.OutCubic)

    @property
    def panel_open(self) -> bool:
        return not self._panel.isHidden()

    def open_panel(self, opened: bool) -> None:
        if opened == self.panel_open:
            return
        self._panel.setVisible(opened)
        self._place()
        if opened and self._narrow and not self.reduced_motion and self.isVisible():
            place = self._panel.pos()
            self._slide.setStartValue(QPoint(self.width(), place.y()))
            self._slide.setEndValue(place)
            self._slide.start()
        self.panel_toggled.emit(opened)

    def set_narrow(self, narrow: bool) -> None:
        """Whether the panel is a drawer."""
        if narrow != self._narrow:
            self._narrow = narrow
            self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        self._slide.stop()
        whole = self.rect()
        opened = self.panel_open
        drawer = opened and self._narrow
        width = min(_PANEL_PX, whole.width() - TOUCH_PX) if self._narrow else _PANEL_PX
        beside = width if opened and not self._narrow else 0
        self._main.setGeometry(whole.adjusted(0, 0, -beside, 0))
        self._panel.setGeometry(QRect(whole.width() - width, 0, width, whole.height()))
        self._scrim.setGeometry(whole)
        self._scrim.setVisible(drawer)
        if drawer:
            self._scrim.raise_()
        self._panel.raise_()
        self._main.setEnabled(not drawer)  # the keyboard stays in the drawer
