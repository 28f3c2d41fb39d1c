"""An utterance's times become figures of a frame."""

import numpy as np
import pytest

from kazeia_desktop.tts.qwen3_generator import Times
from kazeia_desktop.tts.qwen3_options import PARTS, SpeechStats, account

pytestmark = pytest.mark.unit

TIMES = Times(
    prefill=1.0, talker=5.0, talker_head=1.5, talker_sampling=0.5, code_predictor=8.0, layers=6.0, heads=1.0,
    code_predictor_sampling=0.25, total=16.0, waiting=1.0,
)  # fmt: skip


def test_each_part_of_each_stage() -> None:
    stats = SpeechStats(elapsed_s=20.0)
    account(stats, TIMES, "budget", [np.full(16, i, np.int32) for i in range(10)], codec_s=4.0)
    assert (stats.frames, stats.stop, stats.codes.shape) == (10, "budget", (10, 16))
    assert (stats.prefill_ms, stats.talker_ms, stats.code_predictor_ms, stats.codec_ms) == (1000, 550, 800, 400)
    want = {
        "talker": (350, 150, 50, 50, 100),
        "code_predictor": (600, 100, 25, 75, 0),
        "codec": (400, 0, 0, 0, 1600),
    }
    assert stats.profile == {stage: dict(zip(PARTS, parts, strict=True)) for stage, parts in want.items()}


def test_nothing_was_said() -> None:
    stats = SpeechStats()
    account(stats, Times(), "cancel", [], codec_s=0.0)
    assert (stats.frames, stats.codes.shape) == (0, (0, 16))
    assert {value for parts in stats.profile.values() for value in parts.values()} == {0.0}
