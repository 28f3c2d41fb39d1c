"""llama.cpp as a chat session needs it: tokens in, tokens out, stoppable at any moment.

Through llama-cpp-python's C bindings, so that logits are not copied for every token.
"""

import codecs
import ctypes
import logging
import struct
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import llama_cpp

from kazeia_desktop.errors import InferenceError, ModelCorruptError, ModelIncompatibleError, ModelMissingError
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings

_log = logging.getLogger(__name__)

_BATCH: Final = 512
_UBATCH: Final = 128
"""Tokens between two looks at the cancel token during prefill, besides the abort callback."""
_PENALTY_WINDOW: Final = 64
_KV_TYPES: Final = {"f16": llama_cpp.GGML_TYPE_F16, "q8_0": llama_cpp.GGML_TYPE_Q8_0}
_ABORTED: Final = 2
_WARNING_LEVEL: Final = 3  # GGML_LOG_LEVEL_WARN

_last_lines: deque[str] = deque(maxlen=20)


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _on_log(level: int, text: bytes, user_data: object) -> None:
    """llama.cpp's own words: kept for the reason of a failed load, never printed."""
    line = text.decode("utf-8", "replace").strip()
    if line:
        if level >= _WARNING_LEVEL:
            _last_lines.append(line)
        _log.debug("llama.cpp: %s", line)


llama_cpp.llama_log_set(_on_log, ctypes.c_void_p(0))  # the module keeps the callback alive


def check_header(path: Path) -> None:
    """Whether the file begins as a GGUF that llama.cpp may open.

    Raises:
        ModelMissingError, ModelCorruptError, ModelIncompatibleError: one line, with the value found.
    """
    try:
        with path.open("rb") as file:
            head = file.read(24)
    except FileNotFoundError:
        raise ModelMissingError("There is no model file {file}.", file=str(path)) from None
    except OSError as error:
        raise ModelMissingError(
            "The model file {file} cannot be read ({reason}).", file=str(path), reason=error.strerror or str(error)
        ) from error
    if len(head) < 24 or head[:4] != b"GGUF":
        raise ModelCorruptError("The model file {file} is not a GGUF file.", file=str(path))
    version, n_tensors, n_keys = struct.unpack("<IQQ", head[4:])
    if version not in (2, 3):
        raise ModelIncompatibleError(
            "The model file {file} is GGUF version {version}; 2 and 3 can be read.", file=str(path), version=version
        )
    if not 1 <= n_tensors <= 100_000 or not 1 <= n_keys <= 100_000:
        raise ModelCorruptError("The model file {file} is damaged (its header).", file=str(path))


