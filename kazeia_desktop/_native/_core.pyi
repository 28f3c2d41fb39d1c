"""What native/bindings/ offers.

Arrays given are converted to the type named here and copied where they are not contiguous; those returned are new.
The interpreter's lock is released while a call computes. An object without a word on threads serves one at a time.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kazeia_desktop._native import LlamaBuild

LLAMA_LIBRARY_SHA256: str

def llama_build() -> LlamaBuild: ...
def select_isa(name: str) -> str:
    """Makes all kernels use one of ISAS; "" chooses the best. Returns "", or why not."""

def active_isa() -> str: ...

class Resampler:
    n_taps: int
    def __init__(self, in_hz: int, out_hz: int) -> None: ...
    def push(self, samples: NDArray[np.float32]) -> NDArray[np.float32]: ...
    def flush(self) -> NDArray[np.float32]: ...
    def reset(self) -> None: ...

class ThreadTeam:
    """Threads that compute one thing together, for one user at a time; they sleep meanwhile.

    Raises:
        ValueError: not 1 to 64 threads.
    """

    def __init__(self, n_threads: int) -> None: ...
    @property
    def n_threads(self) -> int: ...

class Pcg32:
    """PCG32, the same numbers everywhere. Source: O'Neill 2014, pcg-random.org."""

    def __init__(self, seed: int, stream: int = 0) -> None: ...
    def next(self) -> int:
        """32 bits."""

    def next_double(self) -> float:
        """Uniform in [0, 1), from two draws."""

class SamplerOptions:
    """temperature 0: the largest logit. top_k 0, top_p 1, repetition_penalty 1: not used."""

    def __init__(self, temperature: float, top_k: int, top_p: float, repetition_penalty: float = 1.0) -> None: ...

class Sampler:
    """Hugging Face's processors in their order: repetition penalty, temperature, top-k, top-p, a draw."""

    def __init__(self) -> None: ...
    def sample(self, logits: ArrayLike, options: SamplerOptions, random: Pcg32, history: ArrayLike) -> int:
        """The token, or -1 where a logit is NaN or +inf, or none is finite.

        Args:
            logits: (n,) float32; -inf is never drawn.
            history: (m,) int32, the tokens to penalise; those outside [0, n) are left out.
        """

def decode_token(context: int, token: int) -> int:
    """llama_decode of one token; context and, below, chain, grammar and vocabulary: addresses of llama.cpp's objects,
    which the caller keeps as long as they are used. Its answer: 0, or what went wrong."""

def last_logits(context: int) -> int:
    """Where the logits of the last token that was read are, once they are computed; 0: there are none."""

def token_piece(vocabulary: int, token: int, special: bool) -> bytes:
    """A token's bytes, maybe part of a character; special: also the name of a control token."""

def is_end(vocabulary: int, token: int) -> bool:
    """Whether the model says with it that it has finished."""

class TokenChooser:
    """Chooses by llama.cpp's samplers, to which only those of n_tokens are shown that they could choose.

    One thread at a time.
    """

    def __init__(self, n_tokens: int) -> None: ...
    def use(self, chain: int, kept: int, window: int) -> None:
        """From the next token on.

        Args:
            kept: how many tokens the chain keeps, once penalties have changed the logits of some of the last `window`
                that were said; 0: any number.
        """

    def keep_to(self, grammar: int) -> None:
        """What is chosen from now on keeps to it; 0: to none."""

    def choose(self, logits: NDArray[np.float32]) -> int:
        """The next token, accepted by chain and grammar, which counts as said; -1 where the grammar leaves none.

        Args:
            logits: (n_tokens,) float32.
        Raises:
            ValueError: another shape, or no chain was given.
        """

    def restart(self) -> None:
        """Nothing counts as said."""

    @property
    def said(self) -> list[int]: ...

Tensor = tuple[str, int, int, NDArray[np.uint8]] | tuple[str, int, int, NDArray[np.uint8], bool]

PACKED_LAYOUT: int
"""Number of the layout that `pack` writes."""
PACKED_ALIGNMENT: int
"""Of packed bytes."""

