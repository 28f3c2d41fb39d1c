"""Which settings change how the next token is chosen, and that the chain chooses so."""

import ctypes
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import llama_cpp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from kazeia_desktop._native import _core
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.llm.sampling import TokenSampler, differ, make_sampler
from kazeia_desktop.llm.vocabulary import Vocabulary
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings
from tests.fakes.tiny_llms import tiny_llm

pytestmark = pytest.mark.unit

_LOGITS = (1.0, 3.0, 2.9, -5.0)


def choose(settings: LlmSettings, said: tuple[int, ...] = ()) -> int:
    """The token that the chain takes from _LOGITS after `said`."""
    chain = make_sampler(settings, cast(Vocabulary, SimpleNamespace(n_tokens=len(_LOGITS), handle=None)))
    try:
        for token in said:
            llama_cpp.llama_sampler_accept(chain, token)
        data = (llama_cpp.llama_token_data * len(_LOGITS))(*((i, logit, 0.0) for i, logit in enumerate(_LOGITS)))
        offered = llama_cpp.llama_token_data_array(data, len(_LOGITS), -1, False)
        llama_cpp.llama_sampler_apply(chain, ctypes.byref(offered))
        return int(offered.data[offered.selected].id)
    finally:
        llama_cpp.llama_sampler_free(chain)


@pytest.mark.parametrize(
    ("change", "changes_the_choice"),
    [
        ({"temperature": 0.1}, True),
        ({"top_k": 3}, True),
        ({"top_p": 0.5}, True),
        ({"min_p": 0.2}, True),
        ({"repeat_penalty": 1.3}, True),
        ({"seed": 7}, True),
        ({"threads": 7}, False),
        ({"persona": "x"}, False),
        ({"max_reply_tokens": 77}, False),
    ],
)
def test_what_needs_another_chain(change: dict[str, object], changes_the_choice: bool) -> None:
    settings = LlmSettings()
    assert differ(settings, settings.model_copy(update=change)) is changes_the_choice


def test_temperature_0_takes_the_likeliest() -> None:
    assert {choose(LlmSettings(temperature=0.0, repeat_penalty=1.0, seed=seed)) for seed in range(20)} == {1}


def test_what_was_said_is_less_likely() -> None:
    assert choose(LlmSettings(temperature=0.0, repeat_penalty=1.0), said=(1,)) == 1
    assert choose(LlmSettings(temperature=0.0, repeat_penalty=1.5), said=(1,)) == 2


def test_a_seed_repeats_and_seeds_differ() -> None:
    hot = LlmSettings(temperature=2.0, top_p=1.0, min_p=0.0, top_k=0, repeat_penalty=1.0)
    choices = [choose(hot.model_copy(update={"seed": seed})) for seed in range(30)]
    assert choices == [choose(hot.model_copy(update={"seed": seed})) for seed in range(30)]
    assert len(set(choices)) >= 3


@pytest.mark.parametrize(
    ("change", "possible"),
    [({"top_k": 1}, {1}), ({"top_k": 2}, {1, 2}), ({"min_p": 0.5}, {1, 2}), ({"top_p": 0.4}, {1})],
)
def test_unlikely_tokens_are_left_out(change: dict[str, object], possible: set[int]) -> None:
    wide = LlmSettings(temperature=2.0, top_p=1.0, min_p=0.0, top_k=0, repeat_penalty=1.0)
    assert {choose(wide.model_copy(update={"seed": seed, **change})) for seed in range(60)} == possible


def test_each_time_said_or_once() -> None:
    """Frequency counts how often, presence only whether: the token 1 was said three times, 2 once."""
    plain = {"temperature": 0.0, "repeat_penalty": 1.0}
    said = (1, 1, 1, 2)
    assert choose(LlmSettings(**plain), said) == 1  # type: ignore[arg-type]
    assert choose(LlmSettings(**plain, frequency_penalty=0.3), said) == 2  # type: ignore[arg-type]
    assert choose(LlmSettings(**plain, presence_penalty=1.0), said) == 1  # type: ignore[arg-type]
    assert choose(LlmSettings(**plain, presence_penalty=1.0), (1,)) == 2  # type: ignore[arg-type]
    assert choose(LlmSettings(**plain, frequency_penalty=2.0, penalty_window=1), said) == 1  # type: ignore[arg-type]
    assert choose(LlmSettings(**plain, frequency_penalty=2.0, penalty_window=0), (1,) * 9) == 1  # type: ignore[arg-type]


