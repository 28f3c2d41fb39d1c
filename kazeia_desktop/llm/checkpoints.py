"""States to go back to, for models whose memory cannot be shortened.

Attention keeps a row for every token, so any number of last tokens can be taken out. A recurrent layer (Mamba,
gated delta net, short convolution) keeps one state that every token has changed: to go back, a copy of it from
before is needed.
"""

import ctypes
from dataclasses import dataclass
from typing import Any

import llama_cpp

from kazeia_desktop.frames import FloatArray

_PARTIAL = llama_cpp.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY  # only what cannot be shortened


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state after n tokens, and what the model said should come next where that is known."""

    n: int
    state: "ctypes.Array[ctypes.c_uint8]"
    logits: FloatArray | None

    @property
    def n_bytes(self) -> int:
        """Memory that it takes."""
        return len(self.state) + (0 if self.logits is None else self.logits.nbytes)


class Checkpoints:
    """Of one sequence, oldest first, within a bound of memory.

    The first one (the end of the system prompt) and the last ones stay longest: a barge-in and another try go
    back to the last prompt, an edit mostly to a late one, and a full context to the system prompt.

    Args:
        context: llama.cpp's handle.
        limit_bytes: they take at most so much memory together; 0: there are none.
    """

    def __init__(self, context: Any, limit_bytes: int) -> None:  # noqa: ANN401 - a C pointer
        self._context = context
        self.limit_bytes = limit_bytes
        self._kept: list[Checkpoint] = []

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def n_bytes(self) -> int:
        """Memory that all take."""
        return sum(checkpoint.n_bytes for checkpoint in self._kept)

    @property
    def positions(self) -> list[int]:
        """How many tokens each one has read."""
        return [checkpoint.n for checkpoint in self._kept]

    def take(self, n: int, logits: FloatArray | None = None) -> None:
        """Keep the state of now, after n tokens."""
        last = self._kept[-1] if self._kept else None
        if n == 0 or (last is not None and last.n == n and (logits is None or last.logits is not None)):
            return
        size = llama_cpp.llama_state_seq_get_size_ext(self._context, 0, _PARTIAL)
        if not 0 < size <= self.limit_bytes:
            return
        state = (ctypes.c_uint8 * size)()
        if llama_cpp.llama_state_seq_get_data_ext(self._context, state, size, 0, _PARTIAL) != size:
            return
        self.forget_from(n)
        self._kept.append(Checkpoint(n, state, None if logits is None else logits.copy()))
        while self.n_bytes > self.limit_bytes:
            del self._kept[1 if len(self._kept) > 2 else 0]

    def go_back(self, n: int) -> Checkpoint | None:
        """Set the latest state after at most n tokens; None when there is none. Later ones are forgotten."""
        self.forget_from(n + 1)
        while self._kept:
            found = self._kept[-1]
            size = len(found.state)
            if llama_cpp.llama_state_seq_set_data_ext(self._context, found.state, size, 0, _PARTIAL) == size:
                memory = llama_cpp.llama_get_memory(self._context)
                if llama_cpp.llama_memory_seq_rm(memory, 0, found.n, -1):
                    return found
            self._kept.pop()
        return None

    def forget_from(self, n: int) -> None:
        """Those after n tokens and more are of another conversation now."""
        while self._kept and self._kept[-1].n >= n:
            self._kept.pop()

    def copy(self) -> list[Checkpoint]:
        """To `put` again."""
        return list(self._kept)

    def put(self, kept: list[Checkpoint]) -> None:
        """In the place of all."""
        self._kept = list(kept)
