"""The talker as other front ends use it: five calls, embeddings in, hidden states and logits out."""

from collections.abc import Sequence
from typing import Final

from kazeia_desktop import _native
from kazeia_desktop._native import NativeTalkerModel, TalkerError, TalkerModel, ThreadTeam
from kazeia_desktop.errors import InferenceError
from kazeia_desktop.frames import FloatArray

SIDE_BY_SIDE: Final = 4
"""Sequences that go on together on our kernels."""


class TalkerSession:
    """One sequence of the talker, on our kernels or on llama.cpp. One thread at a time; `cancel` from any.

    On our kernels there are further sequences, 1 to 3, beside the one that calls without a number mean, 0.
    """

    def __init__(self, session: _native.NativeTalker | _native.TalkerSession) -> None:
        self._session = session
        self.n_positions = session.n_positions

    @classmethod
    def on_llama(cls, model: TalkerModel, n_positions: int, threads: int, kv_f32: bool) -> "TalkerSession":
        """Raises:
        InferenceError: llama.cpp cannot make one of this length.
        """
        try:
            return cls(_native.TalkerSession(model, n_positions, threads, kv_f32))
        except TalkerError as error:
            raise InferenceError("The voice failed ({reason}).", reason=str(error)) from error

    @classmethod
    def native(cls, model: NativeTalkerModel, team: ThreadTeam, n_positions: int, kv_f32: bool) -> "TalkerSession":
        """On our kernels."""
        return cls(_native.NativeTalker(model, team, n_positions, kv_f32))

    @property
    def n_embd(self) -> int:
        """Width of an embedding and of a hidden state."""
        return self._session.n_embd

    @property
    def n_vocab(self) -> int:
        """Logits of a position: 3072."""
        return self._session.n_vocab

    def reset(self) -> None:
        """Forget the sequence; the kept beginnings of prompts stay."""
        self._session.reset()

    def prefill(self, embeds: FloatArray, n_prefix: int = 0) -> tuple[FloatArray, FloatArray]:
        """Begin a sequence.

        Args:
            embeds: (n, n_embd) float32.
            n_prefix: how many of them are the constant beginning, whose state is kept for later prompts.
        Returns:
            (n_embd,) final-normed hidden state and (n_vocab,) logits of the last position.
        Raises:
            TalkerError: cancelled, longer than n_positions, or llama.cpp failed.
        """
        return self._session.prefill(embeds, n_prefix)

    def decode(self, embed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Append one position, (n_embd,) float32; returns and raises as `prefill`."""
        return self._session.decode(embed)

    step = decode

    @property
    def side_by_side(self) -> int:
        """How many sequences can go on together."""
        return SIDE_BY_SIDE if isinstance(self._session, _native.NativeTalker) else 1

    def take_times_s(self) -> tuple[float, float]:
        """Seconds in layers and in the head since the last call; 0 on llama.cpp, which does not tell."""
        if not isinstance(self._session, _native.NativeTalker):
            return 0.0, 0.0
        layers_ns, head_ns = self._session.take_times_ns()
        return layers_ns * 1e-9, head_ns * 1e-9

    def begin(
        self, sequence: int, embeds: FloatArray, n_prefix: int, n_positions: int
    ) -> tuple[FloatArray, FloatArray]:
        """Begin a sequence beside others, with room for `n_positions`; otherwise as `prefill`."""
        session = self._several()
        if sequence:
            session.reserve(sequence, n_positions)
        return session.prefill_of(embeds, n_prefix, sequence)

    def decode_all(self, sequences: Sequence[int], embeds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Append one position, (n, n_embd), to each of n sequences; each gets what it would get alone.

        Returns:
            (n, n_embd) hidden states and (n, n_vocab) logits.
        Raises:
            TalkerError: cancelled, or one is longer than its room.
        """
        return self._several().decode_all(sequences, embeds)

    def _several(self) -> _native.NativeTalker:
        if not isinstance(self._session, _native.NativeTalker):
            raise TypeError("llama.cpp's talker goes through one sequence at a time")
        return self._session

    def forward(self, embeds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """All positions of a fresh sequence: (n, n_embd) and (n, n_vocab); raises as `prefill`."""
        return self._session.forward(embeds)

    def cancel(self) -> None:
        """End the call under way within some milliseconds, and refuse others until `resume`."""
        self._session.cancel()

    def resume(self) -> None:
        """Accept calls again."""
        self._session.resume()
