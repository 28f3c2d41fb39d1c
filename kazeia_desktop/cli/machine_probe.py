"""What this machine can do at most, and in which state it is: the floors of `kazeia bench tts`.

    python -m kazeia_desktop.cli.machine_probe THREADS [reads]

Prints {"read_gb_s", "peak_gflop_s", "probe"}, the best of several runs; with `reads` only {"read_gb_s"}, as it is at
this moment: a virtual machine's memory can have two speeds, a factor of 1.7 apart, for seconds or minutes each. Reads
are numpy's dot product (OpenBLAS sdot, one thread a core) over 640 MB a thread, nothing of which a cache holds;
arithmetic is its float32 matrix product.
"""

import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

_READ_BYTES: Final = 640_000_000
_BLOCK: Final = 1 << 22  # values a call: long enough to stream, and sdot takes 32-bit counts
_READS: Final = 8
_SIDE: Final = 1536
_PRODUCTS: Final = 20
_POWER: Final = Path("/sys/class/power_supply")
_THERMAL: Final = Path("/sys/class/thermal")
_CPUINFO: Final = Path("/proc/cpuinfo")


def machine_state() -> dict[str, object]:
    """Power source ("mains", "battery"), hottest sensor and mean clock; None for what the system does not tell."""
    online = [_number(supply / "online") for supply in sorted(_POWER.glob("*")) if (supply / "online").exists()]
    heats = [heat for zone in _THERMAL.glob("thermal_zone*") if (heat := _number(zone / "temp")) is not None]
    clocks = [float(line.split(":")[1]) for line in _lines(_CPUINFO) if line.startswith("cpu MHz")]
    return {
        "power": ("mains" if any(online) else "battery") if online else None,
        "temperature_c": round(max(heats) / 1000, 1) if heats else None,
        "clock_mhz": round(sum(clocks) / len(clocks)) if clocks else None,
    }


def _number(file: Path) -> float | None:
    try:
        return float(file.read_text("ascii"))
    except (OSError, ValueError):  # a sensor may be there and refuse to be read
        return None


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8").splitlines()
    except OSError:
        return []


def reads_gb_s(threads: int, read_bytes: int = _READ_BYTES) -> list[float]:
    """GB/s of several runs, all threads at once."""
    import numpy as np

    arrays = [np.ones(read_bytes // 4, np.float32) for _ in range(threads)]

    def read(thread: int) -> None:
        array = arrays[thread]
        for start in range(0, len(array), _BLOCK):
            part = array[start : start + _BLOCK]
            np.dot(part, part)

    return [threads * read_bytes / _together(threads, read) / 1e9 for _ in range(_READS)]


def measure(threads: int, read_bytes: int = _READ_BYTES) -> dict[str, object]:
    """The best of several runs, all threads at once."""
    import numpy as np

    read_gb_s = max(reads_gb_s(threads, read_bytes))
    squares = [np.ones((_SIDE, _SIDE), np.float32) for _ in range(threads)]
    product_s = min(_together(threads, lambda thread: squares[thread] @ squares[thread]) for _ in range(_PRODUCTS))
    return {
        "read_gb_s": round(read_gb_s, 2),
        "peak_gflop_s": round(threads * 2 * _SIDE**3 / product_s / 1e9, 1),
        "probe": "numpy: sdot, sgemm",
    }


def _together(threads: int, work: Callable[[int], object]) -> float:
    """Seconds until all threads have done `work`."""
    start = threading.Barrier(threads + 1)

    def run(thread: int) -> None:
        start.wait()
        work(thread)

    workers = [threading.Thread(target=run, args=(i,), name=f"probe-{i}") for i in range(threads)]
    for worker in workers:
        worker.start()
    start.wait()
    started = time.perf_counter()
    for worker in workers:
        worker.join()
    return time.perf_counter() - started


def main() -> None:
    """Measure and print."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # ours are the threads; read when numpy is imported
    threads = int(sys.argv[1])
    if sys.argv[2:] == ["reads"]:
        found: dict[str, object] = {"read_gb_s": round(statistics.median(reads_gb_s(threads, _READ_BYTES // 4)), 2)}
    else:
        found = measure(threads)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
