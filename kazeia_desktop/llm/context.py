"""What the model has read: a sequence of tokens whose results are kept, so that only new ones are computed."""

import ctypes
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

# isort: off
from kazeia_desktop._native import _core
import llama_cpp

# isort: on
import numpy as np

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.llm.checkpoints import Checkpoint, Checkpoints
from kazeia_desktop.llm.llama_log import SPOKEN
from kazeia_desktop.llm.pace import Pace
from kazeia_desktop.llm.params import ABORT, context_params
from kazeia_desktop.llm.spot import CPU, Spot
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.core_share import CoreShare
from kazeia_desktop.settings.schema import LlmSettings

_SEEN_AGAIN: Final = 8
"""Tokens that must agree before two stretches of a conversation count as the same."""
_ABORTED: Final = 2  # llama_decode's answer


class LlamaContext:
    """One context of a loaded model. One thread at a time; `use` may come from any.

    Args:
        model: llama.cpp's handle; stays the caller's, and loaded until `close`.
        n_tokens: of its vocabulary.
        share: tells how many cores the voice leaves; None: all.
        spot: where it is computed.
    Raises:
        InferenceError: with llama.cpp's own reason.

    Attributes:
        tokens: what it holds.
        n_ctx: how many it can hold: the setting's, at most what the model was trained for.
        pace: how many threads write.
        goes_back: it can forget any number of last tokens; else only go back to a checkpoint.
    """

    def __init__(
        self,
        model: Any,  # noqa: ANN401 - a C pointer
        n_tokens: int,
        settings: LlmSettings,
        share: CoreShare | None = None,
        spot: Spot = CPU,
    ) -> None:
        self._settings = settings
        self._share = share
        self._n_tokens = n_tokens
        self._threads = (0, 0)
        self._cancel: CancelToken | None = None
        self.pace = Pace()
        self.tokens: list[int] = []
        self.handle: Any = llama_cpp.llama_init_from_model(model, context_params(model, settings, spot))
        if not self.handle:
            raise InferenceError(
                "llama.cpp cannot make a context: {reason}", reason=SPOKEN.reason("not enough memory?")
            )
        self.n_ctx = min(int(llama_cpp.llama_n_ctx(self.handle)), settings.n_ctx)
        self._batch = min(settings.batch, int(llama_cpp.llama_n_batch(self.handle)))
        self.goes_back = not (llama_cpp.llama_model_is_recurrent(model) or llama_cpp.llama_model_is_hybrid(model))
        self.checkpoints = Checkpoints(self.handle, 0 if self.goes_back else settings.checkpoint_mb << 20)
        self._logits: FloatArray | None = None
        self._seen_at = 0
        self._seen: FloatArray = np.zeros(0, np.float32)  # llama.cpp's own, not a copy

    def close(self) -> None:
        """Free it; closing twice is harmless."""
        if self.handle:
            llama_cpp.llama_free(self.handle)
            self.handle = None
        self.checkpoints.put([])
        self.tokens.clear()

    def use(self, settings: LlmSettings) -> None:
        """Threads from the next computation on, memory for checkpoints from the next one on."""
        self._settings = settings
        if not self.goes_back:
            self.checkpoints.limit_bytes = settings.checkpoint_mb << 20

    def prefill(self, prompt: Sequence[int], cancel: CancelToken, cut: bool = False, mark: int = 0) -> int:
        """Make the context hold exactly `prompt`, computing only what it does not hold yet.

        Args:
            cut: a stretch after the common beginning left the conversation; what follows it is moved up where
                the model can, instead of being computed anew (10 s for a full context of 4096).
            mark: other prompts will begin with so many tokens of this one: it can be come back to.
        Returns:
            How many tokens were computed. Whether all were: `tokens` is `prompt` then.
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
        begin = at = self._ready_for(shared, len(prompt))
        while at < len(prompt):
            end = min(at + self._batch, len(prompt))
            if not self.goes_back and at < mark < end:
                end = mark
            if cancel.is_set() or not self._decode(prompt[at:end], cancel):
                return max(0, len(self.tokens) - begin)
            if not self.goes_back:
                self.checkpoints.take(end, self.logits())
            at = end
        return len(prompt) - begin

    def _ready_for(self, shared: int, n_prompt: int) -> int:
        """Keep of the first `shared` tokens what can be kept, so that a prompt's last logits come out; how many."""
        if self.goes_back:
            self.keep(min(shared, n_prompt - 1))
        elif shared == len(self.tokens) < n_prompt:
            self.checkpoints.take(shared)  # to come back here when this question is put otherwise
        else:
            self.keep(shared)
            for end in (n_prompt, n_prompt - 1):  # the very prompt: its checkpoint, or one before
                if len(self.tokens) == n_prompt and self._logits is None:
                    self._go_back(end)
        return len(self.tokens)

    def step(self, token: int, cancel: CancelToken) -> bool:
        """Read one more token; false when cancelled.

        Raises:
            InferenceError: llama.cpp failed.
        """
        return self._decode([token], cancel)

    def logits(self) -> FloatArray:
        """(n_tokens,) float32 after the last token that was read; valid until the next one.

        Raises:
            InferenceError: there are none.
        """
        if self._logits is not None:
            return self._logits
        address = _core.last_logits(self.handle)
        if not address:
            raise InferenceError("The model has read nothing that it could answer.")
        if address != self._seen_at:  # numpy takes 40 us to look at memory, between two tokens
            at = (ctypes.c_float * self._n_tokens).from_address(address)
            self._seen_at, self._seen = address, np.ctypeslib.as_array(at)
        return self._seen

    def _move_up(self, shared: int, prompt: Sequence[int]) -> None:
        """Take out the stretch after `shared` that `prompt` does not have, where what follows can be found."""
        rest = prompt[shared:]
        begin = max(range(shared, len(self.tokens)), key=lambda at: common_length(self.tokens, rest, at))
        if common_length(self.tokens, rest, begin) < _SEEN_AGAIN:
            return
        memory = llama_cpp.llama_get_memory(self.handle)
        if not llama_cpp.llama_memory_can_shift(memory):
            return
        if llama_cpp.llama_memory_seq_rm(memory, 0, shared, begin):
            llama_cpp.llama_memory_seq_add(memory, 0, begin, -1, shared - begin)
            del self.tokens[shared:begin]
            self.checkpoints.forget_from(shared + 1)

    def keep(self, n: int) -> None:
        """Forget all but the first n tokens, and those before them too where the model cannot go back so exactly."""
        if n < len(self.tokens):
            self._go_back(n)

    def _go_back(self, n: int) -> None:
        """Hold at most the first n tokens, whatever state a broken computation left."""
        memory = llama_cpp.llama_get_memory(self.handle)
        self._logits = None
        if self.goes_back:
            if not llama_cpp.llama_memory_seq_rm(memory, 0, n, -1):
                n = 0
        else:
            found = self.checkpoints.go_back(n)
            n = 0 if found is None else found.n
            self._logits = None if found is None else found.logits
        if n == 0:
            llama_cpp.llama_memory_clear(memory, True)
        del self.tokens[n:]

    def _decode(self, tokens: Sequence[int], cancel: CancelToken) -> bool:
        """Compute some tokens; false when cancelled, with the context as it was before or at a checkpoint before."""
        settings = self._settings
        wanted = (settings.threads, settings.prefill_threads or settings.threads)
        threads = wanted if self._share is None else (self._share.left(wanted[0]), self._share.left(wanted[1]))
        if len(tokens) == 1:
            threads = (self.pace.threads(threads[0]), threads[1])
        if threads != self._threads:
            self._threads = threads
            llama_cpp.llama_set_n_threads(self.handle, *threads)
        if cancel is not self._cancel:
            self._cancel = cancel  # llama.cpp looks at its flag until another one is given
            llama_cpp.llama_set_abort_callback(self.handle, ABORT, ctypes.cast(cancel.native_flag, ctypes.c_void_p))
        if len(tokens) == 1:
            began_s = time.perf_counter()
            code = _core.decode_token(self.handle, tokens[0])
            if code == 0:
                self.pace.took(time.perf_counter() - began_s)
        else:
            buffer = (llama_cpp.llama_token * len(tokens))(*tokens)
            code = llama_cpp.llama_decode(self.handle, llama_cpp.llama_batch_get_one(buffer, len(tokens)))
        if code == 0:
            self.tokens.extend(tokens)
            self._logits = None
            return True
        self._go_back(len(self.tokens))
        if code == _ABORTED or cancel.is_set():
            return False
        raise InferenceError(
            "The model failed (llama.cpp says {code}: {reason}).", code=code, reason=SPOKEN.reason("no reason given")
        )

    def save(self, path: Path, max_bytes: int | None = None) -> bool:
        """Write tokens and state to a file of llama.cpp's form; false when it cannot be written or is larger."""
        if not self.tokens:
            return False
        if max_bytes is not None and llama_cpp.llama_state_seq_get_size(self.handle, 0) > max_bytes:
            return False
        tokens = (llama_cpp.llama_token * len(self.tokens))(*self.tokens)
        return bool(llama_cpp.llama_state_seq_save_file(self.handle, os.fsencode(path), 0, tokens, len(tokens)))

    def load(self, path: Path) -> bool:
        """Take over tokens and state of a file; false when it does not fit: then nothing is held."""
        self.keep(0)
        tokens = (llama_cpp.llama_token * self.n_ctx)()
        n = ctypes.c_size_t(0)
        if not llama_cpp.llama_state_seq_load_file(
            self.handle, os.fsencode(path), 0, tokens, self.n_ctx, ctypes.byref(n)
        ):
            llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.handle), True)
            return False
        self.tokens = list(tokens[: n.value])
        self._logits = None
        return True

    def put_away(self) -> "PutAway":
        """A copy of all that is held, for `take_back`."""
        size = llama_cpp.llama_state_seq_get_size(self.handle, 0) if self.tokens else 0
        state = (ctypes.c_uint8 * size)()
        if size and llama_cpp.llama_state_seq_get_data(self.handle, state, size, 0) != size:
            return PutAway([], (ctypes.c_uint8 * 0)(), [])
        return PutAway(list(self.tokens), state, self.checkpoints.copy())

    def take_back(self, away: "PutAway") -> None:
        """Hold again what was put away."""
        self._go_back(0)
        size = len(away.state)
        if size and llama_cpp.llama_state_seq_set_data(self.handle, away.state, size, 0) == size:
            self.tokens = list(away.tokens)
            self.checkpoints.put(away.checkpoints)
        else:
            llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.handle), True)


@dataclass(frozen=True, slots=True)
class PutAway:
    """A context's tokens and state, in memory."""

    tokens: list[int]
    state: "ctypes.Array[ctypes.c_uint8]"
    checkpoints: list[Checkpoint]


def common_length(ours: Sequence[int], theirs: Sequence[int], at: int = 0) -> int:
    """How many tokens of `theirs` stand in `ours` from `at` on."""
    n = 0
    while at + n < len(ours) and n < len(theirs) and ours[at + n] == theirs[n]:
        n += 1
    return n
