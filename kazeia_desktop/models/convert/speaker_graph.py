"""The speaker encoder (ECAPA-TDNN) of a Qwen3-TTS Base model as an ONNX graph, without PyTorch.

mel (n_frames, n_mels) -> x_vector (width), float32; n_frames is free. The weights stand in a file beside the graph
and are written one after the other, so that no more than one is in memory.

Source: ECAPA-TDNN, arXiv:2005.07143; layer order and padding as Qwen3TTSSpeakerEncoder of the official package.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from kazeia_desktop.errors import ModelCorruptError, ModelIncompatibleError
from kazeia_desktop.formats.problems import key_problem, tensor_problem
from kazeia_desktop.frames import FloatArray

GetTensor = Callable[[str], FloatArray]
"""Name -> tensor, float32 in the official shape; raises a ModelError that names file and tensor."""

PREFIX: Final = "speaker_encoder."
_OPSET: Final = 20
_ALIGNMENT: Final = 64
"""Of each tensor in the weights' file: a cache line, so that a memory map of it can be used as it is."""
_VARIANCE_FLOOR: Final = 1e-12
_DEFAULTS: Final[Mapping[str, Sequence[int]]] = {
    "enc_kernel_sizes": (5, 3, 3, 3, 1),
    "enc_dilations": (1, 2, 3, 4, 1),
}
"""What the official configuration class has where config.json is silent, as it is in all published models."""
_RES2NET_SCALE: Final = 8
_N_MELS: Final = 128


@dataclass(frozen=True, slots=True)
class _Layout:
    """What the tensors' shapes do not tell. dilations: stem, SE-Res2Net blocks, aggregation."""

    kernels: tuple[int, ...]
    dilations: tuple[int, ...]
    scale: int
    n_mels: int

    @property
    def n_blocks(self) -> int:
        return len(self.dilations) - 2


def write_speaker_graph(path: Path, get: GetTensor, config: Mapping[str, object], source: Path | None = None) -> int:
    """Write the graph at `path` and its weights at `path` + ".data".

    Args:
        get: see GetTensor; asked once for each tensor of `tensor_names`, in the order of use.
        config: `speaker_encoder_config` of the model's config.json; may be empty. Sizes come from the tensors, and
            where the configuration has them they must agree.
        source: the file that is named when a tensor has the wrong shape.
    Returns:
        the x-vector's width.
    Raises:
        ModelCorruptError: a tensor has a shape that does not fit, or values that are not numbers.
        ModelIncompatibleError: the configuration is of another network.
        OSError: a file cannot be written.
    """
    layout = _layout(config, source or path)
    data = path.with_name(path.name + ".data")
    with data.open("wb") as file:
        graph = _Graph(file, data.name, get, source or path)
        x = graph.node("Unsqueeze", graph.node("Transpose", "mel", perm=[1, 0]), graph.ints(0))  # (1, n_mels, n_frames)
        x = graph.tdnn(x, "blocks.0", layout, 0, layout.n_mels)
        width = graph.width_of(x)
        blocks = []
        for i in range(1, layout.n_blocks + 1):
            x = _se_res2net(graph, x, f"blocks.{i}", layout, i, width)
            blocks.append(x)
        x = graph.node("Concat", *blocks, axis=1) if len(blocks) > 1 else blocks[0]
        x = graph.tdnn(x, "mfa", layout, -1, width * len(blocks))
        n_channels = graph.width_of(x)
        x = _statistics(graph, x, n_channels)
        x = graph.conv(x, "fc", (1, 1), 2 * n_channels)
        n_out = graph.width_of(x)
        graph.node("Squeeze", x, graph.ints(0, 2), output="x_vector")
        if config.get("enc_dim", n_out) != n_out:
            raise key_problem(source or path, "enc_dim", "value", config["enc_dim"], n_out)
        model = graph.model(layout.n_mels, n_out)
    path.write_bytes(model.SerializeToString())
    return n_out


