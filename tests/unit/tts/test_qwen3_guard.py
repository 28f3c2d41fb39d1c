"""When a voice that does not end is stopped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.tts.qwen3_guard import (
    LONGEST_PERIOD,
    LOOP_FRAMES,
    SILENT_RMS,
    LoopDetector,
    frame_budget,
    silent_frames,
)

pytestmark = pytest.mark.unit

PER_FRAME = 8


def test_a_sentence_has_time_to_be_said() -> None:
    """A minute and a half of French, at the 0.8 frames a letter that it takes, is a third of its budget."""
    text = "Bonsoir, comment tu te sens ce soir ? " * 30
    assert 2.5 * 0.8 * len(text) < frame_budget(len(text.encode())) < 4 * 0.8 * len(text)
    assert frame_budget(0) == 25


@given(st.integers(0, 100_000), st.integers(0, 1000))
def test_a_longer_text_has_more(n: int, more: int) -> None:
    assert frame_budget(n + more) >= frame_budget(n) + 2 * more


@pytest.mark.parametrize(
    ("loud", "tail", "all_silent"),
    [
        ([0, 0, 0], 3, True),
        ([1, 0, 0], 2, False),
        ([0, 0, 1], 0, False),
        ([1, 0, 1, 0], 1, False),
        ([], 0, True),
    ],
)
def test_silence_is_counted_from_the_end(loud: list[int], tail: int, all_silent: bool) -> None:
    levels = np.array([SILENT_RMS * (1.01 if yes else 0.99) for yes in loud], np.float32)
    sound = np.repeat(levels, PER_FRAME) * np.tile(np.array([1, -1], np.float32), len(loud) * PER_FRAME // 2)
    assert silent_frames(sound, PER_FRAME) == (tail, all_silent)


def test_one_click_is_heard() -> None:
    sound = np.zeros(3 * PER_FRAME, np.float32)
    sound[PER_FRAME] = 0.5
    assert silent_frames(sound, PER_FRAME) == (1, False)


@pytest.mark.parametrize("period", range(1, LONGEST_PERIOD + 1))
def test_a_loop_of_each_period(period: int) -> None:
    """Said 32 frames after the last other code: the pattern must have held for LOOP_FRAMES."""
    detector = LoopDetector()
    before = [detector.push(5000 + i) for i in range(40)]
    said = [detector.push(i % period) for i in range(LOOP_FRAMES + LONGEST_PERIOD)]
    assert not any(before)
    assert said.index(True) == LOOP_FRAMES + period - 1


def test_a_longer_period_is_speech() -> None:
    detector = LoopDetector()
    assert not any(detector.push(i % (LONGEST_PERIOD + 1)) for i in range(300))


def test_a_held_vowel_is_speech() -> None:
    """The same code for less than two seconds, then another."""
    detector = LoopDetector()
    assert not any(detector.push(i // (LOOP_FRAMES - 1)) for i in range(300))


@given(st.lists(st.integers(0, 3), max_size=120))
def test_a_loop_is_a_pattern_that_repeats(codes: list[int]) -> None:
    detector = LoopDetector()
    for i, code in enumerate(codes):
        seen = codes[: i + 1]
        want = i + 1 >= LOOP_FRAMES + LONGEST_PERIOD and any(
            all(seen[-k] == seen[-k - period] for k in range(1, LOOP_FRAMES + 1))
            for period in range(1, LONGEST_PERIOD + 1)
        )
        assert detector.push(code) == want
