"""A recording heard as if through a microphone."""

from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.audio import wav_source
from kazeia_desktop.audio.wav import write_wav
from kazeia_desktop.audio.wav_source import WavSource
from kazeia_desktop.errors import AudioFormatError
from kazeia_desktop.frames import AudioFrame
from tests.unit.audio.fake_portaudio import Clock

pytestmark = pytest.mark.unit


def all_of(source: WavSource) -> list[AudioFrame]:
    frames = []
    try:
        while True:
            frame = source.read(1.0)
            assert frame is not None
            frames.append(frame)
    except EOFError:
        return frames


def test_the_sound_comes_whole_then_silence_then_the_end() -> None:
    sound = np.arange(1, 1001, dtype=np.float32) / 2000
    source = WavSource(sound, 16_000, realtime=False, trailing_silence_s=0.1)
    source.start()
    heard = np.concatenate([frame.samples for frame in all_of(source)])
    assert len(heard) == 3072  # 1000 + 1600, filled up to whole frames
    assert np.array_equal(heard[:1000], sound)
    assert not heard[1000:].any()


def test_a_file_of_another_rate_is_resampled(tmp_path: Path) -> None:
    tone = np.sin(2 * np.pi * 440 * np.arange(22_050) / 44_100).astype(np.float32) * 0.5
    write_wav(tmp_path / "tone.wav", tone, 44_100)
    source = WavSource.from_file(tmp_path / "tone.wav", realtime=False, trailing_silence_s=0.0)
    heard = np.concatenate([frame.samples for frame in all_of(source)])
    assert len(heard) == 8192
    assert np.argmax(np.abs(np.fft.rfft(heard[:8000]))) == 220


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(AudioFormatError, match="no file"):
        WavSource.from_file(tmp_path / "none.wav", realtime=True, trailing_silence_s=0.0)


class Waiting:
    """Stands for the stop event: waiting makes time pass."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True

    def wait(self, seconds: float) -> bool:
        self._clock.sleep(seconds)
        return self._set


def test_in_real_time_a_frame_comes_when_it_is_due(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wav_source.time, "monotonic", clock)
    source = WavSource(np.ones(5120, np.float32), 16_000, realtime=True, trailing_silence_s=0.0)
    source._stopped = Waiting(clock)  # type: ignore[assignment]
    began_s = clock()
    assert source.read(0.01) is None
    clock.sleep(0.1)  # the listener is late: what is due comes at once, stamped with when it was due
    times = [round(frame.time_s - began_s, 3) for frame in all_of(source)]
    assert times == [round(0.032 * i, 3) for i in range(1, 11)]
    assert clock() - began_s == pytest.approx(0.32)


def test_after_stop_reading_ends() -> None:
    source = WavSource(np.ones(16_000, np.float32), 16_000, realtime=True, trailing_silence_s=0.0)
    source.stop()
    source.stop()
    with pytest.raises(EOFError):
        source.read(1.0)
