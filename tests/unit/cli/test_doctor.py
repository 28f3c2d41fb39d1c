import argparse
import json
import sys
import types
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from kazeia_desktop.cli import doctor
from kazeia_desktop.errors import AudioDeviceError, KazeiaError, ModelMissingError, SettingsError
from kazeia_desktop.llm.devices import Device as ComputeDevice
from kazeia_desktop.models.store import ModelStore
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import SettingsStore, with_value

pytestmark = pytest.mark.unit

Device = namedtuple("Device", "name")
BUILD = {"version": "1.2", "devices": [{"name": "CPU", "description": "some processor"}]}
Usage = namedtuple("Usage", "total used free")


def put(monkeypatch: pytest.MonkeyPatch, name: str, **functions: object) -> None:
    """A module of another stage, as the doctor sees it."""
    module = types.ModuleType(name)
    for key, value in functions.items():
        setattr(module, key, value)
    monkeypatch.setitem(sys.modules, name, module)


class FakeCompute:
    """A machine with a Hexagon that passed its check, where told."""

    passed = True
    odd: ClassVar[list[str]] = []
    devices = (
        ComputeDevice("CPU", "", "cpu", "CPU", 0, 0),
        ComputeDevice("HTP0", "", "gpu", "HTP", 0, 0),
    )

    def __init__(self, *_: object) -> None: ...

    def warnings(self) -> list[str]:
        return list(self.odd)

    def told(self, device: ComputeDevice) -> str:
        return "passed" if self.passed else "not checked"

    def is_usable(self, device: ComputeDevice) -> bool:
        return self.passed


def raising(error: Exception) -> Callable[..., list[object]]:
    def function(*_: object) -> list[object]:
        raise error

    return function


@pytest.fixture(autouse=True)
def a_healthy_machine(kazeia_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.delenv("KAZEIA_CPU_ISA", raising=False)
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.setattr(sys, "platform", "linux")
    put(
        monkeypatch,
        "kazeia_desktop.audio.devices",
        list_inputs=lambda: [Device("Micro")],
        list_outputs=lambda: [Device(str(n)) for n in range(5)],
    )
    put(
        monkeypatch,
        "kazeia_desktop._native",
        llama_build=lambda: BUILD,
        cpu_isa=lambda: "avx2",
    )
    put(monkeypatch, "kazeia_desktop.cli.compute", Compute=FakeCompute)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(10**12, 0, 10**11))
    monkeypatch.setattr(ModelStore, "require", lambda self, name: self.models_dir / name)


def checks() -> dict[str, doctor.Check]:
    return {check.name: check for check in doctor.examine(Paths.from_environment())}


def call(*words: str) -> int:
    parser = argparse.ArgumentParser()
    doctor.register(parser.add_subparsers())
    options = parser.parse_args(["doctor", *words])
    code: int = options.run(options)
    return code


def test_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert call() == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok") for line in lines[:-1]) and "essential is there" in lines[-1]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is True
    assert {"name", "ok", "detail", "advice"} <= set(told["checks"][0])
    assert [check["name"] for check in told["checks"]] == [
        "settings", "audio input", "audio output", "model stt", "model vad", "model llm", "model voice",
        "own voice", "packages", "espeak-ng", "native library", "compute", "cpu", "disk", "display",
    ]  # fmt: skip


def test_details() -> None:
    found = checks()
    assert found["audio output"].detail == "0, 1, 2 and 2 more"
    assert found["native library"].detail == "llama.cpp 1.2: CPU (some processor)"
    assert found["cpu"].detail.endswith(", avx2")
    assert found["disk"].detail.startswith("100.0 GB free in ")


@pytest.mark.parametrize(
    ("device", "passed", "ok", "said"),
    [
        ("cpu", False, True, "CPU, HTP0"),
        ("auto", True, True, "HTP0: passed"),
        ("auto", False, True, "HTP0: not checked"),
        ("HTP0", True, True, "HTP0: passed"),
        ("HTP0", False, False, "HTP0: not checked"),
        ("Vulkan0", True, False, "There is no computing device vulkan0"),
    ],
)
def test_where_the_language_model_is_computed(
    monkeypatch: pytest.MonkeyPatch, device: str, passed: bool, ok: bool, said: str
) -> None:
    monkeypatch.setattr(FakeCompute, "passed", passed)
    settings = with_value(Settings(), "backends.llm_device", device)
    SettingsStore(Paths.from_environment().settings_file).save(settings)
    check = checks()["compute"]
    assert (check.ok, check.essential) == (ok, False)
    assert check.detail.startswith(said)
    assert bool(check.advice) is not ok


