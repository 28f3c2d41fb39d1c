"""Padding cut, clicks prevented, pauses by sign."""

import numpy as np
import pytest

from kazeia_desktop.tts.shaping import SILENCE, pause_after, shaped

pytestmark = pytest.mark.unit

RATE = 24_000


def test_padding_is_cut_and_the_pause_added() -> None:
    sound = np.zeros(3 * RATE, np.float32)
    sound[RATE : 2 * RATE] = 0.5
    out = shaped(sound, RATE, 0.25)
    assert out.dtype == np.float32
    assert len(out) == pytest.approx(RATE * (1 + 0.03 + 0.06 + 0.25), abs=2)
    loud = np.flatnonzero(out > SILENCE)
    assert loud[0] == int(0.03 * RATE)
    assert np.array_equal(sound[RATE : 2 * RATE], np.full(RATE, 0.5, np.float32)), "the caller's array is left alone"


def test_a_sound_that_begins_and_ends_loud_is_faded() -> None:
    out = shaped(np.full(RATE, 0.8, np.float32), RATE, 0.0)
    assert out[0] == 0.0 and out[-1] == 0.0 and out[RATE // 2] == np.float32(0.8)
    assert float(np.abs(np.diff(out)).max()) < 0.02


@pytest.mark.parametrize("n", [0, 1, 2, 100])
def test_silence_is_nothing(n: int) -> None:
    assert len(shaped(np.full(n, SILENCE / 2, np.float32), RATE, 0.3)) == 0


def test_one_loud_sample() -> None:
    assert np.isfinite(shaped(np.ones(1, np.float32), RATE, 0.0)).all()


def test_pauses() -> None:
    assert 0 < pause_after("a,", False) < pause_after("a;", False) < pause_after("a.", False) < pause_after("a…", False)
    assert pause_after("a", ends_clause=False) == 0.0
    assert pause_after("a", ends_clause=True) == pause_after("a?", ends_clause=False)
    assert pause_after("", ends_clause=False) == 0.0
