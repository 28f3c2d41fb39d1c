"""`kazeia say` to the loudspeaker, with a voice and a loudspeaker of the test's own."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.audio import playback
from kazeia_desktop.cli import main
from kazeia_desktop.events import Event, Notice
from kazeia_desktop.frames import Clause, SpeechFrame
from kazeia_desktop.pipeline import builder
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import AudioSettings, Settings

pytestmark = pytest.mark.unit

RATE = 24_000


class Loudspeaker:
    made: list["Loudspeaker"]

    def __init__(self, settings: AudioSettings, emit: Callable[[Event], None]) -> None:
        self.calls: list[str] = []
        self.frames: list[SpeechFrame] = []
        emit(Notice("The voice is closed.", {}))
        Loudspeaker.made.append(self)

    def start(self) -> None:
        self.calls.append("start")

    def write(self, frame: SpeechFrame, cancel: CancelToken) -> None:
        self.frames.append(frame)

    def wait_played(self, turn_id: int, cancel: CancelToken) -> None:
        self.calls.append(f"wait {turn_id}")

    def stop(self) -> None:
        self.calls.append("stop")


class Voice:
    """Two frames a clause; `before_frame` is called ahead of each."""

    name = "test"
    sample_rate_hz = RATE
    figures = None
    closed = 0

    def __init__(self) -> None:
        self.said: list[str] = []
        self.before_frame: Callable[[], None] = lambda: None

    def synthesize(self, clause: Clause, cancel: CancelToken) -> Iterator[SpeechFrame]:
        self.said.append(clause.spoken)
        for n in (RATE, 0):
            self.before_frame()
            if cancel.is_set():
                return
            yield SpeechFrame(clause.turn_id, clause.index, np.full(n, 0.5, np.float32), RATE, end_of_clause=n == 0)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def voice(kazeia_home: Path, monkeypatch: pytest.MonkeyPatch) -> Voice:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    Loudspeaker.made = []
    made = Voice()
    monkeypatch.setattr(playback, "Playback", Loudspeaker)
    monkeypatch.setattr(builder, "make_synthesizer", lambda settings, store, paths: made)
    return made


def test_each_frame_goes_to_the_loudspeaker_and_the_last_ends_the_turn(
    voice: Voice, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["say", "Il est 3 h. On mange du pain !"]) == 0
    (sink,) = Loudspeaker.made
    assert sink.calls == ["start", "wait 1", "stop"]
    assert voice.said == ["Il est trois heures.", "On mange du pain!"] and voice.closed == 1
    assert [(f.clause_index, f.end_of_clause, f.end_of_turn) for f in sink.frames] == [
        (0, False, False), (0, True, False), (1, False, False), (1, True, True),
    ]  # fmt: skip
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == "The voice is closed.\n", "a notice of the device is told"


def test_ctrl_c_ends_the_speech_and_tells_what_was_said(voice: Voice, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)

    def interrupt() -> None:
        if len(voice.said) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    voice.before_frame = interrupt
    assert main(["say", "Un oiseau chante. Un chien dort. Un chat mange.", "--json"]) == 130
    record = json.loads(capsys.readouterr().out)
    assert record["stop"] == "cancel" and record["audio_seconds"] == 1.0
    assert len(voice.said) == 2 and voice.closed == 1
    assert Loudspeaker.made[0].calls[-1] == "stop"
    assert signal.getsignal(signal.SIGINT) is before


def test_flags_become_settings(
    voice: Voice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Settings] = []

    def make(settings: Settings, store: object, paths: object) -> Voice:
        asked.append(settings)
        return voice

    monkeypatch.setattr(builder, "make_synthesizer", make)
    out = str(tmp_path / "x.wav")
    assert main(["say", "It costs $5.", "--language", "en", "--voice", "espeak-ng", "-o", out]) == 0
    assert main(["say", "Oui.", "--voice", "ff_siwis", "--engine", "auto", "-o", out]) == 0
    assert [(s.tts.language, s.tts.voice, s.tts.engine) for s in asked] == [
        ("en", "espeak-ng", "system"),
        ("fr", "ff_siwis", "auto"),
    ]
    assert voice.said[0] == "It costs five dollars."
    assert not Loudspeaker.made, "a file needs no loudspeaker"
    assert capsys.readouterr().out.splitlines() == [f"1.0 s of speech in {out}"] * 2


def test_figures_of_a_known_sound(voice: Voice, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["say", "Oui.", "--json", "-o", str(tmp_path / "x.wav")]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["frames"], record["chunks"], record["audio_seconds"]) == (12, 1, 1.0)
    assert (record["rms"], record["silence_pct"], record["stop"], record["seed"]) == (0.5, 0.0, "eos", None)
    assert 0 <= record["ttfa_ms"] < 1000 * record["rtf"] + 1000
