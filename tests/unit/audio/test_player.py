"""The chime that tests a loudspeaker."""

import numpy as np
import pytest

from kazeia_desktop.audio.player import CHIME_HZ, chime

pytestmark = pytest.mark.unit


def test_the_chime_is_soft_and_ends_without_a_click() -> None:
    sound = chime()
    assert sound.dtype == np.float32 and sound.ndim == 1 and 0.9 < len(sound) / CHIME_HZ < 1.5
    assert 0.2 < float(np.abs(sound).max()) < 0.9
    assert abs(float(sound[0])) < 0.01 and abs(float(sound[-1])) < 0.001
