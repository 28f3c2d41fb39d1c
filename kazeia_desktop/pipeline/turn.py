"""One exchange: something is said, something is answered."""

import threading
from dataclasses import dataclass, field

from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.base import SpeechFigures


@dataclass(frozen=True, slots=True)
class Turn:
    """Identity of an exchange, the switch that stops all work on it, and its clock."""

    id: int
    typed: bool = False
    cancel: CancelToken = field(default_factory=CancelToken)
    marks: "TurnMarks" = field(default_factory=lambda: TurnMarks())
    clauses: list[SpeechFigures] = field(default_factory=list)
    """What each spoken clause took, from a voice that can tell; written by the voice's thread."""
    spoken: list[tuple[float, float]] = field(default_factory=list)
    """Of each clause, how many seconds it took to make and how many it sounds; written by the voice's thread."""
    figures: dict[str, float] = field(default_factory=dict)
    """What else was measured, by the name of the metric; each is written by one stage."""


class TurnMarks:
    """When each step of a turn happened, `time.monotonic()` seconds by name. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[str, float] = {}

    def set(self, name: str, time_s: float) -> None:
        """Remember the first time that `name` happened; later ones are ignored."""
        with self._lock:
            self._times.setdefault(name, time_s)

    def between_ms(self, start: str, end: str) -> float | None:
        """Milliseconds from `start` to `end`; None when one of them did not happen."""
        with self._lock:
            begun, ended = self._times.get(start), self._times.get(end)
        return None if begun is None or ended is None else round((ended - begun) * 1000, 1)
