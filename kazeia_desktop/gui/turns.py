"""Work of the window's thread that is done a little at a time."""

import time
from collections import deque
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal

TURN_S: Final = 0.008
"""Of work between two turns of the event loop; the layouts that follow take about as long."""


class Turns(QObject):
    """Does pieces of work one after the other, a few in each turn of the event loop, which must never be away for long.

    `done`: nothing is left.
    """

    done = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._pieces: deque[Callable[[], object]] = deque()
        self._next = QTimer(self)
        self._next.setSingleShot(True)
        self._next.setInterval(0)
        self._next.timeout.connect(self._turn)

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do."""
        return not self._pieces

    def add(self, *pieces: Callable[[], object]) -> None:
        """Do these too, after what waits already; the first of them not before the next turn."""
        self._pieces.extend(pieces)
        if self._pieces:
            self._next.start()

    def clear(self) -> None:
        """Leave undone what waits."""
        self._pieces.clear()
        self._next.stop()

    def _turn(self) -> None:
        began_s = time.perf_counter()
        self._next.start()  # before the pieces: one that fails must not keep the others undone
        while self._pieces and time.perf_counter() - began_s < TURN_S:
            self._pieces.popleft()()
        if not self._pieces:
            self._next.stop()
            self.done.emit()
