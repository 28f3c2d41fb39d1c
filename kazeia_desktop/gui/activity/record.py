"""What the window remembers of its turns and faults, from its first moment: figures, never words."""

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QObject, Signal, Slot

from kazeia_desktop.events import Failed, State, TurnEnded
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.engine import EngineInfo

KEPT_TURNS: Final = 200
_KEPT_FAULTS: Final = 20


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """One turn without its words.

    Attributes:
        number: counted from the start of the window, from 1.
        at_s: when it ended, `time.time()`.
        typed: it came from the text field, or Kazeia began it.
        reason: how it ended; see `events.TurnEnded`.
        metrics: as in `events.TurnEnded`.
    """

    number: int
    at_s: float
    typed: bool
    reason: str
    metrics: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Fault:
    """What was shown as an error, and when (`time.time()`)."""

    at_s: float
    told: Failed


class Activity(QObject):
    """Listens to a bridge; lives in the window's thread. Without one it stays empty."""

    changed = Signal()

    def __init__(self, bridge: EngineBridge | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.turns: deque[TurnFigures] = deque(maxlen=KEPT_TURNS)
        self.faults: deque[Fault] = deque(maxlen=_KEPT_FAULTS)
        self.info: EngineInfo | None = None
        self.state = State.LOADING
        self._count = 0
        self._typed: tuple[int, bool] = (0, False)
        if bridge is not None:
            bridge.turn_started.connect(self._turn_started)
            bridge.turn_ended.connect(self._turn_ended)
            bridge.failed.connect(self._failed)
            bridge.ready.connect(self._ready)
            bridge.state_changed.connect(self._state_changed)

    def clear(self) -> None:
        """Forget the turns; faults stay until the window is closed."""
        self.turns.clear()
        self.changed.emit()

    @Slot(int, bool)
    def _turn_started(self, turn_id: int, typed: bool) -> None:
        self._typed = (turn_id, typed)

    @Slot(object)
    def _turn_ended(self, ended: TurnEnded) -> None:
        self._count += 1
        typed = self._typed[1] if self._typed[0] == ended.turn_id else False
        self.turns.append(TurnFigures(self._count, time.time(), typed, ended.reason, dict(ended.metrics)))
        self.changed.emit()

    @Slot(object)
    def _failed(self, error: Failed) -> None:
        self.faults.append(Fault(time.time(), error))

    @Slot(object)
    def _ready(self, info: EngineInfo) -> None:
        self.info = info

    @Slot(object)
    def _state_changed(self, state: State) -> None:
        self.state = state
