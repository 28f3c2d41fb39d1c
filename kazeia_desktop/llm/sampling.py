"""How the next token is chosen: llama.cpp's samplers in its own usual order."""

import ctypes
from typing import Any, Final

import llama_cpp
import numpy as np
from numpy.typing import NDArray

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
_ROWS: Final = 64  # the vocabulary is looked at as so many rows
_CANDIDATE: Final = np.dtype([("id", "<i4"), ("logit", "<f4"), ("p", "<f4")])  # llama_token_data


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

    Kept from reply to reply: DRY goes through the whole vocabulary when it is made.

    Args:
        vocabulary: of a model that stays loaded until `close`.
        grammar: GBNF with the rule `root`; what is chosen keeps to it.
    Raises:
        InferenceError: the grammar cannot be read.
    """

    def __init__(self, vocabulary: Vocabulary, settings: LlmSettings, grammar: str | None = None) -> None:
        self._vocabulary = vocabulary
        self._settings = settings
        self._said: list[int] = []
        self._candidates = np.zeros(vocabulary.n_tokens, _CANDIDATE)
        self._offered = _offer(self._candidates)  # made once: after a token's weights, all of Python is slow
        self._data = self._offered.data
        self._ids = np.arange(vocabulary.n_tokens, dtype=np.int32)
        self._largest = np.zeros(vocabulary.n_tokens // _ROWS, np.float32)
        self._grammar: Any = None
        self._chain: Any = None
        if grammar is not None:
            self._grammar = llama_cpp.llama_sampler_init_grammar(vocabulary.handle, grammar.encode(), b"root")
            if not self._grammar:
                raise InferenceError("The grammar of the reply cannot be read by llama.cpp.")
        self._chain = make_sampler(settings, vocabulary)

    def use(self, settings: LlmSettings) -> None:
        """Choose by these from the next token on."""
        if settings is self._settings:
            return
        if differ(settings, self._settings):
            llama_cpp.llama_sampler_free(self._chain)
            self._chain = make_sampler(settings, self._vocabulary)
            for token in self._said:
                llama_cpp.llama_sampler_accept(self._chain, token)
        self._settings = settings

    def restart(self) -> None:
        """Another reply begins. Without a grammar only: that one is read to its end."""
        llama_cpp.llama_sampler_reset(self._chain)
        self._said.clear()

    def choose(self, logits: FloatArray) -> int:
        """The next token, which counts as said; -1 where the grammar leaves none.

        Args:
            logits: (n_tokens,) float32.
        """
        token = self._draw(logits, by_grammar=False)
        if self._grammar and not self._allows(token):
            # Asked only now: to hold a large vocabulary against a grammar takes longer than to compute a token.
            token = self._draw(logits, by_grammar=True)
            if not self._allows(token):
                return -1
        llama_cpp.llama_sampler_accept(self._chain, token)
        if self._grammar:
            llama_cpp.llama_sampler_accept(self._grammar, token)
        self._said.append(token)
        return token

    def _draw(self, logits: FloatArray, by_grammar: bool) -> int:
        eligible = None if by_grammar else self._eligible(logits)
        n = len(logits) if eligible is None else len(eligible)
        candidates = self._candidates[:n]
        candidates["id"] = self._ids if eligible is None else eligible
        candidates["logit"] = logits if eligible is None else logits[eligible]
        offered = self._offered
        offered.data, offered.size, offered.selected, offered.sorted = self._data, n, -1, False
        if by_grammar:
            llama_cpp.llama_sampler_apply(self._grammar, ctypes.byref(offered))
        llama_cpp.llama_sampler_apply(self._chain, ctypes.byref(offered))
        if not 0 <= offered.selected < offered.size:
            return 0
        return int(offered.data[offered.selected].id)

    def _eligible(self, logits: FloatArray) -> NDArray[np.intp] | None:
        """The tokens among which those that the chain keeps must be, in order; None for all.

        The chain begins with penalties, which look each token up, and then keeps the top k: 0.65 ms for 152,000
        tokens, 6 % of the time of a 0.5B model's at 4 bits. Penalties change only what was said; so what is in the
        top k after them was in the top k + said before, or was said itself.
        """
        settings = self._settings
        kept = 1 if settings.temperature == 0.0 else settings.top_k
        said = set(self._said[-settings.penalty_window :]) if penalises(settings) else set()
        n, columns = kept + len(said), len(logits) // _ROWS
        if kept <= 0 or n > columns // 4:
            return None
        # n columns have a largest value of at least the n-th largest among these: so many tokens have it or more.
        # The vocabulary is gone through once, then only those columns.
        table = logits[: _ROWS * columns].reshape(_ROWS, columns)
        largest = np.maximum.reduce(table, axis=0, out=self._largest)
        ordered = largest.copy()
        ordered.partition(columns - n)
        least = ordered[columns - n]
        among = (largest >= least).nonzero()[0]
        rows, at = (table[:, among] >= least).nonzero()
        ids = rows * columns + among[at]
        if len(ids) < n:
            return None  # the model's figures are no numbers
        rest = (logits[_ROWS * columns :] >= least).nonzero()[0] + _ROWS * columns
        return np.array(sorted(said.union(ids.tolist(), rest.tolist())))

    def _allows(self, token: int) -> bool:
        one = np.array([(token, 1.0, 0.0)], _CANDIDATE)
        llama_cpp.llama_sampler_apply(self._grammar, ctypes.byref(_offer(one)))
        return bool(np.isfinite(one["logit"][0]))

    def close(self) -> None:
        """Free what llama.cpp holds; closing twice is harmless."""
        for sampler in (self._chain, self._grammar):
            if sampler:
                llama_cpp.llama_sampler_free(sampler)
        self._chain = self._grammar = None


def _offer(candidates: "np.ndarray[Any, np.dtype[np.void]]") -> Any:  # noqa: ANN401 - a C struct
    """llama.cpp's view of the candidates, which must outlive it."""
    data = candidates.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data))
    return llama_cpp.llama_token_data_array(data, len(candidates), -1, False)
