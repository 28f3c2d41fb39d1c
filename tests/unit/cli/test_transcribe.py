"""`kazeia transcribe` as a person runs it."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.cli.open_clips import SOUNDS
from tests.realmodels import require_model

pytestmark = pytest.mark.golden

_KEYS = {"file", "text", "language", "segments", "rtf", "encoder_ms", "decoder_ms_per_token"}


def kazeia(*arguments: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "kazeia_desktop", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"LC_ALL": "C.UTF-8", "LANGUAGE": "en"} | environment,
    )


def float_wav(samples: np.ndarray) -> bytes:
    raw = samples.astype("<f4").tobytes()
    form = struct.pack("<HHIIHH", 3, 1, 16_000, 64_000, 4, 32)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(raw)) + raw
    return b"RIFF" + struct.pack("<I", len(body)) + body


def test_a_bad_file_is_one_line_and_the_others_are_done(tmp_path: Path) -> None:
    require_model("whisper-base")
    good = tmp_path / "bon été.wav"
    source = ["-f", "g722", "-i", str(SOUNDS / "vm-nonumber.g722")]
    subprocess.run(["ffmpeg", "-v", "error", *source, str(good)], check=True)
    broken = {
        "missing.wav": None,
        "empty.wav": b"",
        "head.wav": good.read_bytes()[:30],
        "text.wav": b"Bonjour.\n" * 100,
        "nan.wav": float_wav(np.array([0.0] * 8000 + [np.nan] * 10)),
        "inf.wav": float_wav(np.array([0.0] * 8000 + [np.inf])),
    }
    for name, raw in broken.items():
        if raw is not None:
            (tmp_path / name).write_bytes(raw)
    done = kazeia("transcribe", "--json", good, *(tmp_path / name for name in broken), tmp_path, good)
    assert done.returncode == 1
    told = done.stderr.splitlines()
    assert len(told) == len(broken) + 1, done.stderr
    for line, name in zip(told, [*broken, tmp_path.name], strict=True):
        assert line.startswith("kazeia: ")
        assert name in line
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert set(first) == _KEYS
    assert first["file"] == str(good)
    assert first["text"]
    assert first["text"] == second["text"]
    assert first["language"] == "fr"
    assert first["segments"][0]["text"] == first["text"]
    assert first["rtf"] > 0


def test_silence_is_an_empty_text(tmp_path: Path) -> None:
    require_model("whisper-base")
    wav = tmp_path / "silence.wav"
    wav.write_bytes(float_wav(np.zeros(16_000)))
    done = kazeia("transcribe", "--json", wav)
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    assert (record["text"], record["language"], record["segments"]) == ("", None, [])


@pytest.mark.parametrize(
    "arguments",
    [["transcribe"], ["transcribe", "--language", "de", "x.wav"], ["transcribe", "--precision", "x", "x.wav"]],
)
def test_bad_usage_is_2(arguments: list[str]) -> None:
    done = kazeia(*arguments)
    assert (done.returncode, done.stdout) == (2, "")


def test_without_a_model_it_says_what_to_do(tmp_path: Path) -> None:
    done = kazeia("transcribe", "x.wav", KAZEIA_HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "kazeia models get" in line


def test_without_onnx_runtime_it_is_one_line() -> None:
    require_model("whisper-base")
    script = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from kazeia_desktop import cli\n"
        "sys.exit(cli.main(['transcribe', 'x.wav']))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "onnxruntime" in line
