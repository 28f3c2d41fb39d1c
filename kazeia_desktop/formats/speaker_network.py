"""The ONNX graph of the speaker encoder (ECAPA-TDNN), made from the shapes of its weights alone.

The converter writes it; the engine makes it again from the shapes that a file tells and takes the file only when the
two are equal: ONNX Runtime crashes on some graphs that were altered.

mel (n_frames, n_mels) -> x_vector (width), float32; n_frames is free, from the widest convolution's reach on.

Source: ECAPA-TDNN, arXiv:2005.07143; layer order and padding as Qwen3TTSSpeakerEncoder of the official package.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Shape = tuple[int, ...]

PREFIX: Final = "speaker_encoder."
STATISTICS: Final = ("x", "mean", "deviation")
"""What the attention looks at; its first kernel is kept in these three parts."""
_STACKED: Final = "asp.tdnn.conv.weight"
_OPSET: Final = 20
_ALIGNMENT: Final = 64
"""Of each tensor in the weights' file: a cache line, so that a memory map of it can be used as it is."""
_VARIANCE_FLOOR: Final = 1e-12
_LARGEST: Final = 1 << 16
_LARGEST_REACH: Final = 64
"""Frames that a convolution mirrors; published models have at most 8."""


@dataclass(frozen=True, slots=True)
class SpeakerLayout:
    """What the tensors' shapes do not tell. dilations: stem, each SE-Res2Net block, aggregation."""

    dilations: tuple[int, ...]
    scale: int
    n_mels: int

    @property
    def n_blocks(self) -> int:
        """SE-Res2Net blocks."""
        return len(self.dilations) - 2


class ShapeProblem(ValueError):
    """A tensor does not fit the others. args: its official name, the shape found, the shape expected."""


def tensor_names(layout: SpeakerLayout) -> Iterator[str]:
    """The official names of the checkpoint's tensors, in the order of use."""
    convolutions = ["blocks.0.conv"]
    for i in range(1, layout.n_blocks + 1):
        inner = [f"res2net_block.blocks.{j}.conv" for j in range(layout.scale - 1)]
        parts = ["tdnn1.conv", *inner, "tdnn2.conv", "se_block.conv1", "se_block.conv2"]
        convolutions += [f"blocks.{i}.{part}" for part in parts]
    for name in [*convolutions, "mfa.conv", "asp.tdnn.conv", "asp.conv", "fc"]:
        yield f"{PREFIX}{name}.weight"
        yield f"{PREFIX}{name}.bias"


def stored_names(layout: SpeakerLayout) -> Iterator[tuple[str, str]]:
    """(name in the graph, official name), in the order of the weights' file."""
    for name in tensor_names(layout):
        if name == PREFIX + _STACKED:
            for part in STATISTICS:
                yield f"{name}.{part}", name
        else:
            yield name, name


def aligned(offset: int) -> int:
    """Where the next tensor begins."""
    return offset + -offset % _ALIGNMENT


def build_graph(layout: SpeakerLayout, shapes: Mapping[str, Shape], location: str) -> Any:  # noqa: ANN401 - ModelProto
    """The graph.

    Args:
        shapes: official name -> the checkpoint's shape, for all of `tensor_names`.
        location: name of the weights' file.
    Raises:
        ShapeProblem: the tensors do not fit together.
    """
    graph = _Graph(shapes)
    x = graph.node("Unsqueeze", graph.node("Transpose", "mel", perm=[1, 0]), graph.ints(0))  # (1, n_mels, n_frames)
    x, width = graph.conv(x, "blocks.0.conv", layout.n_mels, dilation=layout.dilations[0], relu=True)
    blocks = []
    for i in range(1, layout.n_blocks + 1):
        x = _se_res2net(graph, x, f"blocks.{i}", layout, layout.dilations[i], width)
        blocks.append(x)
    x = graph.node("Concat", *blocks, axis=1) if len(blocks) > 1 else blocks[0]
    x, n_channels = graph.conv(x, "mfa.conv", width * len(blocks), dilation=layout.dilations[-1], relu=True)
    x = _statistics(graph, x, n_channels)
    x, n_out = graph.conv(x, "fc", 2 * n_channels, size=1)
    graph.node("Squeeze", x, graph.ints(0, 2), output="x_vector")
    return graph.model(layout, location, n_out)


def _se_res2net(graph: "_Graph", x: str, name: str, layout: SpeakerLayout, dilation: int, width: int) -> str:
    """1x1 convolution, a chain of dilated ones over slices of the channels, 1x1, gate; all added to `x`."""
    if width % layout.scale:
        found = graph.shape("blocks.0.conv.weight")
        raise ShapeProblem(PREFIX + "blocks.0.conv.weight", found, (f"n * {layout.scale}", *found[1:]))
    y, _ = graph.conv(x, f"{name}.tdnn1.conv", width, size=1, n_out=width, relu=True)
    size = width // layout.scale
    parts = graph.split(y, layout.scale)
    done, steps = [parts[0]], None
    for j, part in enumerate(parts[1:]):
        entering = part if j == 0 else graph.node("Add", part, done[-1])
        inner = f"{name}.res2net_block.blocks.{j}.conv"
        left, _ = graph.conv(entering, inner, size, size=steps, n_out=size, dilation=dilation, relu=True)
        steps = graph.shape(f"{inner}.weight")[2]  # of all, as the first has it
        done.append(left)
    y = graph.node("Concat", *done, axis=1)
    y, _ = graph.conv(y, f"{name}.tdnn2.conv", width, size=1, n_out=width, relu=True)
    gate = graph.node("ReduceMean", y, graph.ints(2), keepdims=1)
    gate, n_gate = graph.conv(gate, f"{name}.se_block.conv1", width, size=1, relu=True)
    gate, _ = graph.conv(gate, f"{name}.se_block.conv2", n_gate, size=1, n_out=width)
    return graph.node("Add", graph.node("Mul", y, graph.node("Sigmoid", gate)), x)


