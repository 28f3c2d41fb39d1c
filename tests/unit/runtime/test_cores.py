"""Which cores there are, from the files that Linux tells it in."""

import os
from pathlib import Path

import pytest

from kazeia_desktop.runtime import cores
from kazeia_desktop.runtime.cores import Cores, others_busy_s, read_cores

pytestmark = pytest.mark.unit


def machine(folder: Path, siblings: list[str], capacities: list[int] | None = None, kind: str = "cpu_capacity") -> Path:
    """A /sys/devices/system/cpu with a core an entry."""
    for number, shared in enumerate(siblings):
        core = folder / f"cpu{number}"
        (core / "topology").mkdir(parents=True)
        (core / "topology" / "thread_siblings_list").write_text(f"{shared}\n")
        if capacities:
            file = core / kind
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"{capacities[number]}\n")
    return folder


def told(folder: Path, text: str) -> Path:
    file = folder / "cpuinfo"
    file.write_text(text, "utf-8")
    return file


def test_second_threads_of_a_core_do_not_count(tmp_path: Path) -> None:
    cpus = machine(tmp_path / "cpu", ["0,4", "1,5", "2,6", "3,7"] * 2)
    info = told(tmp_path, "processor\t: 0\nmodel name\t: Some CPU\n\nprocessor\t: 1\nmodel name\t: Some CPU\n")
    assert read_cores(cpus, info, range(8)) == Cores("Some CPU", 8, 4, 4)


def test_only_usable_cores_count(tmp_path: Path) -> None:
    cpus = machine(tmp_path / "cpu", ["0,4", "1,5", "2,6", "3,7"] * 2)
    found = read_cores(cpus, told(tmp_path, ""), [1, 4, 5])
    assert (found.n, found.n_physical) == (3, 2)


@pytest.mark.parametrize("kind", ["cpu_capacity", "cpufreq/cpuinfo_max_freq"])
def test_little_cores_are_not_fast(tmp_path: Path, kind: str) -> None:
    cpus = machine(tmp_path / "cpu", [str(n) for n in range(8)], [325, 325, 325, 325, 900, 900, 900, 1024], kind)
    info = told(tmp_path, "CPU implementer\t: 0x51\nCPU variant\t: 0x1\nCPU part\t: 0x001\n")
    assert read_cores(cpus, info, range(8)) == Cores("0x51 0x001 0x1", 8, 8, 4)


def test_nothing_told_is_plain_cores(tmp_path: Path) -> None:
    found = read_cores(tmp_path / "none", tmp_path / "none", range(3))
    assert (found.n, found.n_physical, found.n_fast) == (3, 3, 3)
    assert found.name


def test_nonsense_is_not_believed(tmp_path: Path) -> None:
    cpus = machine(tmp_path / "cpu", ["x-9", "-"], [0, 0])
    found = read_cores(cpus, told(tmp_path, "::\n"), range(2))
    assert (found.n, found.n_physical, found.n_fast) == (2, 2, 2)


def test_this_machine_has_a_core() -> None:
    found = read_cores()
    assert 1 <= found.n_fast <= found.n_physical <= found.n


def test_other_work_is_all_work_but_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "sysconf"):
        pytest.skip("no /proc there")
    monkeypatch.setattr(cores, "_STAT", tmp_path / "stat")
    assert others_busy_s() is None
    ticks = os.sysconf("SC_CLK_TCK")
    counts = [10, 1, 5, 1000, 300, 2, 1, 1, 0, 0]  # user nice system idle iowait irq softirq steal guest guest_nice
    (tmp_path / "stat").write_text("cpu  " + " ".join(str(n * ticks) for n in counts) + "\ncpu0 1 2 3\n", "ascii")
    monkeypatch.setattr(os, "times", lambda: os.times_result((3.0, 1.0, 4.0, 2.0, 0.0)))
    assert others_busy_s() == pytest.approx(20.0 - 10.0)
