"""What the probe says of a machine, and what the system's files tell."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kazeia_desktop.cli import machine_probe
from kazeia_desktop.cli.machine_probe import machine_state, measure

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("threads", [1, 2])
def test_figures_are_those_of_a_computer(threads: int) -> None:
    found = measure(threads, read_bytes=40_000_000)
    assert 0.1 < float(str(found["read_gb_s"])) < 10_000
    assert 0.5 < float(str(found["peak_gflop_s"])) < 100_000


def test_numpy_is_imported_after_its_threads_are_set() -> None:
    script = "import json, sys, kazeia_desktop.cli.machine_probe; print(json.dumps('numpy' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) is False


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("power", "thermal"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(machine_probe, "_POWER", tmp_path / "power")
    monkeypatch.setattr(machine_probe, "_THERMAL", tmp_path / "thermal")
    monkeypatch.setattr(machine_probe, "_CPUINFO", tmp_path / "cpuinfo")
    return tmp_path


def test_a_silent_system_is_null(system: Path) -> None:
    assert machine_state() == {"power": None, "temperature_c": None, "clock_mhz": None}


@pytest.mark.parametrize(("online", "power"), [("1", "mains"), ("0", "battery")])
def test_power_temperature_and_clock(system: Path, online: str, power: str) -> None:
    for folder, file, text in (
        ("power/AC", "online", online),
        ("power/BAT0", "status", "Charging"),
        ("thermal/thermal_zone0", "temp", "41000"),
        ("thermal/thermal_zone1", "temp", "57500"),
        ("thermal/thermal_zone2", "temp", "not now"),
    ):
        (system / folder).mkdir()
        (system / folder / file).write_text(text, "ascii")
    (system / "cpuinfo").write_text("processor: 0\ncpu MHz\t: 2000.5\ncpu MHz\t: 3000.5\n", "ascii")
    assert machine_state() == {"power": power, "temperature_c": 57.5, "clock_mhz": 2500}
