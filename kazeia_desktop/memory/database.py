"""The file that keeps conversations: SQLite, versioned, never lost and never in the way.

A damaged file is set aside under another name and a new one is begun. Two processes may use the file at
once: the log mode (WAL) lets them read while one writes, and writers wait for each other.
"""

import contextlib
import functools
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import StorageError

_log = logging.getLogger(__name__)

SCHEMA_VERSION: Final = 2
_BUSY_S: Final = 5.0
_AGAIN_S: Final = 0.02
"""How long a writer waits for another process."""

_FIRST: Final = (
    """CREATE TABLE conversations(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    language TEXT NOT NULL,
    begun_s REAL NOT NULL,
    changed_s REAL NOT NULL)""",
    """CREATE TABLE messages(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    role TEXT NOT NULL CHECK(role IN ('user', 'assistant')),
    text TEXT NOT NULL,
    folded TEXT NOT NULL,
    said_s REAL NOT NULL)""",
    "CREATE INDEX messages_of ON messages(conversation, id)",
)
_ENDS: Final = (  # how a turn ended, and what it took; of an older file, where the answer's text tells
    "ALTER TABLE messages ADD COLUMN ended TEXT NOT NULL DEFAULT 'done'",
    "ALTER TABLE messages ADD COLUMN metrics TEXT NOT NULL DEFAULT ''",
    "UPDATE messages SET ended = 'interrupted' WHERE role = 'assistant' AND text LIKE '%…'",
)
_STEPS: Final[Mapping[int, tuple[str, ...]]] = {0: _FIRST, 1: _ENDS}
"""Version n -> the statements that make version n + 1 of it."""

_LOOKED_AT: Final = (
    "SELECT id, title, language, begun_s, changed_s FROM conversations LIMIT 0",
    "SELECT id, conversation, role, text, folded, said_s, ended, metrics FROM messages LIMIT 0",
)

_INDEX: Final = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS found USING fts5(folded, content='messages', content_rowid='id')",
    """CREATE TRIGGER IF NOT EXISTS message_added AFTER INSERT ON messages BEGIN
    INSERT INTO found(rowid, folded) VALUES (new.id, new.folded); END""",
    """CREATE TRIGGER IF NOT EXISTS message_gone AFTER DELETE ON messages BEGIN
    INSERT INTO found(found, rowid, folded) VALUES ('delete', old.id, old.folded); END""",
)


class Database:
    """One file. Each connection belongs to the thread that asked for it.

    Args:
        path: made, with its folder, when it is first opened.
        told: hears of a damaged file that was set aside, in whatever thread found it.
    """

    def __init__(self, path: Path, told: Callable[[StorageError], None]) -> None:
        self._path = path
        self._told = told
        self._checked = False

    @property
    def path(self) -> Path:
        return self._path

    @property
    def identity(self) -> int | None:
        """Which file it is now; None for none: nothing was ever kept, or somebody removed it."""
        try:
            return self._path.stat().st_ino
        except OSError:
            return None

    def open(self) -> sqlite3.Connection:
        """A connection to the file in today's form; the caller closes it.

        Raises:
            StorageError: the place cannot be used, or the file is a newer Kazeia's.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                return self._patiently_opened()
            except sqlite3.OperationalError:
                raise  # busy, full, read-only: not the file's fault
            except sqlite3.DatabaseError as error:
                self.set_aside(str(error))
                return self._opened()
        except (OSError, sqlite3.Error) as error:
            raise self.unusable(error) from error

    def unusable(self, error: Exception) -> StorageError:
        """What to tell when the file's place cannot be used."""
        return StorageError(
            "The conversations in {path} cannot be used ({reason}): free space, or check permissions.",
            path=str(self._path),
            reason=str(error).splitlines()[0][:120] if str(error) else type(error).__name__,
        )

    def _patiently_opened(self) -> sqlite3.Connection:
        """SQLite does not wait for another process that changes a new file's journal at the same moment."""
        until_s = time.monotonic() + _BUSY_S
        while True:
            try:
                return self._opened()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until_s:
                    raise
                time.sleep(_AGAIN_S)

    def _opened(self) -> sqlite3.Connection:
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite's other files take its permissions
        connection = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        try:
            for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "secure_delete=ON"):
                connection.execute(f"PRAGMA {pragma}")
            try:
                _migrate(connection, self._path)
                if not self._checked:
                    for looked_at in _LOOKED_AT:
                        connection.execute(looked_at)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                    raise
                raise sqlite3.DatabaseError(str(error)) from error  # its tables are not ours, however it came to that
            if not self._checked:  # it reads the whole file
                verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                if verdict != "ok":
                    raise sqlite3.DatabaseError(verdict)
                self._checked = True
            _index(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def set_aside(self, reason: str) -> None:
        """Give a damaged file another name, with what belongs to it, and tell so.

        Raises:
            OSError: it cannot be renamed.
        """
        self._checked = False
        kept, number = self._path.with_suffix(".damaged.db"), 1
        while kept.exists():
            number += 1
            kept = self._path.with_suffix(f".damaged-{number}.db")
        for ending in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{self._path}{ending}").replace(f"{kept}{ending}")
        with contextlib.suppress(FileNotFoundError):  # another process was first
            self._path.replace(kept)
        _log.info("the database of conversations is set aside: %s", reason)
        self._told(
            StorageError(
                "The file of conversations was damaged ({reason}): it is kept as {kept} and a new one is begun.",
                reason=reason.splitlines()[0][:120],
                kept=str(kept),
            )
        )


@functools.cache
def has_index() -> bool:
    """Whether this SQLite can search by an index (FTS5); else every message is looked at."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
        except sqlite3.OperationalError:
            return False
    return True


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; waits for another process that writes."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    def version() -> int:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])

    if version() < 0:
        raise sqlite3.DatabaseError(f"version {version()}")
    if version() < SCHEMA_VERSION:
        with transaction(connection):
            for step in range(version(), SCHEMA_VERSION):  # asked again: another process may have done it
                for statement in _STEPS[step]:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    if version() > SCHEMA_VERSION:
        raise StorageError(
            "The conversations in {path} were written by a newer Kazeia (version {version}): update Kazeia.",
            path=str(path),
            version=version(),
        )


def _index(connection: sqlite3.Connection) -> None:
    """The index for searching, where SQLite has one; made anew when a SQLite without it wrote meanwhile."""
    if not has_index():
        for trigger in ("message_added", "message_gone"):
            connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        return
    triggers = "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'message_%'"
    if connection.execute(triggers).fetchone()[0] == 2:
        return
    with transaction(connection):
        for statement in _INDEX:
            connection.execute(statement)
        connection.execute("INSERT INTO found(found) VALUES ('rebuild')")
