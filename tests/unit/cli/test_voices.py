"""`kazeia voices`."""

import json
import shutil
from pathlib import Path

import pytest

from kazeia_desktop.cli import main

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def an_empty_home(kazeia_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


def test_list_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["voices", "list", "--json"]) == 0
    voices = {voice["name"]: voice for voice in json.loads(capsys.readouterr().out)["voices"]}
    light, system = voices["ff_siwis"], voices["espeak-ng"]
    assert light["engine"] == "kokoro" and light["languages"] == ["fr", "en"] and light["chosen"]
    assert Path(light["file"]).is_file() and "Apache-2.0" in light["licence"]
    assert not light["installed"], "its model is not in an empty home"
    assert system["engine"] == "system" and system["file"] is None and not system["chosen"]
    assert system["installed"] is (shutil.which("espeak-ng") is not None)


def test_list_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["voices", "list"]) == 0
    light, system = capsys.readouterr().out.splitlines()
    assert light.startswith("ff_siwis") and "not installed" in light and "SIWIS" in light
    assert system.startswith("espeak-ng") and "last resort" in system


@pytest.mark.parametrize(
    ("name", "told"), [("ff_siwis", "built in"), ("espeak-ng", "built in"), ("nobody", "ff_siwis")]
)
def test_remove(name: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["voices", "remove", name]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert name in captured.err and told in captured.err


@pytest.mark.parametrize("words", [[], ["remove"], ["add", "x", "y.wav"]])
def test_bad_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["voices", *words]) == 2
    assert "usage" in capsys.readouterr().err
