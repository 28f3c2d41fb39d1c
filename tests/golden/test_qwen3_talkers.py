"""The two talkers, Kazeia's kernels and llama.cpp, say the same."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.qwen3 import Qwen3Tts
from kazeia_desktop.tts.qwen3_options import SpeechOptions
from tests.golden import qwen3_sets as sets
from tests.golden.qwen3_sets import GoldenSet

pytestmark = pytest.mark.golden

ENGINES = ("native", "llama")


def load(folder: Path) -> list[Qwen3Tts]:
    return [Qwen3Tts.load(folder, threads=2, talker=engine) for engine in ENGINES]


def prompt_and_frames(golden: GoldenSet) -> np.ndarray:
    figures = golden.figures()
    return np.concatenate([figures["prompt_whole_xvector_0"], figures["frame_embeds"]])


@pytest.mark.parametrize("golden", [sets.EQUAL, sets.PROJECTED], ids=lambda golden: golden.name)
def test_float32_within_rounding(golden: GoldenSet, model_of: Callable[[GoldenSet, str], Path]) -> None:
    native, llama = (tts.talker_forward(prompt_and_frames(golden)) for tts in load(model_of(golden, "f32")))
    np.testing.assert_allclose(native[0], llama[0], atol=1e-4)
    np.testing.assert_allclose(native[1], llama[1], atol=1e-4)


@pytest.mark.parametrize(("dtype", "apart"), [("q8_0", 0.02), ("q4_0", 0.2)])
def test_quantised_apart_by_llamas_8_bit_activations_only(
    model_of: Callable[[GoldenSet, str], Path], dtype: str, apart: float
) -> None:
    """On the same weights: ours keeps 16 bits of an activation, llama.cpp 8."""
    native, llama = (tts.talker_forward(prompt_and_frames(sets.EQUAL)) for tts in load(model_of(sets.EQUAL, dtype)))
    spread = float(np.std(native[1]))
    difference = float(np.sqrt(np.mean(np.square(native[1] - llama[1]))))
    assert 0 < difference < apart * spread


def test_llama_speaks_too(model_of: Callable[[GoldenSet, str], Path]) -> None:
    options = SpeechOptions(seed=5, max_frames=12)
    said = []
    for tts in load(model_of(sets.EQUAL, "f32")):
        sound = [frame.samples for frame in tts.synthesize("Bonjour.", None, options, CancelToken())]
        said.append((np.concatenate(sound), tts.stats.codes))
    np.testing.assert_array_equal(said[0][1], said[1][1])
    np.testing.assert_allclose(said[0][0], said[1][0], atol=1e-4)


def test_one_minute_of_keys_and_values_takes_120_mb(model_of: Callable[[GoldenSet, str], Path]) -> None:
    """At the published size: 28 layers, 8 heads of 128, keys and values of 2 bytes."""
    tts = Qwen3Tts.load(model_of(sets.EQUAL, "q8_0"), threads=1)
    positions = tts.talker_session().n_positions
    assert positions >= 750 + 200  # 60 s of frames and a long prompt
    assert positions * 28 * 8 * 128 * 2 * 2 <= 120e6
