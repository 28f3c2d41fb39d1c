"""`kazeia say` with the system's voice: no model needed."""

import hashlib
import json
import os
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from tests.fakes.micro_voice import write_checkpoint

pytestmark = pytest.mark.unit

_KEYS = {
    "frames", "chunks", "stop", "retries", "audio_seconds", "ttfa_ms", "rtf", "talker_ms", "code_predictor_ms",
    "codec_ms", "rms", "silence_pct", "sha256", "voice", "seed", "output",
}  # fmt: skip


def say(*arguments: object, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "kazeia_desktop", "say", *map(str, arguments)],
        input=given,
        capture_output=True,
        env=os.environ | {"LC_ALL": "C.UTF-8", "LANGUAGE": "en"},
    )


def test_the_figures_are_those_of_the_file(tmp_path: Path) -> None:
    target = tmp_path / "dit été.wav"
    done = say("-", "--engine", "system", "--json", "--seed", 3, "-o", target, given="Il fait 3,5 °C. Ça va ?".encode())
    assert (done.returncode, done.stderr) == (0, b"")
    record = json.loads(done.stdout)
    assert set(record) == _KEYS
    assert (record["seed"], record["output"], record["stop"]) == (3, str(target), "eos")
    with wave.open(str(target), "rb") as wav:
        pcm = wav.readframes(wav.getnframes())
        seconds = wav.getnframes() / wav.getframerate()
    assert record["sha256"] == hashlib.sha256(pcm).hexdigest()
    assert record["audio_seconds"] == pytest.approx(seconds, abs=1e-3)
    assert record["frames"] == round(seconds * 12.5)
    assert 0.01 < record["rms"] < 0.5
    assert record["ttfa_ms"] > 0
    assert 0 <= record["silence_pct"] < 80


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        [""],
        ["   "],
        ["**"],
        ["oui", "--engine", "other"],
        ["oui", "--language", "de"],
        ["oui", "--seed", "x"],
        ["oui", "--stream-frames", "4"],
        ["oui", "--codes-out", "x.npy"],
    ],
)
def test_bad_usage_is_2(arguments: list[str]) -> None:
    done = say(*arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr
    assert b"Traceback" not in done.stderr


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    done = say("oui", "--engine", "system", "-o", tmp_path / "nowhere" / "x.wav")
    assert (done.returncode, done.stdout) == (1, b"")
    (line,) = done.stderr.decode().splitlines()
    assert "nowhere" in line


@pytest.mark.parametrize("name", ["codes", "codes.npy"])
def test_codes_that_cannot_be_written_are_one_line(tmp_path: Path, name: str) -> None:
    """NumPy writes `codes` to `codes.npy`."""
    model = convert(OfficialSource(write_checkpoint(tmp_path / "c")), tmp_path / "f32", "f32").directory
    (tmp_path / "codes.npy").mkdir()
    done = say("oui", "--model", model, "-o", tmp_path / "x.wav", "--codes-out", tmp_path / name)
    assert (done.returncode, done.stdout) == (1, b"")
    (line,) = done.stderr.decode().splitlines()
    assert "codes.npy cannot be written" in line
    assert not (tmp_path / "x.wav").exists()  # told before anything is spoken


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_codes_on_a_full_disk_are_one_line(tmp_path: Path) -> None:
    model = convert(OfficialSource(write_checkpoint(tmp_path / "c")), tmp_path / "f32", "f32").directory
    (tmp_path / "codes.npy").symlink_to("/dev/full")
    done = say("oui", "--model", model, "-o", tmp_path / "x.wav", "--codes-out", tmp_path / "codes.npy")
    assert (done.returncode, done.stdout) == (1, b"")
    assert "cannot be written" in done.stderr.decode().splitlines()[-1]
    assert b"Traceback" not in done.stderr
