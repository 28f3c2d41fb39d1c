"""Draws as Hugging Face's processors allow them: its own probabilities, and draws pinned for good."""

import numpy as np
import pytest
from numpy.typing import NDArray

from kazeia_desktop._native import Pcg32, Sampler, SamplerOptions
from kazeia_desktop.frames import FloatArray, IntArray
from tests.golden import qwen3_sets as sets
from tests.golden.qwen3_sets import SamplingCase

pytestmark = pytest.mark.golden

Doubles = NDArray[np.float64]
CASES = range(len(sets.SAMPLING_CASES))
PINNED = [38, 24, 55, 50, 15, 19, 36, 22, 55, 55, 22, 8, 38, 5, 12, 36, 25, 27, 31, 3, 53, 58, 43, 13]


@pytest.fixture(scope="module")
def official() -> dict[str, Doubles]:
    """(200,) probabilities of each case, by transformers."""
    with np.load(sets.DATA / "processors.npz") as file:
        return {name: file[name] for name in file.files}


def processed(logits: FloatArray, history: IntArray, case: SamplingCase) -> Doubles:
    """The same in numpy: penalty, temperature, top-k, top-p, softmax.

    Of equal logits at top-p's edge the lowest tokens stay; transformers leaves that to its sort.
    """
    scores = logits.astype(np.float64)
    for token in set(history.tolist()):
        scores[token] = scores[token] * case.penalty if scores[token] < 0 else scores[token] / case.penalty
    scores /= case.temperature
    if case.top_k:
        scores[scores < np.sort(scores)[-case.top_k]] = -np.inf
    probabilities = np.exp(scores - scores.max())
    probabilities /= probabilities.sum()
    if case.top_p < 1:
        rising = sorted(range(len(scores)), key=lambda token: (scores[token], -token))
        below = np.cumsum(probabilities[rising])
        gone = [token for token, total in zip(rising[:-1], below, strict=False) if total <= 1 - case.top_p]
        probabilities[gone] = 0
        probabilities /= probabilities.sum()
    found: Doubles = probabilities
    return found


@pytest.mark.parametrize("i", CASES)
def test_the_numpy_processors_are_the_official_ones(official: dict[str, Doubles], i: int) -> None:
    got = processed(*sets.sampling_inputs(i), sets.SAMPLING_CASES[i])
    want = official[f"probabilities_{i}"]
    np.testing.assert_allclose(np.sort(got), np.sort(want), rtol=0, atol=1e-6)


@pytest.mark.parametrize("i", CASES)
def test_draws(i: int) -> None:
    """The likeliest token first, of equals the lowest: the one where the cumulative probability passes the number."""
    logits, history = sets.sampling_inputs(i)
    case = sets.SAMPLING_CASES[i]
    probabilities = processed(logits, history, case)
    order = sorted(np.flatnonzero(probabilities).tolist(), key=lambda token: (-probabilities[token], token))
    edges = np.cumsum(probabilities[order])
    sampler = Sampler()
    options = SamplerOptions(case.temperature, case.top_k, case.top_p, case.penalty)
    checked = 0
    for seed in range(200):
        number = Pcg32(seed, 1).next_double()
        if np.abs(edges - number).min() < 1e-6:  # float32's rounding decides
            continue
        want = order[int(np.searchsorted(edges, number, side="right"))]
        got = sampler.sample(logits, options, Pcg32(seed, 1), history)
        # Equal in float64 can be unequal in float32 and the other way round: then the neighbours change places.
        assert probabilities[got] == pytest.approx(probabilities[want], rel=1e-5)
        checked += 1
    assert checked > 150


def test_greedy_is_the_first_of_the_largest_after_the_penalty() -> None:
    logits = np.array([1, 3, 3, 2.9, -np.inf], np.float32)
    greedy = SamplerOptions(0.0, 1, 0.1, 1.5)
    sampler, random = Sampler(), Pcg32(0)
    for history, want in (([], 1), ([1], 2), ([1, 1, 2], 3), ([1, 2, 3], 1)):
        assert sampler.sample(logits, greedy, random, np.array(history, np.int32)) == want


def test_a_penalty_makes_a_negative_logit_smaller() -> None:
    logits = np.array([-1, -1.4, -9], np.float32)
    assert Sampler().sample(logits, SamplerOptions(0.0, 0, 1.0, 1.5), Pcg32(0), np.array([0], np.int32)) == 1


def test_draws_are_pinned() -> None:
    """The same on every machine and in every version: a seed is a voice to someone."""
    logits = (np.arange(64, dtype=np.float32) * 37 % 64) / 16
    random, sampler = Pcg32(1234, 1), Sampler()
    options = SamplerOptions(0.9, 50, 0.95, 1.05)
    history: list[int] = []
    for _ in range(24):
        history.append(sampler.sample(logits, options, random, np.array(history, np.int32)))
    assert history == PINNED


def test_the_generator_is_pcg32() -> None:
    """The first numbers of the reference implementation's demo, seed 42, stream 54 (pcg-random.org)."""
    random = Pcg32(42, 54)
    want = [0xA15C02B7, 0x7B47F409, 0xBA1D3330, 0x83D2F293, 0xBFA4784B, 0xCBED606E]
    assert [random.next() for _ in want] == want
