"""The spectrogram: shapes, and values that can be worked out by hand."""

import numpy as np
import pytest

from kazeia_desktop.errors import AudioFormatError
from kazeia_desktop.stt.log_mel import log_mel

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("n_samples", "n_mels"), [(201, 80), (16_000, 80), (16_000, 128), (480_000, 80), (16_159, 80)])
def test_one_column_every_ten_milliseconds(n_samples: int, n_mels: int) -> None:
    mel = log_mel(np.zeros(n_samples, np.float32), n_mels)
    assert mel.shape == (n_mels, n_samples // 160)
    assert mel.dtype == np.float32


def test_silence_is_the_floor() -> None:
    # log10(1e-10) = -10, and (-10 + 4) / 4
    np.testing.assert_allclose(log_mel(np.zeros(16_000, np.float32)), -1.5, rtol=1e-6)


def test_a_sine_peaks_in_its_own_band_at_its_own_power() -> None:
    seconds = np.arange(16_000) / 16_000
    sine = (0.5 * np.sin(2 * np.pi * 1000.0 * seconds)).astype(np.float32)
    middle = log_mel(sine)[:, 50]
    # Slaney's scale has 15 mels at 1 kHz and 45.25 at 8 kHz: band 26 of 80, whose centre is 27 / 81 of the way.
    top = 15 + np.log(8.0) / (np.log(6.4) / 27)
    assert abs(int(middle.argmax()) - (15 / top * 81 - 1)) <= 0.5
    # A sine of amplitude a is |X| = a / 2 * sum(window) = 0.25 * 200 at its bin and half of it on both sides;
    # bins are 40 Hz apart, the band's triangle is (hz2 - hz0) / 2 wide and of area 1.
    band = int(middle.argmax())
    hz = [200 / 3 * m if m < 15 else 1000 * 6.4 ** ((m - 15) / 27) for m in top * np.arange(band, band + 3) / 81]
    power = 0.0
    for bin_hz, magnitude in ((960.0, 25.0), (1000.0, 50.0), (1040.0, 25.0)):
        ramp = min((bin_hz - hz[0]) / (hz[1] - hz[0]), (hz[2] - bin_hz) / (hz[2] - hz[1]))
        power += magnitude**2 * max(0.0, ramp) * 2 / (hz[2] - hz[0])
    assert middle[band] == pytest.approx((np.log10(power) + 4) / 4, abs=2e-3)


def test_nothing_is_more_than_80_db_below_the_loudest() -> None:
    sine = np.sin(2 * np.pi * 440 / 16_000 * np.arange(16_000)).astype(np.float32)
    mel = log_mel(sine)
    assert mel.min() == pytest.approx(mel.max() - 2.0, abs=1e-5)


@pytest.mark.parametrize(
    "bad", [np.zeros(200, np.float32), np.zeros((2, 400), np.float32), np.zeros(400), np.zeros(400, np.int16)]
)
def test_other_sound_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(AudioFormatError):
        log_mel(bad)
