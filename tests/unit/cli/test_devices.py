"""`kazeia devices`."""

import json
from collections.abc import Callable

import pytest

from kazeia_desktop.audio import devices
from kazeia_desktop.cli import main
from kazeia_desktop.errors import AudioDeviceError

pytestmark = pytest.mark.unit


def listing(*names: str) -> Callable[[], tuple[devices.AudioDevice, ...]]:
    return lambda: tuple(devices.AudioDevice(name, i, "ALSA", 2, 48_000, i == 0) for i, name in enumerate(names))


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
