"""The codec decoder at work: codes to sound, frame by frame, through the graph of `models/convert/codec_graph.py`."""

import threading
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from kazeia_desktop.errors import (
    Cancelled,
    InferenceError,
    ModelCorruptError,
    ModelIncompatibleError,
    ModelMissingError,
)
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.codec_file import check_graph

FILE: Final = "codec.onnx"
_MAX_STATE_BYTES: Final = 1 << 28
"""A stream of the published model keeps 6.3 MB; a file that asks for more than this is damaged."""
_RING: Final = "ring."
"""Begins the names of the states that the graph updates in place: what a run writes there, no other reads before it
is written again, so that they need no second buffer."""
_META: Final = ("samples_per_frame", "sample_rate_hz", "codebook_size", "max_frames")
_ORT_ERRORS: Final[tuple[type[Exception], ...]] = (
    ValueError,
    RuntimeError,
    *(kind for kind in vars(ort_errors).values() if isinstance(kind, type) and issubclass(kind, Exception)),
)
"""ONNX Runtime's exceptions have no base of their own."""


class CodecDecoder:
    """The graph and its weights; any number of streams share it, each from a thread of its own.

    Attributes:
        file: the graph.
        sample_rate_hz, samples_per_frame, codebooks, codebook_size: of the model.
        max_frames: of one run of the graph (8); longer pieces are cut.
    """

    def __init__(self, session: Any, file: Path) -> None:  # noqa: ANN401 - untyped library
        self._session = session
        self.file = file
        self._inputs, self.codebooks = _signature(session, file)
        meta = session.get_modelmeta().custom_metadata_map
        try:
            values = [int(meta[key]) for key in _META]
        except (KeyError, ValueError) as error:
            raise _incompatible(file, repr(error)) from error
        self.samples_per_frame, self.sample_rate_hz, self.codebook_size, self.max_frames = values
        if min(values) < 1 or max(values) > 1 << 20:
            raise _incompatible(file, f"metadata {meta}")

    @classmethod
    def load(cls, model_dir: Path, threads: int) -> "CodecDecoder":
        """Open `codec.onnx` of a converted model and run it once.

        Raises:
            ModelError: it is missing, damaged, or not such a graph.
        """
        file = model_dir / FILE
        if not file.is_file():
            raise ModelMissingError("The codec {file} is missing: run `kazeia models convert` again.", file=str(file))
        check_graph(file)
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        # The generator works on the same cores: waiting threads must leave them to it.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            session = ort.InferenceSession(str(file), options, ["CPUExecutionProvider"])
        except _ORT_ERRORS as error:
            raise _corrupt(file, _first_line(error)) from error
        decoder = cls(session, file)
        try:
            decoder.stream().push(np.zeros((1, decoder.codebooks), np.int32))
        except InferenceError as error:
            raise _corrupt(file, str(error.values.get("reason", error))) from error
        return decoder

    def stream(self) -> "CodecStream":
        """A new stream at the start of an utterance."""
        return CodecStream(self)

    def decode(self, codes: IntArray, cancel: CancelToken | None = None) -> FloatArray:
        """Decode a whole utterance.

        Args:
            codes: (n_frames, codebooks) int32, n_frames may be 0.
        Returns:
            (n_frames * samples_per_frame,) float32 in [-1, 1].
        Raises:
            InferenceError: codes are of another shape or out of range, or the graph failed.
            Cancelled: cancel is set.
        """
        return self.stream().push(codes, cancel)

    def checked(self, codes: IntArray) -> IntArray:
        """The codes as contiguous int32.

        Raises:
            InferenceError: see `decode`.
        """
        array = np.asarray(codes)
        if array.ndim != 2 or array.shape[1] != self.codebooks or array.dtype.kind not in "iu":
            raise InferenceError(
                "The codec takes whole numbers of shape (frames, {codebooks}), not {kind} of shape {shape}.",
                codebooks=self.codebooks,
                kind=str(array.dtype),
                shape=list(array.shape),
            )
        wrong = (array < 0) | (array >= self.codebook_size)
        if wrong.any():
            frame, book = np.argwhere(wrong)[0]
            raise InferenceError(
                "The codec got the code {code} in frame {frame}: codes go from 0 to {last}.",
                code=int(array[frame, book]),
                frame=int(frame),
                last=self.codebook_size - 1,
            )
        return np.ascontiguousarray(array, np.int32)