def _statistics(graph: "_Graph", x: str, width: int) -> str:
    """Mean and deviation over time, each frame weighted by attention: (1, 2 width, 1)."""
    mean = graph.node("ReduceMean", x, graph.ints(2), keepdims=1)
    centred = graph.node("Sub", x, mean)
    variance = graph.node("ReduceMean", graph.node("Mul", centred, centred), graph.ints(2), keepdims=1)
    # The official layer looks at (x, mean, deviation) stacked. Mean and deviation are the same in each frame, so
    # their share is computed once and added: a third of the work, and no stack in memory.
    n_hidden, _, _ = graph.checked(_STACKED, (None, 3 * width, 1))
    bias = graph.weight("asp.tdnn.conv.bias", (n_hidden,))
    own, of_mean, of_deviation = (
        graph.node("Conv", y, *given, kernel_shape=[1])
        for y, *given in (
            (x, f"{PREFIX}{_STACKED}.x", bias),
            (mean, f"{PREFIX}{_STACKED}.mean"),
            (graph.deviation(variance), f"{PREFIX}{_STACKED}.deviation"),
        )
    )
    hidden = graph.node("Add", own, graph.node("Add", of_mean, of_deviation))
    hidden = graph.node("Tanh", graph.node("Relu", hidden))
    attention, _ = graph.conv(hidden, "asp.conv", n_hidden, size=1, n_out=width)
    attention = graph.node("Softmax", attention, axis=2)
    mean = graph.node("ReduceSum", graph.node("Mul", attention, x), graph.ints(2), keepdims=1)
    centred = graph.node("Sub", x, mean)
    weighted = graph.node("Mul", attention, graph.node("Mul", centred, centred))
    variance = graph.node("ReduceSum", weighted, graph.ints(2), keepdims=1)
    return graph.node("Concat", mean, graph.deviation(variance), axis=1)


class _Graph:
    """Nodes and small constants of the graph while it is made."""

    def __init__(self, shapes: Mapping[str, Shape]) -> None:
        self._shapes = shapes
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def shape(self, name: str) -> Shape:
        return self._shapes[PREFIX + name]

    def checked(self, name: str, shape: tuple[int | None, ...]) -> Shape:
        """The tensor's shape, which must be `shape`; None is any length."""
        found = self.shape(name)
        fits = len(found) == len(shape) and all(s in (None, n) for s, n in zip(shape, found, strict=True))
        if not fits or not all(1 <= n <= _LARGEST for n in found):
            raise ShapeProblem(PREFIX + name, found, tuple("n" if s is None else s for s in shape))
        return found

    def weight(self, name: str, shape: tuple[int | None, ...]) -> str:
        self.checked(name, shape)
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

    def split(self, x: str, n: int) -> list[str]:
        """`n` equal slices of the channels."""
        outputs = [f"{x}_{i}" for i in range(n)]
        self._nodes.append(helper.make_node("Split", [x], outputs, name=f"Split_{x}", axis=1, num_outputs=n))
        return outputs

    def deviation(self, variance: str) -> str:
        return self.node("Sqrt", self.node("Max", variance, self.constant(np.array(_VARIANCE_FLOOR, np.float32))))

    def conv(
        self,
        x: str,
        name: str,
        n_in: int,
        size: int | None = None,
        n_out: int | None = None,
        dilation: int = 1,
        relu: bool = False,
    ) -> tuple[str, int]:
        """A convolution over time whose input is mirrored at both ends, so that the length stays.

        Args:
            size, n_out: steps and channels; None where the tensor tells.
        Returns:
            the output and its channels.
        """
        rows, _, steps = self.checked(f"{name}.weight", (n_out, n_in, size))
        inputs = [PREFIX + f"{name}.weight", self.weight(f"{name}.bias", (rows,))]
        reach = dilation * (steps - 1)
        if reach > _LARGEST_REACH:
            raise ShapeProblem(f"{PREFIX}{name}.weight", self.shape(f"{name}.weight"), (rows, n_in, "less"))
        if reach:
            left = reach // 2
            x = self.node("Pad", x, self.ints(0, 0, left, 0, 0, reach - left), mode="reflect")
        y = self.node("Conv", x, *inputs, kernel_shape=[steps], dilations=[dilation])
        return (self.node("Relu", y) if relu else y), rows

    def model(self, layout: SpeakerLayout, location: str, n_out: int) -> Any:  # noqa: ANN401 - onnx.ModelProto
        weights, offset = [], 0
        for stored, official in stored_names(layout):
            shape = self._shapes[official]
            if stored != official:
                shape = (shape[0], shape[1] // len(STATISTICS), *shape[2:])
            tensor = TensorProto(name=stored, data_type=TensorProto.FLOAT, dims=shape)
            tensor.data_location = TensorProto.EXTERNAL
            offset, length = aligned(offset), 4 * prod(shape)
            for key, told in (("location", location), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(told))
            offset += length
            weights.append(tensor)
        mel = helper.make_tensor_value_info("mel", TensorProto.FLOAT, ["n_frames", layout.n_mels])
        vector = helper.make_tensor_value_info("x_vector", TensorProto.FLOAT, [n_out])
        graph = helper.make_graph(self._nodes, "speaker_encoder", [mel], [vector], weights + self._constants)
        opsets = [helper.make_opsetid("", _OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="kazeia")
