"""A voice's x-vector from a clip of speech: log-mel frames and the network of a Qwen3-TTS Base model."""

import functools
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import onnxruntime as ort
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from kazeia_desktop.errors import AudioFormatError, InferenceError, ModelCorruptError, ModelIncompatibleError
from kazeia_desktop.formats.problems import header_problem, missing_tensor, tensor_problem, unreadable
from kazeia_desktop.formats.speaker_network import (
    PREFIX,
    STATISTICS,
    ShapeProblem,
    SpeakerLayout,
    build_graph,
    stored_names,
)
from kazeia_desktop.formats.voice_manifest import SPEAKER_ENCODER, load_manifest
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.tts.codec_file import strange_weight

RATE_HZ: Final = 24_000
N_FFT: Final = 1024
HOP: Final = 256
N_MELS: Final = 128
TOP_HZ: Final = 12_000.0
SHORTEST_SAMPLES: Final = 5 * HOP
"""The widest convolution mirrors 4 frames at each end, which takes 5."""
LONGEST_S: Final = 60.0
"""The network holds the whole clip: about 40 KB a frame."""
_LARGEST_GRAPH: Final = 4_000_000
_LARGEST_DILATION: Final = 64
_ORT_ERRORS: Final[tuple[type[Exception], ...]] = (
    ValueError,
    RuntimeError,
    *(kind for kind in vars(ort_errors).values() if isinstance(kind, type) and issubclass(kind, Exception)),
)
"""ONNX Runtime's exceptions have no base of their own."""
_PAD: Final = (N_FFT - HOP) // 2
_POWER_FLOOR: Final = 1e-9
_MEL_FLOOR: Final = 1e-5
_BLOCK_FRAMES: Final = 256
_LINEAR_HZ: Final = 200.0 / 3  # Slaney's scale: linear below 1 kHz ...
_LOG_FROM_HZ: Final = 1000.0
_LOG_STEP: Final = np.log(6.4) / 27.0  # ... then 27 steps for a factor of 6.4


