"""A directory or a file that is made whole or not at all, and how far it is."""

import glob
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import ModelError
from kazeia_desktop.models.fetch import MARGIN_BYTES, Progress, ProgressCallback
from kazeia_desktop.runtime.leftovers import remove_leftovers

_REPORT_S: Final = 0.2


def free_bytes_of(path: Path) -> int:
    """Free bytes of the file system of `path`."""
    return shutil.disk_usage(path).free


@contextmanager
def staged(
    target: Path, needed_bytes: int, replaces: str | None = None, free_bytes: Callable[[Path], int] = free_bytes_of
) -> Iterator[Path]:
    """A new directory beside `target` that becomes it at the end of the block; gone if the block raises.

    Args:
        needed_bytes: must be free.
        replaces: a `target` that holds this file may be replaced; without it any but an empty one is refused.
    Raises:
        ModelError: the target is there, there is no space, or it cannot be written.
    """
    target = target.absolute()
    _check_target(target, replaces)
    temporary: Path | None = None
    try:
        remove_leftovers(target.parent, f".{glob.escape(target.name)}.new-*")
        _make_room(target.parent, needed_bytes, free_bytes)
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.new-"))
        yield temporary
        temporary.chmod(0o755)  # mkdtemp's is for one user only
        _put_in_place(temporary, target)
    except OSError as error:
        raise ModelError(
            "The model cannot be written to {path} ({reason}).", path=str(target), reason=error.strerror or str(error)
        ) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def staged_file(
    target: Path, needed_bytes: int, force: bool, free_bytes: Callable[[Path], int] = free_bytes_of
) -> Iterator[Path]:
    """A path for a new file that becomes `target` at the end of the block; gone if the block raises.

    Args:
        needed_bytes: must be free.
        force: a `target` that is a GGUF file may be replaced.
    Raises:
        ModelError: the target is there, there is no space, or it cannot be written.
    """
    target = target.absolute()
    _check_file(target, force)
    folder: Path | None = None
    try:
        remove_leftovers(target.parent, f".{glob.escape(target.name)}.new-*")
        _make_room(target.parent, needed_bytes, free_bytes)
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.new-"))
        yield folder / target.name
        (folder / target.name).replace(target)
    except OSError as error:
        raise ModelError(
            "The model cannot be written to {path} ({reason}).", path=str(target), reason=error.strerror or str(error)
        ) from error
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _check_file(target: Path, force: bool) -> None:
    if not target.exists():
        return
    if target.is_dir() or (force and not _is_gguf(target)):
        raise ModelError("{path} is there and is no converted model: choose another place.", path=str(target))
    if not force:
        raise ModelError("{path} is there already: choose another place, or add --force.", path=str(target))


def _is_gguf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"GGUF"
    except OSError:
        return False


def _make_room(folder: Path, needed_bytes: int, free_bytes: Callable[[Path], int]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    free = free_bytes(folder)
    if free < needed_bytes + MARGIN_BYTES:
        raise ModelError(
            "Not enough disk space to convert the model: {needed_mb} MB needed in {path}, {free_mb} MB free.",
            path=str(folder), needed_mb=-(-(needed_bytes + MARGIN_BYTES) // 10**6), free_mb=free // 10**6,
        )  # fmt: skip


def _check_target(target: Path, replaces: str | None) -> None:
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if replaces is None:
        raise ModelError("{path} is there already: choose another place, or add --force.", path=str(target))
    # --force must not take away a directory that somebody named by mistake.
    if not (target / replaces).is_file():
        raise ModelError("{path} is there and is no converted model: choose another place.", path=str(target))


def _put_in_place(made: Path, target: Path) -> None:
    """One rename; a replaced model is out of the way first, and back if that fails."""
    if not target.exists():
        made.rename(target)
        return
    aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old-"))
    target.rename(aside / "model")
    try:
        made.rename(target)
    except OSError:
        (aside / "model").rename(target)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


class Meter:
    """Bytes written to `Progress` reports, at most five a second.

    Attributes:
        file: the one being written.
    """

    def __init__(self, name: str, total_bytes: int, report: ProgressCallback | None) -> None:
        self._name, self._total, self._report = name, total_bytes, report
        self.file = ""
        self._done = 0
        self._began, self._last = time.monotonic(), float("-inf")

    def add(self, count: int) -> None:
        """`count` more bytes are written."""
        self._done += count
        now = time.monotonic()
        if self._report is None or (now - self._last < _REPORT_S and self._done < self._total):
            return
        self._last = now
        speed = self._done / (now - self._began) if now > self._began else None
        left = (self._total - self._done) / speed if speed else None
        self._report(Progress(self._name, self.file, self._done, self._total, speed, left))