def tensor_names(config: Mapping[str, object]) -> Iterator[str]:
    """The official names of all the tensors that `write_speaker_graph` asks for, in its order."""
    layout = _layout(config, Path("config.json"))
    convolutions = ["blocks.0.conv"]
    for i in range(1, layout.n_blocks + 1):
        inner = [f"res2net_block.blocks.{j}.conv" for j in range(layout.scale - 1)]
        parts = ["tdnn1.conv", *inner, "tdnn2.conv", "se_block.conv1", "se_block.conv2"]
        convolutions += [f"blocks.{i}.{part}" for part in parts]
    for name in [*convolutions, "mfa.conv", "asp.tdnn.conv", "asp.conv", "fc"]:
        yield f"{PREFIX}{name}.weight"
        yield f"{PREFIX}{name}.bias"


_MMPROJ_WHOLE: Final = {
    "blocks.0.conv": "a.conv1d.0",
    "mfa.conv": "a.conv_out",
    "asp.conv": "a.asp_attn",
    "asp.tdnn.conv": "a.asp_tdnn",
    "fc": "mm.a.fc",
}
_MMPROJ_BLOCK: Final = {
    "tdnn1.conv": "conv_pw1",
    "tdnn2.conv": "conv_pw2",
    "se_block.conv1": "se_conv1",
    "se_block.conv2": "se_conv2",
}


def mmproj_name(official: str) -> str:
    """The name that llama.cpp's converter gives a speaker-encoder tensor in the mmproj GGUF.

    Args:
        official: for example "speaker_encoder.blocks.1.res2net_block.blocks.0.conv.weight" (a.blk.1.res2.0.weight).
    Raises:
        ModelIncompatibleError: not a tensor of this network.
    """
    inner, _, kind = official.removeprefix(PREFIX).rpartition(".")
    if inner in _MMPROJ_WHOLE:
        return f"{_MMPROJ_WHOLE[inner]}.{kind}"
    parts = inner.split(".")
    if parts[0] == "blocks" and len(parts) > 2:
        part = ".".join(parts[2:])
        if part in _MMPROJ_BLOCK:
            return f"a.blk.{parts[1]}.{_MMPROJ_BLOCK[part]}.{kind}"
        if parts[2:4] == ["res2net_block", "blocks"]:
            return f"a.blk.{parts[1]}.res2.{parts[4]}.{kind}"
    raise ModelIncompatibleError("The speaker encoder has no tensor {name!r}.", name=official)


def speaker_weights_from_mmproj(get: GetTensor) -> GetTensor:
    """A getter by official names over one by mmproj names.

    A kernel of one step may come without its last axis, and the file's converter may have dropped it: it is put back.
    """

    def official(name: str) -> FloatArray:
        tensor = get(mmproj_name(name))
        return tensor[:, :, None] if name.endswith(".weight") and tensor.ndim == 2 else tensor

    return official


def _layout(config: Mapping[str, object], source: Path) -> _Layout:
    lists = {}
    for key, default in _DEFAULTS.items():
        value = config.get(key, default)
        listed = value if isinstance(value, list | tuple) else ()
        if len(listed) < 3 or not all(type(item) is int and 0 < item < 64 for item in listed):
            raise key_problem(source, key, "value", value, list(default))
        lists[key] = tuple(listed)
    kernels, dilations = lists["enc_kernel_sizes"], lists["enc_dilations"]
    if len(kernels) != len(dilations):
        raise key_problem(source, "enc_dilations", "length", len(dilations), len(kernels))
    scale = config.get("enc_res2net_scale", _RES2NET_SCALE)
    if type(scale) is not int or not 2 <= scale <= 64:
        raise key_problem(source, "enc_res2net_scale", "value", scale, _RES2NET_SCALE)
    n_mels = config.get("mel_dim", _N_MELS)
    if type(n_mels) is not int or not 1 <= n_mels <= 4096:
        raise key_problem(source, "mel_dim", "value", n_mels, _N_MELS)
    return _Layout(kernels, dilations, scale, n_mels)


