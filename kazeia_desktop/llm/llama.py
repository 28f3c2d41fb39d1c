"""llama.cpp as a chat session needs it: tokens in, tokens out, stoppable at any moment.

Through llama-cpp-python's C bindings, so that logits are not copied for every token.
"""

import codecs
import ctypes
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

# isort: off
from kazeia_desktop import _native  # noqa: F401 - says plainly when llama.cpp is missing or not the one built with
import llama_cpp

# isort: on
from kazeia_desktop.errors import InferenceError, ModelCorruptError, ModelError, ModelIncompatibleError
from kazeia_desktop.llm.gguf import check_header
from kazeia_desktop.llm.llama_log import SPOKEN
from kazeia_desktop.llm.sampling import PENALTY_WINDOW, differ, make_sampler
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.core_share import CoreShare
from kazeia_desktop.settings.schema import LlmSettings

_log = logging.getLogger(__name__)

_BATCH: Final = 512
_UBATCH: Final = 128
"""Tokens of one graph: bounds the longest single matrix product, between two of which a cancel is seen."""
_SEEN_AGAIN: Final = 8
"""Tokens that must agree before two stretches of a conversation count as the same."""
_KV_TYPES: Final = {"f16": llama_cpp.GGML_TYPE_F16, "q8_0": llama_cpp.GGML_TYPE_Q8_0}
_ABORTED: Final = 2  # llama_decode's answer
_DAMAGE: Final = ("corrupted", "incomplete", "not within", "failed to read", "unexpectedly reached end", "invalid")


def _abort_function() -> Any:  # noqa: ANN401 - a C function
    """C's strlen as ggml's abort callback: not 0, that is true, as soon as the token's first byte is set.

    ggml asks before every node of the graph, some hundred times a token. A Python callback would wait for
    the GIL each time: beside one thread that runs Python, a token of the 0.5B model then takes 240-1270 ms
    instead of 70.
    """
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    return llama_cpp.ggml_abort_callback(ctypes.cast(library.strlen, ctypes.c_void_p).value or 0)


_ABORT: Final = _abort_function()


def _load_error(path: Path) -> ModelError:
    reason = SPOKEN.reason("no reason given")
    if any(word in reason for word in _DAMAGE):
        return ModelCorruptError("The model file {file} is damaged: {reason}", file=str(path), reason=reason)
    return ModelIncompatibleError("llama.cpp cannot load {file}: {reason}", file=str(path), reason=reason)


