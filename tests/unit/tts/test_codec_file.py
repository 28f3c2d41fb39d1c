"""What of codec.onnx is looked at before ONNX Runtime opens it."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from kazeia_desktop.errors import ModelCorruptError, ModelError, ModelMissingError
from kazeia_desktop.models.convert.codec_graph import write_codec_graph
from kazeia_desktop.models.convert.codec_weights import official_codec_sources
from kazeia_desktop.tts.codec_file import check_graph, strange_weight
from tests import codec_reference as reference

pytestmark = pytest.mark.unit

Change = Callable[[onnx.ModelProto], None]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """A good codec.onnx."""
    sources = official_codec_sources(reference.official_tensors(seed=1).__getitem__, reference.official_config())
    write_codec_graph(tmp_path / "codec.onnx", lambda name: sources[name](), reference.GEOMETRY)
    return tmp_path / "codec.onnx"


def alter(file: Path, change: Change) -> None:
    model = onnx.load(str(file), load_external_data=False)
    change(model)
    file.write_bytes(model.SerializeToString())


def external(model: onnx.ModelProto, which: int) -> Any:  # noqa: ANN401 - onnx.TensorProto
    return [tensor for tensor in model.graph.initializer if tensor.data_location == TensorProto.EXTERNAL][which]


def inline(model: onnx.ModelProto, kind: int) -> Any:  # noqa: ANN401 - onnx.TensorProto
    return next(one for one in model.graph.initializer if one.data_type == kind and len(one.raw_data) >= 8)


def told(key: str, value: str, which: int = 1) -> Change:
    def change(model: onnx.ModelProto) -> None:
        next(entry for entry in external(model, which).external_data if entry.key == key).value = value

    return change


def refused(file: Path) -> dict[str, object]:
    with pytest.raises(ModelCorruptError) as caught:
        check_graph(file)
    assert "\n" not in str(caught.value)
    assert caught.value.told_in("fr") != str(caught.value)
    assert str(caught.value.values["file"]).startswith(str(file))
    return caught.value.values


def test_what_the_converter_writes_is_taken(graph: Path) -> None:
    check_graph(graph)
    assert strange_weight(graph) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("location", "/etc/passwd"), ("location", "../codec.onnx.data"), ("location", "manifest.json"),
        ("offset", "0"), ("offset", "-4096"), ("offset", "1"), ("offset", str(1 << 62)), ("offset", "x"),
        ("length", "0"), ("length", str(1 << 40)), ("length", ""),
    ],
)  # fmt: skip
def test_a_weight_lies_where_it_must(graph: Path, key: str, value: str) -> None:
    alter(graph, told(key, value))
    values = refused(graph)
    assert (values["field"], values["found"]) == (key, f"{key} {value}")


def wrong_type(model: onnx.ModelProto) -> None:
    external(model, 0).data_type = TensorProto.STRING


def wider(model: onnx.ModelProto) -> None:
    external(model, 0).dims[0] += 1


def endless(model: onnx.ModelProto) -> None:
    external(model, 0).dims[0] = 1 << 40


def negative(model: onnx.ModelProto) -> None:
    external(model, 0).dims[0] = -1


def five_dimensions(model: onnx.ModelProto) -> None:
    external(model, 0).dims.extend([1, 1, 1])


def twice(model: onnx.ModelProto) -> None:
    model.graph.initializer[1].name = model.graph.initializer[0].name


def without_name(model: onnx.ModelProto) -> None:
    model.graph.initializer[1].name = ""


def also_inline(model: onnx.ModelProto) -> None:
    external(model, 0).raw_data = b"1234"


def one_entry_more(model: onnx.ModelProto) -> None:
    external(model, 0).external_data.add(key="checksum", value="0")


def not_finite(model: onnx.ModelProto) -> None:
    tensor = inline(model, TensorProto.FLOAT)
    tensor.raw_data = struct.pack("<f", np.inf) + tensor.raw_data[4:]


def shorter(model: onnx.ModelProto) -> None:
    tensor = inline(model, TensorProto.FLOAT)
    tensor.raw_data = tensor.raw_data[:-1]


def large_number(model: onnx.ModelProto) -> None:
    tensor = inline(model, TensorProto.INT64)
    tensor.raw_data = struct.pack("<q", 1 << 41) + tensor.raw_data[8:]


def large_shape(model: onnx.ModelProto) -> None:
    sizes = np.array([1 << 13, 1 << 13], np.int64)
    model.graph.initializer.append(onnx.numpy_helper.from_array(sizes, "sizes"))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (wrong_type, "type"), (wider, "length"), (endless, "shape"), (negative, "shape"), (five_dimensions, "shape"),
        (twice, "count"), (without_name, "count"), (also_inline, "external_data"), (one_entry_more, "external_data"),
        (not_finite, "value"), (shorter, "size"), (large_number, "value"), (large_shape, "value"),
    ],
)  # fmt: skip
def test_a_weight_is_what_it_must_be(graph: Path, change: Change, field: str) -> None:
    alter(graph, change)
    values = refused(graph)
    assert values["field"] == field
    assert "tensor" in values


def operator(kind: str, domain: str = "") -> Change:
    def change(model: onnx.ModelProto) -> None:
        model.graph.node[3].op_type, model.graph.node[3].domain = kind, domain

    return change


def attribute(**values: object) -> Change:
    def change(model: onnx.ModelProto) -> None:
        model.graph.node[3].attribute.extend(helper.make_attribute(name, value) for name, value in values.items())

    return change


@pytest.mark.parametrize(
    "change",
    [
        operator("Loop"), operator("If"), operator("ConstantOfShape"), operator("Resize"), operator(""),
        operator("Add", "com.microsoft"), operator("Add", "x"), operator("BeamSearch", "com.microsoft"),
        attribute(axis=1 << 40), attribute(axis=[1] * 10), attribute(epsilon=float("nan")), attribute(mode="x" * 17),
        attribute(body=helper.make_graph([], "body", [], [])), attribute(value=helper.make_tensor("v", 1, [1], [1.0])),
    ],
)  # fmt: skip
def test_a_node_is_one_of_ours(graph: Path, change: Change) -> None:
    alter(graph, change)
    assert str(refused(graph)["field"]).startswith("node ")


def function(model: onnx.ModelProto) -> None:
    model.functions.add(name="Add", domain="")


def sparse(model: onnx.ModelProto) -> None:
    model.graph.sparse_initializer.add()


def other_opset(model: onnx.ModelProto) -> None:
    model.opset_import[0].version = 7


def another_opset(model: onnx.ModelProto) -> None:
    model.opset_import.add(domain="ai.onnx.ml", version=3)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (function, "functions"), (sparse, "sparse_initializer"),
        (other_opset, "opset_import"), (another_opset, "opset_import"),
    ],
)  # fmt: skip
def test_a_graph_has_no_parts_that_ours_has_not(graph: Path, change: Change, field: str) -> None:
    alter(graph, change)
    assert refused(graph)["field"] == field


@pytest.mark.parametrize("content", [b"\xff" * 100, b"\0" * 5_000_000, b"GGUF"])
def test_what_is_no_graph(graph: Path, content: bytes) -> None:
    graph.write_bytes(content)
    refused(graph)


@pytest.mark.parametrize("change", [1, -1, 4096])
def test_the_weights_have_one_size(graph: Path, change: int) -> None:
    data = graph.with_name("codec.onnx.data")
    content = data.read_bytes()
    data.write_bytes(content[:change] if change < 0 else content + bytes(change))
    assert refused(graph)["field"] == "size"


@pytest.mark.parametrize("name", ["codec.onnx", "codec.onnx.data"])
def test_a_file_that_is_gone(graph: Path, name: str) -> None:
    graph.with_name(name).unlink()
    with pytest.raises(ModelMissingError, match=name):
        check_graph(graph)


@pytest.mark.parametrize(("value", "said"), [(np.nan, "not finite"), (np.inf, "not finite"), (-1e7, "1e+07")])
def test_a_weight_to_blame_is_found(graph: Path, value: float, said: str) -> None:
    model = onnx.load(str(graph), load_external_data=False)
    tensor = external(model, 2)
    offset = int(next(entry.value for entry in tensor.external_data if entry.key == "offset"))
    with graph.with_name("codec.onnx.data").open("r+b") as data:
        data.seek(offset + 8)
        data.write(struct.pack("<f", value))
    found = strange_weight(graph)
    assert isinstance(found, ModelError)
    assert (found.values["tensor"], found.values["found"]) == (tensor.name, said)
