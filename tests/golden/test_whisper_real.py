"""Whisper base on real French speech, beside faster-whisper's float32 and across file formats."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kazeia_desktop.audio.wav import read_wav
from kazeia_desktop.cli.open_clips import SOUNDS, write_clips
from kazeia_desktop.cli.word_errors import word_error_rate, words
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import SttSettings
from kazeia_desktop.stt.whisper import WhisperRecognizer
from tests.realmodels import require_model

pytestmark = pytest.mark.golden

_GOLDEN = json.loads((Path(__file__).parent / "whisper_base_fr.json").read_text("utf-8"))["transcripts"]
_FORMATS = [
    (rate_hz, channels, codec)
    for rate_hz, channels, codec in (
        (8000, 1, "pcm_s16le"),
        (8000, 2, "pcm_f32le"),
        (16000, 1, "pcm_s24le"),
        (16000, 2, "pcm_s16le"),
        (24000, 1, "pcm_s32le"),
        (24000, 2, "pcm_s24le"),
        (44100, 2, "pcm_s16le"),
        (44100, 1, "pcm_f32le"),
        (48000, 2, "pcm_s32le"),
        (48000, 1, "pcm_s16le"),
    )
]


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, str]]]:
    folder = tmp_path_factory.mktemp("clips")
    return folder, write_clips(folder)


def test_float32_graphs_hear_what_faster_whisper_hears(clips: tuple[Path, list[dict[str, str]]]) -> None:
    folder, manifest = clips
    recognizer = WhisperRecognizer(require_model("whisper-base"), SttSettings(precision="float32"))
    try:
        heard = {}
        for clip in manifest:
            samples, _ = read_wav(folder / clip["file"])
            found = recognizer.transcribe(samples, 0, CancelToken(), full_window=True)
            heard[clip["file"]] = " ".join(found.text.split())
    finally:
        recognizer.close()
    assert heard == _GOLDEN


def test_the_default_settings_mishear_at_most_16_percent(clips: tuple[Path, list[dict[str, str]]]) -> None:
    folder, manifest = clips
    recognizer = WhisperRecognizer(require_model("whisper-base"), SttSettings())
    try:
        heard = [recognizer.transcribe(read_wav(folder / clip["file"])[0], 0, CancelToken()).text for clip in manifest]
    finally:
        recognizer.close()
    rate = word_error_rate([clip["text"] for clip in manifest], heard)
    assert rate <= 0.16, f"{100 * rate:.1f} % word errors"


def test_one_sound_gives_the_same_words_in_every_format(tmp_path: Path) -> None:
    files = []
    for rate_hz, channels, codec in _FORMATS:
        wav = tmp_path / f"é {rate_hz} {channels} {codec}.wav"
        source = ["-f", "g722", "-i", str(SOUNDS / "vm-nonumber.g722")]
        # Through 8 kHz first, so that every file holds the same band of sound.
        form = ["-af", "aresample=8000", "-ar", str(rate_hz), "-ac", str(channels), "-c:a", codec]
        subprocess.run(["ffmpeg", "-v", "error", "-y", *source, *form, str(wav)], check=True)
        files.append(wav)
    done = subprocess.run(
        [sys.executable, "-m", "kazeia_desktop", "transcribe", "--json", *map(str, files)],
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stderr) == (0, "")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["file"] for record in records] == [str(file) for file in files]
    heard = {file.name: words(record["text"]) for file, record in zip(files, records, strict=True)}
    assert heard[files[0].name]
    assert set(map(tuple, heard.values())) == {tuple(heard[files[0].name])}, heard
