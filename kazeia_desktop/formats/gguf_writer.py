"""Writes a GGUF file from start to end, block by block, hashing what it writes.

Source: ggml's docs/gguf.md, version 3. The `gguf` package is not used: it needs `requests` and `pyyaml`, and
takes seconds over a vocabulary of 150,000 tokens.
"""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Final

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.formats.ggml_types import BLOCKS, GgmlType, n_bytes, quantize
from kazeia_desktop.frames import FloatArray

_ALIGNMENT: Final = 32
_KINDS: Final = {"u32": (4, "<I"), "i32": (5, "<i"), "f32": (6, "<f"), "bool": (7, "<?"), "string": (8, "")}

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of the metadata; `kind` is u32, i32, f32, bool or string, of the value or of each item."""

    name: str
    kind: str
    value: Scalar | Sequence[Scalar]


@dataclass(frozen=True, slots=True)
class TensorPlan:
    """A tensor to write; `shape` as numpy has it."""

    name: str
    shape: tuple[int, ...]
    type: GgmlType

    @property
    def n_bytes(self) -> int:
        """In the file, without padding."""
        return n_bytes(prod(self.shape), self.type)


@dataclass(frozen=True, slots=True)
class Written:
    """What a finished file is."""

    bytes: int
    sha256: str


class GgufWriter:
    """`append` the rows of every planned tensor in the plan's order, then `finish`."""

    def __init__(self, path: Path, keys: Sequence[Key], tensors: Sequence[TensorPlan]) -> None:
        """Raises:
        ModelIncompatibleError: a row is not a whole number of the type's blocks.
        OSError: the file cannot be written.
        """
        self.path = path
        self._tensors = list(tensors)
        for tensor in tensors:
            if tensor.shape[-1] % BLOCKS[tensor.type][0]:
                raise ModelIncompatibleError(
                    "The tensor {tensor} has rows of {width} values: {type} needs a multiple of {block}. "
                    "Choose another --dtype.",
                    tensor=tensor.name, width=tensor.shape[-1], type=tensor.type.name.lower(),
                    block=BLOCKS[tensor.type][0],
                )  # fmt: skip
        self._header = _header(keys, tensors)
        self.total_bytes = len(self._header) + sum(_padded(tensor.n_bytes) for tensor in tensors)
        self._hash = hashlib.sha256()
        self._size = 0
        self._current = 0
        self._left = self._tensors[0].n_bytes if tensors else 0
        self._file = path.open("xb")
        self._put(self._header)

    def __enter__(self) -> "GgufWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def tensor(self) -> TensorPlan:
        """The one that `append` fills now."""
        return self._tensors[self._current]

    def append(self, rows: FloatArray) -> int:
        """The next rows of the current tensor. Returns the bytes written."""
        data = quantize(rows, self.tensor.type).tobytes()
        if len(data) > self._left:
            raise ValueError(f"too many rows for {self.tensor.name}")
        self._put(data)
        self._left -= len(data)
        if not self._left:
            self._put(b"\0" * (_padded(self.tensor.n_bytes) - self.tensor.n_bytes))
            self._current += 1
            self._left = self._tensors[self._current].n_bytes if self._current < len(self._tensors) else 0
        return len(data)

    def finish(self) -> Written:
        """Close the file, whose tensors must all be complete."""
        if self._current < len(self._tensors):
            raise ValueError(f"rows of {self.tensor.name} are missing")
        self._file.close()
        return Written(self._size, self._hash.hexdigest())

    def _put(self, data: bytes) -> None:
        self._hash.update(data)
        self._file.write(data)
        self._size += len(data)


def planned_bytes(tensors: Sequence[TensorPlan]) -> int:
    """Bytes of the tensors in a file; the header is small beside them."""
    return sum(_padded(tensor.n_bytes) for tensor in tensors)


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _header(keys: Sequence[Key], tensors: Sequence[TensorPlan]) -> bytes:
    parts = [struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys))]
    for key in keys:
        parts.append(_text(key.name))
        number, layout = _KINDS[key.kind]
        if isinstance(key.value, Sequence) and not isinstance(key.value, str):
            parts.append(struct.pack("<IIQ", 9, number, len(key.value)))
            parts.extend(_packed(layout, item) for item in key.value)
        else:
            parts.append(struct.pack("<I", number))
            parts.append(_packed(layout, key.value))
    offset = 0
    for tensor in tensors:
        parts.append(_text(tensor.name))
        parts.append(struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *reversed(tensor.shape)))
        parts.append(struct.pack("<IQ", tensor.type, offset))
        offset += _padded(tensor.n_bytes)
    header = b"".join(parts)
    return header + b"\0" * (_padded(len(header)) - len(header))


def _packed(layout: str, value: Scalar) -> bytes:
    return _text(value) if isinstance(value, str) else struct.pack(layout, value)


def _text(value: str) -> bytes:
    data = value.encode("utf-8")
    return struct.pack("<Q", len(data)) + data
