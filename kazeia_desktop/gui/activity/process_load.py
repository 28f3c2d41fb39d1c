"""How much memory and processor this process takes. Its child processes are not counted."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_STATM: Final = Path("/proc/self/statm")
"""Linux makes it when it is read: no disk is asked."""


@dataclass(frozen=True, slots=True)
class Sample:
    """At one moment.

    Attributes:
        at_s: `time.time()`.
        cpu_percent: since the sample before; 100 is one core. None: there is none before.
        memory_bytes: resident; None where the system does not tell.
    """

    at_s: float
    cpu_percent: float | None
    memory_bytes: int | None


def memory_bytes(statm: Path = _STATM) -> int | None:
    """Resident memory of this process; None where the system does not tell (only Linux does without help)."""
    try:
        return int(statm.read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


class ProcessLoad:
    """Takes samples; the time of all threads is `time.process_time`, which every system has."""

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None

    def restart(self) -> None:
        """The next sample has none before it: what passed meanwhile does not count."""
        self._before = None

    def sample(self) -> Sample:
        """Now. Takes about 20 us."""
        clock_s, used_s = time.monotonic(), time.process_time()
        before, self._before = self._before, (clock_s, used_s)
        percent = None
        if before is not None and clock_s > before[0]:
            percent = round(100 * max(0.0, used_s - before[1]) / (clock_s - before[0]), 1)
        return Sample(time.time(), percent, memory_bytes())
