"""What makes a saved state safe to load: a trailer that says what it belongs to, and that it is whole.

llama.cpp checks that a state has the context's layers and types, not that it is of this model, nor that it is
what was written. It reads a file from its beginning and stops, so what follows is ours:

    note | n_note u64 | fingerprint 32 bytes | crc32 of all before u32 | "KZSTATE1"
"""

import hashlib
import os
import struct
import zlib
from pathlib import Path
from typing import BinaryIO, Final

_MAGIC: Final = b"KZSTATE1"
_END: Final = struct.Struct("<Q32sI8s")
_BLOCK: Final = 1 << 20
_SAMPLES: Final = 64
_SAMPLE: Final = 4096


def fingerprint(model: Path, context: str) -> bytes:
    """32 bytes that differ for another model or another kind of context.

    Of the file's size, its beginning and samples all over it: fine-tunes of one model differ only in their weights.
    """
    found = hashlib.sha256(context.encode())
    with model.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        found.update(struct.pack("<Q", size))
        file.seek(0)
        found.update(file.read(_BLOCK))
        for i in range(_SAMPLES):
            file.seek(size * i // _SAMPLES)
            found.update(file.read(_SAMPLE))
    return found.digest()


def seal(path: Path, owner: bytes, note: bytes) -> bool:
    """Append the trailer to a state that llama.cpp has written.

    Raises:
        OSError: it cannot be written.
    """
    with path.open("r+b") as file:
        crc = _crc(file, file.seek(0, os.SEEK_END))
        head = _END.pack(len(note), owner, 0, _MAGIC)[:40]
        crc = zlib.crc32(head, zlib.crc32(note, crc))
        file.seek(0, os.SEEK_END)
        file.write(note + _END.pack(len(note), owner, crc, _MAGIC))
    return True


def read_note(path: Path, owner: bytes) -> bytes | None:
    """The note of a sound state of this owner; None for any other file."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            if size < _END.size:
                return None
            file.seek(size - _END.size)
            n_note, of, crc, magic = _END.unpack(file.read(_END.size))
            if magic != _MAGIC or of != owner or n_note > size - _END.size:
                return None
            if _crc(file, size - 12) != crc:
                return None
            file.seek(size - _END.size - n_note)
            return file.read(n_note)
    except OSError:
        return None


def _crc(file: BinaryIO, size: int) -> int:
    """Of the first `size` bytes."""
    file.seek(0)
    crc = 0
    while size > 0:
        block = file.read(min(_BLOCK, size))
        if not block:
            break
        crc = zlib.crc32(block, crc)
        size -= len(block)
    return crc
