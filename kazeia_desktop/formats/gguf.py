"""A GGUF file, checked whole before anything is taken from it: llama.cpp asserts on some malformed ones.

Source: ggml's docs/gguf.md and gguf.cpp. Only the header is read; the data follows on demand.
"""

import mmap
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kazeia_desktop.errors import ModelCorruptError, ModelIncompatibleError
from kazeia_desktop.formats.ggml_types import BLOCKS, GgmlType, dequantize, n_bytes
from kazeia_desktop.formats.lazy_tensor import LazyTensor, read_bytes
from kazeia_desktop.formats.problems import (
    header_problem,
    key_problem,
    missing_key,
    missing_tensor,
    tensor_problem,
    unreadable,
)
from kazeia_desktop.frames import FloatArray

_HEADER: Final = struct.Struct("<4sIQQ")  # magic, version, tensors, keys
_VERSIONS: Final = (2, 3)
_MOST: Final = 100_000
"""Tensors or keys. The largest models have some thousands; llama.cpp would try to reserve for any number."""
_LONGEST_NAME: Final = 63  # GGML_MAX_NAME with its zero
_LONGEST_KEY: Final = 65535
_MOST_DIMS: Final = 4
_DEFAULT_ALIGNMENT: Final = 32
_ALIGNMENTS: Final = tuple(1 << n for n in range(17))
_STRING: Final = 8
_ARRAY: Final = 9
_SCALARS: Final = {
    0: struct.Struct("<B"), 1: struct.Struct("<b"), 2: struct.Struct("<H"), 3: struct.Struct("<h"),
    4: struct.Struct("<I"), 5: struct.Struct("<i"), 6: struct.Struct("<f"), 7: struct.Struct("<B"),
    10: struct.Struct("<Q"), 11: struct.Struct("<q"), 12: struct.Struct("<d"),
}  # fmt: skip
_BOOL: Final = 7
_KIND_NAMES: Final = ("u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64")
_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")
_READABLE: Final = tuple(GgmlType)

Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """Where a tensor is.

    Attributes:
        shape: as numpy has it: ggml's `ne` reversed.
        type: ggml's number; see `ggml_types.BLOCKS`.
        offset: of its first byte, from the start of the file.
    """

    name: str
    shape: tuple[int, ...]
    type: int
    offset: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class _Array:
    """An array whose items are still in the header's bytes."""

    kind: int
    count: int
    start: int


