"""A checkpoint in safetensors files, whole or in shards, checked before anything is taken from it.

Source: the format's own description (huggingface/safetensors, "Format"): 8 bytes of header length, a JSON
header, then the data without holes.
"""

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop.formats.ggml_types import bf16_to_f32
from kazeia_desktop.formats.json_fields import Fields, parse
from kazeia_desktop.formats.lazy_tensor import LazyTensor, read_bytes
from kazeia_desktop.formats.problems import header_problem, missing_tensor, tensor_problem, unreadable
from kazeia_desktop.frames import FloatArray

_LONGEST_HEADER: Final = 100_000_000  # the format's own limit
_DTYPES: Final = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip
_FLOATS: Final = ("BF16", "F16", "F32", "F64")
_MOST_DIMS: Final = 8


class SafetensorsFile:
    """One file.

    Attributes:
        path: the file.
        tensors: name -> (dtype, shape, first byte, bytes).
    """

    def __init__(self, path: Path) -> None:
        """Raises:
        ModelMissingError, ModelCorruptError: naming the file and the tensor.
        """
        self.path = path
        try:
            with path.open("rb") as file:
                size = path.stat().st_size
                start = file.read(8)
                length = int.from_bytes(start, "little")
                if len(start) < 8 or length > min(size - 8, _LONGEST_HEADER):
                    raise header_problem(path, "header length", length, f"<= {min(size - 8, _LONGEST_HEADER)}")
                text = file.read(length)
        except OSError as error:
            raise unreadable(path, error) from error
        if len(text) != length:
            raise header_problem(path, "header length", length, len(text))
        self.tensors: Mapping[str, tuple[str, tuple[int, ...], int, int]] = _read_table(path, text, size)

    def tensor(self, name: str) -> LazyTensor:
        """A floating-point tensor as float32.

        Raises:
            ModelCorruptError: none of this name, or of integers.
        """
        if name not in self.tensors:
            raise missing_tensor(self.path, name)
        dtype, shape, offset, _ = self.tensors[name]
        if dtype not in _FLOATS:
            raise tensor_problem(self.path, name, "dtype", dtype, " ".join(_FLOATS))
        row, path = prod(shape[1:]) * _DTYPES[dtype], self.path

        def read(start: int, stop: int) -> FloatArray:
            values = _as_float32(read_bytes(path, offset + start * row, (stop - start) * row), dtype)
            return values.reshape(stop - start, *shape[1:])

        return LazyTensor(path, name, shape, read)


class Checkpoint:
    """All tensors of a directory: `model.safetensors`, or the shards of `model.safetensors.index.json`."""

    def __init__(self, directory: Path) -> None:
        """Raises:
        ModelMissingError, ModelCorruptError: naming the file and the tensor.
        """
        whole, index = directory / "model.safetensors", directory / "model.safetensors.index.json"
        self._files: dict[str, SafetensorsFile] = {}
        if whole.exists() or not index.exists():
            self.path = whole
            file = SafetensorsFile(whole)
            self._files = dict.fromkeys(file.tensors, file)
            return
        self.path = index
        opened: dict[str, SafetensorsFile] = {}
        table = Fields.read(index).table("weight_map")
        for name in table:
            shard = table.text(name)
            if not shard or shard in (".", "..") or any(c in shard for c in "/\\:\0"):
                raise table.problem(name, shard, "a file name")
            if shard not in opened:
                opened[shard] = SafetensorsFile(directory / shard)
            if name not in opened[shard].tensors:
                raise missing_tensor(opened[shard].path, name)
            self._files[name] = opened[shard]

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def names(self) -> list[str]:
        """Of all tensors."""
        return list(self._files)

    def tensor(self, name: str, shape: tuple[int, ...] | None = None) -> LazyTensor:
        """A tensor as float32, of exactly `shape` where that is given.

        Raises:
            ModelCorruptError: missing, of integers, or of another shape.
        """
        if name not in self._files:
            raise missing_tensor(self.path, name, list(shape) if shape else None)
        tensor = self._files[name].tensor(name)
        if shape is not None and tensor.shape != shape:
            raise tensor_problem(tensor.file, name, "shape", list(tensor.shape), list(shape))
        return tensor


def _read_table(path: Path, text: bytes, size: int) -> dict[str, tuple[str, tuple[int, ...], int, int]]:
    base = 8 + len(text)
    found: dict[str, tuple[str, tuple[int, ...], int, int]] = {}
    header = Fields(path, parse(path, text))
    for name in header:
        if name == "__metadata__":
            header.table(name)
            continue
        entry = header.table(name)
        dtype, raw_shape, raw_place = entry.value("dtype"), entry.value("shape"), entry.value("data_offsets")
        if not isinstance(dtype, str) or dtype not in _DTYPES:
            raise tensor_problem(path, name, "dtype", dtype, " ".join(_DTYPES))
        if (shape := _sizes(raw_shape)) is None:
            raise tensor_problem(path, name, "shape", raw_shape, "[n, ...]")
        place = _sizes(raw_place)
        if place is None or len(place) != 2 or not place[0] <= place[1] <= size - base:
            raise tensor_problem(path, name, "data_offsets", raw_place, f"0..{size - base}")
        n_bytes = prod(shape) * _DTYPES[dtype]
        if place[1] - place[0] != n_bytes:
            raise tensor_problem(path, name, "bytes", place[1] - place[0], n_bytes)
        found[name] = (dtype, shape, base + place[0], n_bytes)
    expected = base
    for name, (_, _, offset, n_bytes) in sorted(found.items(), key=lambda item: item[1][2:]):
        if offset != expected:
            raise tensor_problem(path, name, "data_offsets", offset - base, expected - base)
        expected += n_bytes
    if expected != size:
        raise header_problem(path, "size", size, expected)
    return found


def _sizes(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list) or len(value) > _MOST_DIMS:
        return None
    return tuple(value) if all(type(item) is int and 0 <= item < 1 << 62 for item in value) else None


def _as_float32(data: bytes, dtype: str) -> FloatArray:
    if dtype == "BF16":
        return bf16_to_f32(data)
    with np.errstate(over="ignore"):  # too large for float32: infinite, which the converter refuses by name
        return np.frombuffer(data, {"F16": "<f2", "F32": "<f4", "F64": "<f8"}[dtype]).astype(np.float32)