def _se_res2net(graph: "_Graph", x: str, name: str, layout: _Layout, i: int, width: int) -> str:
    """1x1 convolution, a chain of dilated ones over slices of the channels, 1x1, gate; all added to `x`."""
    y = graph.conv(x, f"{name}.tdnn1.conv", (1, 1), width, n_out=width, relu=True)
    if width % layout.scale:
        raise graph.wrong(f"{name}.tdnn1.conv.weight", "rows", width, f"{layout.scale} * n")
    size = width // layout.scale
    parts = graph.split(y, layout.scale)
    done = [parts[0]]
    for j, part in enumerate(parts[1:]):
        entering = part if j == 0 else graph.node("Add", part, done[-1])
        inner = f"{name}.res2net_block.blocks.{j}.conv"
        shape = (layout.kernels[i], layout.dilations[i])
        done.append(graph.conv(entering, inner, shape, size, n_out=size, relu=True))
    y = graph.node("Concat", *done, axis=1)
    y = graph.conv(y, f"{name}.tdnn2.conv", (1, 1), width, n_out=width, relu=True)
    gate = graph.node("ReduceMean", y, graph.ints(2), keepdims=1)
    gate = graph.conv(gate, f"{name}.se_block.conv1", (1, 1), width, relu=True)
    gate = graph.conv(gate, f"{name}.se_block.conv2", (1, 1), graph.width_of(gate), n_out=width)
    return graph.node("Add", graph.node("Mul", y, graph.node("Sigmoid", gate)), x)


def _statistics(graph: "_Graph", x: str, width: int) -> str:
    """Mean and deviation over time, each frame weighted by attention: (1, 2 width, 1)."""
    mean = graph.node("ReduceMean", x, graph.ints(2), keepdims=1)
    centred = graph.node("Sub", x, mean)
    variance = graph.node("ReduceMean", graph.node("Mul", centred, centred), graph.ints(2), keepdims=1)
    # The official layer looks at (x, mean, deviation) stacked. Mean and deviation are the same in each frame, so
    # their share is computed once and added: a third of the work, and no stack in memory.
    name = "asp.tdnn.conv"
    weight = graph.weight(f"{name}.weight", (None, 3 * width, 1))
    bias = graph.weight(f"{name}.bias", (weight.shape[0],))
    parts = [
        graph.node(
            "Conv", y, graph.store(f"{name}.weight.{i}", weight[:, i * width : (i + 1) * width]), kernel_shape=[1]
        )
        for i, y in enumerate((x, mean, graph.deviation(variance)))
    ]
    shift = graph.node("Add", parts[1], graph.node("Add", parts[2], graph.store(f"{name}.bias", bias[None, :, None])))
    hidden = graph.node("Tanh", graph.node("Relu", graph.node("Add", parts[0], shift)))
    attention = graph.conv(hidden, "asp.conv", (1, 1), weight.shape[0], n_out=width)
    attention = graph.node("Softmax", attention, axis=2)
    mean = graph.node("ReduceSum", graph.node("Mul", attention, x), graph.ints(2), keepdims=1)
    centred = graph.node("Sub", x, mean)
    weighted = graph.node("Mul", attention, graph.node("Mul", centred, centred))
    variance = graph.node("ReduceSum", weighted, graph.ints(2), keepdims=1)
    return graph.node("Concat", mean, graph.deviation(variance), axis=1)


