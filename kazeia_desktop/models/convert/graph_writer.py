"""Writes an ONNX graph node by node, its weights to a file beside it as they come."""

from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper, save

ORT: Final = "com.microsoft"
"""Domain of ONNX Runtime's own operators."""
_OPSET: Final = 23  # the first with RMSNormalization
_IR: Final = 11
_INLINE_BYTES: Final = 1024  # smaller constants stay in the .onnx file
_ALIGN: Final = 4096  # a page, so that the weights can be mapped


class GraphWriter:
    """Names are given as nodes are added; what a method returns is the name of a value.

    Args:
        path: the .onnx file that `save` writes.
        data: the open file `<path>.data`, for constants of 1 KB and more.
    """

    def __init__(self, path: Path, data: BinaryIO) -> None:
        self._path = path
        self._data = data
        self._data_name = f"{path.name}.data"
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._small: dict[tuple[str, bytes], str] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._n = 0

    def input(self, name: str, kind: int, *shape: int | str) -> str:
        """An input of the graph. kind: of TensorProto."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def output(self, name: str, kind: int, *shape: int | str) -> None:
        """Declares a value as an output of the graph."""
        self._outputs.append(helper.make_tensor_value_info(name, kind, list(shape)))

    def constant(self, value: NDArray[Any] | np.generic) -> str:
        """A constant; a large one (float32) goes to the data file and is not kept."""
        value = np.asarray(value, order="C")
        name = f"c{len(self._constants)}"
        if value.nbytes < _INLINE_BYTES:
            key = (f"{value.dtype}{value.shape}", value.tobytes())
            if key not in self._small:
                self._constants.append(numpy_helper.from_array(value, name))
                self._small[key] = name
            return self._small[key]
        self._data.write(b"\0" * (-self._data.tell() % _ALIGN))
        tensor = TensorProto(name=name, data_type=helper.np_dtype_to_tensor_dtype(value.dtype), dims=value.shape)
        tensor.data_location = TensorProto.EXTERNAL
        where = {"location": self._data_name, "offset": self._data.tell(), "length": value.nbytes}
        for field, content in where.items():
            tensor.external_data.add(key=field, value=str(content))
        self._data.write(value.astype(value.dtype.newbyteorder("<"), copy=False).data)
        self._constants.append(tensor)
        return name

    def ints(self, *values: int) -> str:
        """A 1-D int64 constant."""
        return self.constant(np.array(values, np.int64))

    def node(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:  # noqa: ANN401 - ONNX's own
        """A node of one output."""
        return self.nodes(kind, *inputs, names=[name or self.fresh()], **attributes)[0]

    def nodes(self, kind: str, *inputs: str, names: list[str], **attributes: Any) -> list[str]:  # noqa: ANN401 - ONNX's own
        """A node whose outputs have these names ("" is an output that nobody reads)."""
        self._nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def split(self, x: str, *sizes: int, axis: int) -> list[str]:
        """x cut along an axis."""
        return self.nodes("Split", x, self.ints(*sizes), names=[self.fresh() for _ in sizes], axis=axis)

    def fresh(self) -> str:
        """A name that is not taken."""
        self._n += 1
        return f"t{self._n}"

    def save(self, name: str, properties: dict[str, Any]) -> None:
        """Write the .onnx file, with properties as its metadata."""
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(ORT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR, producer_name="kazeia")
        helper.set_model_props(model, {key: str(value) for key, value in properties.items()})
        save(model, str(self._path))