class SpeakerEncoder:
    """The network, loaded. `embed` may be called from any thread.

    Args:
        graph: the ONNX file; its weights stand in a file beside it.
        width: of the x-vector.
        threads: cores used.
        fingerprint: of the weights, as voices are tagged with it.
    Raises:
        ModelMissingError, ModelCorruptError: a file is not there or is not this network.
    """

    def __init__(self, graph: Path, width: int, threads: int = 1, fingerprint: str = "") -> None:
        self._file = graph
        self.fingerprint = fingerprint
        self.width = width
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.enable_cpu_mem_arena = False  # it is used once in a while: memory goes back to the system
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        _check(graph)
        try:
            self._session = ort.InferenceSession(str(graph), options, ["CPUExecutionProvider"])
            (vector,) = self._session.run(None, {"mel": np.zeros((SHORTEST_SAMPLES // HOP, N_MELS), np.float32)})
        except _ORT_ERRORS as error:
            raise _damaged(graph, error) from error
        if np.shape(vector) != (width,) or not np.isfinite(vector).all():
            raise header_problem(graph, "x_vector", np.shape(vector), (width,))

    @classmethod
    def load(cls, model_dir: Path, threads: int = 1) -> "SpeakerEncoder":
        """The encoder of a converted model.

        Raises:
            ModelIncompatibleError: the model has none (CustomVoice, VoiceDesign).
            ModelMissingError, ModelCorruptError: see SpeakerEncoder and load_manifest.
        """
        manifest = load_manifest(model_dir)
        described = manifest.description
        if described.speaker_encoder is None:
            raise ModelIncompatibleError(
                "The voice model {model} cannot learn a voice from a clip: that takes a Base model.",
                model=described.name,
            )
        if described.speaker_encoder.sample_rate_hz != RATE_HZ:
            raise ModelIncompatibleError(
                "The voice model {model} hears at {rate_hz} Hz, which this version of Kazeia does not.",
                model=described.name,
                rate_hz=described.speaker_encoder.sample_rate_hz,
            )
        weights = manifest.files[SPEAKER_ENCODER[1]].sha256
        return cls(model_dir / SPEAKER_ENCODER[0], described.speaker_encoder.width, threads, weights[:16])

    def embed(self, audio: FloatArray) -> FloatArray:
        """The x-vector of a clip.

        Args:
            audio: (n,) float32 mono at 24 kHz, finite, 1280 samples to 60 s.
        Returns:
            (width,) float32.
        Raises:
            AudioFormatError: audio is not that.
            InferenceError: the network gave no numbers; where a weight is to blame, ModelCorruptError names it.
        """
        mel = log_mel(audio)
        try:
            (vector,) = self._session.run(None, {"mel": mel})
        except _ORT_ERRORS as error:
            raise InferenceError(
                "The speaker encoder failed ({reason}).", reason=str(error).splitlines()[0][:120]
            ) from error
        found = np.asarray(vector, np.float32)
        if found.shape != (self.width,) or not np.isfinite(found).all():
            raise strange_weight(self._file) or InferenceError(
                "The speaker encoder {file} gave no voice: convert the model again.", file=str(self._file)
            )
        return found


def log_mel(audio: FloatArray) -> FloatArray:
    """Log-mel frames of a clip, as the official package's `mel_spectrogram`.

    Args:
        audio: (n,) float32 mono at 24 kHz, 1280 samples to 60 s.
    Returns:
        (n // 256, 128) float32.
    Raises:
        AudioFormatError: audio is not that, or not finite.
    Source: HiFi-GAN's features: mirrored ends, periodic Hann window of 1024, magnitude, Slaney mel filters, log.
    """
    if audio.ndim != 1 or audio.dtype != np.float32:
        raise AudioFormatError("A clip of a voice must be one-dimensional float32.")
    if not SHORTEST_SAMPLES <= len(audio) <= LONGEST_S * RATE_HZ:
        raise AudioFormatError(
            "A clip of {seconds:.2f} s cannot become a voice: give 3 to 30 s of speech.", seconds=len(audio) / RATE_HZ
        )
    if not np.isfinite(audio).all():
        raise AudioFormatError("The clip holds samples that are not numbers: it is damaged.")
    padded = np.pad(audio, _PAD, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, N_FFT)[::HOP]
    mel = np.empty((len(windows), N_MELS), np.float32)
    for start in range(0, len(windows), _BLOCK_FRAMES):
        block = windows[start : start + _BLOCK_FRAMES]
        spectrum = np.fft.rfft(block * _window(), axis=1)
        magnitude = np.sqrt(spectrum.real**2 + spectrum.imag**2 + _POWER_FLOOR)
        mel[start : start + len(block)] = np.log(np.maximum(magnitude @ _filters().T, _MEL_FLOOR))
    return mel


@functools.cache
def _window() -> NDArray[np.float64]:
    """The periodic Hann window."""
    return np.hanning(N_FFT + 1)[:-1]


@functools.cache
def _filters() -> NDArray[np.float64]:
    """(128, 513) triangles of equal area on Slaney's mel scale."""
    top = _LOG_FROM_HZ / _LINEAR_HZ + np.log(TOP_HZ / _LOG_FROM_HZ) / _LOG_STEP
    mels = np.linspace(0.0, top, N_MELS + 2)
    edge = _LOG_FROM_HZ / _LINEAR_HZ
    hz = np.where(mels < edge, mels * _LINEAR_HZ, _LOG_FROM_HZ * np.exp(_LOG_STEP * (mels - edge)))
    ramps = hz[:, None] - np.fft.rfftfreq(N_FFT, 1 / RATE_HZ)[None, :]
    widths = np.diff(hz)
    rising, falling = -ramps[:-2] / widths[:-1, None], ramps[2:] / widths[1:, None]
    triangles = np.maximum(0.0, np.minimum(rising, falling)) * (2.0 / (hz[2:] - hz[:-2]))[:, None]
    filters: NDArray[np.float64] = triangles.astype(np.float32).astype(np.float64)  # the official ones are float32
    return filters


def _damaged(graph: Path, error: Exception) -> ModelCorruptError:
    return ModelCorruptError(
        "The speaker encoder {file} cannot be loaded ({reason}): convert the model again.",
        file=str(graph),
        reason=str(error).splitlines()[0][:200] if str(error) else type(error).__name__,
    )


def _check(graph: Path) -> None:
    """See that the file is the graph that its weights' shapes give: ONNX Runtime would trust anything."""
    data = graph.with_name(graph.name + ".data")
    try:
        if (size := graph.stat().st_size) > _LARGEST_GRAPH:
            raise header_problem(graph, "size", size, f"<= {_LARGEST_GRAPH}")
        found = onnx.ModelProto.FromString(graph.read_bytes())
        data_size = data.stat().st_size
    except DecodeError as error:
        raise _damaged(graph, error) from error
    except OSError as error:
        raise unreadable(error.filename or graph, error) from error
    try:
        expected = build_graph(*_read_shapes(graph, found), data.name)
    except ShapeProblem as error:
        name, shape, fits = error.args
        raise tensor_problem(graph, name, "shape", list(shape), list(fits)) from error
    if found != expected:
        raise _first_difference(graph, found, expected)
    end = sum(int(entry.value) for entry in _weights(expected)[-1].external_data if entry.key != "location")
    if data_size != end:
        raise header_problem(data, "size", data_size, end)


def _read_shapes(graph: Path, model: onnx.ModelProto) -> tuple[SpeakerLayout, dict[str, tuple[int, ...]]]:
    """What the file says of itself; nothing in it is believed before the graph made of it equals the file."""
    # protobuf gives a name that is not UTF-8 as bytes
    stored = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer if isinstance(tensor.name, str)}
    n_blocks = sum(name.endswith(".tdnn1.conv.weight") for name in stored)
    scale = 1 + sum(name.startswith(f"{PREFIX}blocks.1.res2net_block.") and name.endswith(".weight") for name in stored)
    told = {}
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Conv" and len(node.input) > 1 and attribute.name == "dilations" and attribute.ints:
                told[node.input[1]] = attribute.ints[0]
    inner = [f"blocks.{i}.res2net_block.blocks.0" for i in range(1, n_blocks + 1)]
    names = [f"{PREFIX}{name}.conv.weight" for name in ("blocks.0", *inner, "mfa")]
    layout = SpeakerLayout(tuple(told.get(name, 0) for name in names), scale, N_MELS)
    for name, dilation in zip(names, layout.dilations, strict=True):
        if not 1 <= dilation <= _LARGEST_DILATION:
            raise tensor_problem(graph, name, "dilation", dilation, f"1..{_LARGEST_DILATION}")
    shapes = {}
    for name, official in stored_names(layout):
        if name not in stored:
            raise missing_tensor(graph, name)
        shapes[official] = stored[name]
    stacked = f"{PREFIX}asp.tdnn.conv.weight"
    if len(shapes[stacked]) == 3:
        shapes[stacked] = (shapes[stacked][0], len(STATISTICS) * shapes[stacked][1], shapes[stacked][2])
    return layout, shapes


def _weights(model: onnx.ModelProto) -> list[onnx.TensorProto]:
    return [tensor for tensor in model.graph.initializer if tensor.data_location == onnx.TensorProto.EXTERNAL]


def _first_difference(graph: Path, found: onnx.ModelProto, expected: onnx.ModelProto) -> ModelCorruptError:
    for tensor, other in zip(found.graph.initializer, expected.graph.initializer, strict=False):
        if tensor != other:
            if tensor.data_type != other.data_type:
                return tensor_problem(graph, other.name, "type", tensor.data_type, other.data_type)
            if tensor.dims != other.dims:
                return tensor_problem(graph, other.name, "shape", list(tensor.dims), list(other.dims))
            told = {entry.key: entry.value for entry in tensor.external_data}
            for entry in other.external_data:
                if told.get(entry.key) != entry.value:
                    return tensor_problem(graph, other.name, entry.key, told.get(entry.key), entry.value)
            return tensor_problem(graph, other.name, "values", _on_one_line(tensor), _on_one_line(other))
    for node, wanted in zip(found.graph.node, expected.graph.node, strict=False):
        if node != wanted:
            return header_problem(graph, f"node {wanted.name}", _on_one_line(node), _on_one_line(wanted))
    return header_problem(graph, "graph", len(found.graph.node), len(expected.graph.node))


def _on_one_line(message: object) -> str:
    return " ".join(str(message).split())
