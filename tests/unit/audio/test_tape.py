"""The samples between the voice and the device's callback."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.audio.tape import QUEUE_S, Tape, soft_clip
from tests.unit.audio.fake_portaudio import Status, When

pytestmark = pytest.mark.unit

RATE_HZ = 100


def ask(tape: Tape, n: int, dac_s: float = 1.0, channels: int = 1, late: bool = False) -> np.ndarray:
    out = np.full((n, channels), np.nan, np.float32)
    tape.callback(out, n, When(dac_s), Status(late))
    return out[:, 0]


def ramp(begin: int, n: int) -> np.ndarray:
    return np.arange(begin, begin + n, dtype=np.float32) / 10_000


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 150)), max_size=60))
def test_every_sample_is_played_once_in_order_and_the_rest_is_silence(steps: list[tuple[bool, int]]) -> None:
    tape = Tape(RATE_HZ)
    n_written, played = 0, []
    for is_write, n in steps:
        if is_write:
            n = min(n, tape.room())
            tape.write(ramp(1 + n_written, n))
            n_written += n
            tape.flowing = True
        else:
            played.append(ask(tape, n))
        assert 0 <= n_written - tape.played <= QUEUE_S * RATE_HZ
    heard = np.concatenate([np.zeros(0, np.float32), *played])
    assert np.array_equal(heard[heard != 0], ramp(1, tape.played))
    assert np.array_equal(tape.rest(), ramp(1 + tape.played, n_written - tape.played))


def test_nothing_is_played_before_the_cushion_is_filled() -> None:
    tape = Tape(RATE_HZ)
    tape.write(ramp(1, 20))
    assert not ask(tape, 10).any()
    assert tape.first_played_s == 0.0
    tape.flowing = True
    assert np.array_equal(ask(tape, 10), ramp(1, 10))
    assert tape.first_played_s > 0.0


def test_running_dry_is_noted_unless_the_end_was_announced() -> None:
    tape = Tape(RATE_HZ)
    tape.write(ramp(1, 5))
    tape.flowing = True
    ask(tape, 10)
    assert tape.ran_dry
    assert not tape.flowing
    ended = Tape(RATE_HZ)
    ended.write(ramp(1, 5))
    ended.flowing = ended.ended = True
    ask(ended, 10)
    assert not ended.ran_dry


def test_what_was_heard_is_what_was_handed_over_less_what_the_device_holds() -> None:
    tape = Tape(RATE_HZ)
    tape.write(ramp(1, 60))
    tape.flowing = True
    ask(tape, 30, dac_s=10.0)
    ask(tape, 30, dac_s=10.3)
    assert tape.heard(9.9) == 0
    assert tape.heard(10.1) == 10
    assert tape.heard(10.35) == 35
    assert tape.heard(11.0) == 60


def test_a_device_that_tells_no_time_counts_what_was_handed_over() -> None:
    tape = Tape(RATE_HZ)
    tape.write(ramp(1, 20))
    tape.flowing = True
    ask(tape, 10, dac_s=0.0)
    assert tape.heard(5.0) == 10


def test_the_volume_is_heard_at_once_and_bends_what_would_clip() -> None:
    tape = Tape(RATE_HZ)
    tape.write(np.full(40, 0.9, np.float32))
    tape.flowing = True
    assert np.allclose(ask(tape, 10), 0.9)
    tape.gain = 0.5
    assert np.allclose(ask(tape, 10), 0.45)
    assert tape.rms(20) == pytest.approx(0.45)
    tape.gain = 1.5
    loud = ask(tape, 10)
    assert (loud > 0.9).all()
    assert (loud < 1.0).all()


def test_every_channel_of_the_device_plays_the_same() -> None:
    tape = Tape(RATE_HZ)
    tape.write(ramp(1, 10))
    tape.flowing = True
    out = np.full((12, 2), np.nan, np.float32)
    tape.callback(out, 12, When(1.0), Status())
    assert np.array_equal(out[:, 0], out[:, 1])
    assert not out[10:].any()


@given(st.lists(st.floats(-3.0, 3.0, width=32), min_size=1, max_size=50))
def test_soft_clip_keeps_soft_samples_sign_and_order(values: list[float]) -> None:
    samples = np.array(values, np.float32)
    bent = soft_clip(samples)
    assert (np.abs(bent) <= 1.0).all()
    soft = np.abs(samples) <= 0.8
    assert np.array_equal(bent[soft], samples[soft])
    order = np.argsort(samples, kind="stable")
    assert (np.diff(bent[order]) >= -1e-6).all()