def pack(type: str, rows: int, cols: int, bytes: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
    """Lay a matrix's rows out for the kernels, in as many bytes.

    Raises:
        ValueError: the bytes are not those of `rows` x `cols`, which are multiples of 8 and 32; or `out` has another
            size or is read-only.
    """

def checksum(bytes: NDArray[np.uint8], seed: int = 0) -> int:
    """64 bits of contiguous bytes, for damage and not against intent. seed: the sum of what comes before."""

class CodePredictorModel:
    """The weights, shareable between threads.

    Args:
        shape: "hidden", "layers", "heads", "kv_heads", "head_dim", "ffn", "rope_theta", "rms_norm_eps", "codebooks",
            "vocab".
        talker_hidden: width of the talker's states and of all embeddings.
        talker_vocab: rows of codebook 0's embedding.
        tensors: name in code_predictor.gguf -> (type, rows, columns, bytes, packed): "f32", "f16", "q8_0" or "q4_0",
            contiguous uint8, and whether it was written by `pack`; False where left out. A vector has one row. What is
            packed and the arrays called codec_embd.* are kept and read in place, all others are copied.
    Raises:
        ValueError: naming the tensor that is missing or does not fit.
    """

    def __init__(
        self,
        shape: dict[str, float],
        talker_hidden: int,
        talker_vocab: int,
        tensors: Mapping[str, Tensor],
    ) -> None: ...
    @property
    def n_bytes_per_frame(self) -> int:
        """Bytes of weights that one frame reads."""

class CodePredictor:
    """One voice's state. Its team may serve others too, but not at the same time."""

    def __init__(self, model: CodePredictorModel, team: ThreadTeam) -> None: ...
    def predict(self, hidden: ArrayLike, code0: int, options: SamplerOptions, random: Pcg32) -> NDArray[np.int32]:
        """The codes of codebooks 1 to 15, (15,) int32; the same for every number of threads.

        Args:
            hidden: (talker_hidden,) float32, the talker's final-normed state.
        Raises:
            ValueError: hidden has another shape, or code0 is none of codebook 0.
            RuntimeError: the figures are not finite.
        """

    def predict_all(
        self, hidden: ArrayLike, code0: Sequence[int], options: Sequence[SamplerOptions], random: Sequence[Pcg32]
    ) -> NDArray[np.int32]:
        """Frames of different sequences, each weight read once for all: (n, 15) int32, each as `predict` gives it.

        Args:
            hidden: (n, talker_hidden) float32; n is 1 to 4.
        Raises:
            ValueError: another shape or number, or a code0 that is none of codebook 0.
            RuntimeError: the figures of one are not finite.
        """

    def logits(self, hidden: ArrayLike, codes: ArrayLike) -> NDArray[np.float32]:
        """(15, vocab) float32, teacher-forced on codes: (16,) int32.

        Raises:
            ValueError: another shape, or a code that is none of codebook 0.
            IndexError: a code that is none of its codebook.
        """

    def frame_embedding(self, codes: ArrayLike, text: ArrayLike | None) -> NDArray[np.float32]:
        """What the talker hears of a frame: the embeddings of its 16 codes, and text's, (talker_hidden,) float32.

        Raises:
            ValueError: codes is not (16,), or text not (talker_hidden,).
            IndexError: a code that is none of its codebook.
        """

    def take_times_ns(self) -> tuple[int, int, int]:
        """Time of layers, heads and sampling, in nanoseconds, since the last call."""

class TalkerError(Exception):
    """A file that llama.cpp cannot use, or a call that failed; one plain line."""

class TalkerModel:
    """talker.gguf, mapped; shareable between sessions and threads.

    The file must have been checked: llama.cpp ends the process on some malformed ones.

    Raises:
        TalkerError: llama.cpp cannot load it.
    """

    def __init__(self, path: str, vocab_only: bool = False) -> None: ...
    @property
    def n_embd(self) -> int: ...
    def tokenize(self, text: str, special: bool) -> NDArray[np.int32]:
        """(n,) int32, without a beginning token; special: text such as <|im_end|> becomes its token."""

class TalkerSession:
    """One sequence. cancel() may come from any thread.

    Raises:
        TalkerError: llama.cpp cannot hold that many positions.
    """

    def __init__(self, model: TalkerModel, n_positions: int, n_threads: int, kv_f32: bool = False) -> None: ...
    @property
    def n_embd(self) -> int: ...
    @property
    def n_vocab(self) -> int: ...
    @property
    def n_positions(self) -> int: ...
    @property
    def length(self) -> int:
        """Positions so far."""

    def reset(self) -> None:
        """Forgets the sequence and the kept beginning."""

    def prefill(self, embeds: ArrayLike, n_prefix: int = 0) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Begins a sequence; the state of its first n_prefix positions is kept for the next that begins with them.

        Args:
            embeds: (n, n_embd) float32.
        Returns:
            hidden (n_embd,) and logits (n_vocab,) of the last position.
        Raises:
            ValueError: another shape.
            TalkerError: too long, cancelled, or n_prefix is not below n.
        """

    def decode(self, embed: ArrayLike) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Appends one position, (n_embd,); returns and raises as prefill does."""

    def forward(self, embeds: ArrayLike) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """All positions of a new sequence: hidden (n, n_embd) and logits (n, n_vocab)."""

    def cancel(self) -> None:
        """Stops a call under way within milliseconds; all later ones raise TalkerError until resume()."""

    def resume(self) -> None: ...
    def set_threads(self, n_threads: int) -> None: ...

class NativeTalkerModel:
    """The talker's weights, packed for Kazeia's own kernels; shareable between sessions and threads.

    Args:
        shape: as CodePredictorModel's, without "codebooks" and "vocab".
        vocab: rows of output.weight.
        tensors: as CodePredictorModel's: blk.*, output_norm.weight and output.weight.
    Raises:
        ValueError: naming the tensor that is missing or does not fit.
    """

    def __init__(self, shape: dict[str, float], vocab: int, tensors: Mapping[str, Tensor]) -> None: ...
    @property
    def n_bytes(self) -> int:
        """Bytes of weights that one position reads."""

class NativeTalker:
    """The talker on Kazeia's own kernels; the calls of TalkerSession. Its team may serve others in between.

    Beside sequence 0, which those calls mean, there are 1 to 3, which go on together with it or each other.
    """

    def __init__(self, model: NativeTalkerModel, team: ThreadTeam, n_positions: int, kv_f32: bool = False) -> None: ...
    @property
    def n_embd(self) -> int: ...
    @property
    def n_vocab(self) -> int: ...
    @property
    def n_positions(self) -> int: ...
    @property
    def length(self) -> int: ...
    def reset(self) -> None: ...
    def prefill(self, embeds: ArrayLike, n_prefix: int = 0) -> tuple[NDArray[np.float32], NDArray[np.float32]]: ...
    def decode(self, embed: ArrayLike) -> tuple[NDArray[np.float32], NDArray[np.float32]]: ...
    def forward(self, embeds: ArrayLike) -> tuple[NDArray[np.float32], NDArray[np.float32]]: ...
    def cancel(self) -> None: ...
    def resume(self) -> None: ...
    def take_times_ns(self) -> tuple[int, int]:
        """Nanoseconds in layers and in the head since the last call."""

    def reserve(self, sequence: int, n_positions: int) -> None:
        """Makes room in sequence 1 to 3; forgets what it held where it must grow.

        Raises:
            IndexError: another sequence.
            TalkerError: more than n_positions.
        """

    def prefill_of(
        self, embeds: ArrayLike, n_prefix: int, sequence: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """As prefill, of the given sequence; IndexError where it has no room."""

    def decode_all(
        self, sequences: Sequence[int], embeds: ArrayLike
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Appends one position to each sequence, each weight read once for all; none depends on the others.

        Args:
            embeds: (n, n_embd) float32, a row for each sequence; n is 1 to 4.
        Returns:
            hidden (n, n_embd) and logits (n, n_vocab).
        Raises:
            ValueError: another shape, or a sequence twice.
            IndexError: a sequence without room.
            TalkerError: one is too long, or cancelled.
        """