class _Header:
    """The file's first bytes, read as far as they are asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
            self.size = path.stat().st_size
        except OSError as error:
            raise unreadable(path, error) from error
        self.data = bytearray()
        self.at = 0

    def close(self) -> None:
        self._file.close()

    def need(self, count: int, part: str) -> None:
        """Raises ModelCorruptError unless `count` more bytes are there."""
        end = self.at + count
        if end <= len(self.data):
            return
        if end > self.size:
            raise header_problem(self.path, part, f"{end} bytes", f"<= {self.size} bytes")
        try:
            # In growing steps: headers hold hundreds of thousands of strings, but may be a kilobyte.
            self.data += self._file.read(max(end - len(self.data), min(1 << 16, self.size), len(self.data)))
        except OSError as error:
            raise unreadable(self.path, error) from error
        if end > len(self.data):
            raise header_problem(self.path, part, f"{end} bytes", f"<= {len(self.data)} bytes")

    def u32(self, part: str) -> int:
        self.need(4, part)
        value: int = _U32.unpack_from(self.data, self.at)[0]
        self.at += 4
        return value

    def u64(self, part: str) -> int:
        self.need(8, part)
        value: int = _U64.unpack_from(self.data, self.at)[0]
        self.at += 8
        return value

    def text(self, part: str, most: int) -> str:
        length = self.u64(part)
        if length > most:
            raise header_problem(self.path, f"{part} length", length, f"<= {most}")
        self.need(length, part)
        raw = bytes(self.data[self.at : self.at + length])
        self.at += length
        # Not refused: an author's name in another encoding does no harm where it is not shown.
        return raw.decode("utf-8", "surrogateescape")

    def skip_texts(self, count: int, part: str) -> None:
        """Past `count` strings; the loop of a vocabulary of 150,000."""
        data, at, unpack = self.data, self.at, _U64.unpack_from
        known = len(data)
        for _ in range(count):
            if at + 8 > known:
                known = self._grow(at, 8, part)
            at += 8 + unpack(data, at)[0]
            if at > known:
                known = self._grow(at, 0, part)
        self.at = at

    def _grow(self, at: int, count: int, part: str) -> int:
        self.at = at
        self.need(count, part)
        return len(self.data)


class GgufFile:
    """Keys and tensors of a GGUF file that has been checked.

    Attributes:
        path: the file.
        version: 2 or 3.
        tensors: name -> place, in the file's order.
    """

    def __init__(self, path: Path) -> None:
        """Raises:
        ModelMissingError, ModelCorruptError, ModelIncompatibleError: naming the file and the key or tensor.
        """
        self.path = path
        header = _Header(path)
        try:
            self.version, n_tensors, n_keys = _read_start(header)
            self._values: dict[str, Value | _Array] = {}
            self._kinds: dict[str, int] = {}
            _read_keys(header, n_keys, self._values, self._kinds)
            self._data = bytes(header.data) if any(isinstance(v, _Array) for v in self._values.values()) else b""
            self.tensors: Mapping[str, GgufTensor] = _read_tensors(header, n_tensors, self._alignment())
        finally:
            header.close()

    def _alignment(self) -> int:
        value = self._values.get("general.alignment", _DEFAULT_ALIGNMENT)
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or value <= 0
            or value & (value - 1)
            or value > 1 << 16
        ):
            raise key_problem(self.path, "general.alignment", "value", value, "2^n")
        return value

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        """The metadata's keys."""
        return iter(self._values)

    def kind(self, key: str) -> str:
        """The type that the file gives a key's value: "u32", "array of string".

        Raises:
            ModelCorruptError: there is no such key.
        """
        value = self._value(key, None)
        if isinstance(value, _Array):
            return f"array of {_KIND_NAMES[value.kind]}"
        return _KIND_NAMES[self._kinds[key]]

    def integer(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """An integer within `low` to `high`.

        Raises:
            ModelCorruptError: missing (without `default`), of another type, or out of range.
        """
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise key_problem(self.path, key, "value", _shown(value), f"{low}..{high}")
        return value

    def number(self, key: str, low: float, high: float, default: float | None = None) -> float:
        """A finite number within `low` to `high`; errors as `integer`."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise key_problem(self.path, key, "value", _shown(value), f"{low:g}..{high:g}")
        return float(value)

    def boolean(self, key: str) -> bool:
        """true or false; errors as `integer`."""
        value = self._value(key, None)
        if not isinstance(value, bool):
            raise key_problem(self.path, key, "value", _shown(value), "true, false")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A string; errors as `integer`."""
        value = self._value(key, default)
        if not isinstance(value, str) or any("\ud800" <= c <= "\udfff" for c in value):
            raise key_problem(self.path, key, "value", _shown(value), "UTF-8")
        return value

    def texts(self, key: str) -> list[str]:
        """An array of strings; errors as `integer`."""
        array = self._array(key, (_STRING,))
        items, at, data = [], array.start, self._data
        for index in range(array.count):
            (length,) = _U64.unpack_from(data, at)
            try:
                items.append(data[at + 8 : at + 8 + length].decode("utf-8"))
            except UnicodeDecodeError:
                found = repr(data[at + 8 : at + 8 + min(length, 40)])
                raise key_problem(self.path, f"{key}[{index}]", "value", found, "UTF-8") from None
            at += 8 + length
        return items

    def integers(self, key: str) -> list[int]:
        """An array of integers; errors as `integer`."""
        array = self._array(key, (0, 1, 2, 3, 4, 5, 10, 11))
        kind = np.dtype("<" + _SCALARS[array.kind].format.lstrip("<"))
        return [int(item) for item in np.frombuffer(self._data, kind, array.count, array.start)]

    def _value(self, key: str, default: Value | None) -> Value | _Array:
        if key in self._values:
            return self._values[key]
        if default is None:
            raise missing_key(self.path, key)
        return default

    def _array(self, key: str, kinds: tuple[int, ...]) -> _Array:
        value = self._value(key, None)
        if not isinstance(value, _Array) or value.kind not in kinds:
            raise key_problem(self.path, key, "type", _shown(value), f"array of {' '.join(map(str, kinds))}")
        return value

    def tensor(self, name: str, shape: tuple[int, ...] | None = None) -> LazyTensor:
        """A tensor as float32, of exactly `shape` where that is given.

        Raises:
            ModelCorruptError: there is none of this name, or it has another shape.
            ModelIncompatibleError: of a type that is not read (see GgmlType).
        """
        if shape is not None and name not in self.tensors:
            raise missing_tensor(self.path, name, list(shape))
        info = self.info(name)
        if shape is not None and info.shape != shape:
            raise tensor_problem(self.path, name, "shape", list(info.shape), list(shape))
        if info.type not in _READABLE:
            raise ModelIncompatibleError(
                "The model file {file} has the tensor {tensor} in type {type}; {types} can be read.",
                file=str(self.path), tensor=name, type=info.type, types=", ".join(kind.name for kind in _READABLE),
            )  # fmt: skip
        kind, path = GgmlType(info.type), self.path
        row = n_bytes(prod(info.shape[1:]), kind) if len(info.shape) > 1 else 0

        def read(start: int, stop: int) -> FloatArray:
            if not row:  # one row, whose blocks may not begin at `start`
                return dequantize(read_bytes(path, info.offset, info.n_bytes), kind)[start:stop]
            data = read_bytes(path, info.offset + start * row, (stop - start) * row)
            return dequantize(data, kind).reshape(-1, *info.shape[1:])

        return LazyTensor(path, name, info.shape, read)

    def info(self, name: str) -> GgufTensor:
        """Raises:
        ModelCorruptError: there is none of this name.
        """
        if name not in self.tensors:
            raise missing_tensor(self.path, name)
        return self.tensors[name]

    def raw(self, name: str) -> NDArray[np.uint8]:
        """The tensor's bytes, read-only, mapped: (n_bytes,) uint8. The array keeps the map alive."""
        info = self.info(name)
        base = info.offset // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        try:
            with self.path.open("rb") as file:
                view = mmap.mmap(file.fileno(), info.offset + info.n_bytes - base, access=mmap.ACCESS_READ, offset=base)
        except (OSError, ValueError) as error:  # ValueError: the file is shorter now
            raise unreadable(self.path, error if isinstance(error, OSError) else OSError(0, str(error))) from error
        return np.frombuffer(view, np.uint8, info.n_bytes, info.offset - base)


def _read_start(header: _Header) -> tuple[int, int, int]:
    file = str(header.path)
    if header.size < _HEADER.size:
        raise ModelCorruptError("The model file {file} is not a GGUF file.", file=file)
    header.need(_HEADER.size, "header")
    magic, version, n_tensors, n_keys = _HEADER.unpack_from(header.data)
    if magic != b"GGUF":
        raise ModelCorruptError("The model file {file} is not a GGUF file.", file=file)
    if version not in _VERSIONS:
        raise ModelIncompatibleError(
            "The model file {file} is GGUF version {version}; 2 and 3 can be read.", file=file, version=version
        )
    if not 0 <= n_tensors <= _MOST:
        raise header_problem(header.path, "n_tensors", n_tensors, f"0..{_MOST}")
    if not 1 <= n_keys <= _MOST:
        raise header_problem(header.path, "n_keys", n_keys, f"1..{_MOST}")
    header.at = _HEADER.size
    return version, n_tensors, n_keys


def _read_keys(header: _Header, count: int, values: dict[str, Value | _Array], kinds: dict[str, int]) -> None:
    for index in range(count):
        key = header.text(f"key {index}", _LONGEST_KEY)
        if key in values:
            raise key_problem(header.path, key, "count", 2, 1)
        try:
            kinds[key] = header.u32("type")
            values[key] = _read_value(header, key, kinds[key])
        except ModelCorruptError as error:
            if "key" in error.values:
                raise
            raise key_problem(
                header.path, key, str(error.values["field"]), error.values["found"], error.values["expected"]
            ) from None


def _read_value(header: _Header, key: str, kind: int) -> Value | _Array:
    if kind == _STRING:
        return header.text("value", header.size)
    if kind == _ARRAY:
        item, length = header.u32("type"), header.u64("length")
        if item in _SCALARS:
            size = _SCALARS[item].size
        elif item == _STRING:
            size = 8  # of an empty one
        else:
            raise key_problem(header.path, key, "array type", item, "0..8 10..12")
        if length > (header.size - header.at) // size:
            raise key_problem(header.path, key, "array length", length, f"<= {(header.size - header.at) // size}")
        start = header.at
        if item == _STRING:
            header.skip_texts(length, "value")
        else:
            header.need(length * size, "value")
            header.at += length * size
        return _Array(item, length, start)
    if kind not in _SCALARS:
        raise key_problem(header.path, key, "type", kind, "0..12")
    packed = _SCALARS[kind]
    header.need(packed.size, "value")
    value: int | float = packed.unpack_from(header.data, header.at)[0]
    header.at += packed.size
    if kind == _BOOL:
        if value not in (0, 1):
            raise key_problem(header.path, key, "value", value, "0..1")
        return bool(value)
    return value


def _read_tensors(header: _Header, count: int, alignment: int) -> dict[str, GgufTensor]:
    found: dict[str, GgufTensor] = {}
    expected = 0
    for index in range(count):
        info = _read_info(header, index)
        if info.name in found:
            raise tensor_problem(header.path, info.name, "count", 2, 1)
        # gguf.cpp's rule: one after the other, each on the next multiple of the alignment. So none can overlap.
        if info.offset != expected:
            raise tensor_problem(header.path, info.name, "offset", info.offset, expected)
        expected += -(-info.n_bytes // alignment) * alignment
        found[info.name] = info
    base = -(-header.at // alignment) * alignment
    placed = {}
    for info in found.values():
        end = base + info.offset + info.n_bytes
        if end > header.size:
            raise tensor_problem(header.path, info.name, "end", end, f"<= {header.size}")
        placed[info.name] = GgufTensor(info.name, info.shape, info.type, base + info.offset, info.n_bytes)
    return placed


def _read_info(header: _Header, index: int) -> GgufTensor:
    name = header.text(f"tensor {index} name", _LONGEST_NAME)
    part = f"tensor {name}"
    n_dims = header.u32(part)
    if not 1 <= n_dims <= _MOST_DIMS:
        raise tensor_problem(header.path, name, "n_dims", n_dims, f"1..{_MOST_DIMS}")
    sizes = [header.u64(part) for _ in range(n_dims)]
    kind, offset = header.u32(part), header.u64(part)
    if kind not in BLOCKS:
        raise tensor_problem(header.path, name, "type", kind, "a ggml type")
    # Bounded by the file, so that no product overflows in llama.cpp: a block holds at most 256 values.
    if min(sizes) < 1 or prod(sizes) > header.size * 256:
        raise tensor_problem(header.path, name, "shape", sizes, f"{header.size} bytes")
    if sizes[0] % BLOCKS[kind][0]:
        raise tensor_problem(header.path, name, "shape[0]", sizes[0], f"k*{BLOCKS[kind][0]}")
    return GgufTensor(name, tuple(reversed(sizes)), kind, offset, n_bytes(prod(sizes), kind))


def _shown(value: Value | _Array) -> object:
    return f"array of {value.kind}" if isinstance(value, _Array) else value
