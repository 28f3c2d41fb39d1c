"""Weights as our kernels want them, packed once and kept on disk, where they are mapped from.

A file of packed weights stands beside the file it was made of, or in the user's cache directory where that cannot be
written; docs/adr says why. It begins with a header that tells of what file it was made, and when that was last
written; then the matrices in that file's order, each on a multiple of 64 bytes. A checksum covers header and
matrices: reading them all is what fetches them into memory, so it costs no time of its own. A file that is not
exactly this is made anew.
"""

import contextlib
import glob
import logging
import mmap
import os
import shutil
import struct
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from kazeia_desktop._native import PACKED_ALIGNMENT, PACKED_LAYOUT, checksum, pack
from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.problems import unreadable
from kazeia_desktop.formats.voice_manifest import FileRecord
from kazeia_desktop.paths import Paths

_log = logging.getLogger(__name__)

TYPES: Final[Mapping[int, str]] = {
    GgmlType.F32: "f32", GgmlType.F16: "f16", GgmlType.Q8_0: "q8_0", GgmlType.Q4_0: "q4_0",
}  # fmt: skip
_HEADER: Final = struct.Struct("<8sIIQQ32sqQ")
"""Magic, format, layout of panels, bytes of matrices; the source's size, sha256 and time of change; checksum."""
_MAGIC: Final = b"KazPack\n"
_FORMAT: Final = 1
SUFFIX: Final = ".packed"
_TEMPORARY: Final = ".part"
_ABANDONED_S: Final = 3600.0
"""A file under way that is older was left by a process that ended."""
_START: Final = 4096
"""Of the first matrix: a page."""

Bytes = NDArray[np.uint8]
Tensor = tuple[str, int, int, Bytes, bool]
"""As native code takes it: type, rows, columns, bytes, and whether these are packed."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a matrix is: `offset` from the first one's start."""

    name: str
    offset: int
    n_bytes: int


class PackedWeights:
    """The matrices of one model file.

    Args:
        file: whose tensors have been compared with what the model must have.
        record: of it, from the manifest.
        names: of the matrices to pack, in the file's order.
    """

    def __init__(self, file: GgufFile, record: FileRecord, names: list[str]) -> None:
        self._file = file
        self._places: list[_Place] = []
        end = 0
        for name in names:
            info = file.info(name)
            self._places.append(_Place(name, end, info.n_bytes))
            end += -(-info.n_bytes // PACKED_ALIGNMENT) * PACKED_ALIGNMENT
        self._n_bytes = end
        self._sha256 = record.sha256
        try:
            status = file.path.stat()
        except OSError as error:
            raise unreadable(file.path, error) from error
        self._source = (status.st_size, bytes.fromhex(record.sha256), status.st_mtime_ns)

    def load(self) -> dict[str, Tensor]:
        """All matrices, packed: from disk where they are there, and written there where they are not and can be.

        Raises:
            ModelError: the model file cannot be read any more.
        """
        for path in self._paths():
            if (found := self._mapped(path)) is not None:
                return self._tensors(found)
        written = self._write()
        return self._tensors(self._in_memory() if written is None else written)

    def _paths(self) -> tuple[Path, Path]:
        source = self._file.path
        elsewhere = Paths.from_environment().cache_dir / "packed" / f"{self._sha256}{SUFFIX}"
        return source.with_name(source.name + SUFFIX), elsewhere

    def _tensors(self, packed: Bytes) -> dict[str, Tensor]:
        return {
            place.name: self._tensor(place, packed[place.offset : place.offset + place.n_bytes])
            for place in self._places
        }

    def _tensor(self, place: _Place, content: Bytes, packed: bool = True) -> Tensor:
        info = self._file.info(place.name)
        return TYPES[info.type], info.shape[0], info.shape[1], content, packed

    def _header(self, total: int) -> bytes:
        return _HEADER.pack(_MAGIC, _FORMAT, PACKED_LAYOUT, self._n_bytes, *self._source, total)

    def _sum(self, parts: Iterable[Bytes]) -> int:
        """Of the header, and of the matrices as they come."""
        total = checksum(np.frombuffer(self._header(0), np.uint8))
        for part in parts:
            total = checksum(part, total)
        return total

    def _parts(self, packed: Bytes) -> Iterator[Bytes]:
        """Each matrix with what fills its last 64 bytes."""
        ends = [*(place.offset for place in self._places[1:]), self._n_bytes]
        return (packed[place.offset : end] for place, end in zip(self._places, ends, strict=True))

    def _mapped(self, path: Path) -> Bytes | None:
        """The matrices of a file, or None, with a line in the log where there is one that is not as it should be."""
        try:
            with path.open("rb") as file:
                size, header = os.fstat(file.fileno()).st_size, file.read(_HEADER.size)
                if size == _START + self._n_bytes and header[:-8] == self._header(0)[:-8]:
                    content = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)[_START:]
                    if header == self._header(self._sum(self._parts(content))):
                        return content
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:  # ValueError: it is shorter now
            _log.info("%s cannot be read (%s)", path, error)
            return None
        _log.info("%s is damaged or of another model: it is made again", path)
        return None

    def _write(self) -> Bytes | None:
        """The matrices from a file that is written now; None where no place takes it."""
        for path in self._paths():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                _clean(path)
                if shutil.disk_usage(path.parent).free < 2 * self._n_bytes:
                    _log.info("%s is not written: too little space is left", path)
                    continue
                with _replacing(path, self._file.path) as file:
                    self._fill(file)
            except OSError as error:
                _log.info("%s cannot be written (%s)", path, error)
                continue
            if (found := self._mapped(path)) is not None:
                return found
        return None

    def _fill(self, file: BinaryIO) -> None:
        """One matrix after the other: no more than one is in memory."""

        def written() -> Iterator[Bytes]:
            for place in self._places:
                part = np.zeros(-(-place.n_bytes // PACKED_ALIGNMENT) * PACKED_ALIGNMENT, np.uint8)
                self._pack(place, part[: place.n_bytes])
                file.write(part.data)
                yield part

        file.seek(_START)
        total = self._sum(written())
        file.seek(0)
        file.write(self._header(total))

    def _in_memory(self) -> Bytes:
        packed = np.frombuffer(mmap.mmap(-1, self._n_bytes), np.uint8)
        for place in self._places:
            self._pack(place, packed[place.offset : place.offset + place.n_bytes])
        return packed

    def _pack(self, place: _Place, out: Bytes) -> None:
        """What is mapped of the model file is let go after each matrix."""
        kind, rows, columns, content, _ = self._tensor(place, self._file.raw(place.name), packed=False)
        pack(kind, rows, columns, content, out)


@contextlib.contextmanager
def _replacing(path: Path, source: Path) -> Iterator[BinaryIO]:
    """A new file, as readable as `source`, that becomes `path` at the end of the block; gone if the block raises."""
    handle, name = tempfile.mkstemp(_TEMPORARY, f".{path.name}.", path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        shutil.copymode(source, name)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _clean(path: Path) -> None:
    """Removes what a process that ended in the middle has left of `path`."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*{_TEMPORARY}"):
        with contextlib.suppress(OSError):
            if left.stat().st_mtime < time.time() - _ABANDONED_S:
                left.unlink()
