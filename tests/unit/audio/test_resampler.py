"""The resampler against sines that are known exactly: level, time, aliases, images, length, chunks."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kazeia_desktop.audio.resampler import Resampler, resample
from kazeia_desktop.errors import AudioFormatError
from kazeia_desktop.frames import FloatArray

pytestmark = pytest.mark.native

RATES = (8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000, 192_000)


def sine(hz: float, rate_hz: int, n: int) -> FloatArray:
    return np.sin(2 * np.pi * hz * np.arange(n) / rate_hz).astype(np.float32)


def middle(x: FloatArray) -> FloatArray:
    """Away from the ends, where the filter reaches into the silence around the sound."""
    edge = len(x) // 4
    return x[edge:-edge]


def db(x: FloatArray) -> float:
    """Level below that of a full-scale sine."""
    return 20 * float(np.log10(np.sqrt(np.mean(x.astype(np.float64) ** 2)) * np.sqrt(2) + 1e-12))


@pytest.mark.parametrize("out_hz", RATES)
@pytest.mark.parametrize("in_hz", RATES)
def test_a_sine_stays_the_same_sine_at_the_same_time(in_hz: int, out_hz: int) -> None:
    n = in_hz // 5
    out = resample(sine(997.0, in_hz, n), in_hz, out_hz)
    assert out.dtype == np.float32
    assert len(out) == -(-n * out_hz // in_hz)
    assert db(middle(out - sine(997.0, out_hz, len(out)))) < -90


@pytest.mark.parametrize(("in_hz", "out_hz"), [(48_000, 16_000), (44_100, 16_000), (24_000, 48_000), (8_000, 16_000)])
def test_passband_reaches_nine_tenths_of_nyquist(in_hz: int, out_hz: int) -> None:
    hz = 0.9 * min(in_hz, out_hz) / 2
    n = in_hz // 4
    out = resample(sine(hz, in_hz, n), in_hz, out_hz)
    assert db(middle(out - sine(hz, out_hz, len(out)))) < -80


@pytest.mark.parametrize("in_hz", [22_050, 24_000, 32_000, 44_100, 48_000, 96_000, 192_000])
@pytest.mark.parametrize("of_nyquist", [1.0, 1.05, 1.2, 1.37])
def test_no_alias(in_hz: int, of_nyquist: float) -> None:
    """What 16 kHz cannot hold is gone, not folded back."""
    out = resample(sine(8_000 * of_nyquist + 1, in_hz, in_hz // 4), in_hz, 16_000)
    assert db(middle(out)) < -80


@pytest.mark.parametrize("out_hz", [16_000, 44_100, 48_000])
def test_no_image(out_hz: int) -> None:
    """A higher rate adds nothing above the old Nyquist frequency."""
    out = middle(resample(sine(3_000.0, 8_000, 8_000), 8_000, out_hz))
    spectrum = np.abs(np.fft.rfft(out * np.hanning(len(out))))
    above = np.fft.rfftfreq(len(out), 1 / out_hz) > 4_000
    assert spectrum[above].max() < 1e-4 * spectrum.max()


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(RATES),
    st.sampled_from(RATES),
    st.lists(st.integers(0, 3000), max_size=12),
    st.integers(0, 2**32 - 1),
)
def test_any_chunking_gives_the_same_samples(in_hz: int, out_hz: int, chunks: list[int], seed: int) -> None:
    sound = np.random.default_rng(seed).uniform(-1, 1, sum(chunks)).astype(np.float32)
    resampler = Resampler(in_hz, out_hz)
    pieces = [resampler.push(part) for part in np.split(sound, np.cumsum(chunks))]
    got = np.concatenate([*pieces, resampler.flush()])
    np.testing.assert_array_equal(got, resample(sound, in_hz, out_hz))
    assert len(got) == -(-len(sound) * out_hz // in_hz)


def test_flush_and_reset_leave_it_as_new() -> None:
    sound = sine(440.0, 44_100, 5_000)
    resampler = Resampler(44_100, 16_000)
    first = np.concatenate([resampler.push(sound), resampler.flush()])
    resampler.push(sound[:100])
    resampler.reset()
    np.testing.assert_array_equal(np.concatenate([resampler.push(sound), resampler.flush()]), first)
    assert len(resampler.flush()) == 0


def test_a_stream_holds_back_only_half_the_filter() -> None:
    """10 ms blocks of a 48 kHz microphone: the sound lags by 4 ms of filter, never more."""
    resampler = Resampler(48_000, 16_000)
    got = 0
    for block in range(200):
        got += len(resampler.push(np.zeros(480, np.float32)))
        assert (block + 1) * 160 - got <= 64


def test_equal_rates_pass_through() -> None:
    sound = sine(440.0, 16_000, 100)
    np.testing.assert_array_equal(resample(sound, 16_000, 16_000), sound)
    np.testing.assert_array_equal(Resampler(16_000, 16_000).push(sound), sound)


def test_strided_sound() -> None:
    sound = sine(440.0, 48_000, 2_000)
    stereo = np.stack([sound, -sound], axis=1)
    np.testing.assert_array_equal(resample(stereo[:, 0], 48_000, 16_000), resample(sound, 48_000, 16_000))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_sample_spoils_only_its_surroundings(bad: float) -> None:
    sound = sine(440.0, 48_000, 9_600)
    want = resample(sound, 48_000, 16_000)
    sound[4_800] = bad
    got = resample(sound, 48_000, 16_000)
    assert not np.isfinite(got[1_600])
    far = np.abs(np.arange(len(got)) - 1_600) > 64
    np.testing.assert_array_equal(got[far], want[far])


@pytest.mark.parametrize("n", [0, 1, 2])
def test_hardly_any_sound(n: int) -> None:
    assert len(resample(np.ones(n, np.float32), 8_000, 48_000)) == 6 * n


@pytest.mark.parametrize(
    ("in_hz", "out_hz"), [(0, 16_000), (16_000, 0), (-1, 16_000), (16_000, 400_000), (3_999, 8_000)]
)
def test_impossible_rates(in_hz: int, out_hz: int) -> None:
    with pytest.raises(AudioFormatError, match="cannot be used"):
        Resampler(in_hz, out_hz)


def test_a_ratio_without_a_table() -> None:
    with pytest.raises(AudioFormatError, match="cannot be converted"):
        Resampler(191_999, 383_998 // 2 - 1)


@pytest.mark.parametrize(
    "sound", [np.zeros((4, 2), np.float32), np.zeros(4, np.int16), np.zeros(4), np.float32(1.0).reshape(())]
)
def test_what_is_not_a_row_of_float32(sound: FloatArray) -> None:
    for convert in (Resampler(48_000, 16_000).push, lambda x: resample(x, 16_000, 16_000)):
        with pytest.raises(AudioFormatError, match="one row of float32"):
            convert(sound)


def test_the_interpreter_runs_while_it_computes() -> None:
    sound = np.zeros(48_000 * 20, np.float32)
    ticks = 0
    done = threading.Event()

    def convert() -> None:
        for _ in range(5):
            resample(sound, 44_100, 48_000)
        done.set()

    worker = threading.Thread(target=convert)
    worker.start()
    while not done.is_set():
        ticks += 1
    worker.join()
    assert ticks > 1_000