class LlamaModel:
    """One model with one context. One thread at a time; `use` may come from any.

    Args:
        path: a GGUF file.
        share: tells how many cores the voice leaves; None: all.
    Raises:
        ModelError: with llama.cpp's own reason in one line.

    Attributes:
        tokens: what the context holds.
        n_ctx: how many it can hold: the setting's, at most what the model was trained for.
    """

    def __init__(self, path: Path, settings: LlmSettings, share: CoreShare | None = None) -> None:
        check_header(path)
        self._settings = settings
        self._share = share
        self._never = CancelToken()
        self._sampler: Any = None
        self._sampler_settings = settings
        self._threads = settings.threads
        self._ctx: Any = None
        self.tokens: list[int] = []
        SPOKEN.forget()
        llama_cpp.llama_backend_init()
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = settings.gpu_layers
        self._model: Any = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
        if not self._model:
            raise _load_error(path)
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self._ctx = llama_cpp.llama_init_from_model(self._model, self._context_params(settings))
        if not self._ctx:
            reason = SPOKEN.reason("not enough memory?")
            self.close()
            raise ModelIncompatibleError("llama.cpp cannot run {file}: {reason}", file=str(path), reason=reason)
        self.n_ctx = min(int(llama_cpp.llama_n_ctx(self._ctx)), settings.n_ctx)

    def _context_params(self, settings: LlmSettings) -> Any:  # noqa: ANN401 - a C struct
        params = llama_cpp.llama_context_default_params()
        trained = int(llama_cpp.llama_model_n_ctx_train(self._model))
        params.n_ctx = min(settings.n_ctx, trained) if trained > 0 else settings.n_ctx
        params.n_batch = _BATCH
        params.n_ubatch = _UBATCH
        params.n_threads = params.n_threads_batch = settings.threads
        params.type_k = params.type_v = _KV_TYPES[settings.kv_type]
        wants_flash = settings.flash_attention or settings.kv_type != "f16"  # a quantised V needs it
        params.flash_attn_type = (
            llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED if wants_flash else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        params.no_perf = True
        return params

    def close(self) -> None:
        """Free context and model. Closing twice is harmless."""
        self._free_sampler()
        if self._ctx:
            llama_cpp.llama_free(self._ctx)
            self._ctx = None
        if self._model:
            llama_cpp.llama_model_free(self._model)
            self._model = None
        self.tokens.clear()

    @property
    def closed(self) -> bool:
        """Whether nothing can be asked any more."""
        return not self._ctx

    def use(self, settings: LlmSettings) -> None:
        """Sampler from the next token on, threads from the next computation on."""
        self._settings = settings

    def chat_template(self) -> str | None:
        """The template of the file, or None."""
        raw = llama_cpp.llama_model_chat_template(self._model, None)
        return None if not raw else raw.decode("utf-8", "replace")

    def token_text(self, token: int) -> str:
        """A token as the template writes it, control tokens included; "" for one that there is not."""
        return self._piece(token, special=True).decode("utf-8", "replace") if token >= 0 else ""

    @property
    def bos(self) -> int:
        """The token that begins a text; -1 for none."""
        return int(llama_cpp.llama_vocab_bos(self._vocab))

    @property
    def eos(self) -> int:
        """The token that ends a text; -1 for none."""
        return int(llama_cpp.llama_vocab_eos(self._vocab))

    @property
    def adds_bos(self) -> bool:
        """Whether every prompt begins with `bos`."""
        return bool(llama_cpp.llama_vocab_get_add_bos(self._vocab))

    def tokenize(self, text: str, special: bool) -> list[int]:
        """Tokens of `text`. special: names of control tokens become them; else they stay text."""
        raw = text.encode("utf-8", "replace")
        size = len(raw) + 8
        while True:
            buffer = (llama_cpp.llama_token * size)()
            n = llama_cpp.llama_tokenize(self._vocab, raw, len(raw), buffer, size, False, special)
            if n >= 0:
                return list(buffer[:n])
            size = -n

    def _piece(self, token: int, special: bool = False) -> bytes:
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            n = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, size, 0, special)
            if n >= 0:
                return buffer.raw[:n]
            size = -n

    def prefill(self, prompt: Sequence[int], cancel: CancelToken, cut: bool = False) -> int:
        """Make the context hold exactly `prompt`, computing only what it does not hold yet.

        Args:
            cut: a stretch after the common beginning left the conversation; what follows it is moved up where
                the model can, instead of being computed anew (10 s for a full context of 4096).
        Returns:
            How many tokens were computed, at least the last one.
        Raises:
            InferenceError: the context is too small, or llama.cpp failed.
        """
        if not prompt or len(prompt) > self.n_ctx:
            raise InferenceError(
                "A prompt of {n} tokens does not fit a context of {n_ctx}.", n=len(prompt), n_ctx=self.n_ctx
            )
        shared = common_length(self.tokens, prompt)
        if cut and shared < min(len(self.tokens), len(prompt)):
            self._move_up(shared, prompt)
            shared = common_length(self.tokens, prompt)
        shared = min(shared, len(prompt) - 1)  # the last token's logits are needed
        if not self._keep(shared):
            shared = 0
        for at in range(shared, len(prompt), _BATCH):
            if cancel.is_set() or not self._decode(prompt[at : at + _BATCH], cancel):
                return at - shared
        return len(prompt) - shared

    def _move_up(self, shared: int, prompt: Sequence[int]) -> None:
        """Take out the stretch after `shared` that `prompt` does not have, where what follows can be found."""
        rest = prompt[shared:]
        begin = max(range(shared, len(self.tokens)), key=lambda at: common_length(self.tokens, rest, at))
        if common_length(self.tokens, rest, begin) < _SEEN_AGAIN:
            return
        memory = llama_cpp.llama_get_memory(self._ctx)
        if not llama_cpp.llama_memory_can_shift(memory):
            return
        if llama_cpp.llama_memory_seq_rm(memory, 0, shared, begin):
            llama_cpp.llama_memory_seq_add(memory, 0, begin, -1, shared - begin)
            del self.tokens[shared:begin]

    def _keep(self, n: int) -> bool:
        """Forget all but the first n tokens; false when the model cannot go back and all was forgotten."""
        memory = llama_cpp.llama_get_memory(self._ctx)
        kept = n == len(self.tokens) or bool(llama_cpp.llama_memory_seq_rm(memory, 0, n, -1))
        if not kept:
            llama_cpp.llama_memory_clear(memory, True)
            n = 0
        del self.tokens[n:]
        return kept

    def _decode(self, tokens: Sequence[int], cancel: CancelToken) -> bool:
        """Compute some tokens; false when cancelled, with the context as it was before."""
        threads = self._settings.threads
        if self._share is not None:
            threads = self._share.left(threads)
        if threads != self._threads:
            self._threads = threads
            llama_cpp.llama_set_n_threads(self._ctx, self._threads, self._threads)
        buffer = (llama_cpp.llama_token * len(tokens))(*tokens)
        self._abort_with(cancel)
        try:
            code = llama_cpp.llama_decode(self._ctx, llama_cpp.llama_batch_get_one(buffer, len(tokens)))
        finally:
            self._abort_with(self._never)  # `cancel` and its flag may be gone before the next call
        if code == 0:
            self.tokens.extend(tokens)
            return True
        memory = llama_cpp.llama_get_memory(self._ctx)
        if not llama_cpp.llama_memory_seq_rm(memory, 0, len(self.tokens), -1):
            llama_cpp.llama_memory_clear(memory, True)
            self.tokens.clear()
        if code == _ABORTED or cancel.is_set():
            return False
        raise InferenceError(
            "The model failed (llama.cpp says {code}: {reason}).", code=code, reason=SPOKEN.reason("no reason given")
        )

    def _abort_with(self, cancel: CancelToken) -> None:
        llama_cpp.llama_set_abort_callback(self._ctx, _ABORT, ctypes.cast(cancel.native_flag, ctypes.c_void_p))

    def generate(self, max_tokens: int, cancel: CancelToken) -> Iterator[tuple[int, str]]:
        """Tokens after a prefill, each with the characters that it completes (maybe none).

        Ends at the model's own end, after max_tokens, when the context is full, or when cancelled.

        Raises:
            InferenceError: llama.cpp failed.
        """
        text = codecs.getincrementaldecoder("utf-8")("replace")
        made: list[int] = []
        while not cancel.is_set():
            token = self._sample(made)
            if llama_cpp.llama_vocab_is_eog(self._vocab, token):
                return
            made.append(token)
            yield token, text.decode(self._piece(token))
            if len(made) >= max_tokens or len(self.tokens) >= self.n_ctx or not self._decode([token], cancel):
                return

    def _sample(self, made: Sequence[int]) -> int:
        settings = self._settings
        if not made or differ(settings, self._sampler_settings):
            self._free_sampler()
            self._sampler = make_sampler(settings, llama_cpp.llama_vocab_n_tokens(self._vocab))
            for token in made[-PENALTY_WINDOW:]:
                llama_cpp.llama_sampler_accept(self._sampler, token)
        self._sampler_settings = settings
        return int(llama_cpp.llama_sampler_sample(self._sampler, self._ctx, -1))

    def _free_sampler(self) -> None:
        if self._sampler is not None:
            llama_cpp.llama_sampler_free(self._sampler)
            self._sampler = None


def common_length(ours: Sequence[int], theirs: Sequence[int], at: int = 0) -> int:
    """How many tokens of `theirs` stand in `ours` from `at` on."""
    n = 0
    while at + n < len(ours) and n < len(theirs) and ours[at + n] == theirs[n]:
        n += 1
    return n
