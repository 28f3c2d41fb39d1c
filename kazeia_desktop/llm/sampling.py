"""How the next token is chosen: llama.cpp's samplers in its own usual order."""

import ctypes
from typing import Any, Final

# isort: off
from kazeia_desktop._native import _core
import llama_cpp

# isort: on
from kazeia_desktop.errors import InferenceError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.llm.vocabulary import Vocabulary
from kazeia_desktop.settings.schema import LlmSettings

_BREAKERS: Final = (b"\n", b":", b'"', b"*")
"""Where a repetition ends for DRY: llama.cpp's own default."""

_KEYS: Final = (
    "temperature", "top_k", "top_p", "min_p", "typical_p", "repeat_penalty", "frequency_penalty", "presence_penalty",
    "penalty_window", "dry_multiplier", "dry_base", "dry_allowed_length", "seed",
)  # fmt: skip
_NONE: Final = (1.0, 0.0, 0.0)  # penalties without effect


def differ(one: LlmSettings, other: LlmSettings) -> bool:
    """Whether the two choose differently."""
    return any(getattr(one, key) != getattr(other, key) for key in _KEYS)


def likeliest(settings: LlmSettings) -> LlmSettings:
    """The settings with a sampler that takes the likeliest token, whatever was said before."""
    plain: dict[str, float] = {"temperature": 0.0, "repeat_penalty": 1.0, "frequency_penalty": 0.0}
    return settings.model_copy(update=plain | {"presence_penalty": 0.0, "dry_multiplier": 0.0})


def _penalties(settings: LlmSettings) -> tuple[float, float, float]:
    return settings.repeat_penalty, settings.frequency_penalty, settings.presence_penalty


def penalises(settings: LlmSettings) -> bool:
    """Whether what was said changes what may be said next."""
    return settings.penalty_window > 0 and (_penalties(settings) != _NONE or settings.dry_multiplier > 0.0)


def make_sampler(settings: LlmSettings, vocabulary: Vocabulary) -> Any:  # noqa: ANN401 - a C pointer
    """A sampler chain; the caller frees it with `llama_sampler_free`.

    Temperature 0 takes the likeliest token. A negative seed is drawn anew by llama.cpp. Penalties and DRY see
    what the chain has accepted: the reply so far.
    """
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())

    def add(sampler: Any) -> None:  # noqa: ANN401 - a C pointer
        llama_cpp.llama_sampler_chain_add(chain, sampler)

    penalties = _penalties(settings)
    if penalties != _NONE and settings.penalty_window > 0:
        add(llama_cpp.llama_sampler_init_penalties(vocabulary.n_tokens, settings.penalty_window, *penalties))
    if settings.dry_multiplier > 0.0 and settings.penalty_window > 0:
        breakers = (ctypes.c_char_p * len(_BREAKERS))(*_BREAKERS)
        add(
            llama_cpp.llama_sampler_init_dry(
                vocabulary.handle,
                settings.dry_multiplier,
                settings.dry_base,
                settings.dry_allowed_length,
                settings.penalty_window,
                breakers,
                len(_BREAKERS),
            )
        )
    if settings.temperature == 0.0:
        add(llama_cpp.llama_sampler_init_greedy())
        return chain
    if settings.top_k > 0:
        add(llama_cpp.llama_sampler_init_top_k(settings.top_k))
    if settings.typical_p < 1.0:
        add(llama_cpp.llama_sampler_init_typical(settings.typical_p, 1))
    if settings.top_p < 1.0:
        add(llama_cpp.llama_sampler_init_top_p(settings.top_p, 1))
    if settings.min_p > 0.0:
        add(llama_cpp.llama_sampler_init_min_p(settings.min_p, 1))
    add(llama_cpp.llama_sampler_init_temp(settings.temperature))
    add(llama_cpp.llama_sampler_init_dist(llama_cpp.LLAMA_DEFAULT_SEED if settings.seed < 0 else settings.seed))
    return chain


class TokenSampler:
    """Chooses the tokens of a reply, one after the other.

    Kept from reply to reply: DRY goes through the whole vocabulary when it is made. The choice itself is native: after
    a token, whose weights push everything else out of the caches, the same in Python takes 0.3 ms instead of 0.05.

    Args:
        vocabulary: of a model that stays loaded until `close`.
        grammar: GBNF with the rule `root`; what is chosen keeps to it.
    Raises:
        InferenceError: the grammar cannot be read.
    """

    def __init__(self, vocabulary: Vocabulary, settings: LlmSettings, grammar: str | None = None) -> None:
        self._vocabulary = vocabulary
        self._settings = settings
        self._chooser = _core.TokenChooser(vocabulary.n_tokens)
        self._grammar: Any = None
        self._chain: Any = None
        if grammar is not None:
            self._grammar = llama_cpp.llama_sampler_init_grammar(vocabulary.handle, grammar.encode(), b"root")
            if not self._grammar:
                raise InferenceError("The grammar of the reply cannot be read by llama.cpp.")
            self._chooser.keep_to(_address(self._grammar))
        self._make_chain(settings)

    def _make_chain(self, settings: LlmSettings) -> None:
        chain, self._chain = self._chain, make_sampler(settings, self._vocabulary)
        if chain:
            llama_cpp.llama_sampler_free(chain)
            for token in self._chooser.said:
                llama_cpp.llama_sampler_accept(self._chain, token)
        kept = 1 if settings.temperature == 0.0 else settings.top_k
        window = settings.penalty_window if penalises(settings) else 0
        self._chooser.use(_address(self._chain), max(0, kept), window)

    def use(self, settings: LlmSettings) -> None:
        """Choose by these from the next token on."""
        if settings is self._settings:
            return
        if differ(settings, self._settings):
            self._make_chain(settings)
        self._settings = settings

    def restart(self) -> None:
        """Another reply begins. Without a grammar only: that one is read to its end."""
        llama_cpp.llama_sampler_reset(self._chain)
        self._chooser.restart()

    def choose(self, logits: FloatArray) -> int:
        """The next token, which counts as said; -1 where the grammar leaves none.

        Args:
            logits: (n_tokens,) float32.
        """
        return self._chooser.choose(logits)

    def close(self) -> None:
        """Free what llama.cpp holds; closing twice is harmless."""
        for sampler in (self._chain, self._grammar):
            if sampler:
                llama_cpp.llama_sampler_free(sampler)
        self._chain = self._grammar = None


def _address(sampler: Any) -> int:  # noqa: ANN401 - a C pointer
    return ctypes.addressof(sampler.contents)
