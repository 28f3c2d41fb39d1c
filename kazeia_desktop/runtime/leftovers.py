"""What a process that was ended in the middle of its work left beside the place of its result."""

import contextlib
import shutil
import time
from pathlib import Path
from typing import Final

_OLD_S: Final = 6 * 3600.0
"""Longer than any work of another process that may be going on now."""


def remove_leftovers(folder: Path, pattern: str, older_s: float = _OLD_S) -> None:
    """Remove the folders and files of such names in `folder` in which nothing was written for so long."""
    now_s = time.time()
    with contextlib.suppress(OSError):
        for left in folder.glob(pattern):
            with contextlib.suppress(OSError):
                if now_s - left.stat().st_mtime > older_s:
                    if left.is_dir() and not left.is_symlink():
                        shutil.rmtree(left, ignore_errors=True)
                    else:
                        left.unlink()
