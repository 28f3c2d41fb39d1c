"""`kazeia voices`."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.audio.wav import read_wav, write_wav
from kazeia_desktop.cli import main
from kazeia_desktop.tts.speaker_encoder import SpeakerEncoder
from tests.fakes.speaker_network import voice_like, write_model

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


@pytest.mark.parametrize(
    "words", [[], ["remove"], ["add", "x", "y.wav"], ["add", "x", "--consent", "y"], ["add", "x", "y.wav", "--consent"]]
)
def test_bad_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["voices", *words]) == 2
    assert "usage" in capsys.readouterr().err


@pytest.fixture
def model(kazeia_home: Path) -> Path:
    write_model(kazeia_home / "data" / "models" / "mine", name="Tiny Base")
    return kazeia_home / "data" / "models" / "mine"


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    path = tmp_path / "Marie parle.wav"
    write_wav(path, voice_like(4.0, 44_100), 44_100)
    return path


def add(clip: Path, *more: str, name: str = "Zoé", consent: str = "Zoé, 3 mai, par écrit") -> int:
    return main(["voices", "add", name, str(clip), "--consent", consent, *more])


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and captured.err.startswith("kazeia: ")
    return captured.err


def test_add_list_remove(model: Path, clip: Path, kazeia_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add(clip, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["name"] == "Zoé" and made["engine"] == "qwen3" and made["clip_seconds"] == 4.0
    assert made["xvectors"] == [{"model": "Tiny Base", "width": 24}]
    assert made["consent"]["text"] == "Zoé, 3 mai, par écrit" and made["source"] == "Marie parle.wav"
    folder = Path(made["file"])
    assert folder == kazeia_home / "data" / "voices" / "Zoé" and (folder / "clip.wav").is_file()

    samples, rate_hz = read_wav(folder / "clip.wav")
    expected = SpeakerEncoder.load(model).embed(samples)
    assert rate_hz == 24_000 and len(samples) == 96_000
    np.testing.assert_array_equal(np.load(next(folder.glob("xvector-*.npy"))), expected)

    assert main(["voices", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["damaged"] == [] and [voice["name"] for voice in listed["voices"]] == ["ff_siwis", "espeak-ng", "Zoé"]
    assert listed["voices"][2] == made | {"installed": True, "chosen": False}
    assert main(["voices", "list"]) == 0
    line = capsys.readouterr().out.splitlines()[2]
    assert all(part in line for part in ("Zoé", "qwen3", "Tiny Base 24", "par écrit", "ready"))

    assert main(["voices", "remove", "Zoé", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed": "Zoé", "file": str(folder)}
    assert not folder.exists()
    assert main(["voices", "remove", "Zoé"]) == 1
    assert "no voice 'Zoé'" in one_line(capsys)


def test_what_a_person_sees(
    model: Path, clip: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
    assert add(clip) == 0
    assert capsys.readouterr().out == "La voix Zoé est ajoutée\u202f: 4.0 s de Marie parle.wav, pour Tiny Base.\n"
    assert main(["voices", "remove", "Zoé"]) == 0
    assert capsys.readouterr().out == "La voix Zoé est retirée, avec son enregistrement.\n"


def test_the_name_is_taken(model: Path, clip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add(clip) == 0
    capsys.readouterr()
    assert add(clip) == 1
    assert "--replace" in one_line(capsys)
    assert add(clip, name="espeak-ng") == 1
    assert "taken" in one_line(capsys)
    assert add(clip, "--replace", consent="again") == 0
    capsys.readouterr()
    assert main(["voices", "list"]) == 0
    assert "again" in capsys.readouterr().out


def test_an_empty_consent_is_bad_usage(model: Path, clip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add(clip, consent=" \n ") == 2
    assert "--consent" in one_line(capsys)


def test_without_a_voice_model(clip: Path, kazeia_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add(clip) == 1
    assert "kazeia models convert" in one_line(capsys)
    assert not (kazeia_home / "data" / "voices").exists()


def test_a_model_with_its_own_speakers(clip: Path, kazeia_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_model(kazeia_home / "data" / "models" / "a", name="Custom", speaker=False)
    assert add(clip) == 1
    assert "Custom" in one_line(capsys)
    write_model(kazeia_home / "data" / "models" / "b", name="Base")
    assert add(clip, "--json") == 0
    assert json.loads(capsys.readouterr().out)["xvectors"] == [{"model": "Base", "width": 24}]


def test_a_damaged_model(model: Path, clip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (model / "speaker_encoder.onnx.data").unlink()
    assert add(clip) == 1
    assert "speaker_encoder.onnx.data" in one_line(capsys)


def test_a_bad_recording(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.mp3").write_bytes(b"ID3" + bytes(100))
    assert add(tmp_path / "a.mp3") == 1
    assert "a.mp3" in one_line(capsys)


def test_a_damaged_voice(model: Path, clip: Path, kazeia_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add(clip) == 0 and add(clip, name="Paul") == 0
    (kazeia_home / "data" / "voices" / "Paul" / "clip.wav").write_bytes(b"")
    capsys.readouterr()
    assert main(["voices", "list", "--json"]) == 1
    captured = capsys.readouterr()
    assert "Paul" in captured.err and captured.err.count("\n") == 1
    listed = json.loads(captured.out)
    assert [voice["name"] for voice in listed["voices"]][2:] == ["Zoé"] and "clip.wav" in listed["damaged"][0]
    assert main(["voices", "remove", "Paul"]) == 0
    assert main(["voices", "list"]) == 0
