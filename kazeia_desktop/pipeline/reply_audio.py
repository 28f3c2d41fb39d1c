"""The sound of the last replies, so that they can be heard again. In memory only, and bounded."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kazeia_desktop.audio.base import Heard
from kazeia_desktop.frames import Clause, FloatArray, SpeechFrame

MAX_BYTES: Final = 32 << 20
"""Eleven minutes of speech at 24 kHz."""
_FULL: Final = 32_767


@dataclass(slots=True)
class KeptClause:
    """A clause as it was spoken. pieces: (n,) int16 at rate_hz."""

    clause: Clause
    rate_hz: int
    pieces: list[NDArray[np.int16]] = field(default_factory=list)

    @property
    def samples(self) -> FloatArray:
        """(n,) float32 in [-1, 1]."""
        joined = np.concatenate(self.pieces) if self.pieces else np.zeros(0, np.int16)
        return joined.astype(np.float32) / np.float32(_FULL)


@dataclass(slots=True)
class _Reply:
    clauses: dict[int, KeptClause] = field(default_factory=dict)
    n_bytes: int = 0
    ended: bool = False


class ReplyAudio:
    """The newest replies up to `max_bytes`; the oldest go first. Thread-safe."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._replies: dict[int, _Reply] = {}
        self._stands_for: dict[int, int] = {}  # a turn that speaks another's reply anew

    def record_as(self, turn_id: int, of: int) -> None:
        """What turn `turn_id` says is the reply of turn `of`, spoken anew."""
        with self._lock:
            self._stands_for = {turn_id: of}
            self._replies.pop(of, None)

    def add(self, clause: Clause, frame: SpeechFrame) -> None:
        """A frame that goes to the loudspeaker."""
        if not len(frame.samples):
            return
        made = (np.clip(np.nan_to_num(frame.samples, nan=0.0), -1.0, 1.0) * _FULL).astype(np.int16)
        with self._lock:
            turn_id = self._stands_for.get(clause.turn_id, clause.turn_id)
            reply = self._replies.setdefault(turn_id, _Reply())
            if reply.ended:
                return
            kept = reply.clauses.setdefault(clause.index, KeptClause(clause, frame.sample_rate_hz))
            kept.pieces.append(made)
            reply.n_bytes += made.nbytes
            while sum(one.n_bytes for one in self._replies.values()) > self._max_bytes:
                oldest = next(iter(self._replies))
                if oldest == turn_id:  # alone too long: none of it, rather than a part that says so
                    self._replies[turn_id] = _Reply(ended=True)
                    return
                del self._replies[oldest]

    def end(self, turn_id: int, heard: Sequence[Heard] | None = None) -> None:
        """The reply is over. heard: it was interrupted, and only this is kept of it."""
        with self._lock:
            of = self._stands_for.pop(turn_id, None)
            reply = self._replies.get(turn_id if of is None else of)
            if reply is None:
                return
            reply.ended = True
            if heard is None:
                return
            if of is not None:
                del self._replies[of]  # it was whole once: the next time it is spoken anew
                return
            played = {part.clause_index: part.played_samples for part in heard}
            for index in list(reply.clauses):
                kept = reply.clauses[index]
                cut = np.concatenate(kept.pieces)[: played.get(index, 0)].copy()
                kept.pieces = [cut]
                if not len(cut):
                    del reply.clauses[index]
            reply.n_bytes = sum(piece.nbytes for kept in reply.clauses.values() for piece in kept.pieces)

    def get(self, turn_id: int) -> tuple[KeptClause, ...]:
        """The clauses of a reply in order; none when it is not kept, or not over yet."""
        with self._lock:
            reply = self._replies.get(turn_id)
            if reply is None or not reply.ended:
                return ()
            return tuple(kept for _, kept in sorted(reply.clauses.items()))

    def drop(self, first: int, last: int) -> None:
        """Forget the replies of the turns `first` to `last`."""
        with self._lock:
            for turn_id in [one for one in self._replies if first <= one <= last]:
                del self._replies[turn_id]

    @property
    def n_bytes(self) -> int:
        """What is kept now."""
        with self._lock:
            return sum(one.n_bytes for one in self._replies.values())
