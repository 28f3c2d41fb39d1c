"""What models take on the disk, and giving it back."""

import contextlib
import shutil
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import ModelError
from kazeia_desktop.models.lock import exclusive
from kazeia_desktop.runtime.cancel import CancelToken

_LOCK: Final = ".lock"
_WHEELS: Final = ".wheels"
_PART: Final = ".part"


def used_bytes(folder: Path) -> int:
    """Of everything below a folder, half-fetched files included; 0 where there is none."""
    total = 0
    with contextlib.suppress(OSError):
        for path in folder.rglob("*"):
            with contextlib.suppress(OSError):
                if path.is_file():
                    total += path.lstat().st_size
    return total


def partial_bytes(folder: Path) -> int:
    """What is kept of a download that is not complete."""
    total = 0
    with contextlib.suppress(OSError):
        for path in folder.rglob(f"*{_PART}"):
            with contextlib.suppress(OSError):
                total += path.stat().st_size
    return total


def free_bytes(folder: Path) -> int:
    """Free where `folder` is, or will be."""
    while not folder.exists() and folder.parent != folder:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def remove_model(folder: Path, cancel: CancelToken) -> None:
    """Delete a model with all that was made of it; waits while another process downloads it.

    Raises:
        ModelError: the disk refuses.
        Cancelled: while waiting.
    """
    if not folder.is_dir():
        return
    try:
        with exclusive(folder / _LOCK, cancel, lambda: None):
            for path in folder.iterdir():
                if path.name == _LOCK:
                    continue
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        shutil.rmtree(folder)
    except OSError as error:
        raise _cannot_delete(folder, error) from error


def discard_partial(folder: Path, cancel: CancelToken) -> None:
    """Delete what a stopped download left; a folder that is then empty goes too.

    Raises:
        ModelError: the disk refuses.
        Cancelled: while waiting for another process.
    """
    if not folder.is_dir():
        return
    try:
        with exclusive(folder / _LOCK, cancel, lambda: None):
            for path in list(folder.rglob(f"*{_PART}")):
                path.unlink()
            shutil.rmtree(folder / _WHEELS, ignore_errors=True)
        if not any(path.is_file() and path.name != _LOCK for path in folder.rglob("*")):
            shutil.rmtree(folder)
    except OSError as error:
        raise _cannot_delete(folder, error) from error


def _cannot_delete(folder: Path, error: OSError) -> ModelError:
    return ModelError(
        "The model in {path} cannot be deleted ({reason}): check the folder's permissions.",
        path=str(folder),
        reason=error.strerror or str(error),
    )
