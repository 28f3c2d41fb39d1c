"""Small files that are read and written whole: records, notes. A reader sees the old one or the new, never a piece."""

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final

_LARGEST: Final = 1 << 20
"""Bytes of a record; a larger file is none of ours."""


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content`; its folder is there.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def read_record(path: Path, version: int) -> dict[str, Any]:
    """A JSON object that says `version`; empty where the file is missing, damaged or of another version."""
    try:
        if path.stat().st_size > _LARGEST:
            return {}
        tree = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return tree if isinstance(tree, dict) and tree.get("version") == version else {}


def write_record(path: Path, version: int, tree: dict[str, Any]) -> None:
    """Write it as `read_record` reads it, and its folder where that is missing.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps({"version": version, **tree}, indent=1).encode())
