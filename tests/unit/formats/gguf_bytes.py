"""GGUF files made byte by byte, so that every field can be wrong."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Put = Callable[[bytes], None]


def text(value: bytes | str) -> bytes:
    """A GGUF string."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def info(name: bytes | str, sizes: Sequence[int], kind: int, offset: int) -> bytes:
    """A tensor's entry."""
    return text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, offset)


@dataclass
class Parts:
    """A file in parts; change what should be wrong."""

    magic: bytes = b"GGUF"
    version: int = 3
    keys: list[bytes] = field(default_factory=list)
    infos: list[bytes] = field(default_factory=list)
    data: bytes = b""
    n_keys: int | None = None
    n_tensors: int | None = None
    alignment: int = 32

    def build(self) -> bytes:
        """The file."""
        n_tensors = len(self.infos) if self.n_tensors is None else self.n_tensors
        n_keys = len(self.keys) if self.n_keys is None else self.n_keys
        head = self.magic + struct.pack("<IQQ", self.version, n_tensors, n_keys) + b"".join([*self.keys, *self.infos])
        return head + b"\0" * (-len(head) % self.alignment) + self.data


def key(name: bytes | str, kind: int, payload: bytes) -> bytes:
    """A metadata entry with its value's bytes."""
    return text(name) + struct.pack("<I", kind) + payload


def array(name: str, kind: int, count: int, payload: bytes) -> bytes:
    """A metadata entry with an array."""
    return key(name, 9, struct.pack("<IQ", kind, count) + payload)


def sound() -> Parts:
    """A good file: every type of key, a float32 matrix, a q8_0 matrix, and a vector of halves."""
    scalars = [
        (0, "<B", 7), (1, "<b", -7), (2, "<H", 700), (3, "<h", -700), (4, "<I", 70000), (5, "<i", -70000),
        (6, "<f", 0.5), (7, "<B", 1), (10, "<Q", 2**40), (11, "<q", -(2**40)), (12, "<d", 0.25),
    ]  # fmt: skip
    keys = [key(f"k.{kind}", kind, struct.pack(layout, value)) for kind, layout, value in scalars]
    keys += [
        key("general.architecture", 8, text("test")),
        key("empty", 8, text("")),
        array("texts", 8, 3, text("a") + text("") + text("é")),
        array("numbers", 5, 3, struct.pack("<3i", 1, -2, 3)),
        array("none", 8, 0, b""),
    ]
    infos = [info("a.weight", [4, 3], 0, 0), info("b.weight", [32, 2], 8, 64), info("c.bias", [5], 1, 160)]
    data = struct.pack("<12f", *range(12)) + bytes(16)
    data += (struct.pack("<e", 0.5) + bytes(range(32))) * 2 + bytes(28)
    data += struct.pack("<5e", *range(5)) + bytes(22)
    return Parts(keys=keys, infos=infos, data=data)
