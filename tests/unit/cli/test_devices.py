"""`kazeia devices`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from kazeia_desktop.audio import devices
from kazeia_desktop.cli import compute, main
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.llm.check_store import Verdict
from kazeia_desktop.llm.device_check import Check, judge
from kazeia_desktop.llm.devices import Device, DeviceLister
from kazeia_desktop.llm.node_watch import Work
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import SettingsStore, with_value
from tests.fakes.tiny_llms import tiny_llm

pytestmark = pytest.mark.unit


def listing(*names: str) -> Callable[[], tuple[devices.AudioDevice, ...]]:
    return lambda: tuple(devices.AudioDevice(name, i, "ALSA", 2, 48_000, i == 0) for i, name in enumerate(names))


CPU = Device("CPU", "A processor", "cpu", "CPU", 16 * 10**9, 0)
HTP = Device("HTP0", "Hexagon v79", "gpu", "HTP", 2 * 10**9, 0)


@pytest.fixture
def hexagon(kazeia_home: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """A machine with a Hexagon and a hybrid model; the flags with which its drivers were asked."""
    asked: list[dict[str, str]] = []

    def probe(library: str, flags: Mapping[str, str], cancel: CancelToken) -> dict[str, Any]:
        asked.append(dict(flags))
        return {"devices": [asdict(CPU), asdict(HTP)]}

    lister = DeviceLister(probe)
    monkeypatch.setattr(compute, "DEVICES", lister)
    store = SettingsStore(Paths.from_environment().settings_file)
    store.save(with_value(Settings(), "llm.model", str(tiny_llm("qwen35"))))
    monkeypatch.setattr(devices, "list_inputs", listing())
    monkeypatch.setattr(devices, "list_outputs", listing())
    return asked


def check_finds(monkeypatch: pytest.MonkeyPatch, verdict: Verdict) -> None:
    work = {"HTP0": Work(9, 8, 1.5), "CPU": Work(2, 1, 0.5)}
    monkeypatch.setattr(compute, "check_device", lambda *_: Check(verdict, work, work))


def test_a_device_says_what_is_to_be_done(hexagon: list[dict[str, str]], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    assert hexagon == [{"GGML_HEXAGON_OPFILTER": "SSM_CONV"}]
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    at = lines.index("HTP0  Hexagon v79  2.0 GB")
    assert lines[at + 1].startswith("not checked with qwen35")
    assert lines[at + 1].endswith("run `kazeia devices --check HTP0`")


@pytest.mark.usefixtures("hexagon")
def test_a_check_is_kept_and_measuring_ends_the_experiment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check_finds(monkeypatch, Verdict(True, "", {}, 0.9997, 1.0, "HTP0"))
    assert main(["devices", "--check", "htp0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["state"], told["computed_on"], told["way"]) == ("experimental", "HTP0", "reads")
    assert told["needs"] == {"GGML_HEXAGON_OPFILTER": "SSM_CONV"}
    assert told["work"]["HTP0"] == {"nodes": 9, "matrix_products": 8, "ms": 1.5}
    assert main(["devices"]) == 0
    assert "passed the check with qwen35" in (said := capsys.readouterr().out)
    assert "experimental until measured" in said
    found = compute.Compute(Paths.from_environment(), SettingsStore(Paths.from_environment().settings_file).load())
    verdict = found.verdict(HTP)
    assert verdict is not None
    found.keep(HTP, replace(verdict, measured=True))
    assert main(["devices"]) == 0
    assert "experimental" not in capsys.readouterr().out
    assert main(["devices", "--check", "HTP0", "--json"]) == 0  # checked again, it stays measured
    assert json.loads(capsys.readouterr().out)["state"] == "usable"


@pytest.mark.usefixtures("hexagon")
def test_a_device_that_did_little_of_the_work_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check_finds(monkeypatch, Verdict(True, "", {}, 0.9997, 1.0, "CPU", measured=True))
    assert main(["devices", "--check", "HTP0"]) == 0
    assert "computed on CPU" in capsys.readouterr().out


@pytest.mark.usefixtures("hexagon")
def test_a_device_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = judge("HTP0", {"finite": True, "cosine": 0.5, "same_top": 0.1, "ended": False, "free_tokens": 9}, "HTP0")
    check_finds(monkeypatch, wrong)
    assert main(["devices", "--check", "HTP0"]) == 1
    assert "differ from the CPU's (cosine 0.5000, 0.999 is needed)" in capsys.readouterr().out
    assert main(["devices", "--json"]) == 0
    states = {d["name"]: d["state"] for d in json.loads(capsys.readouterr().out)["compute"]}
    assert states == {"CPU": "cpu", "HTP0": "failed"}


@pytest.mark.usefixtures("hexagon")
def test_a_device_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--check", "Vulkan0"]) == 1
    assert capsys.readouterr().err.startswith("kazeia: There is no computing device Vulkan0: ")


@pytest.mark.usefixtures("hexagon")
def test_a_missing_model_is_told_when_it_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--check", "HTP0", "--model", "/no/such.gguf"]) == 1
    assert "no/such.gguf" in capsys.readouterr().err


@pytest.fixture(autouse=True)
def in_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")


def test_json_names_what_there_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(devices, "list_inputs", listing("micro é", "webcam"))
    monkeypatch.setattr(devices, "list_outputs", listing())
    assert main(["devices", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    told = json.loads(line)
    assert set(told) == {"inputs", "outputs", "compute"}
    assert [(d["name"], d["default"]) for d in told["inputs"]] == [("micro é", True), ("webcam", False)]
    assert told["outputs"] == []
    assert "cpu" in {d["type"] for d in told["compute"]}


def test_the_text_marks_the_default_and_says_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(devices, "list_inputs", listing("micro", "webcam"))
    monkeypatch.setattr(devices, "list_outputs", listing())
    assert main(["devices"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Microphones"
    assert lines[1].startswith("  * micro")
    assert lines[2].startswith("    webcam")
    assert lines[lines.index("Loudspeakers") + 1].strip() == "none"


def test_without_portaudio_it_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def missing() -> tuple[devices.AudioDevice, ...]:
        raise AudioDeviceError("The sound library PortAudio is missing")

    monkeypatch.setattr(devices, "list_inputs", missing)
    assert main(["devices"]) == 1
    assert capsys.readouterr().err == "kazeia: The sound library PortAudio is missing\n"


def test_another_word_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--nonsense"]) == 2
