"""How the next token is chosen: llama.cpp's samplers in its own usual order."""

from typing import Any, Final

import llama_cpp

from kazeia_desktop.settings.schema import LlmSettings

PENALTY_WINDOW: Final = 64  # tokens of the reply that the repeat penalty looks back on; llama.cpp's default

_KEYS: Final = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty", "seed")


def differ(one: LlmSettings, other: LlmSettings) -> bool:
    """Whether the two choose differently."""
    return any(getattr(one, key) != getattr(other, key) for key in _KEYS)


def make_sampler(settings: LlmSettings, n_vocab: int) -> Any:  # noqa: ANN401 - a C pointer
    """A sampler chain; the caller frees it with `llama_sampler_free`.

    Temperature 0 takes the likeliest token. A negative seed is drawn anew by llama.cpp.
    """
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())

    def add(sampler: Any) -> None:  # noqa: ANN401 - a C pointer
        llama_cpp.llama_sampler_chain_add(chain, sampler)

    if settings.repeat_penalty != 1.0:
        add(llama_cpp.llama_sampler_init_penalties(n_vocab, PENALTY_WINDOW, settings.repeat_penalty, 0.0, 0.0))
    if settings.temperature == 0.0:
        add(llama_cpp.llama_sampler_init_greedy())
        return chain
    if settings.top_k > 0:
        add(llama_cpp.llama_sampler_init_top_k(settings.top_k))
    if settings.top_p < 1.0:
        add(llama_cpp.llama_sampler_init_top_p(settings.top_p, 1))
    if settings.min_p > 0.0:
        add(llama_cpp.llama_sampler_init_min_p(settings.min_p, 1))
    add(llama_cpp.llama_sampler_init_temp(settings.temperature))
    add(llama_cpp.llama_sampler_init_dist(llama_cpp.LLAMA_DEFAULT_SEED if settings.seed < 0 else settings.seed))
    return chain
