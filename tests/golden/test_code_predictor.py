"""The native code predictor against the official package's figures and, quantised, against float64 on its weights."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop._native import ISAS, _core
from kazeia_desktop.frames import FloatArray, IntArray
from tests.golden.code_predictor_reference import (
    DTYPES,
    SETS,
    GoldenSet,
    Shape,
    load,
    packed,
    reference_greedy,
    reference_logits,
    unpacked,
)

pytestmark = pytest.mark.golden


def usable_isas() -> list[str]:
    """The instruction sets that this processor runs."""
    before = _core.active_isa()
    usable = [isa for isa in ISAS if not _core.select_isa(isa)]
    _core.select_isa(before)
    return usable


GREEDY = _core.SamplerOptions(0.0, 0, 1.0)


@pytest.fixture(scope="module", params=SETS, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest) -> GoldenSet:
    path: Path = request.param
    return load(path)


@pytest.fixture(params=usable_isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each instruction set in turn, then the one that was in use."""
    before = _core.active_isa()
    assert _core.select_isa(request.param) == ""
    yield request.param
    _core.select_isa(before)


def native(golden: GoldenSet, dtype: str, n_threads: int = 2) -> tuple[FloatArray, IntArray, FloatArray]:
    """Logits of (n, 15, vocab), greedy codes (n, 15), and frame embeddings (n, talker_hidden)."""
    shape = {name: getattr(golden.shape, name) for name in Shape.__slots__}
    model = _core.CodePredictorModel(
        shape, golden.shape.talker_hidden, golden.shape.talker_vocab, packed(golden.weights, dtype)
    )
    predictor = _core.CodePredictor(model, _core.ThreadTeam(n_threads))
    frames = list(zip(golden.hidden, golden.codes, strict=True))
    return (
        np.stack([predictor.logits(hidden, codes) for hidden, codes in frames]),
        np.stack([predictor.predict(hidden, int(codes[0]), GREEDY, _core.Pcg32(0)) for hidden, codes in frames]),
        np.stack([predictor.frame_embedding(codes, golden.text) for codes in golden.codes]),
    )


def test_there_are_both_kinds() -> None:
    """One with widths that differ, so that there is a projection, and one without."""
    assert {"input_proj.weight" in load(path).weights for path in SETS} == {True, False}


def test_float64_agrees_with_the_official_figures(golden: GoldenSet) -> None:
    """What the quantised weights are held to is itself right, to the rounding of the official float32."""
    logits = reference_logits(golden.shape, golden.weights, golden.hidden, golden.codes)
    assert np.abs(logits - golden.logits).max() < 2e-5
    greedy = reference_greedy(golden.shape, golden.weights, golden.hidden, golden.codes[:, 0])
    assert np.array_equal(greedy, golden.greedy)


def test_float32_is_exact(golden: GoldenSet, isa: str) -> None:
    logits, greedy, frames = native(golden, "f32")
    assert np.abs(logits - golden.logits).max() < 2e-5
    assert np.array_equal(greedy, golden.greedy)
    assert np.array_equal(frames, golden.frame_embeds)


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_quantised_on_the_same_weights(golden: GoldenSet, isa: str, dtype: str) -> None:
    logits, greedy, _ = native(golden, dtype)
    exact = unpacked(packed(golden.weights, dtype))
    want = reference_logits(golden.shape, exact, golden.hidden, golden.codes)
    assert np.abs(logits - want).max() < 1e-3
    assert np.array_equal(greedy, reference_greedy(golden.shape, exact, golden.hidden, golden.codes[:, 0]))


@pytest.mark.parametrize(("dtype", "most"), [("f16", 1e-5), ("q8_0", 0.025), ("q4_0", 0.35)])
def test_error_of_the_weights(golden: GoldenSet, dtype: str, most: float) -> None:
    """What quantisation itself costs, beside the official logits' rms; narrow layers average little of it out."""
    logits, _, _ = native(golden, dtype)
    error = np.sqrt(np.mean(np.square(logits - golden.logits)) / np.mean(np.square(golden.logits)))
    assert error < most


@pytest.mark.parametrize("dtype", DTYPES)
def test_threads_change_no_bit(golden: GoldenSet, isa: str, dtype: str) -> None:
    some = GoldenSet(
        golden.shape,
        golden.weights,
        golden.hidden[:4],
        golden.codes[:4],
        golden.logits[:4],
        golden.greedy[:4],
        golden.text,
        golden.frame_embeds[:4],
    )
    one = native(some, dtype, 1)
    for n_threads in (2, 3):
        for got, want in zip(native(some, dtype, n_threads), one, strict=True):
            assert np.array_equal(got, want)
