"""`kazeia bench tts --voice-check` on a voice that misbehaves as told."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.cli import main, voice_check
from kazeia_desktop.cli.tts_engines import Speech
from kazeia_desktop.cli.voice_check import SEEDS, SENTENCES, Reader, rows_of
from kazeia_desktop.frames import FloatArray

pytestmark = pytest.mark.unit


class Voice:
    """Loud for 70 % of 20 frames; for seed 42 it never ends, for 777 it is mostly silent."""

    def __init__(self, *_: object) -> None:
        self.asked: list[tuple[str, int, int | None]] = []

    def speak(self, text: str, seed: int, max_frames: int | None) -> Speech:
        self.asked.append((text, seed, max_frames))
        sound = np.zeros(20 * 1920, np.float32)
        sound[: int(len(sound) * (0.3 if seed == 777 and text == SENTENCES[0] else 0.7))] = 0.5
        return Speech(sound, 20, 1.0, 0.1, "budget" if seed == 42 else "eos")


class GoodVoice(Voice):
    def speak(self, text: str, seed: int, max_frames: int | None) -> Speech:
        return super().speak(text, 1, max_frames)


def test_every_sentence_with_every_seed_until_it_ends() -> None:
    voice = Voice()
    rows = list(rows_of(voice, lambda sound: "bonjour casilla"))
    assert [(row.text, row.seed) for row in rows] == [(text, seed) for text in SENTENCES for seed in SEEDS]
    assert {frames for _, _, frames in voice.asked} == {None}
    first = rows[0]
    assert (first.stop, first.frames, first.silence_pct, first.problems) == ("eos", 20, 30.0, ())
    assert first.rms == pytest.approx(0.5 * 0.7**0.5, abs=1e-4)
    assert (first.heard, first.word_errors, first.words) == ("bonjour casilla", 1, 2)
    assert {row.seed: row.problems for row in rows[:5]} == {
        1: (), 42: ("stop budget",), 100: (), 777: ("silence 70.0 %",), 12345: (),
    }  # fmt: skip


def test_no_sound_at_all_is_a_problem() -> None:
    class Mute(Voice):
        def speak(self, text: str, seed: int, max_frames: int | None) -> Speech:
            return Speech(np.zeros(0, np.float32), 1, 1.0, 0.0, "eos")

    row = next(rows_of(Mute(), None))
    assert (row.silence_pct, row.rms, row.heard, row.word_errors) == (100.0, 0.0, None, None)
    assert row.problems == ("silence 100.0 %",)


@pytest.fixture(params=[True, False], ids=["with a recogniser", "without"])
def hears(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, kazeia_home: Path) -> bool:
    @contextmanager
    def recogniser() -> Iterator[Reader | None]:
        def read(sound: FloatArray) -> str:
            return "Bonsoir, comment tu te sens ce soir ?"

        yield read if request.param else None

    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setattr(voice_check, "_recogniser", recogniser)
    monkeypatch.setattr(voice_check, "KazeiaVoice", Voice)
    return bool(request.param)


def test_a_row_not_as_expected_is_told_and_exits_1(hears: bool, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "tts", "--model", "x", "--voice-check", "--json"]) == 1
    out, err = capfd.readouterr()
    told = err.splitlines()
    assert len(told) == 4
    assert sum("seed 42 is not as expected: stop budget." in line for line in told) == 3
    record = json.loads(out)
    assert record["failed"] == 4
    rows = record["models"][0]["rows"]
    assert len(rows) == 15
    assert rows[5]["word_errors"] == (0 if hears else None)


def test_all_as_expected_exits_0(
    hears: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(voice_check, "KazeiaVoice", GoodVoice)
    assert main(["bench", "tts", "--model", "x", "--voice-check"]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert len(out.splitlines()) == 17
    assert ("0/7" in out.splitlines()[7]) == hears
