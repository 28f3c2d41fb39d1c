"""What is written is what ONNX Runtime computes with."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto

from kazeia_desktop.models.convert.graph_writer import GraphWriter

pytestmark = pytest.mark.unit


def test_constants_of_every_size_come_back(tmp_path: Path) -> None:
    file = tmp_path / "été.onnx"
    values = [np.arange(n, dtype=np.float32) for n in (1, 255, 256, 257, 5000)]
    with (tmp_path / "été.onnx.data").open("wb") as data:
        w = GraphWriter(file, data)
        w.input("x", TensorProto.FLOAT, 1)
        for i, value in enumerate(values):
            w.node("Mul", w.constant(value), "x", name=f"y{i}")
            w.output(f"y{i}", TensorProto.FLOAT, len(value))
        w.save("test", {"a": 1, "b": "two"})
    session = ort.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    got = session.run(None, {"x": np.array([3], np.float32)})
    for value, result in zip(values, got, strict=True):
        np.testing.assert_array_equal(result, value * 3)
    assert session.get_modelmeta().custom_metadata_map == {"a": "1", "b": "two"}
    assert (tmp_path / "été.onnx.data").stat().st_size == 2 * 4096 + 5000 * 4  # 256 and 257 begin a page each
    assert file.stat().st_size < 4096


def test_equal_small_constants_are_one(tmp_path: Path) -> None:
    with (tmp_path / "a.onnx.data").open("wb") as data:
        w = GraphWriter(tmp_path / "a.onnx", data)
        assert w.ints(1, 2) == w.ints(1, 2) != w.ints(2, 1)
        assert w.constant(np.float32(0)) != w.constant(np.array(0, np.int64))
        assert w.constant(np.zeros(2, np.float32)) != w.constant(np.zeros((2, 1), np.float32))


def test_a_transposed_constant_is_written_in_its_order(tmp_path: Path) -> None:
    value = np.arange(900, dtype=np.float32).reshape(30, 30).T
    with (tmp_path / "a.onnx.data").open("wb") as data:
        w = GraphWriter(tmp_path / "a.onnx", data)
        w.node("Identity", w.constant(value), name="y")
        w.output("y", TensorProto.FLOAT, 30, 30)
        w.save("test", {})
    model = onnx.load(str(tmp_path / "a.onnx"))
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(model.graph.initializer[0]), value)
