"""The safetensors reader: what is there, and every way in which it can be wrong."""

import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kazeia_desktop.errors import ModelCorruptError, ModelError, ModelMissingError
from kazeia_desktop.formats.safetensors import Checkpoint, SafetensorsFile
from kazeia_desktop.formats.safetensors_writer import SafetensorsWriter, write_safetensors

pytestmark = pytest.mark.unit

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5


def build(header: object, data: bytes, length: int | None = None) -> bytes:
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(head) if length is None else length) + head + data


def opened(folder: Path, raw: bytes) -> SafetensorsFile:
    (folder / "model.safetensors").write_bytes(raw)
    return SafetensorsFile(folder / "model.safetensors")


def entry(dtype: object, shape: object, start: object, end: object) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


@pytest.mark.parametrize(
    ("dtype", "data"),
    [
        ("F32", VALUES.astype("<f4").tobytes()),
        ("F64", VALUES.astype("<f8").tobytes()),
        ("F16", VALUES.astype("<f2").tobytes()),
        ("BF16", (VALUES.view(np.uint32) >> 16).astype("<u2").tobytes()),
    ],
)
def test_every_float_is_read(tmp_path: Path, dtype: str, data: bytes) -> None:
    file = opened(tmp_path, build({"x": entry(dtype, [2, 3], 0, len(data))}, data))
    tensor = file.tensor("x")
    assert tensor.shape == (2, 3)
    np.testing.assert_array_equal(tensor.array(), VALUES)
    np.testing.assert_array_equal(tensor.rows(1, 2), VALUES[1:])
    np.testing.assert_array_equal(np.concatenate(list(tensor.blocks(3))), VALUES)


def test_scalars_empty_tensors_and_metadata(tmp_path: Path) -> None:
    header = {
        "__metadata__": {"format": "pt"},
        "scalar": entry("F32", [], 0, 4),
        "empty": entry("F32", [0, 5], 4, 4),
        "count": entry("I64", [1], 4, 12),
    }
    file = opened(tmp_path, build(header, struct.pack("<fq", 1.5, 3)))
    assert file.tensor("scalar").array() == 1.5
    assert file.tensor("empty").array().shape == (0, 5)
    with pytest.raises(ModelCorruptError, match="tensor count: dtype is I64, expected BF16"):
        file.tensor("count")
    with pytest.raises(ModelCorruptError, match="lacks the tensor other"):
        file.tensor("other")


def test_too_large_for_float32_is_infinite(tmp_path: Path) -> None:
    file = opened(tmp_path, build({"x": entry("F64", [1], 0, 8)}, struct.pack("<d", 1e300)))
    assert np.isinf(file.tensor("x").array()).all()


GOOD = entry("F32", [2, 2], 0, 16)
LARGE = 1 << 60


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"x": {**GOOD, "dtype": "F8"}}, "tensor x: dtype is F8"),
        ({"x": {**GOOD, "dtype": ["F32"]}}, "tensor x: dtype"),
        ({"x": {"shape": [2, 2], "data_offsets": [0, 16]}}, r"lacks the key x\.dtype"),
        ({"x": {**GOOD, "shape": [2, -2]}}, "tensor x: shape"),
        ({"x": {**GOOD, "shape": [2, True]}}, "tensor x: shape"),
        ({"x": {**GOOD, "shape": [2.0, 2]}}, "tensor x: shape"),
        ({"x": {**GOOD, "shape": {}}}, "tensor x: shape"),
        ({"x": {**GOOD, "shape": [1] * 9}}, "tensor x: shape"),
        ({"x": {**GOOD, "shape": [LARGE, LARGE]}}, "tensor x: bytes is 16"),
        ({"x": {**GOOD, "shape": [2, 3]}}, "tensor x: bytes is 16, expected 24"),
        ({"x": entry("F32", [4], 0, 15)}, "tensor x: bytes is 15, expected 16"),
        ({"x": entry("F32", [4], 16, 0)}, "tensor x: data_offsets"),
        ({"x": entry("F32", [4], 4, 20)}, "tensor x: data_offsets"),
        ({"x": entry("F32", [4], 0, 1 << 70)}, "tensor x: data_offsets"),
        ({"x": {**GOOD, "data_offsets": [0]}}, "tensor x: data_offsets"),
        ({"x": entry("F32", [2], 8, 16)}, "tensor x: data_offsets is 8, expected 0"),
        ({"x": entry("F32", [2], 0, 8)}, "size is"),
        ({"x": GOOD, "y": entry("F32", [2], 8, 16)}, "tensor y: data_offsets is 8, expected 16"),
        ({"x": GOOD, "y": GOOD}, "tensor y: data_offsets is 0, expected 16"),
        ({"x": []}, "key x"),
        ({"__metadata__": 1, "x": GOOD}, "__metadata__"),
        ([], "JSON"),
        (b'{"x": 1, "x": 2}', "key x: count is 2"),
        (b"{", "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"[" * 10000, "JSON"),
    ],
)
def test_each_malformation_is_told_in_one_line(tmp_path: Path, header: object, said: str) -> None:
    with pytest.raises(ModelCorruptError, match=said) as error:
        opened(tmp_path, build(header, bytes(16)))
    assert "\n" not in str(error.value)
    assert "model.safetensors" in str(error.value)


