"""Looks at codec.onnx before ONNX Runtime opens it: what it holds, and where its weights are.

ONNX Runtime checks shapes while it runs, but takes any operator, reads any file that a weight names, and reserves
whatever a constant asks for. So only the operators that the converter writes are let through, only weights that lie
one behind the other in codec.onnx.data, and only constants of a sensible size.
"""

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import AttributeProto, TensorProto

from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.formats.problems import header_problem, tensor_problem, unreadable
from kazeia_desktop.frames import FloatArray

_LARGEST: Final = 4_000_000
_ALIGNMENT: Final = 4096
"""Of a weight in the data file: a page."""
_OPSETS: Final = {"": 23, "com.microsoft": 1}
_OPERATORS: Final = {
    "": frozenset({
        "Add", "And", "Cast", "Clip", "Concat", "Conv", "Cos", "Div", "Exp", "Expand", "Gather", "Gelu", "Greater",
        "GreaterOrEqual", "Identity", "LayerNormalization", "Less", "LessOrEqual", "MatMul", "Max", "Min", "Mod", "Mul",
        "RMSNormalization", "Range", "ReduceSum", "Reshape", "ScatterND", "Shape", "Sigmoid", "Sin", "Slice", "Softmax",
        "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Transpose", "Unsqueeze", "Where",
    }),
    "com.microsoft": frozenset({
        "FusedConv", "MultiHeadAttention", "QuickGelu", "RotaryEmbedding", "SkipSimplifiedLayerNormalization",
    }),
}  # fmt: skip
_TYPES: Final = {TensorProto.FLOAT: "<f4", TensorProto.INT32: "<i4", TensorProto.INT64: "<i8", TensorProto.BOOL: "?"}
_LARGEST_CONSTANT: Final = 1 << 20
_TO_THE_END: Final = 1 << 40
"""Where a Slice ends that goes to the end."""
_MOST_ELEMENTS: Final = 1 << 24
"""That a constant which looks like a shape may ask for."""
_MOST_DIMENSIONS: Final = 4
LARGE_WEIGHT: Final = 1e6
"""No trained weight is near it, and products of such overflow soon."""


def check_graph(file: Path) -> None:
    """Raises:
    ModelMissingError, ModelCorruptError: naming the file and the weight or node that is not as the converter writes.
    """
    model = _read(file)
    _check_frame(file, model)
    for node in model.graph.node:
        _check_node(file, node)
    _check_weights(file, model.graph.initializer)


def strange_weight(file: Path) -> ModelCorruptError | None:
    """The weight of an ONNX file that holds a value which is not finite, or else the one with the largest value, where
    that is no weight's; None for a sound file.

    Raises:
        ModelError: the file is not there any more, or cannot be read.
    """
    largest, where = LARGE_WEIGHT, ""
    for name, values in _floats(file, _read(file).graph.initializer):
        with np.errstate(invalid="ignore"):
            found = float(np.abs(values).max(initial=0.0))
        if not np.isfinite(found):
            return tensor_problem(file, name, "value", "not finite", "finite")
        if found > largest and len(values) > 1:  # a lone number is the graph's own: what hides a position is -1e9
            largest, where = found, name
    return tensor_problem(file, where, "value", f"{largest:g}", f"< {LARGE_WEIGHT:g}") if where else None


def _read(file: Path) -> Any:  # noqa: ANN401 - onnx.ModelProto
    try:
        if (size := file.stat().st_size) > _LARGEST:
            raise header_problem(file, "size", size, f"<= {_LARGEST}")
        return onnx.ModelProto.FromString(file.read_bytes())
    except OSError as error:
        raise unreadable(file, error) from error
    except DecodeError as error:
        raise header_problem(file, "ONNX", type(error).__name__, "a graph") from error


def _check_frame(file: Path, model: Any) -> None:  # noqa: ANN401 - onnx.ModelProto
    opsets = {opset.domain: opset.version for opset in model.opset_import}
    if opsets != _OPSETS or len(model.opset_import) != len(_OPSETS):
        raise header_problem(file, "opset_import", opsets, _OPSETS)
    for name, part in (
        ("functions", model.functions),
        ("training_info", model.training_info),
        ("sparse_initializer", model.graph.sparse_initializer),
        ("quantization_annotation", model.graph.quantization_annotation),
    ):
        if part:
            raise header_problem(file, name, len(part), 0)


