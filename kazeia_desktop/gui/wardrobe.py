"""The style sheet of the window's parts, given to them in turns.

A style sheet on the window would make Qt polish all of its some 2,500 widgets anew at once, at 0.1 ms each: the event
loop would be away for a third of a second whenever the theme changes or targets grow. So the window and the plain
containers in it are painted by the palette, and each part inside wears the sheet by itself.
"""

import time

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from kazeia_desktop.gui.turns import TURN_S


class Wardrobe(QObject):
    """Keeps the parts of a window that wear its style sheet.

    What a part holds, also menus, dialogs and tool tips whose parent is in it, wears the sheet with it.

    Args:
        sheet: what parts wear from now on.
    """

    def __init__(self, window: QWidget, sheet: str) -> None:
        super().__init__(window)
        self._window = window
        self._sheet = sheet
        self._worn: dict[QWidget, str] = {}
        self._curtain = False
        self._next = QTimer(self)
        self._next.setSingleShot(True)
        self._next.setInterval(0)
        self._next.timeout.connect(self._turn)

    @property
    def parts(self) -> tuple[QWidget, ...]:
        """All that were added and are still there."""
        return tuple(part for part in self._worn if isValid(part))

    @property
    def settled(self) -> bool:
        """Whether every part wears the newest sheet."""
        return not self._waiting()

    def add(self, *parts: QWidget) -> None:
        """Dress parts now, and whenever the sheet changes. No part is inside another."""
        for part in parts:
            self._dress(part)

    def change(self, sheet: str, curtain: bool = False) -> None:
        """Dress every part anew, a few in each turn of the event loop: those that are seen first.

        Args:
            curtain: the window keeps its old picture until all that is seen has the new colours.
        """
        if sheet == self._sheet:
            return
        self._sheet = sheet
        if curtain and not self._curtain:
            self._curtain = True
            self._window.setUpdatesEnabled(False)
        self._next.start()

    def _turn(self) -> None:
        began_s = time.perf_counter()
        waiting = self._waiting()
        seen = [part for part in waiting if not part.visibleRegion().isEmpty()]
        hidden = [part for part in waiting if part not in seen]
        while seen or hidden:
            if not seen:
                self._open_curtain()
            self._dress(seen.pop(0) if seen else hidden.pop(0))
            if time.perf_counter() - began_s > TURN_S:
                break
        if not seen:
            self._open_curtain()
        if seen or hidden:
            self._next.start()

    def _waiting(self) -> list[QWidget]:
        for gone in [part for part in self._worn if not isValid(part)]:
            del self._worn[gone]
        return [part for part, worn in self._worn.items() if worn != self._sheet]

    def _open_curtain(self) -> None:
        if self._curtain:
            self._curtain = False
            self._window.setUpdatesEnabled(True)

    def _dress(self, part: QWidget) -> None:
        self._worn[part] = self._sheet
        part.setStyleSheet(self._sheet)
        layout = part.layout()
        if layout is not None and not part.isVisible():
            layout.activate()  # else all that is hidden would be laid out at once when it is shown
