"""A GGUF file taken apart into its entries, so that one of them can be altered and the file put together again."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9
_ALIGNMENT = 32


def text(value: str | bytes) -> bytes:
    """A GGUF string."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


@dataclass(frozen=True)
class KeyPart:
    """An entry of the metadata. payload: the value's bytes, behind its type; of an array with item type and count."""

    name: bytes
    kind: int
    payload: bytes

    def build(self) -> bytes:
        return text(self.name) + struct.pack("<I", self.kind) + self.payload

    def items(self) -> list[bytes]:
        """An array's items, each as it stands in the file."""
        kind, count = struct.unpack_from("<IQ", self.payload)
        return list(_items(self.payload, 12, kind, count))

    def with_items(self, items: list[bytes], kind: int | None = None, count: int | None = None) -> "KeyPart":
        """The same array with other items."""
        kind = struct.unpack_from("<I", self.payload)[0] if kind is None else kind
        head = struct.pack("<IQ", kind, len(items) if count is None else count)
        return replace(self, payload=head + b"".join(items))


@dataclass(frozen=True)
class TensorPart:
    """A tensor's entry; sizes in ggml's order."""

    name: bytes
    sizes: tuple[int, ...]
    kind: int
    offset: int
    n_dims: int | None = None

    def build(self) -> bytes:
        n = len(self.sizes) if self.n_dims is None else self.n_dims
        return text(self.name) + struct.pack(f"<I{len(self.sizes)}QIQ", n, *self.sizes, self.kind, self.offset)


@dataclass(frozen=True)
class GgufParts:
    """A whole file. data: from the first tensor's first byte on."""

    keys: tuple[KeyPart, ...]
    tensors: tuple[TensorPart, ...]
    data: bytes
    magic: bytes = b"GGUF"
    version: int = 3
    n_keys: int | None = None
    n_tensors: int | None = None

    @classmethod
    def split(cls, file: bytes) -> "GgufParts":
        """Of a good file."""
        reader = _Reader(file)
        reader.take("<I")
        version, n_tensors, n_keys = reader.take("<IQQ")
        keys = []
        for _ in range(n_keys):
            name, kind = reader.text(), reader.take("<I")[0]
            start = reader.at
            reader.skip(kind)
            keys.append(KeyPart(name, kind, file[start : reader.at]))
        tensors = []
        for _ in range(n_tensors):
            name, n_dims = reader.text(), reader.take("<I")[0]
            sizes = reader.take(f"<{n_dims}Q")
            kind, offset = reader.take("<IQ")
            tensors.append(TensorPart(name, sizes, kind, offset))
        start = -(-reader.at // _ALIGNMENT) * _ALIGNMENT
        return cls(tuple(keys), tuple(tensors), file[start:], version=version)

    def build(self) -> bytes:
        n_tensors = len(self.tensors) if self.n_tensors is None else self.n_tensors
        n_keys = len(self.keys) if self.n_keys is None else self.n_keys
        head = self.magic + struct.pack("<IQQ", self.version, n_tensors, n_keys)
        head += b"".join([*(key.build() for key in self.keys), *(tensor.build() for tensor in self.tensors)])
        return head + b"\0" * (-len(head) % _ALIGNMENT) + self.data

    def key(self, name: str) -> KeyPart:
        """The entry of this name."""
        return next(key for key in self.keys if key.name == name.encode())

    def with_key(self, name: str, other: KeyPart) -> "GgufParts":
        """The file with one entry replaced."""
        return replace(self, keys=tuple(other if key.name == name.encode() else key for key in self.keys))

    def with_tensor(self, name: str, other: TensorPart) -> "GgufParts":
        """The file with one tensor's entry replaced."""
        return replace(self, tensors=tuple(other if part.name == name.encode() else part for part in self.tensors))

    def change_key(self, name: str, change: Callable[[KeyPart], KeyPart]) -> "GgufParts":
        """The file with one entry changed."""
        return self.with_key(name, change(self.key(name)))

    def change_tensor(self, name: str, change: Callable[[TensorPart], TensorPart]) -> "GgufParts":
        """The file with one tensor's entry changed."""
        return self.with_tensor(name, change(next(part for part in self.tensors if part.name == name.encode())))


class _Reader:
    def __init__(self, file: bytes) -> None:
        self._file = file
        self.at = 0

    def take(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(layout, self._file, self.at)
        self.at += struct.calcsize(layout)
        return values

    def text(self) -> bytes:
        (length,) = self.take("<Q")
        self.at += length
        return self._file[self.at - length : self.at]

    def skip(self, kind: int) -> None:
        if kind == STRING:
            self.text()
        elif kind == ARRAY:
            item, count = self.take("<IQ")
            for part in _items(self._file, self.at, item, count):
                self.at += len(part)
        else:
            self.at += _SIZES[kind]


def _items(data: bytes, at: int, kind: int, count: int) -> Iterator[bytes]:
    for _ in range(count):
        size = 8 + struct.unpack_from("<Q", data, at)[0] if kind == STRING else _SIZES[kind]
        yield data[at : at + size]
        at += size