def _check_node(file: Path, node: Any) -> None:  # noqa: ANN401 - onnx.NodeProto
    name = f"node {node.output[0] if node.output else '-'}"
    if node.op_type not in _OPERATORS.get(node.domain, ()):
        raise header_problem(file, name, f"{node.domain}.{node.op_type}".removeprefix("."), "another operator")
    for attribute in node.attribute:
        match attribute.type:
            case AttributeProto.INT | AttributeProto.INTS:
                numbers = [attribute.i, *attribute.ints]
                good = len(numbers) <= 9 and all(abs(number) <= _LARGEST_CONSTANT for number in numbers)
            case AttributeProto.FLOAT:
                good = bool(np.isfinite(attribute.f))
            case AttributeProto.STRING:
                good = len(attribute.s) <= 16
            case _:
                good = False
        if not good:
            found = " ".join(str(attribute).split())
            raise header_problem(file, f"{name}.{_text(attribute.name)}", found, "a small number")


def _text(name: str | bytes) -> str:
    """A name of a graph, which protobuf gives as bytes where it is not UTF-8."""
    return name if isinstance(name, str) else name.decode("utf-8", "replace")


def _check_weights(file: Path, weights: Any) -> None:  # noqa: ANN401 - onnx.TensorProto, repeated
    data = file.with_name(f"{file.name}.data")
    end, names = 0, set()
    for tensor in weights:
        name = _text(tensor.name)
        if not name or name in names:
            raise tensor_problem(file, name, "count", 2, 1)
        names.add(name)
        if tensor.data_type not in _TYPES:
            raise tensor_problem(file, name, "type", tensor.data_type, ", ".join(map(str, _TYPES)))
        dims = list(tensor.dims)
        if len(dims) > _MOST_DIMENSIONS or not all(1 <= size <= 1 << 30 for size in dims):
            raise tensor_problem(file, name, "shape", dims, f"[1.., ...] of {_MOST_DIMENSIONS}")
        size = prod(dims) * np.dtype(_TYPES[tensor.data_type]).itemsize
        if tensor.data_location == TensorProto.EXTERNAL:
            start = -(-end // _ALIGNMENT) * _ALIGNMENT
            told = [(entry.key, entry.value) for entry in tensor.external_data]
            expected = [("location", data.name), ("offset", str(start)), ("length", str(size))]
            for found, wanted in zip(told, expected, strict=False):
                if found != wanted:
                    raise tensor_problem(file, name, wanted[0], " ".join(map(_text, found)), " ".join(wanted))
            if len(told) != len(expected) or tensor.data_type != TensorProto.FLOAT or tensor.raw_data:
                raise tensor_problem(file, name, "external_data", len(told), len(expected))
            end = start + size
        else:
            _check_constant(file, tensor, name, size)
    try:
        found_size = data.stat().st_size
    except OSError as error:
        raise unreadable(data, error) from error
    if found_size != end:
        raise header_problem(data, "size", found_size, end)


def _check_constant(file: Path, tensor: Any, name: str, size: int) -> None:  # noqa: ANN401 - onnx.TensorProto
    """One that stands in the graph's own file: finite, or small whole numbers."""
    if len(tensor.raw_data) != size or tensor.external_data:
        raise tensor_problem(file, name, "size", len(tensor.raw_data), size)
    values = np.frombuffer(tensor.raw_data, _TYPES[tensor.data_type])
    if tensor.data_type == TensorProto.FLOAT:
        if not np.isfinite(values).all():
            raise tensor_problem(file, name, "value", "not finite", "finite")
        return
    numbers = [int(value) for value in values if value != _TO_THE_END]
    if any(abs(number) > _LARGEST_CONSTANT for number in numbers):
        raise tensor_problem(file, name, "value", numbers, f"<= {_LARGEST_CONSTANT}")
    if len(numbers) <= _MOST_DIMENSIONS and prod(max(abs(number), 1) for number in numbers) > _MOST_ELEMENTS:
        raise tensor_problem(file, name, "value", numbers, f"<= {_MOST_ELEMENTS}")


def _floats(file: Path, weights: Any) -> Iterator[tuple[str, FloatArray]]:  # noqa: ANN401 - onnx.TensorProto, repeated
    """(name, values) of the float weights of a graph that was checked."""
    data = file.with_name(f"{file.name}.data")
    try:
        content = np.memmap(data, np.uint8, "r")
    except (OSError, ValueError) as error:  # ValueError: an empty file
        raise unreadable(data, error if isinstance(error, OSError) else OSError(0, str(error))) from error
    for tensor in weights:
        if tensor.data_type != TensorProto.FLOAT:
            continue
        if tensor.data_location == TensorProto.EXTERNAL:
            told = {entry.key: entry.value for entry in tensor.external_data}
            start = int(told["offset"])
            raw = content[start : start + int(told["length"])]
            yield _text(tensor.name), np.frombuffer(raw, np.float32)
        else:
            yield _text(tensor.name), np.frombuffer(tensor.raw_data, np.float32)
