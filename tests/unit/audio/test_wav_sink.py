"""A loudspeaker that is a file."""

from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.audio.base import Heard
from kazeia_desktop.audio.wav import read_wav
from kazeia_desktop.audio.wav_sink import WavSink
from kazeia_desktop.errors import AudioFormatError
from kazeia_desktop.frames import SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from tests.unit.audio.fake_portaudio import Clock

pytestmark = pytest.mark.unit

RATE_HZ = 8000


def say(
    sink: WavSink, n: int, turn: int = 1, clause: int = 0, end: str = "", cancel: CancelToken | None = None
) -> None:
    samples = np.full(n, 0.5, np.float32)
    sink.write(SpeechFrame(turn, clause, samples, RATE_HZ, bool(end), end == "turn"), cancel or CancelToken())


def test_what_was_said_is_in_the_file(tmp_path: Path) -> None:
    sink = WavSink(tmp_path / "reply.wav")
    sink.start()
    say(sink, 2400, end="clause")
    assert not sink.all_played(1)
    say(sink, 1600, clause=1, end="turn")
    assert sink.all_played(1)
    assert sink.heard(1) == (Heard(0, 2400, 2400, True), Heard(1, 1600, 1600, True))
    assert sink.heard(2) == ()
    assert sink.first_sample_time(1) is not None
    assert sink.first_sample_time(2) is None
    sink.stop()
    sink.stop()
    samples, rate_hz = read_wav(tmp_path / "reply.wav")
    assert (len(samples), rate_hz) == (4000, RATE_HZ)
    assert sink.seconds == 0.5


def test_only_the_last_turn_is_kept_and_cancelled_frames_are_dropped() -> None:
    sink = WavSink(None)
    say(sink, 2400, turn=1, end="turn")
    cancelled = CancelToken()
    cancelled.set()
    say(sink, 1600, turn=2, end="turn")
    say(sink, 999, turn=2, cancel=cancelled)
    assert len(sink.sound) == 1600
    assert not sink.all_played(1)


def test_nothing_said_writes_no_file(tmp_path: Path) -> None:
    sink = WavSink(tmp_path / "reply.wav")
    sink.stop()
    assert not (tmp_path / "reply.wav").exists()
    assert sink.seconds == 0.0


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    sink = WavSink(tmp_path / "none" / "reply.wav")
    say(sink, 10, end="turn")
    with pytest.raises(AudioFormatError, match="cannot be written"):
        sink.stop()


def test_in_real_time_it_is_heard_as_a_loudspeaker_would_play_it(clock: Clock) -> None:
    sink = WavSink(None, realtime=True, clock=clock)
    say(sink, 2400, end="clause")
    say(sink, 1600, clause=1, end="turn")
    assert sink.heard(1) == (Heard(0, 0, 2400, True), Heard(1, 0, 1600, True))
    clock.sleep(0.4)
    assert sink.heard(1) == (Heard(0, 2400, 2400, True), Heard(1, 800, 1600, True))
    assert sink.rms == 0.5
    assert not sink.all_played(1)
    clock.sleep(0.2)
    assert sink.all_played(1)
    assert sink.rms == 0.0


def test_a_flush_cuts_off_what_was_not_heard(clock: Clock) -> None:
    sink = WavSink(None, realtime=True, clock=clock)
    say(sink, 4000, end="turn")
    clock.sleep(0.2)
    sink.flush()
    clock.sleep(9.0)
    assert sink.heard(1) == (Heard(0, 1600, 4000, True),)
    assert len(sink.sound) == 1600
    say(sink, 800, turn=2)
    clock.sleep(0.05)
    assert sink.heard(2) == (Heard(0, 400, 800, False),)
