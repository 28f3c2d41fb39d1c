"""What the list asks of the disk, each in a job: nothing here is waited for in the window's thread."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from kazeia_desktop.errors import KazeiaError, StorageError
from kazeia_desktop.events import Exchange
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.jobs import Job, Jobs
from kazeia_desktop.gui.words import Words
from kazeia_desktop.memory.conversations import ConversationStore, Found, Summary
from kazeia_desktop.memory.said import kept
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken


@dataclass(frozen=True, slots=True)
class Listed:
    """What is kept now, or what a search for `wanted` found.

    total: kept conversations in all. current: the one that grows; known: whether an engine said so.
    """

    wanted: str
    found: tuple[Found, ...]
    total: int
    current: int | None
    known: bool


class Keeper(QObject):
    """Reads and changes the kept conversations for the window.

    What the engine has open is asked of the engine, so that both agree; without an engine, of the files.
    """

    listed = Signal(object)  # Listed
    changed = Signal()  # something was renamed or deleted
    deleted = Signal(int)
    exported = Signal(str)  # the file
    failed = Signal(object)  # KazeiaError
    facts_read = Signal(str)
    facts_written = Signal()

    def __init__(
        self, bridge: EngineBridge, jobs: Jobs, paths: Paths, words: Words, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._jobs = jobs
        self._paths = paths
        self._words = words
        self._listing: Job | None = None
        self._next: str | None = None  # listed when the one that runs has ended

    def refresh(self, wanted: str) -> None:
        """Look up all conversations, or those in which every word of `wanted` is found; `listed` tells."""
        if self._listing is not None:
            self._next = wanted
            return

        def look(_token: CancelToken, _report: Callable[[object], None]) -> Listed:
            with self._store() as store:
                summaries = store.summaries()
                found = store.search(wanted) if wanted.strip() else [Found(one, "", "") for one in summaries]
            engine = self._bridge.engine
            memory = None if engine is None else engine.memory
            current = None if memory is None else memory.current
            return Listed(wanted, tuple(found), len(summaries), current, memory is not None)

        def told(listed: Listed) -> None:
            self._listing = None
            if self._next is None:
                self.listed.emit(listed)
            self._list_next()

        def could_not(error: KazeiaError) -> None:
            self._listing = None
            self.failed.emit(error)
            self._list_next()

        self._listing = self._jobs.run("conversations", look, told, could_not)

    def _list_next(self) -> None:
        wanted, self._next = self._next, None
        if wanted is not None:
            self.refresh(wanted)

    def read(self, conversation: int, done: Callable[[Summary, list[Exchange]], None]) -> None:
        """Read a conversation; `done` hears of it with its turns, counted from 1."""

        def work() -> tuple[Summary, list[Exchange]]:
            with self._store() as store:
                turns = enumerate(kept(store.messages(conversation)), 1)
                return store.get(conversation), [turn.as_turn(number) for number, turn in turns]

        self._do("read", work, lambda read: done(*read))

    def rename(self, conversation: int, title: str) -> None:
        """Give a conversation another title; `changed` tells."""

        def work() -> None:
            with self._own_store() as store:
                store.rename(conversation, title)

        self._do("rename", work, lambda _: self.changed.emit())

    def delete(self, conversation: int) -> None:
        """Delete a conversation for good; `deleted` and `changed` tell."""

        def work() -> None:
            engine = self._bridge.engine
            if engine is not None and engine.memory is not None:
                engine.delete_conversation(conversation)
                return
            from kazeia_desktop.memory.states import StateFiles

            StateFiles(self._paths.states_dir, 0).remove(conversation)
            with self._own_store() as store:
                store.delete(conversation)

        def done(_: object) -> None:
            self.deleted.emit(conversation)
            self.changed.emit()

        self._do("delete", work, done)

    def export(self, conversation: int, file: Path) -> None:
        """Write a conversation as JSON where the file's name says so, else as Markdown; `exported` tells."""
        language = self._words.language

        def work() -> None:
            from kazeia_desktop.memory.export import as_json, as_markdown
            from kazeia_desktop.runtime.small_files import write_atomically

            with self._store() as store:
                summary, said = store.get(conversation), store.messages(conversation)
            text = as_json(summary, said) if _is_json(file) else as_markdown(summary, said, language)
            try:
                write_atomically(file, text.encode("utf-8"))
            except OSError as error:
                raise StorageError(
                    "{path} cannot be written ({reason}): choose another place.",
                    path=str(file),
                    reason=error.strerror or str(error),
                ) from error

        self._do("export", work, lambda _: self.exported.emit(str(file)))

    def read_facts(self) -> None:
        """Read the note about the user; `facts_read` tells."""

        def work() -> str:
            from kazeia_desktop.memory.facts import FactsNote

            note = FactsNote(self._paths.facts_file)
            text = note.text()
            if note.problem is not None:
                raise note.problem
            return text

        self._do("facts", work, self.facts_read.emit)

    def write_facts(self, text: str) -> None:
        """Replace the note about the user; `facts_written` tells."""

        def work() -> None:
            from kazeia_desktop.memory.facts import FactsNote

            FactsNote(self._paths.facts_file).write(text)

        self._do("facts", work, lambda _: self.facts_written.emit())

    def _do(self, name: str, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self._jobs.run(name, lambda _token, _report: work(), done, self.failed.emit)

    # In a job's thread

    @contextlib.contextmanager
    def _store(self) -> "Iterator[ConversationStore]":
        """For reading: the engine's, which knows what it is just writing; else one of our own."""
        engine = self._bridge.engine
        memory = None if engine is None else engine.memory
        if memory is not None:
            yield memory.store
            return
        with self._own_store() as store:
            yield store

    @contextlib.contextmanager
    def _own_store(self) -> "Iterator[ConversationStore]":
        damage: list[StorageError] = []
        store = ConversationStore(self._paths.conversations_file, damage.append)
        try:
            yield store
        finally:
            store.close()
        if damage:
            raise damage[0]


def _is_json(file: Path) -> bool:
    return file.suffix.lower() == ".json"
