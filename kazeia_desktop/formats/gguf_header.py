"""The header of a GGUF file, byte by byte: every count, length, type and offset is checked before it is used.

Source: ggml's docs/gguf.md and gguf.cpp, whose rules are these.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import ModelCorruptError, ModelIncompatibleError
from kazeia_desktop.formats.ggml_types import BLOCKS, n_bytes
from kazeia_desktop.formats.problems import header_problem, key_problem, tensor_problem, unreadable

_HEADER: Final = struct.Struct("<4sIQQ")  # magic, version, tensors, keys
_VERSIONS: Final = (2, 3)
_MOST: Final = 100_000
"""Tensors or keys. The largest models have some thousands; llama.cpp would try to reserve for any number."""
_LONGEST_NAME: Final = 63  # GGML_MAX_NAME with its zero
_LONGEST_KEY: Final = 65535
_MOST_DIMS: Final = 4
STRING: Final = 8
_ARRAY: Final = 9
SCALARS: Final = {
    0: struct.Struct("<B"), 1: struct.Struct("<b"), 2: struct.Struct("<H"), 3: struct.Struct("<h"),
    4: struct.Struct("<I"), 5: struct.Struct("<i"), 6: struct.Struct("<f"), 7: struct.Struct("<B"),
    10: struct.Struct("<Q"), 11: struct.Struct("<q"), 12: struct.Struct("<d"),
}  # fmt: skip
_BOOL: Final = 7
_U32: Final = struct.Struct("<I")
U64: Final = struct.Struct("<Q")

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
class HeaderArray:
    """An array whose items are still in the header's bytes.

    Attributes:
        starts: of each item, where these are strings: of its length, which stands before it.
    """

    kind: int
    count: int
    start: int
    starts: Sequence[int] = ()


class Header:
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
        """Close the file; what was read stays."""
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
        """The next 4 bytes; `part` is named in errors."""
        self.need(4, part)
        value: int = _U32.unpack_from(self.data, self.at)[0]
        self.at += 4
        return value

    def u64(self, part: str) -> int:
        """The next 8 bytes."""
        self.need(8, part)
        value: int = U64.unpack_from(self.data, self.at)[0]
        self.at += 8
        return value

    def text(self, part: str, most: int) -> str:
        """The next string, of at most `most` bytes."""
        length = self.u64(part)
        if length > most:
            raise header_problem(self.path, f"{part} length", length, f"<= {most}")
        self.need(length, part)
        raw = bytes(self.data[self.at : self.at + length])
        self.at += length
        # Not refused: an author's name in another encoding does no harm where it is not shown.
        return raw.decode("utf-8", "surrogateescape")

    def skip_texts(self, count: int, part: str) -> list[int]:
        """Past `count` strings, whose starts it returns; the loop of a vocabulary of 150,000."""
        data, at, unpack = self.data, self.at, U64.unpack_from
        known, starts = len(data), []
        for _ in range(count):
            starts.append(at)
            if at + 8 > known:
                known = self._grow(at, 8, part)
            at += 8 + unpack(data, at)[0]
            if at > known:
                known = self._grow(at, 0, part)
        self.at = at
        return starts

    def _grow(self, at: int, count: int, part: str) -> int:
        self.at = at
        self.need(count, part)
        return len(self.data)


def read_start(header: Header) -> tuple[int, int, int]:
    """Version, number of tensors, number of keys.

    Raises:
        ModelCorruptError, ModelIncompatibleError: not a GGUF, of another version, or absurd counts.
    """
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


def read_keys(header: Header, count: int, values: dict[str, Value | HeaderArray], kinds: dict[str, int]) -> None:
    """Fill `values` and `kinds` (ggml's type numbers) with the next `count` keys.

    Raises:
        ModelCorruptError: naming the key.
    """
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


def _read_value(header: Header, key: str, kind: int) -> Value | HeaderArray:
    if kind == STRING:
        return header.text("value", header.size)
    if kind == _ARRAY:
        item, length = header.u32("type"), header.u64("length")
        if item in SCALARS:
            size = SCALARS[item].size
        elif item == STRING:
            size = 8  # of an empty one
        else:
            raise key_problem(header.path, key, "array type", item, "0..8 10..12")
        if length > (header.size - header.at) // size:
            raise key_problem(header.path, key, "array length", length, f"<= {(header.size - header.at) // size}")
        start = header.at
        if item == STRING:
            return HeaderArray(item, length, start, header.skip_texts(length, "value"))
        header.need(length * size, "value")
        header.at += length * size
        return HeaderArray(item, length, start)
    if kind not in SCALARS:
        raise key_problem(header.path, key, "type", kind, "0..12")
    packed = SCALARS[kind]
    header.need(packed.size, "value")
    value: int | float = packed.unpack_from(header.data, header.at)[0]
    header.at += packed.size
    if kind == _BOOL:
        if value not in (0, 1):
            raise key_problem(header.path, key, "value", value, "0..1")
        return bool(value)
    return value


def read_tensors(header: Header, count: int, alignment: int) -> dict[str, GgufTensor]:
    """The next `count` entries, each of whose bytes are in the file and its own.

    Raises:
        ModelCorruptError: naming the tensor.
    """
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


def _read_info(header: Header, index: int) -> GgufTensor:
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