def test_typical_leaves_out_what_is_too_likely_or_too_unlikely() -> None:
    wide = LlmSettings(temperature=2.0, top_p=1.0, min_p=0.0, top_k=0, repeat_penalty=1.0)
    all_seeds = [wide.model_copy(update={"seed": seed}) for seed in range(80)]
    assert len({choose(settings) for settings in all_seeds}) >= 3
    assert len({choose(settings.model_copy(update={"typical_p": 0.2})) for settings in all_seeds}) == 1


_EVERY_CHANGE = {
    "temperature": 2.0, "top_k": 1, "top_p": 0.01, "min_p": 1.0, "typical_p": 0.01, "repeat_penalty": 2.0,
    "frequency_penalty": 2.0, "presence_penalty": 2.0, "penalty_window": 0, "dry_multiplier": 5.0, "seed": 99,
}  # fmt: skip


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaModel]:
    loaded = LlamaModel(tiny_llm("qwen3"), LlmSettings(threads=1, n_ctx=1024))
    yield loaded
    loaded.close()


def written(model: LlamaModel, settings: LlmSettings, later: LlmSettings | None = None, n: int = 24) -> list[int]:
    """Tokens written under `settings`, from the 9th on under `later`."""
    model.use(settings)
    model.prefill(model.tokenize("Le chat dort sur le tapis rouge.", special=False), CancelToken())
    tokens = []
    for token, _ in model.generate(n, CancelToken()):
        tokens.append(token)
        if len(tokens) == 8 and later is not None:
            model.use(later)
    return tokens


@pytest.mark.parametrize("key", _EVERY_CHANGE)
def test_every_sampler_is_heard_at_the_next_token(model: LlamaModel, key: str) -> None:
    before = LlmSettings(
        threads=1, n_ctx=1024, temperature=1.2, top_k=0, top_p=1.0, min_p=0.0, repeat_penalty=1.3, seed=5,
        penalty_window=64,
    )  # fmt: skip
    after = before.model_copy(update={key: _EVERY_CHANGE[key]})
    if key == "dry_multiplier":
        # Something that repeats itself: the likeliest token after only one kind of context.
        before = before.model_copy(update={"temperature": 0.0, "repeat_penalty": 1.0})
        after = before.model_copy(update={key: 5.0, "dry_allowed_length": 1, "dry_base": 4.0})
        model_said = _looping(model, before, after)
        assert model_said[0] != model_said[1]
        return
    assert differ(before, after)
    kept = written(model, before)
    assert written(model, before) == kept, "a seed repeats"
    changed = written(model, before, after)
    assert changed[:8] == kept[:8]
    assert changed != kept


def _looping(model: LlamaModel, before: LlmSettings, after: LlmSettings) -> tuple[list[int], list[int]]:
    """What two samplers make of logits that always favour going on as before: 7 8 9 7 8 9."""
    results = []
    for settings in (before, after):
        sampler = TokenSampler(model.vocabulary, settings)
        said: list[int] = []
        for i in range(12):
            logits = np.zeros(model.vocabulary.n_tokens, np.float32)
            logits[7 + i % 3] = 3.0
            said.append(sampler.choose(logits))
        sampler.close()
        results.append(said)
    assert results[0] == [7, 8, 9] * 4
    return results[0], results[1]


def test_a_grammar_is_kept_to_and_ends_the_reply(model: LlamaModel) -> None:
    hot = LlmSettings(threads=1, n_ctx=1024, temperature=2.0, top_k=0, top_p=1.0, min_p=0.0)
    grammar = 'root ::= "[" ("chat" | "mer") (", " ("chat" | "mer")){0,2} "]"'
    for seed in range(12):
        model.use(hot.model_copy(update={"seed": seed}))
        model.prefill(model.tokenize("Liste :", special=False), CancelToken())
        said = "".join(text for _, text in model.generate(40, CancelToken(), grammar))
        assert re.fullmatch(r"\[(chat|mer)(, (chat|mer)){0,2}\]", said), said


