"""Are a model's files what they should be? Hashes, and the record of what was already hashed.

Hashing half a gigabyte takes seconds, so each model's folder keeps `.verified.json`: the size,
modification time and sha256 of every file that passed. While size and time are unchanged the record
stands; `kazeia models verify` always recomputes.
"""

import hashlib
import json
import logging
import os
import re
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import ModelCorruptError, ModelError, ModelMissingError
from kazeia_desktop.models.catalog import ModelEntry, ModelFile
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.small_files import write_atomically

_log = logging.getLogger(__name__)

RECORD_NAME: Final = ".verified.json"
CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of one file on this machine."""

    bytes: int
    mtime_ns: int  # 0: known hash, but the file was found to differ
    sha256: str
    revision: str = ""  # the hub's, for a file that the catalogue does not pin


def file_sha256(path: Path, cancel: CancelToken | None = None) -> str:
    """sha256 of a file, in hexadecimal.

    Raises:
        OSError: it cannot be read.
        Cancelled: `cancel` was set meanwhile.
    """
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as stream:
        while block := stream.read(CHUNK):
            if cancel is not None:
                cancel.raise_if_set()
            digest.update(block)
    return digest.hexdigest()


class Verifier:
    """Checks the files of one model's folder. Safe to use from several threads."""

    def __init__(self, entry: ModelEntry, directory: Path) -> None:
        self._entry = entry
        self._directory = directory
        self._lock = threading.Lock()

    def path(self, file: ModelFile) -> Path:
        """Where `file` belongs."""
        return self._directory.joinpath(*file.name.split("/"))

    def expected(self, file: ModelFile) -> tuple[int, str] | None:
        """(bytes, sha256) from the catalogue or, where it has none, as recorded at the download."""
        if file.bytes is not None and file.sha256 is not None:
            return file.bytes, file.sha256
        record = self._records().get(file.name)
        return (record.bytes, record.sha256) if record else None

    def is_present(self, file: ModelFile) -> bool:
        """Whether the file is there with the right size."""
        try:
            size = self.path(file).stat().st_size
        except OSError:
            return False
        expected = self.expected(file)
        return expected is None or size == expected[0]

    def is_verified(self, file: ModelFile) -> bool:
        """Whether the file passed a check and has not been touched since. Reads no content."""
        record = self._records().get(file.name)
        expected = self.expected(file)
        if record is None or expected != (record.bytes, record.sha256):
            return False
        try:
            status = self.path(file).stat()
        except OSError:
            return False
        return (status.st_size, status.st_mtime_ns) == (record.bytes, record.mtime_ns)

    def check(self, file: ModelFile, cancel: CancelToken | None = None) -> None:
        """Hash the file, compare, and record that it passed.

        Raises:
            ModelMissingError: it is not there, or nothing is known to compare it with.
            ModelCorruptError: size or hash differ.
            ModelError: it cannot be read.
        """
        path, name = self.path(file), self._entry.name
        try:
            status = path.stat()
        except FileNotFoundError:
            raise ModelMissingError(
                "The model {name} is not complete: {file} is missing. Run `kazeia models get {name}`.",
                name=name, file=file.name,
            ) from None  # fmt: skip
        except OSError as error:
            raise self._unreadable(path, error) from error
        expected = self.expected(file)
        if expected is None:
            raise ModelMissingError(
                "{file} of the model {name} was never checked against the hub. Run `kazeia models get {name}`.",
                name=name, file=file.name,
            )  # fmt: skip
        size, sha256 = expected
        if status.st_size != size:
            self._distrust(file)
            raise ModelCorruptError(
                "{file} of the model {name} is damaged: {found} bytes instead of {expected}. "
                "Run `kazeia models get {name}`.",
                name=name, file=file.name, found=status.st_size, expected=size,
            )  # fmt: skip
        try:
            found = file_sha256(path, cancel)
        except OSError as error:
            raise self._unreadable(path, error) from error
        if found != sha256:
            self._distrust(file)
            raise ModelCorruptError(
                "{file} of the model {name} is damaged: its sha256 is {found} instead of {expected}. "
                "Run `kazeia models get {name}`.",
                name=name, file=file.name, found=found, expected=sha256,
            )  # fmt: skip
        known = self._records().get(file.name)
        self.record(file, sha256, known.revision if known else "", status)

    def record(self, file: ModelFile, sha256: str, revision: str = "", status: os.stat_result | None = None) -> None:
        """Note that the file was checked: its hash is `sha256`.

        Args:
            status: its stat from before the hash was computed; None when nothing else can write it.
        """
        status = status or self.path(file).stat()
        self._update(file.name, Record(status.st_size, status.st_mtime_ns, sha256, revision))

    def _distrust(self, file: ModelFile) -> None:
        known = self._records().get(file.name)
        if known is not None:
            self._update(file.name, replace(known, mtime_ns=0))

    def _unreadable(self, path: Path, error: OSError) -> ModelError:
        return ModelError(
            "The model file {path} cannot be read ({reason}). Check its permissions.",
            path=str(path), reason=error.strerror or str(error),
        )  # fmt: skip

    def _records(self) -> dict[str, Record]:
        try:
            tree = json.loads((self._directory / RECORD_NAME).read_text("utf-8"))
            return {str(name): _as_record(fields) for name, fields in tree["files"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            _log.info("the record of verified files in %s is not readable: files are checked again", self._directory)
            return {}

    def _update(self, name: str, record: Record) -> None:
        with self._lock:
            records = self._records()
            records[name] = record
            text = json.dumps({"files": {key: asdict(value) for key, value in records.items()}}, indent=1)
            try:
                write_atomically(self._directory / RECORD_NAME, text.encode())
            except OSError as error:
                # A read-only folder: what is in it is still used, only checked at each start.
                _log.info("%s cannot be written (%s)", self._directory / RECORD_NAME, error)


def _as_record(fields: dict[str, object]) -> Record:
    size, mtime_ns, sha256, revision = (fields[key] for key in ("bytes", "mtime_ns", "sha256", "revision"))
    if not (isinstance(size, int) and isinstance(mtime_ns, int)):
        raise ValueError("not a number")
    if not (isinstance(sha256, str) and re.fullmatch("[0-9a-f]{64}", sha256) and isinstance(revision, str)):
        raise ValueError("not a hash")
    return Record(size, mtime_ns, sha256, revision)
