"""What processor this is, how many cores of which kind it has for us, and how busy others keep them."""

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CPUS: Final = Path("/sys/devices/system/cpu")
_CPUINFO: Final = Path("/proc/cpuinfo")
_STAT: Final = Path("/proc/stat")
_FAST: Final = 0.8
"""A core of less than this part of the fastest one's capacity is a little one: a team waits for its slowest member."""


@dataclass(frozen=True, slots=True)
class Cores:
    """The processor.

    Attributes:
        name: its model, as the system tells it; "unknown" where it does not.
        n: logical ones that this process may use.
        n_physical: of these, without the second threads of a core.
        n_fast: of the physical ones, the big ones of a processor that has big and little cores.
    """

    name: str
    n: int
    n_physical: int
    n_fast: int


def read_cores(cpus: Path = _CPUS, cpuinfo: Path = _CPUINFO, usable: Iterable[int] | None = None) -> Cores:
    """Of this machine. What the system does not tell is taken for plain, equal cores.

    Args:
        cpus, cpuinfo: where Linux tells of them.
        usable: numbers of the logical cores that may be used; None: those of this process.
    """
    numbers = sorted(_usable() if usable is None else usable) or [0]
    firsts = [number for number in numbers if _is_first(cpus / f"cpu{number}", number, numbers)]
    capacities = [_capacity(cpus / f"cpu{number}") for number in firsts]
    fastest = max(capacities)
    n_fast = sum(capacity >= _FAST * fastest for capacity in capacities)
    return Cores(_name(cpuinfo), len(numbers), len(firsts), n_fast)


def others_busy_s() -> float | None:
    """Seconds of core time that processes other than this one and its ended children have used since the start.

    Only a difference of two calls means something: how busy the machine was meanwhile with other work. None where
    the system does not tell.
    """
    first = next(iter(_read(_STAT).splitlines()), "").split()
    if first[:1] != ["cpu"]:
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = (int(ticks) for ticks in first[1:9])
    busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    own = os.times()
    return busy - own.user - own.system - own.children_user - own.children_system


def _usable() -> Iterable[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return range(os.cpu_count() or 1)


def _is_first(folder: Path, number: int, usable: list[int]) -> bool:
    """Whether no usable logical core of the same physical one has a smaller number."""
    siblings = _numbers(_read(folder / "topology" / "thread_siblings_list"))
    return not any(sibling < number for sibling in siblings if sibling in usable)


def _numbers(text: str) -> list[int]:
    """ "0-2,5" is 0, 1, 2, 5; what cannot be read is nothing."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found += range(int(first), min(int(last or first), int(first) + 4096) + 1)
    return found


def _capacity(folder: Path) -> float:
    """How fast a core is, in whatever unit the system has for all of them."""
    for name in ("cpu_capacity", "cpufreq/cpuinfo_max_freq"):
        text = _read(folder / name)
        if text.isdecimal() and int(text):
            return float(text)
    return 1.0


def _name(cpuinfo: Path) -> str:
    fields: dict[str, str] = {}
    for line in _read(cpuinfo).splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    arm = " ".join(fields[key] for key in ("CPU implementer", "CPU part", "CPU variant") if fields.get(key))
    return fields.get("model name") or fields.get("Hardware") or arm or platform.processor() or "unknown"


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace").strip()
    except OSError:  # not Linux, or not told
        return ""