class _WholeVocabulary:
    """llama.cpp's plain chain, which is offered every token."""

    def __init__(self, vocabulary: Vocabulary, settings: LlmSettings) -> None:
        self._chain = make_sampler(settings, vocabulary)
        self._candidates = np.zeros(vocabulary.n_tokens, [("id", "<i4"), ("logit", "<f4"), ("p", "<f4")])
        self._candidates["id"] = np.arange(vocabulary.n_tokens)

    def choose(self, logits: FloatArray) -> int:
        candidates = self._candidates.copy()
        candidates["logit"] = logits
        data = candidates.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data))
        offered = llama_cpp.llama_token_data_array(data, len(candidates), -1, False)
        llama_cpp.llama_sampler_apply(self._chain, ctypes.byref(offered))
        token = int(offered.data[offered.selected].id)
        llama_cpp.llama_sampler_accept(self._chain, token)
        return token

    def close(self) -> None:
        llama_cpp.llama_sampler_free(self._chain)


_KEEPING = st.fixed_dictionaries(
    {
        "temperature": st.sampled_from([0.0, 0.6, 2.0]),
        "top_k": st.sampled_from([0, 1, 5, 40, 90]),
        "repeat_penalty": st.sampled_from([1.0, 1.1, 2.0]),
        "frequency_penalty": st.sampled_from([0.0, 0.7, -2.0]),
        "presence_penalty": st.sampled_from([0.0, 2.0, -2.0]),
        "penalty_window": st.sampled_from([0, 3, 64]),
        "dry_multiplier": st.sampled_from([0.0, 4.0]),
        "typical_p": st.sampled_from([1.0, 0.4]),
    }
)


@given(changes=_KEEPING, seed=st.integers(0, 2**32 - 1), n=st.sampled_from([33_000, 33_063, 4_000, 70]))
@settings_of_hypothesis(deadline=None, max_examples=60)
def test_leaving_out_what_cannot_be_chosen_changes_no_choice(
    model: LlamaModel, changes: dict[str, float], seed: int, n: int
) -> None:
    settings = LlmSettings.model_validate({"min_p": 0.0, "top_p": 0.95, "seed": 11, "dry_allowed_length": 1} | changes)
    some = np.random.Generator(np.random.PCG64(seed))
    vocabulary = cast(Vocabulary, SimpleNamespace(n_tokens=n, handle=model.vocabulary.handle))
    sampler, whole = TokenSampler(vocabulary, settings), _WholeVocabulary(vocabulary, settings)
    likely = some.integers(0, n, 12)  # said again and again
    try:
        for _ in range(12):
            logits = some.standard_normal(n).astype(np.float32) * 3
            logits[likely] += 12
            assert sampler.choose(logits) == whole.choose(logits)
    finally:
        sampler.close()
        whole.close()


def test_settings_that_change_take_what_was_said_along(model: LlamaModel) -> None:
    vocabulary = cast(Vocabulary, SimpleNamespace(n_tokens=33_000, handle=model.vocabulary.handle))
    plain = LlmSettings(temperature=0.0, repeat_penalty=1.0)
    sampler = TokenSampler(vocabulary, plain)
    logits = np.zeros(33_000, np.float32)
    logits[[9, 20_000, 31_000]] = 3.0, 2.9, 2.8
    try:
        assert [sampler.choose(logits) for _ in range(3)] == [9] * 3
        sampler.use(plain.model_copy(update={"presence_penalty": 1.0}))
        assert [sampler.choose(logits) for _ in range(3)] == [20_000, 31_000, 9]
        sampler.restart()
        assert sampler.choose(logits) == 9
    finally:
        sampler.close()


def test_logits_of_another_vocabulary_are_refused(model: LlamaModel) -> None:
    sampler = TokenSampler(model.vocabulary, LlmSettings())
    try:
        for shape in ((model.vocabulary.n_tokens - 1,), (1, model.vocabulary.n_tokens)):
            with pytest.raises(ValueError, match="logits must have shape"):
                sampler.choose(np.zeros(shape, np.float32))
    finally:
        sampler.close()


def test_a_chain_is_wanted() -> None:
    chooser = _core.TokenChooser(70)
    with pytest.raises(ValueError, match="chain"):
        chooser.choose(np.zeros(70, np.float32))
    with pytest.raises(ValueError, match="chain"):
        chooser.use(0, 1, 0)


def test_figures_that_are_no_numbers_end_in_some_token(model: LlamaModel) -> None:
    vocabulary = cast(Vocabulary, SimpleNamespace(n_tokens=33_000, handle=model.vocabulary.handle))
    sampler = TokenSampler(vocabulary, LlmSettings())
    try:
        for figure in (np.nan, np.inf, -np.inf):
            assert 0 <= sampler.choose(np.full(33_000, figure, np.float32)) < 33_000
    finally:
        sampler.close()