class _Graph:
    """Nodes of the graph while it is written; its weights go to `file` at once."""

    def __init__(self, file: BinaryIO, location: str, get: GetTensor, source: Path) -> None:
        self._file, self._location, self._get, self._source = file, location, get, source
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._widths: dict[str, int] = {}

    def wrong(self, name: str, field: str, found: object, expected: object) -> ModelCorruptError:
        """The error for a tensor that does not fit."""
        return tensor_problem(self._source, PREFIX + name, field, found, expected)

    def weight(self, name: str, shape: tuple[int | None, ...]) -> FloatArray:
        """A tensor of the checkpoint; None in `shape` is any length."""
        tensor = self._get(PREFIX + name)
        fits = tensor.ndim == len(shape) and all(s in (None, n) for s, n in zip(shape, tensor.shape, strict=True))
        if not fits or not tensor.size:
            raise self.wrong(name, "shape", list(tensor.shape), ["n" if s is None else s for s in shape])
        if not np.isfinite(tensor).all():
            raise self.wrong(name, "values", "inf, nan", "finite")
        return tensor

    def store(self, name: str, value: FloatArray) -> str:
        """Write `value` to the weights' file."""
        raw = np.ascontiguousarray(value, "<f4")
        self._file.write(b"\0" * (-self._file.tell() % _ALIGNMENT))
        tensor = TensorProto(name=PREFIX + name, data_type=TensorProto.FLOAT, dims=raw.shape)
        tensor.data_location = TensorProto.EXTERNAL
        for key, told in (("location", self._location), ("offset", self._file.tell()), ("length", raw.nbytes)):
            tensor.external_data.add(key=key, value=str(told))
        self._file.write(raw.data)
        self._constants.append(tensor)
        return PREFIX + name

    def constant(self, value: NDArray[Any]) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(value, name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:  # noqa: ANN401 - ONNX's own
        output = output or f"t{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [output], name=f"{kind}_{output}", **attributes))
        return output

    def width_of(self, x: str) -> int:
        """Channels of what `conv` gave."""
        return self._widths[x]

    def split(self, x: str, n: int) -> list[str]:
        """`n` equal slices of the channels."""
        outputs = [f"{x}_{i}" for i in range(n)]
        self._nodes.append(helper.make_node("Split", [x], outputs, name=f"Split_{x}", axis=1, num_outputs=n))
        return outputs

    def deviation(self, variance: str) -> str:
        return self.node("Sqrt", self.node("Max", variance, self.constant(np.array(_VARIANCE_FLOOR, np.float32))))

    def tdnn(self, x: str, name: str, layout: _Layout, i: int, n_in: int) -> str:
        return self.conv(x, f"{name}.conv", (layout.kernels[i], layout.dilations[i]), n_in, relu=True)

    def conv(
        self, x: str, name: str, kernel: tuple[int, int], n_in: int, n_out: int | None = None, relu: bool = False
    ) -> str:
        """A convolution over time whose input is mirrored at both ends, so that the length stays.

        Args:
            kernel: (steps, dilation).
            n_out: None where the tensor alone tells it.
        """
        size, dilation = kernel
        weight = self.weight(f"{name}.weight", (n_out, n_in, size))
        bias = self.weight(f"{name}.bias", (weight.shape[0],))
        inputs = [self.store(f"{name}.weight", weight), self.store(f"{name}.bias", bias)]
        reach = dilation * (size - 1)
        if reach:
            left = reach // 2
            x = self.node("Pad", x, self.ints(0, 0, left, 0, 0, reach - left), mode="reflect")
        y = self.node("Conv", x, *inputs, kernel_shape=[size], dilations=[dilation])
        if relu:
            y = self.node("Relu", y)
        self._widths[y] = weight.shape[0]
        return y

    def model(self, n_mels: int, n_out: int) -> Any:  # noqa: ANN401 - onnx.ModelProto
        mel = helper.make_tensor_value_info("mel", TensorProto.FLOAT, ["n_frames", n_mels])
        vector = helper.make_tensor_value_info("x_vector", TensorProto.FLOAT, [n_out])
        graph = helper.make_graph(self._nodes, "speaker_encoder", [mel], [vector], self._constants)
        opsets = [helper.make_opsetid("", _OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="kazeia")
