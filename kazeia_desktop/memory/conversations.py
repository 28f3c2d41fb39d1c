"""Conversations as they are kept: what was said and heard, how each turn ended, and what it took."""

import contextlib
import functools
import sqlite3
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from kazeia_desktop.errors import StorageError
from kazeia_desktop.memory.database import Database, has_index, transaction
from kazeia_desktop.memory.folding import excerpt, folded, words
from kazeia_desktop.memory.said import ASSISTANT, DONE, NO_METRICS, USER, Said, metrics_of, metrics_text

AnswerT = TypeVar("AnswerT")

_TITLE_CHARACTERS: Final = 48
_TITLE_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class Summary:
    """A conversation in a list. Times are seconds since 1970, UTC."""

    id: int
    title: str
    language: str
    begun_s: float
    changed_s: float
    n_messages: int


@dataclass(frozen=True, slots=True)
class Found:
    """A conversation in which something was found, and the surroundings of the best place in it."""

    conversation: Summary
    role: str
    excerpt: str


class ConversationStore:
    """The kept conversations. Thread-safe: readers read by themselves, one thread writes.

    Nothing is made on disk before the first `add`; without a file there are no conversations.

    Args:
        path: the database.
        told: hears of faults of what nobody waits for, and of a damaged file that was set aside.
        now: seconds since 1970.

    Attributes:
        now_s: the clock.
    """

    def __init__(
        self, path: Path, told: Callable[[StorageError], None] = lambda _: None, now: Callable[[], float] = time.time
    ) -> None:
        self._database = Database(path, told)
        self._told = told
        self.now_s = now
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="memory")
        self._connection: sqlite3.Connection | None = None  # the writer's
        self._identity: int | None = None

    # Reading

    def summaries(self, limit: int = -1) -> list[Summary]:
        """The conversations, the one that changed last first; a limit below 0: all."""
        return self._read(lambda c: [_summary(row) for row in c.execute(f"{_SUMMARIES} LIMIT ?", (limit,))], [])

    def get(self, conversation: int) -> Summary:
        """One conversation.

        Raises:
            StorageError: there is none of that id, or the file cannot be read.
        """
        one = f"{_SELECT} WHERE c.id = ?"
        row = self._read(lambda c: c.execute(one, (conversation,)).fetchone(), None)
        if row is None:
            raise _no_such(conversation)
        return _summary(row)

    def messages(self, conversation: int) -> list[Said]:
        """What was said in a conversation, in order. Raises StorageError as `get`."""
        self.get(conversation)
        of = "SELECT role, text, said_s, id, ended, metrics FROM messages WHERE conversation = ? ORDER BY id"
        return self._read(lambda c: [_said(row) for row in c.execute(of, (conversation,))], [])

    def search(self, text: str, limit: int = 50) -> list[Found]:
        """Conversations with a message, or a title, that has every word of `text`, the last changed first.

        Case and accents do not matter; the beginning of a word is enough.
        """
        wanted = words(text)
        if not wanted:
            return []
        return self._read(lambda c: _search(c, wanted, limit), [])

    def _read(self, ask: Callable[[sqlite3.Connection], AnswerT], nothing: AnswerT) -> AnswerT:
        with contextlib.suppress(RuntimeError):  # closed: all is written
            self._writer.submit(lambda: None).result()  # what was said before is there when it is read
        if self._database.identity is None:
            return nothing
        with contextlib.closing(self._database.open()) as connection:
            try:
                return ask(connection)
            except sqlite3.Error as error:
                raise self._database.unusable(error) from error

    # Writing

    def add(
        self,
        conversation: int | Future[int] | None,
        question: str,
        answer: str,
        language: str,
        rows: list[int] | None = None,
        *,
        ended: str = DONE,
        metrics: Mapping[str, float | None] = NO_METRICS,
        asked_s: float | None = None,
    ) -> Future[int]:
        """Keep an exchange; an empty answer is left out. The first words become the title where there is none.

        Returns at once; the id of the conversation that has it comes, or a StorageError, which is told too.

        Args:
            conversation: its id, or what an earlier `add` returned. None, one that was deleted meanwhile, or one that
                could not be written: a new one.
            rows: gets the ids of the messages when they are written, for `remove`.
            ended, metrics: see Said. asked_s: when the question was asked; None: now.
        """
        now_s = self.now_s()
        question, answer = _as_utf8(question), _as_utf8(answer)
        said = [(USER, question, now_s if asked_s is None else asked_s, DONE if answer else ended, "")]
        if answer:
            said.append((ASSISTANT, answer, now_s, ended, metrics_text(metrics)))

        def write(connection: sqlite3.Connection) -> int:
            id = _known(conversation) or 0
            written: list[int] = []
            with transaction(connection):
                row = connection.execute("SELECT title FROM conversations WHERE id = ?", (id,)).fetchone()
                if row is None:
                    new = "INSERT INTO conversations(title, language, begun_s, changed_s) VALUES ('', ?, ?, ?)"
                    id, row = int(connection.execute(new, (language, now_s, now_s)).lastrowid or 0), ("",)
                for role, text, said_s, end, figures in said:
                    if text:
                        added = connection.execute(_ADD, (id, role, text, folded(text), said_s, end, figures))
                        written.append(int(added.lastrowid or 0))
                connection.execute(
                    "UPDATE conversations SET changed_s = ?, title = ? WHERE id = ?",
                    (now_s, row[0] or title_of(question), id),
                )
            if rows is not None:
                rows[:] = written
            return id

        return self._write(write, self._told)

    def remove(self, messages: Sequence[Sequence[int]]) -> None:
        """Remove messages so that none of them is left in the file; returns at once, faults are told.

        A conversation without messages goes; a title that was made of what is removed is made anew.

        Args:
            messages: the `rows` of calls of `add`, or ids of `Said`.
        """

        def write(connection: sqlite3.Connection) -> None:
            ids = [(id,) for some in messages for id in some]
            with transaction(connection):
                touched = {row[0] for id in ids for row in connection.execute(_CONVERSATION_OF, id)}
                before = {conversation: _first_words(connection, conversation) for conversation in touched}
                connection.executemany("DELETE FROM messages WHERE id = ?", ids)
                for conversation, (title, first) in before.items():
                    _, now_first = _first_words(connection, conversation)
                    if not connection.execute(_ANY_OF, (conversation,)).fetchone():
                        connection.execute("DELETE FROM conversations WHERE id = ?", (conversation,))
                    elif title == title_of(first) and now_first != first:
                        set_title = "UPDATE conversations SET title = ? WHERE id = ?"
                        connection.execute(set_title, (title_of(now_first), conversation))
            if touched:
                _forget(connection)

        with contextlib.suppress(RuntimeError):  # closed
            self._write(write, self._told)

    def rename(self, conversation: int, title: str) -> None:
        """Give it another title. Raises StorageError: an empty title, or no such conversation."""
        title = " ".join(title.split())[:_TITLE_LIMIT]
        if not title:
            raise StorageError("A title needs at least one character.")

        def write(connection: sqlite3.Connection) -> int:
            set_title = "UPDATE conversations SET title = ? WHERE id = ?"
            return connection.execute(set_title, (title, conversation)).rowcount

        if self._database.identity is None or self._write(write).result() == 0:
            raise _no_such(conversation)

    def delete(self, conversation: int) -> None:
        """Remove a conversation so that none of it is left in the file. Raises StorageError: there is none."""

        def write(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                connection.execute("DELETE FROM messages WHERE conversation = ?", (conversation,))
                gone = connection.execute("DELETE FROM conversations WHERE id = ?", (conversation,)).rowcount
            if gone:
                _forget(connection)
            return gone

        if self._database.identity is None or self._write(write).result() == 0:
            raise _no_such(conversation)

    def delete_all(self) -> int:
        """Remove every conversation; how many there were."""

        def write(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                connection.execute("DELETE FROM messages")
                gone = connection.execute("DELETE FROM conversations").rowcount
            _forget(connection)
            return gone

        return self._write(write).result() if self._database.identity is not None else 0

    def close(self) -> None:
        """Write what waits and end the writer's thread. Closing twice is harmless."""

        def end() -> None:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

        with contextlib.suppress(RuntimeError):  # closed already
            self._writer.submit(end)
        self._writer.shutdown()

    def _write(
        self, work: Callable[[sqlite3.Connection], AnswerT], told: Callable[[StorageError], None] | None = None
    ) -> Future[AnswerT]:
        return self._writer.submit(functools.partial(self._in_writer, work, told))

    def _in_writer(
        self, work: Callable[[sqlite3.Connection], AnswerT], told: Callable[[StorageError], None] | None
    ) -> AnswerT:
        try:
            return self._tried(work)
        except StorageError as error:
            if told is not None:
                told(error)
            raise

    def _tried(self, work: Callable[[sqlite3.Connection], AnswerT]) -> AnswerT:
        """Do it; a file that turns out to be damaged is set aside, and it is done in the new one."""
        for last in (False, True):
            if self._connection is not None and self._database.identity != self._identity:  # removed, or set aside
                self._connection.close()
                self._connection = None
            if self._connection is None:
                self._connection = self._database.open()
                self._identity = self._database.identity
            try:
                return work(self._connection)
            except sqlite3.Error as error:
                self._connection.close()
                self._connection = None
                if last or isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError):
                    raise self._database.unusable(error) from error
                try:
                    self._database.set_aside(str(error))
                except OSError as reason:
                    raise self._database.unusable(reason) from reason
        raise AssertionError("unreachable")


_SELECT: Final = """
SELECT c.id, c.title, c.language, c.begun_s, c.changed_s, (SELECT count(*) FROM messages WHERE conversation = c.id)
FROM conversations c"""
_SUMMARIES: Final = f"{_SELECT} ORDER BY c.changed_s DESC, c.id DESC"
_ADD: Final = """
INSERT INTO messages(conversation, role, text, folded, said_s, ended, metrics) VALUES (?, ?, ?, ?, ?, ?, ?)"""
_CONVERSATION_OF: Final = "SELECT conversation FROM messages WHERE id = ?"
_ANY_OF: Final = "SELECT 1 FROM messages WHERE conversation = ? LIMIT 1"


def _first_words(connection: sqlite3.Connection, conversation: int) -> tuple[str, str]:
    """The title, and the first that the user said."""
    title = connection.execute("SELECT title FROM conversations WHERE id = ?", (conversation,)).fetchone()
    first = "SELECT text FROM messages WHERE conversation = ? AND role = 'user' ORDER BY id LIMIT 1"
    said = connection.execute(first, (conversation,)).fetchone()
    return ("" if title is None else title[0]), ("" if said is None else said[0])


def _said(row: tuple[str, str, float, int, str, str]) -> Said:
    role, text, said_s, id, ended, metrics = row
    return Said(role, text, said_s, id, ended, metrics_of(metrics))


def _summary(row: tuple[int, str, str, float, float, int]) -> Summary:
    return Summary(*row)


def _as_utf8(text: str) -> str:
    """Half of a pair of surrogates, as a broken paste has it, is no character: the file could not hold it."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _known(conversation: int | Future[int] | None) -> int | None:
    """The id, in the writer's thread: what an earlier `add` returned is done there."""
    if not isinstance(conversation, Future):
        return conversation
    return None if conversation.exception() is not None else conversation.result()


def _no_such(conversation: int) -> StorageError:
    return StorageError("There is no conversation {id}: `kazeia conversations list` shows them.", id=conversation)


def _search(connection: sqlite3.Connection, wanted: list[str], limit: int) -> list[Found]:
    if has_index():
        query = " ".join(f'"{word}"*' for word in wanted)
        places = "SELECT rowid FROM found WHERE found MATCH ?"
        values: list[str] = [query]
    else:
        like = " AND ".join(["folded LIKE ?"] * len(wanted))
        places = f"SELECT id FROM messages WHERE {like}"
        values = [f"%{word}%" for word in wanted]
    found: dict[int, Found] = {}
    for conversation, role, text in connection.execute(
        f"SELECT conversation, role, text FROM messages WHERE id IN ({places}) ORDER BY id", values
    ):
        if conversation not in found and _has(text, wanted):
            row = connection.execute(f"{_SELECT} WHERE c.id = ?", (conversation,)).fetchone()
            found[conversation] = Found(_summary(row), role, excerpt(text, wanted))
    for row in connection.execute(_SUMMARIES):  # titles are few and short: no index
        if row[0] not in found and _has(row[1], wanted):
            found[row[0]] = Found(_summary(row), "", row[1])
    ordered = sorted(found.values(), key=lambda hit: (hit.conversation.changed_s, hit.conversation.id), reverse=True)
    return ordered[:limit]


def _has(text: str, wanted: list[str]) -> bool:
    """Whether each of `wanted` begins a word of `text`."""
    there = words(text)
    return all(any(word.startswith(one) for word in there) for one in wanted)


def _forget(connection: sqlite3.Connection) -> None:
    """What was deleted is overwritten also where the index and the log of changes still hold it."""
    if has_index():
        connection.execute("INSERT INTO found(found) VALUES ('rebuild')")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def title_of(text: str) -> str:
    """A title from the first words that were said."""
    line = " ".join(unicodedata.normalize("NFC", text).split())
    if len(line) <= _TITLE_CHARACTERS:
        return line.rstrip(" ,;:")
    cut = line[: _TITLE_CHARACTERS + 1]
    head, _, _ = cut.rpartition(" ")
    return (head or cut[:_TITLE_CHARACTERS]).rstrip(" ,;:.!?") + "…"
