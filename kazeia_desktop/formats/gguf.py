"""A GGUF file, checked whole before anything is taken from it: llama.cpp asserts on some malformed ones.

Source: ggml's docs/gguf.md and gguf.cpp. Only the header is read; the data follows on demand.
"""

import mmap
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.formats.ggml_types import GgmlType, dequantize, n_bytes
from kazeia_desktop.formats.gguf_header import (
    SCALARS,
    STRING,
    U64,
    GgufTensor,
    Header,
    HeaderArray,
    Value,
    read_keys,
    read_start,
    read_tensors,
)
from kazeia_desktop.formats.lazy_tensor import LazyTensor, read_bytes
from kazeia_desktop.formats.problems import (
    key_problem,
    missing_key,
    missing_tensor,
    tensor_problem,
    unreadable,
)
from kazeia_desktop.frames import FloatArray

_DEFAULT_ALIGNMENT: Final = 32
_ALIGNMENTS: Final = tuple(1 << n for n in range(17))
_KIND_NAMES: Final = ("u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64")
_READABLE: Final = tuple(GgmlType)


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
        header = Header(path)
        try:
            self.version, n_tensors, n_keys = read_start(header)
            self._values: dict[str, Value | HeaderArray] = {}
            self._kinds: dict[str, int] = {}
            read_keys(header, n_keys, self._values, self._kinds)
            self._data = bytes(header.data) if any(isinstance(v, HeaderArray) for v in self._values.values()) else b""
            self.tensors: Mapping[str, GgufTensor] = read_tensors(header, n_tensors, self._alignment())
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
        if isinstance(value, HeaderArray):
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
        array = self._array(key, (STRING,))
        items = self._all_texts(array)
        if items is not None:
            return items
        items, data = [], self._data
        for index, at in enumerate(array.starts):
            (length,) = U64.unpack_from(data, at)
            try:
                items.append(data[at + 8 : at + 8 + length].decode("utf-8"))
            except UnicodeDecodeError:
                found = repr(data[at + 8 : at + 8 + min(length, 40)])
                raise key_problem(self.path, f"{key}[{index}]", "value", found, "UTF-8") from None
        return items

    def _all_texts(self, array: HeaderArray) -> list[str] | None:
        """Decoded at once, in a third of the time of one by one; None where one is not UTF-8 or holds NUL."""
        if not array.count:
            return []
        starts = np.array(array.starts) - array.start
        (last,) = U64.unpack_from(self._data, array.starts[-1])
        content = np.frombuffer(self._data, np.uint8)[array.start : array.starts[-1] + 8 + last].copy()
        # A NUL instead of each length: none completes a character that its text leaves open.
        kept = np.ones(len(content), np.bool_)
        content[starts] = 0
        for byte in range(1, 8):
            kept[starts + byte] = False
        try:
            items = content[kept].tobytes().decode("utf-8").split("\0")[1:]
        except UnicodeDecodeError:
            return None
        return items if len(items) == array.count else None

    def integers(self, key: str) -> list[int]:
        """An array of integers; errors as `integer`."""
        array = self._array(key, (0, 1, 2, 3, 4, 5, 10, 11))
        kind = np.dtype("<" + SCALARS[array.kind].format.lstrip("<"))
        items: list[int] = np.frombuffer(self._data, kind, array.count, array.start).tolist()
        return items

    def _value(self, key: str, default: Value | None) -> Value | HeaderArray:
        if key in self._values:
            return self._values[key]
        if default is None:
            raise missing_key(self.path, key)
        return default

    def _array(self, key: str, kinds: tuple[int, ...]) -> HeaderArray:
        value = self._value(key, None)
        if not isinstance(value, HeaderArray) or value.kind not in kinds:
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


def _shown(value: Value | HeaderArray) -> object:
    return f"array of {value.kind}" if isinstance(value, HeaderArray) else value
