"""The window's parts: the conversation, the presence bar below it, the list of conversations at the left and the
settings at the right; where it is narrow these two lie over the conversation. The bar is never covered: stop and mute
stay in reach.
"""

from typing import Final

from PySide6.QtCore import QEasingCurve, QEvent, QPoint, QPropertyAnimation, QRect, Qt, Signal
from PySide6.QtGui import QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from kazeia_desktop.gui.theme import TOUCH_PX

_PANEL_PX: Final = 400
_SIDEBAR_PX: Final = 304
_MAIN_PX: Final = 400
"""What is left to the conversation at least; else only one of the two is open."""
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
    """Places `main`, `foot` along the bottom, `sidebar` and `panel`, which are closed at first."""

    panel_toggled = Signal(bool)
    sidebar_toggled = Signal(bool)

    def __init__(
        self, main: QWidget, panel: QWidget, foot: QWidget, sidebar: QWidget, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._main = main
        self._foot = foot
        self._panel = panel
        self._sidebar = sidebar
        self._narrow = False
        self.reduced_motion = False
        self.setObjectName("ground")
        main.setParent(self)
        foot.setParent(self)
        self.scrim = _Scrim(self)
        self.scrim.touched.connect(self.close_drawer)
        self.scrim.hide()
        for side in (sidebar, panel):
            side.setParent(self)
            side.hide()
        self._slide = QPropertyAnimation(self)
        self._slide.setPropertyName(b"pos")
        self._slide.setDuration(_SLIDE_MS)
        self._slide.setEasingCurve(QEasingCurve.Type.OutCubic)

    @property
    def panel_open(self) -> bool:
        return not self._panel.isHidden()

    @property
    def sidebar_open(self) -> bool:
        return not self._sidebar.isHidden()

    def open_panel(self, opened: bool) -> None:
        """Open or close the settings."""
        if opened == self.panel_open:
            return
        if opened and self._only_one():
            self.open_sidebar(False)
        self._open(self._panel, opened, self.width())
        self.panel_toggled.emit(opened)

    def open_sidebar(self, opened: bool) -> None:
        """Open or close the list of conversations."""
        if opened == self.sidebar_open:
            return
        if opened and self._only_one():
            self.open_panel(False)
        self._open(self._sidebar, opened, -_SIDEBAR_PX)
        self.sidebar_toggled.emit(opened)

    def close_drawer(self) -> bool:
        """Close what lies over the conversation; whether something did."""
        drawn = self._drawer
        if drawn:
            self.open_panel(False)
            self.open_sidebar(False)
        return drawn

    @property
    def _drawer(self) -> bool:
        return self._narrow and (self.panel_open or self.sidebar_open)

    def _only_one(self) -> bool:
        return self._narrow or self.width() < _SIDEBAR_PX + _PANEL_PX + _MAIN_PX

    def _open(self, side: QWidget, opened: bool, from_x: int) -> None:
        side.setVisible(opened)
        self._place()
        if opened and self._narrow and not self.reduced_motion and self.isVisible():
            place = side.pos()
            self._slide.setTargetObject(side)
            self._slide.setStartValue(QPoint(from_x, place.y()))
            self._slide.setEndValue(place)
            self._slide.start()

    def set_narrow(self, narrow: bool) -> None:
        """Whether the panel is a drawer."""
        if narrow != self._narrow:
            self._narrow = narrow
            if narrow:
                self.open_sidebar(False)  # it would cover the conversation unasked
            self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.panel_open and self._only_one():
            self.open_sidebar(False)
        self._place()

    def event(self, event: QEvent) -> bool:
        """What the bar shows may want another height."""
        if event.type() == QEvent.Type.LayoutRequest and self._foot_px(self._foot.width()) != self._foot.height():
            self._place()
        return super().event(event)

    def _foot_px(self, width: int) -> int:
        if self._foot.isHidden():
            return 0
        return max(self._foot.heightForWidth(width), self._foot.minimumSizeHint().height())

    def _place(self) -> None:
        self._slide.stop()
        whole = self.rect()
        panel, sidebar = (
            min(px, whole.width() - TOUCH_PX) if self._narrow else px for px in (_PANEL_PX, _SIDEBAR_PX)
        )  # fmt: skip
        left = sidebar if self.sidebar_open and not self._narrow else 0
        right = whole.width() - (panel if self.panel_open and not self._narrow else 0)
        foot = self._foot_px(right - left)
        self._main.setGeometry(left, 0, right - left, whole.height() - foot)
        self._foot.setGeometry(left, whole.height() - foot, right - left, foot)
        above = whole.height() - foot if self._narrow else whole.height()
        self._panel.setGeometry(QRect(whole.width() - panel, 0, panel, above))
        self._sidebar.setGeometry(QRect(0, 0, sidebar, above))
        self.scrim.setGeometry(0, 0, whole.width(), above)
        self.scrim.setVisible(self._drawer)
        if self._drawer:
            self.scrim.raise_()
        self._sidebar.raise_()
        self._panel.raise_()
        self._main.setEnabled(not self._drawer)  # the keyboard stays in the drawer and the bar
