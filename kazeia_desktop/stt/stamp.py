"""What stands beside exported graphs: of which weights they are, and whether their bytes are still those written.

Hashing 130 MB takes a tenth of a second to half of one, so a file whose size and time are the written ones is
believed; any other is hashed.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

NAME: Final = "source.txt"


def fingerprint(path: Path) -> str:
    """Changes when the weights do: size and the hash of head and tail (the whole was verified before).

    Empty where the file cannot be read: the reader of the weights says why.
    """
    try:
        with path.open("rb") as file:
            head = file.read(1 << 16)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - (1 << 16)))
            tail = file.read()
    except OSError:
        return ""
    return f"{size} {hashlib.sha256(head + tail).hexdigest()}"


def write(folder: Path, source: str, names: Sequence[str]) -> None:
    """Put the stamp into a folder whose graphs are finished. Raises OSError."""
    graphs = {name: _described(folder / name) for name in names}
    (folder / NAME).write_text(json.dumps({"source": source, "graphs": graphs}, indent=1), "utf-8")


def holds(folder: Path, source: str, names: Sequence[str]) -> bool:
    """Whether a finished export of these weights is there, every graph of it, and undamaged."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        told = json.loads((folder / NAME).read_bytes())
        return told["source"] == source and all(_is_as_written(folder / name, told["graphs"][name]) for name in names)
    return False


def _described(path: Path) -> dict[str, Any]:
    status = path.stat()
    return {"bytes": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": _sha256(path)}


def _is_as_written(path: Path, told: dict[str, Any]) -> bool:
    status = path.stat()
    if status.st_size != told["bytes"]:
        return False
    return bool(status.st_mtime_ns == told["mtime_ns"] or _sha256(path) == told["sha256"])


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