@pytest.mark.parametrize("length", [0, 10**6, 2**40, 2**64 - 1])
def test_header_lengths(tmp_path: Path, length: int) -> None:
    with pytest.raises(ModelCorruptError, match=r"model\.safetensors"):
        opened(tmp_path, build({"x": GOOD}, bytes(16), length))


def test_every_cut_is_told(tmp_path: Path) -> None:
    raw = build({"x": GOOD}, bytes(16))
    for length in range(len(raw)):
        with pytest.raises(ModelError):
            opened(tmp_path, raw[:length])


def test_a_file_that_shrank(tmp_path: Path) -> None:
    tensor = opened(tmp_path, build({"x": GOOD}, bytes(16))).tensor("x")
    os.truncate(tmp_path / "model.safetensors", 20)
    with pytest.raises(ModelMissingError, match=r"model\.safetensors"):
        tensor.array()


def survives(folder: Path, raw: bytes) -> bool:
    """Whether `raw` is taken; a ModelError is as good."""
    try:
        file = opened(folder, raw)
        for name in file.tensors:
            if file.tensors[name][0] in ("F32", "BF16", "F16", "F64"):
                assert file.tensor(name).array().dtype == np.float32
    except ModelError as error:
        assert "\n" not in str(error)
        return False
    return True


def test_every_byte_altered(tmp_path: Path) -> None:
    raw = build({"x": GOOD, "yy": entry("BF16", [3, 1], 16, 22), "__metadata__": {"a": "b"}}, bytes(22))
    taken = 0
    for at in range(len(raw)):
        for value in (0x00, 0xFF, 0x22, 0x30, 0x39, 0x2D, 0x5D, raw[at] ^ 1):
            taken += survives(tmp_path, raw[:at] + bytes([value]) + raw[at + 1 :])
    assert 0 < taken < 8 * len(raw)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["F32", "BF16"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from(["dtype", "shape", "data_offsets"])


@settings(max_examples=500, deadline=None)
@given(header=st.dictionaries(st.text(max_size=3), json_values | st.dictionaries(fields, json_values), max_size=4))
def test_any_json(tmp_path_factory: pytest.TempPathFactory, header: dict[str, Any]) -> None:
    survives(tmp_path_factory.getbasetemp(), build(header, bytes(64)))


class TestCheckpoint:
    def shards(self, folder: Path, weight_map: object) -> Path:
        write_safetensors(folder / "one.safetensors", {"a": VALUES, "b": VALUES})
        write_safetensors(folder / "two.safetensors", {"c": VALUES})
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}), "utf-8")
        return folder

    def test_shards(self, tmp_path: Path) -> None:
        table = {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"}
        checkpoint = Checkpoint(self.shards(tmp_path, table))
        assert checkpoint.names() == ["a", "b", "c"]
        assert "c" in checkpoint
        np.testing.assert_array_equal(checkpoint.tensor("c", (2, 3)).array(), VALUES)
        assert checkpoint.tensor("c").file.name == "two.safetensors"

    def test_the_whole_file_wins(self, tmp_path: Path) -> None:
        self.shards(tmp_path, {"a": "one.safetensors"})
        write_safetensors(tmp_path / "model.safetensors", {"z": VALUES})
        assert Checkpoint(tmp_path).names() == ["z"]

    @pytest.mark.parametrize("name", ["../one.safetensors", "/etc/passwd", "..", ".", "", "a\\b", "c:x", "a\0b", 7])
    def test_no_way_out_of_the_directory(self, tmp_path: Path, name: object) -> None:
        with pytest.raises(ModelCorruptError, match=r"weight_map\.a"):
            Checkpoint(self.shards(tmp_path, {"a": name}))

    def test_a_shard_without_the_tensor(self, tmp_path: Path) -> None:
        with pytest.raises(ModelCorruptError, match=r"two\.safetensors lacks the tensor a"):
            Checkpoint(self.shards(tmp_path, {"a": "two.safetensors"}))

    def test_a_missing_shard(self, tmp_path: Path) -> None:
        with pytest.raises(ModelMissingError, match=r"three\.safetensors"):
            Checkpoint(self.shards(tmp_path, {"a": "three.safetensors"}))

    def test_nothing_there(self, tmp_path: Path) -> None:
        with pytest.raises(ModelMissingError, match=r"model\.safetensors"):
            Checkpoint(tmp_path)

    def test_shapes_are_asked_for(self, tmp_path: Path) -> None:
        write_safetensors(tmp_path / "model.safetensors", {"a": VALUES})
        with pytest.raises(ModelCorruptError, match=r"tensor a: shape is \[2, 3\], expected \[3, 2\]"):
            Checkpoint(tmp_path).tensor("a", (3, 2))
        with pytest.raises(ModelCorruptError, match=r"lacks the tensor z \(expected \[1\]\)"):
            Checkpoint(tmp_path).tensor("z", (1,))


def test_the_writer_wants_every_value(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="4 bytes are missing"),
        SafetensorsWriter(tmp_path / "x.safetensors", {"a": (3,)}, "F32") as writer,
    ):
        writer.append(np.zeros(2, np.float32))
