"""Which settings change how the next token is chosen, and that the chain chooses so."""

import ctypes
from types import SimpleNamespace
from typing import cast

import llama_cpp
import pytest

from kazeia_desktop.llm.sampling import differ, make_sampler
from kazeia_desktop.llm.vocabulary import Vocabulary
from kazeia_desktop.settings.schema import LlmSettings

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