class CodecStream:
    """The state of one utterance: what the graph remembers, twice, so that a run reads one and writes the other.

    From any thread: `push` and `reset` wait their turn, `stop` does not. Nothing is allocated or copied for a run but
    its codes and its audio.
    """

    def __init__(self, decoder: CodecDecoder) -> None:
        self._decoder = decoder
        first = {name: np.zeros(shape, kind) for name, shape, kind in decoder._inputs}
        second = {name: a if name.startswith(_RING) else np.zeros_like(a) for name, a in first.items()}
        self._states = (first, second)
        self._now = 0
        self._plans: dict[tuple[int, int], _Plan] = {}
        self._lock = threading.Lock()
        self._stopped = False
        self._options: Any = None

    def reset(self) -> None:
        """Back to the start of an utterance; forgets a `stop`."""
        with self._lock:
            self._stopped = False
            for array in self._states[self._now].values():
                array.fill(0)

    def stop(self) -> None:
        """End the run under way, and refuse others until `reset`: `push` raises Cancelled."""
        self._stopped = True
        options = self._options
        if options is not None:
            options.terminate = True

    def push(self, codes: IntArray, cancel: CancelToken | None = None) -> FloatArray:
        """Decode the next frames.

        Args:
            codes: (k, codebooks) int32, k may be 0.
        Returns:
            (k * samples_per_frame,) float32 in [-1, 1].
        Raises:
            InferenceError: codes are of another shape or out of range (the stream stays where it was), or the graph
                failed.
            ModelCorruptError: the graph cannot work.
            Cancelled: cancel is set, looked at before each run of up to max_frames frames, or `stop` was called.
        """
        checked = self._decoder.checked(codes)
        per_frame = self._decoder.samples_per_frame
        audio = np.empty(len(checked) * per_frame, np.float32)
        with self._lock:
            step = self._decoder.max_frames
            for at in range(0, len(checked), step):
                if cancel is not None:
                    cancel.raise_if_set()
                piece = checked[at : at + step]
                audio[at * per_frame : (at + len(piece)) * per_frame] = self._run(piece)
        return audio

    def _run(self, codes: IntArray) -> FloatArray:
        plan = self._plans.get((len(codes), self._now))
        if plan is None:
            plan = _Plan(self._decoder, len(codes), self._states[self._now], self._states[1 - self._now])
            self._plans[len(codes), self._now] = plan
        plan.codes[:] = codes
        options = ort.RunOptions()
        self._options = options
        try:
            if self._stopped:  # looked at after the options are there, so that no `stop` is missed
                raise Cancelled
            self._decoder._session.run_with_iobinding(plan.binding, options)
        except _ORT_ERRORS as error:
            if self._stopped:
                raise Cancelled from error
            if type(error).__module__ == ort_errors.__name__ and "alloc" not in str(error):
                raise _corrupt(self._decoder.file, _first_line(error)) from error  # the codes were looked at
            raise InferenceError("The codec failed ({reason}).", reason=_first_line(error)) from error
        finally:
            self._options = None
        if not np.isfinite(plan.audio).all():
            raise InferenceError("The codec failed ({reason}).", reason="its sound is not finite")
        self._now = 1 - self._now
        return plan.audio


class _Plan:
    """Buffers and binding of a run of k frames in one direction between a stream's two states."""

    def __init__(
        self, decoder: CodecDecoder, k: int, before: dict[str, NDArray[Any]], after: dict[str, NDArray[Any]]
    ) -> None:
        self.codes = np.zeros((k, decoder.codebooks), np.int32)
        self.audio = np.zeros(k * decoder.samples_per_frame, np.float32)
        self.binding = decoder._session.io_binding()
        _bind(self.binding.bind_input, "codes", self.codes)
        _bind(self.binding.bind_output, "audio", self.audio)
        for name, array in before.items():
            _bind(self.binding.bind_input, name, array)
        for name, array in after.items():
            _bind(self.binding.bind_output, f"{name}_next", array)


def _bind(bind: Any, name: str, array: NDArray[Any]) -> None:  # noqa: ANN401 - a bound method of ONNX Runtime
    bind(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)


_State = tuple[str, tuple[int, ...], type[np.generic]]
_KINDS: Final[dict[str, type[np.generic]]] = {"tensor(float)": np.float32, "tensor(int64)": np.int64}


def _signature(session: Any, file: Path) -> tuple[list[_State], int]:  # noqa: ANN401 - untyped library
    """States (name, shape, dtype) and the number of codebooks.

    Raises:
        ModelIncompatibleError: an input or output is not what `codec_graph` writes.
    """
    inputs = {part.name: part for part in session.get_inputs()}
    outputs = {part.name: part for part in session.get_outputs()}
    codes, audio = inputs.pop("codes", None), outputs.pop("audio", None)
    if codes is None or audio is None or codes.type != "tensor(int32)" or audio.type != "tensor(float)":
        raise _incompatible(file, "no codes or audio")
    if len(codes.shape) != 2 or not isinstance(codes.shape[1], int) or codes.shape[1] < 1:
        raise _incompatible(file, f"codes {codes.shape}")
    if {f"{name}_next" for name in inputs} != set(outputs):
        raise _incompatible(file, "its states do not match")
    states: list[_State] = []
    total = 0
    for name, part in inputs.items():
        out = outputs[f"{name}_next"]
        sizes_known = all(isinstance(size, int) and size > 0 for size in part.shape)
        if not sizes_known or part.shape != out.shape or part.type != out.type or part.type not in _KINDS:
            raise _incompatible(file, f"state {name} {part.type} {part.shape}")
        kind = _KINDS[part.type]
        total += int(np.prod(part.shape, dtype=np.float64)) * np.dtype(kind).itemsize
        if total > _MAX_STATE_BYTES:
            raise _incompatible(file, f"state {name} {part.shape}")
        states.append((name, tuple(part.shape), kind))
    return states, int(codes.shape[1])


def _corrupt(file: Path, reason: str) -> ModelCorruptError:
    return ModelCorruptError(
        "The codec {file} cannot be loaded ({reason}): run `kazeia models convert` again.",
        file=str(file),
        reason=reason,
    )


def _incompatible(file: Path, reason: str) -> ModelIncompatibleError:
    return ModelIncompatibleError(
        "The codec {file} is of another kind ({reason}): run `kazeia models convert` again.",
        file=str(file),
        reason=reason,
    )


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0][:120] if lines else type(error).__name__
