"""The two graphs at work: buffers that stay, nothing copied or allocated for a token."""

import threading
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from kazeia_desktop.errors import InferenceError, ModelCorruptError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.stt.ctranslate2_file import WhisperShape
from kazeia_desktop.stt.export import SLOTS

_HIDDEN: Final = np.float32(-1e9)
"""Added to the score of a slot that may not be seen."""
_POLL_S: Final = 0.01
PROMPT: Final = 4  # tokens of the prompt: start, language, task, no timestamps


class Graphs:
    """Encoder and decoder of one model. One thread at a time.

    Args:
        folder: as `export.ensure_graphs` writes it.
    Raises:
        ModelCorruptError: ONNX Runtime cannot load them.
    """

    def __init__(self, folder: Path, shape: WhisperShape, threads: int) -> None:
        try:
            self._encoder = _session(folder / "encoder.onnx", threads, fixed_shapes=False)
            self._decoder = _session(folder / "decoder.onnx", threads, fixed_shapes=True)
        except Exception as error:  # ONNX Runtime raises its own kinds, without a common base
            raise ModelCorruptError(
                "The graphs in {folder} cannot be loaded ({reason}): delete that folder, they are then made again.",
                folder=str(folder),
                reason=str(error).splitlines()[0][:120],
            ) from error
        self._shape = shape
        head = shape.width // shape.n_heads
        self._head = head
        cross = shape.n_heads * head * shape.n_positions
        layers = range(shape.n_layers_decoder)
        self._cross = {f"cross_{kind}_{i}": np.zeros(cross, np.float32) for i in layers for kind in "kv"}
        cache = (shape.n_heads, SLOTS, head)
        self._cache: dict[str, FloatArray] = {
            f"self_{kind}_{i}": np.zeros(cache, np.float32) for i in layers for kind in "kv"
        }
        self.logits = np.zeros(shape.n_vocab, np.float32)
        self._steps = {n: _Step(n, shape.n_heads) for n in (1, PROMPT)}
        self._bindings: dict[int, Any] = {}
        self._n = 0
        self.position = 0
        self.encoder_ms = 0.0
        self.decoder_ms = 0.0
        self.n_steps = 0

    def encode(self, mel: FloatArray, cancel: CancelToken) -> None:
        """Read one window. mel: (n_mels, 2 n). What the decoder attends to is kept; its cache is forgotten.

        A cancel stops it at the encoder's next node, within 100 ms.

        Raises:
            Cancelled: cancel is set; there is then nothing to decode before the next window.
        """
        cancel.raise_if_set()
        started = time.perf_counter()
        self._bindings = {}
        n = mel.shape[1] // 2
        self._n = n
        frames = np.ascontiguousarray(mel[None, :, : 2 * n])
        binding = self._encoder.io_binding()
        _bind(binding.bind_input, "mel", frames)
        for name, buffer in self._cross.items():
            _bind(binding.bind_output, name, self._window(name, buffer))
        self._run_stoppable(self._encoder, binding, cancel)
        self.encoder_ms += (time.perf_counter() - started) * 1000
        self.position = 0
        self._bindings = {size: self._bound(step) for size, step in self._steps.items()}

    def decode(self, tokens: list[int], cancel: CancelToken) -> FloatArray:
        """Feed one token, or the four of the prompt. Returns `logits` (n_vocab,) of the last, overwritten each time.

        Raises:
            Cancelled: cancel is set.
        """
        cancel.raise_if_set()
        if not self._bindings:
            raise InferenceError("The recogniser has heard nothing yet.")
        if len(tokens) not in self._steps or self.position + len(tokens) > SLOTS:
            raise InferenceError("The recogniser's window is full.")
        started = time.perf_counter()
        self._steps[len(tokens)].fill(tokens, self.position)
        self._run(self._decoder, self._bindings[len(tokens)])
        self.position += len(tokens)
        self.decoder_ms += (time.perf_counter() - started) * 1000
        self.n_steps += 1
        return self.logits

    def rewind(self) -> None:
        """Forget what was decoded; the window stays."""
        self.position = 0

    def _window(self, name: str, buffer: FloatArray) -> FloatArray:
        heads, n, head = self._shape.n_heads, self._n, self._head
        shape = (heads, head, n) if name.startswith("cross_k") else (heads, n, head)
        return buffer[: heads * head * n].reshape(shape)

    def _bound(self, step: "_Step") -> Any:  # noqa: ANN401 - ONNX Runtime's own
        binding = self._decoder.io_binding()
        for name in ("tokens", "positions", "slots", "mask"):
            _bind(binding.bind_input, name, getattr(step, name))
        for name, buffer in self._cross.items():
            _bind(binding.bind_input, name, self._window(name, buffer))
        for name, cache in self._cache.items():
            # One buffer as input and output: the graph scatters into it in place.
            _bind(binding.bind_input, name, cache)
            _bind(binding.bind_output, f"{name}_new", cache)
        _bind(binding.bind_output, "logits", self.logits)
        return binding

    def _run_stoppable(self, session: Any, binding: Any, cancel: CancelToken) -> None:  # noqa: ANN401 - ONNX Runtime's own
        """Run in a thread of its own, while this one waits for it or for the cancel token."""
        options = ort.RunOptions()
        done = threading.Event()
        errors: list[InferenceError] = []

        def work() -> None:
            try:
                self._run(session, binding, options)
            except InferenceError as error:
                errors.append(error)
            finally:
                done.set()

        thread = threading.Thread(target=work, name="stt-encoder")
        thread.start()
        try:
            while not done.wait(_POLL_S):
                if cancel.is_set():
                    options.terminate = True
        finally:
            options.terminate = True  # Ctrl-C came: the buffers may not be let go while it runs
            thread.join()
        cancel.raise_if_set()
        if errors:
            raise errors[0]

    @staticmethod
    def _run(session: Any, binding: Any, options: Any = None) -> None:  # noqa: ANN401 - ONNX Runtime's own
        try:
            session.run_with_iobinding(binding, options)
        except Exception as error:  # ONNX Runtime raises its own kinds, without a common base
            raise InferenceError(
                "The recogniser failed ({reason}).", reason=str(error).splitlines()[0][:120]
            ) from error


def _session(file: Path, threads: int, fixed_shapes: bool) -> Any:  # noqa: ANN401 - ONNX Runtime's own
    """fixed_shapes: one plan of the memory serves every run. Where each window has a length of its own a plan for
    each costs memory (474 MB instead of 437 after windows of 15-30 s) and no time is won.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.enable_mem_pattern = fixed_shapes
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return ort.InferenceSession(str(file), options, ["CPUExecutionProvider"])


class _Step:
    """The decoder's small inputs for a fixed number of tokens, overwritten each time."""

    def __init__(self, n: int, n_heads: int) -> None:
        self.tokens = np.zeros(n, np.int64)
        self.positions = np.zeros(n, np.int64)
        self.slots = np.zeros((n_heads, n, 2), np.int64)
        self.slots[:, :, 0] = np.arange(n_heads)[:, None]
        self.mask = np.zeros((n, SLOTS), np.float32)

    def fill(self, tokens: list[int], position: int) -> None:
        self.tokens[:] = tokens
        self.positions[:] = np.arange(position, position + len(tokens))
        self.slots[:, :, 1] = self.positions
        self.mask[:] = _HIDDEN
        for row in range(len(tokens)):
            self.mask[row, : position + row + 1] = 0.0


def _bind(bind: Any, name: str, array: NDArray[Any]) -> None:  # noqa: ANN401 - a bound method of ONNX Runtime
    bind(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
