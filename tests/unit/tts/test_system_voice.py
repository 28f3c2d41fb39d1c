"""The system's voice: real espeak-ng, and stand-ins that hang or fail."""

import shutil
import stat
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.frames import Clause
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.tts.system_voice import SystemVoice

pytestmark = pytest.mark.unit


def clause(spoken: str) -> Clause:
    return Clause(4, 2, spoken, spoken)


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Stands in for espeak-ng."""
    fake = folder / "espeak-ng"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(shutil, "which", lambda name: str(fake))


def test_it_speaks() -> None:
    voice = SystemVoice(TtsSettings())
    frames = list(voice.synthesize(clause("Bonjour, il fait très beau."), CancelToken()))
    assert {(f.turn_id, f.clause_index) for f in frames} == {(4, 2)}
    assert [f.end_of_clause for f in frames] == [False] * (len(frames) - 1) + [True]
    sound = np.concatenate([f.samples for f in frames])
    assert sound.dtype == np.float32
    assert 1.0 < len(sound) / frames[0].sample_rate_hz < 5.0
    assert 0.01 < float(np.sqrt(np.mean(sound**2))) < 0.5
    voice.apply(TtsSettings(speed=2.0))
    fast = sum(len(f.samples) for f in voice.synthesize(clause("Bonjour, il fait très beau."), CancelToken()))
    assert fast < 0.8 * len(sound)


@pytest.mark.parametrize("spoken", ["", "-", "x"])
def test_a_clause_ends_with_one_end_frame(spoken: str) -> None:
    frames = list(SystemVoice(TtsSettings()).synthesize(clause(spoken), CancelToken()))
    assert [f.end_of_clause for f in frames].count(True) == 1
    assert frames[-1].end_of_clause
    assert len(frames[-1].samples) == 0


def test_cancelling_kills_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = tmp_path / "pid"
    program(tmp_path, monkeypatch, f"echo $$ > '{started}'\nexec sleep 30")
    cancel = CancelToken()
    timer = threading.Timer(0.3, cancel.set)
    timer.start()
    begin = time.perf_counter()
    assert list(SystemVoice(TtsSettings()).synthesize(clause("bonjour"), cancel)) == []
    assert time.perf_counter() - begin < 3.0
    timer.join()
    assert not Path(f"/proc/{int(started.read_text())}").exists()


@pytest.mark.parametrize("script", ["exit 3", "cat > /dev/null", "exec true"])
@pytest.mark.parametrize("spoken", ["bonjour", "bonjour " * 50_000])
def test_a_program_that_fails_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, spoken: str
) -> None:
    program(tmp_path, monkeypatch, script)
    with pytest.raises(InferenceError, match="voice failed"):
        list(SystemVoice(TtsSettings()).synthesize(clause(spoken), CancelToken()))


def test_a_program_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    voice = SystemVoice(TtsSettings())
    monkeypatch.setattr(voice, "_program", "/nowhere/espeak-ng")
    with pytest.raises(InferenceError, match="voice failed"):
        list(voice.synthesize(clause("bonjour"), CancelToken()))


def test_no_program_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InferenceError, match="espeak-ng"):
        SystemVoice(TtsSettings())
