"""A stretch of microphone: how long, at which rate, and when it is given up."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from kazeia_desktop.audio.recorder import Heard, record
from kazeia_desktop.errors import AudioDeviceError, Cancelled
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.runtime.cancel import CancelToken
from tests.unit.audio.fake_portaudio import Clock, FakePortAudio

pytestmark = pytest.mark.unit


class Life(CancelToken):
    """Each wait of the recorder lets a device bring the next block."""

    def __init__(self, sound: FakePortAudio, clock: Clock, bring: Callable[[int, int], FloatArray | None]) -> None:
        super().__init__()
        self.sound, self.clock, self.bring, self.n = sound, clock, bring, 0

    def wait(self, timeout_s: float) -> bool:
        self.clock.sleep(timeout_s)
        (stream,) = self.sound.open_streams
        block = self.bring(self.n, round(timeout_s * stream.samplerate))
        self.n += 1
        if block is not None:
            stream.bring(block)
        return self.is_set()


def steady(level: float) -> Callable[[int, int], FloatArray]:
    return lambda _, n: np.full(n, level, np.float32)


@pytest.mark.parametrize("rate_hz", [24_000, 48_000, 44_100])
def test_at_most_the_longest_at_24_khz_from_any_device(rate_hz: int, sound: FakePortAudio, clock: Clock) -> None:
    sound.add("usb", inputs=2, rate_hz=rate_hz)
    sound.accepted_hz["usb"] = {rate_hz}
    heard: list[Heard] = []
    samples = record("usb", 1.0, CancelToken(), Life(sound, clock, steady(0.25)), heard.append, clock=clock)
    assert samples.dtype == np.float32 and len(samples) == 24_000
    np.testing.assert_allclose(samples[2_000:-2_000], 0.25, atol=0.001)
    assert heard[-1].device == "usb" and heard[-1].seconds == pytest.approx(1.0, abs=0.06)
    assert heard[-1].rms == pytest.approx(0.25) and not heard[-1].clipped
    assert sound.open_streams == []


def test_finish_keeps_and_cancel_drops(sound: FakePortAudio, clock: Clock) -> None:
    sound.add("usb", inputs=1)
    finish = CancelToken()

    def end_after_ten(n: int, size: int) -> FloatArray:
        if n == 10:
            finish.set()
        return np.full(size, 2.0 if n == 3 else 0.1, np.float32)

    heard: list[Heard] = []
    samples = record("", math.inf, finish, Life(sound, clock, end_after_ten), heard.append, clock=clock)
    assert 0.4 < len(samples) / 24_000 < 0.6 and float(np.abs(samples).max()) <= 1.0
    assert [h.clipped for h in heard].count(True) == 1
    life = Life(sound, clock, steady(0.1))
    life.set()
    with pytest.raises(Cancelled):
        record("", math.inf, CancelToken(), life, heard.append, clock=clock)
    assert sound.open_streams == []


def test_only_the_level_and_numbers_that_are_none(sound: FakePortAudio, clock: Clock) -> None:
    sound.add("usb", inputs=1)
    heard: list[Heard] = []
    life = Life(sound, clock, lambda _, n: np.full(n, np.nan, np.float32))
    assert len(record("", 0.5, CancelToken(), life, heard.append, keep=False, clock=clock)) == 0
    assert all(h.rms == 0.0 for h in heard)


def test_a_device_that_gives_nothing_is_told(sound: FakePortAudio, clock: Clock) -> None:
    sound.add("usb", inputs=1)
    with pytest.raises(AudioDeviceError, match="delivers nothing"):
        record("", 5.0, CancelToken(), Life(sound, clock, lambda *_: None), lambda _: None, clock=clock)
    assert sound.open_streams == []
    with pytest.raises(AudioDeviceError, match="no audio device"):
        record("gone", 5.0, CancelToken(), CancelToken(), lambda _: None, clock=clock)