class LlamaModel:
    """One model with one context. One thread at a time; `use` may come from any.

    Args:
        path: a GGUF file.
    Raises:
        ModelError: with llama.cpp's own reason in one line.
    """

    def __init__(self, path: Path, settings: LlmSettings) -> None:
        check_header(path)
        self._settings = settings
        self._path = path
        self._cancel: CancelToken | None = None
        self._lock = threading.RLock()
        self._sampler: Any = None
        self._sampler_settings: LlmSettings | None = None
        self._threads = settings.threads
        self.tokens: list[int] = []  # what the context holds
        _last_lines.clear()
        llama_cpp.llama_backend_init()
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = settings.gpu_layers
        self._model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
        self._ctx: Any = None
        if not self._model:
            raise ModelIncompatibleError(
                "llama.cpp cannot load {file}: {reason}", file=str(path), reason=self._reason("no reason given")
            )
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self._abort = llama_cpp.ggml_abort_callback(lambda _: self._cancel is not None and self._cancel.is_set())
        context = llama_cpp.llama_context_default_params()
        context.n_ctx = settings.n_ctx
        context.n_batch = _BATCH
        context.n_ubatch = _UBATCH
        context.n_threads = context.n_threads_batch = settings.threads
        context.type_k = context.type_v = _KV_TYPES[settings.kv_type]
        wants_flash = settings.flash_attention or settings.kv_type != "f16"  # a quantised V needs it
        context.flash_attn_type = (
            llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED if wants_flash else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        context.abort_callback = self._abort
        context.no_perf = True
        self._ctx = llama_cpp.llama_init_from_model(self._model, context)
        if not self._ctx:
            reason = self._reason("not enough memory?")
            self.close()
            raise ModelIncompatibleError("llama.cpp cannot run {file}: {reason}", file=str(path), reason=reason)
        self.n_ctx = int(llama_cpp.llama_n_ctx(self._ctx))

    @staticmethod
    def _reason(otherwise: str) -> str:
        return _last_lines[-1][:200] if _last_lines else otherwise

    def close(self) -> None:
        """Free context and model. Closing twice is harmless."""
        with self._lock:
            self._free_sampler()
            if self._ctx:
                llama_cpp.llama_free(self._ctx)
                self._ctx = None
            if self._model:
                llama_cpp.llama_model_free(self._model)
                self._model = None

    @property
    def closed(self) -> bool:
        return not self._ctx

    def use(self, settings: LlmSettings) -> None:
        """Sampler from the next token on, threads from the next computation on."""
        self._settings = settings

    def chat_template(self) -> str | None:
        """The template of the file, or None."""
        raw = llama_cpp.llama_model_chat_template(self._model, None)
        return None if not raw else raw.decode("utf-8", "replace")

    def token_text(self, token: int) -> str:
        """A token as the template writes it, control tokens included."""
        return self._piece(token, special=True).decode("utf-8", "replace") if token >= 0 else ""

    @property
    def bos(self) -> int:
        return int(llama_cpp.llama_vocab_bos(self._vocab))

    @property
    def eos(self) -> int:
        return int(llama_cpp.llama_vocab_eos(self._vocab))

    @property
    def adds_bos(self) -> bool:
        return bool(llama_cpp.llama_vocab_get_add_bos(self._vocab))

    def tokenize(self, text: str, special: bool) -> list[int]:
        """Tokens of `text`. special: names of control tokens become them; else they stay text."""
        raw = text.encode("utf-8", "replace")
        size = len(raw) + 8
        buffer = (llama_cpp.llama_token * size)()
        n = llama_cpp.llama_tokenize(self._vocab, raw, len(raw), buffer, size, False, special)
        if n < 0:
            buffer = (llama_cpp.llama_token * -n)()
            n = llama_cpp.llama_tokenize(self._vocab, raw, len(raw), buffer, -n, False, special)
        return list(buffer[:n])

    def _piece(self, token: int, special: bool = False) -> bytes:
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            n = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, size, 0, special)
            if n >= 0:
                return buffer.raw[:n]
            size = -n

    def prefill(self, prompt: Sequence[int], cancel: CancelToken) -> int:
        """Make the context hold exactly `prompt`, reusing what it shares with it.

        Returns:
            How many tokens were computed, at least the last one.
        Raises:
            InferenceError: the context is too small, or llama.cpp failed.
        """
        if not prompt or len(prompt) > self.n_ctx:
            raise InferenceError(
                "A prompt of {n} tokens does not fit a context of {n_ctx}.", n=len(prompt), n_ctx=self.n_ctx
            )
        shared = 0
        for ours, theirs in zip(self.tokens, prompt, strict=False):
            if ours != theirs:
                break
            shared += 1
        shared = min(shared, len(prompt) - 1)
        if not self._keep(shared):
            shared = 0
        for at in range(shared, len(prompt), _BATCH):
            if cancel.is_set() or not self._decode(prompt[at : at + _BATCH], cancel):
                return at - shared
        return len(prompt) - shared

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
        if self._settings.threads != self._threads:
            self._threads = self._settings.threads
            llama_cpp.llama_set_n_threads(self._ctx, self._threads, self._threads)
        buffer = (llama_cpp.llama_token * len(tokens))(*tokens)
        self._cancel = cancel
        try:
            code = llama_cpp.llama_decode(self._ctx, llama_cpp.llama_batch_get_one(buffer, len(tokens)))
        finally:
            self._cancel = None
        if code == 0:
            self.tokens.extend(tokens)
            return True
        n = len(self.tokens)
        memory = llama_cpp.llama_get_memory(self._ctx)
        if not llama_cpp.llama_memory_seq_rm(memory, 0, n, -1):
            llama_cpp.llama_memory_clear(memory, True)
            self.tokens.clear()
        if code == _ABORTED or cancel.is_set():
            return False
        raise InferenceError("The model failed (llama.cpp says {code}: {reason}).", code=code, reason=self._reason("-"))

    def generate(self, max_tokens: int, cancel: CancelToken) -> Iterator[tuple[int, str]]:
        """Tokens after a prefill, each with the characters that it completes (maybe none).

        Ends at the model's own end, after max_tokens, when the context is full, or when cancelled.
        """
        text = codecs.getincrementaldecoder("utf-8")("replace")
        made: list[int] = []
        while len(made) < max_tokens and len(self.tokens) < self.n_ctx and not cancel.is_set():
            token = self._sample(made)
            if llama_cpp.llama_vocab_is_eog(self._vocab, token):
                break
            made.append(token)
            yield token, text.decode(self._piece(token))
            if len(made) >= max_tokens or not self._decode([token], cancel):
                break
        rest = text.decode(b"", True)
        if rest and not cancel.is_set():
            yield -1, rest

    def _sample(self, made: Sequence[int]) -> int:
        settings = self._settings
        if not made or settings is not self._sampler_settings:
            self._free_sampler()
            self._sampler = _sampler_of(settings, llama_cpp.llama_vocab_n_tokens(self._vocab))
            self._sampler_settings = settings
            for token in made[-_PENALTY_WINDOW:]:
                llama_cpp.llama_sampler_accept(self._sampler, token)
        return int(llama_cpp.llama_sampler_sample(self._sampler, self._ctx, -1))

    def _free_sampler(self) -> None:
        if self._sampler is not None:
            llama_cpp.llama_sampler_free(self._sampler)
            self._sampler = None


def _sampler_of(settings: LlmSettings, n_vocab: int) -> Any:  # noqa: ANN401 - a C pointer
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())

    def add(sampler: Any) -> None:  # noqa: ANN401 - a C pointer
        llama_cpp.llama_sampler_chain_add(chain, sampler)

    if settings.repeat_penalty != 1.0:
        add(llama_cpp.llama_sampler_init_penalties(n_vocab, _PENALTY_WINDOW, settings.repeat_penalty, 0.0, 0.0))
    if settings.temperature == 0.0:
        add(llama_cpp.llama_sampler_init_greedy())
        return chain
    if settings.top_k > 0:
        add(llama_cpp.llama_sampler_init_top_k(settings.top_k))
    add(llama_cpp.llama_sampler_init_top_p(settings.top_p, 1))
    if settings.min_p > 0.0:
        add(llama_cpp.llama_sampler_init_min_p(settings.min_p, 1))
    add(llama_cpp.llama_sampler_init_temp(settings.temperature))
    add(llama_cpp.llama_sampler_init_dist(llama_cpp.LLAMA_DEFAULT_SEED if settings.seed < 0 else settings.seed))
    return chain