def test_what_is_odd_about_the_backends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeCompute, "odd", ["a driver ended the probe"])
    check = checks()["compute"]
    assert not check.ok
    assert check.detail == "a driver ended the probe"


def test_a_missing_model_is_essential_and_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("KAZEIA_HOME", str(tmp_path))
    assert call() == 1
    assert "kazeia models get whisper-base" in capsys.readouterr().out


def test_a_missing_light_voice_is_a_note_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def require(self: ModelStore, name: str) -> Path:
        if name == "kokoro-82m":
            raise ModelMissingError("gone")
        return Path(name)

    monkeypatch.setattr(ModelStore, "require", require)
    assert not checks()["model voice"].ok and call() == 0
    tts = Settings().tts.model_copy(update={"engine": "kokoro"})
    insisted = Settings().model_copy(update={"tts": tts})
    found = list(doctor._models(Paths.from_environment(), insisted))
    assert found[-1].essential
    tts = tts.model_copy(update={"engine": "system"})
    silent = list(doctor._models(Paths.from_environment(), insisted.model_copy(update={"tts": tts})))
    assert [check.name for check in silent] == ["model stt", "model vad", "model llm"]


def test_a_model_of_the_user_s_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelStore, "require", raising(ModelMissingError("gone")))
    llm = Settings().llm.model_copy(update={"model": "/nowhere.gguf"})
    found = list(doctor._models(Paths.from_environment(), Settings().model_copy(update={"llm": llm})))
    assert "kazeia settings set" in found[2].advice


@pytest.mark.parametrize(
    ("listing", "advice"),
    [
        (lambda: [], "sound server"),
        (raising(AudioDeviceError("no sound at all")), "sound server"),
        (raising(OSError("PortAudio library not found")), "libportaudio2"),
    ],
)
def test_no_device_is_a_note(monkeypatch: pytest.MonkeyPatch, listing: Callable[[], list[object]], advice: str) -> None:
    put(monkeypatch, "kazeia_desktop.audio.devices", list_inputs=listing, list_outputs=listing)
    for name in ("audio input", "audio output"):
        check = checks()[name]
        assert not check.ok and not check.essential and advice in check.advice and check.detail
    assert call() == 0


@pytest.mark.parametrize(
    "error", [ImportError("no _core"), OSError("libllama.so: cannot open"), KazeiaError("other build")]
)
def test_a_broken_native_library(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    put(monkeypatch, "kazeia_desktop._native", llama_build=raising(error), cpu_isa=lambda: "avx2")
    check = checks()["native library"]
    assert not check.ok and str(error) in check.detail and "make" in check.advice
    assert call() == 1


def test_an_unsupported_isa(monkeypatch: pytest.MonkeyPatch) -> None:
    error = raising(SettingsError("KAZEIA_CPU_ISA=neon cannot be used"))
    put(monkeypatch, "kazeia_desktop._native", llama_build=error, cpu_isa=error)
    check = checks()["native library"]
    assert not check.ok and check.essential and "neon" in check.detail and "make" not in check.advice
    assert call() == 1


def test_a_slow_processor_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, "kazeia_desktop._native", llama_build=lambda: BUILD, cpu_isa=lambda: "scalar")
    assert not checks()["cpu"].ok and call() == 0
    monkeypatch.setenv("KAZEIA_CPU_ISA", "scalar")
    assert checks()["cpu"].ok


@pytest.mark.parametrize("name", doctor.PACKAGES)
def test_a_missing_package_is_essential_and_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    check = checks()["packages"]
    assert not check.ok and check.essential and name in check.detail and "make build" in check.advice
    assert call() == 1


@pytest.mark.parametrize("name", doctor.LIMITING)
def test_a_missing_package_that_only_limits_is_a_note(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    check = checks()["packages"]
    assert not check.ok and not check.essential and name in check.detail and "make build" in check.advice
    assert call() == 0


def test_no_espeak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert "apt-get install espeak-ng" in checks()["espeak-ng"].advice and call() == 1


def test_little_disk_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(10**12, 0, 10**8))
    assert not checks()["disk"].ok and call() == 0


def test_a_data_folder_that_may_not_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    assert not checks()["disk"].ok and call() == 1


def test_no_display_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert "kazeia talk" in checks()["display"].advice and call() == 0


def test_a_broken_settings_file(kazeia_home: Path) -> None:
    path = Paths.from_environment().settings_file
    path.parent.mkdir(parents=True)
    path.write_text("nonsense = [")
    check = checks()["settings"]
    assert not check.ok and "defaults are used" in check.detail


def test_in_french(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
    assert call() == 0
    assert "Tout l'essentiel est là." in capsys.readouterr().out
