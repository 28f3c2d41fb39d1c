"""Conversations are kept, found, renamed, and gone when they are deleted."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kazeia_desktop.errors import StorageError
from kazeia_desktop.memory import conversations, database
from kazeia_desktop.memory.conversations import ConversationStore, title_of
from kazeia_desktop.memory.export import as_json, as_markdown
from kazeia_desktop.memory.said import Said, exchanges, kept

pytestmark = pytest.mark.unit


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        self.now_s += 1.0
        return self.now_s


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "l'été" / "conversations.db"


@pytest.fixture
def told() -> list[StorageError]:
    return []


@pytest.fixture
def store(file: Path, told: list[StorageError]) -> Iterator[ConversationStore]:
    made = ConversationStore(file, told.append, Clock())
    yield made
    made.close()


@pytest.fixture(params=["index", "like"])
def either(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, store: ConversationStore
) -> ConversationStore:
    """With and without SQLite's index."""
    if request.param == "like":
        for module in (database, conversations):
            monkeypatch.setattr(module, "has_index", lambda: False)
    return store


def keep(store: ConversationStore, *pairs: tuple[str, str]) -> int:
    conversation = None
    for question, answer in pairs:
        conversation = store.add(conversation, question, answer, "fr").result()
    assert conversation is not None
    return conversation


def test_without_a_file_there_is_nothing_and_nothing_is_made(store: ConversationStore, file: Path) -> None:
    assert store.summaries() == [] and store.search("été") == [] and store.delete_all() == 0
    with pytest.raises(StorageError, match="no conversation 3"):
        store.get(3)
    with pytest.raises(StorageError, match="no conversation 3"):
        store.delete(3)
    assert not file.parent.exists()


def test_what_was_said_comes_back_in_order(store: ConversationStore) -> None:
    first = keep(store, ("Bonjour Kazeia", "Bonjour !"), ("Ça va ?", "Très bien."))
    second = keep(store, ("Autre chose", "Oui."))
    assert [s.id for s in store.summaries()] == [second, first]
    assert store.get(first).title == "Bonjour Kazeia" and store.get(first).n_messages == 4
    said = store.messages(first)
    assert [(m.role, m.text) for m in said] == [
        ("user", "Bonjour Kazeia"), ("assistant", "Bonjour !"), ("user", "Ça va ?"), ("assistant", "Très bien."),
    ]  # fmt: skip
    assert list(exchanges(said)) == [("Bonjour Kazeia", "Bonjour !"), ("Ça va ?", "Très bien.")]
    assert store.summaries(limit=1)[0].id == second


def test_a_question_without_an_answer_is_no_exchange() -> None:
    said = [Said("user", "a", 0), Said("user", "b", 0), Said("assistant", "c", 0), Said("assistant", "d", 0)]
    assert list(exchanges(said)) == [("b", "c")]


def test_search_minds_neither_accents_nor_case(either: ConversationStore) -> None:
    summer = keep(either, ("Parle-moi de l'été", "Il fait chaud."))
    egg = keep(either, ("Comment cuire un œuf ?", "Trois minutes."))
    keep(either, ("Rien", "Du tout."))
    assert [f.conversation.id for f in either.search("ETE")] == [summer]
    assert [f.conversation.id for f in either.search("oeuf cui")] == [egg]
    assert "été" in either.search("ete")[0].excerpt and either.search("ete")[0].role == "user"
    assert either.search("oeuf chaud") == [] and either.search("  ?! ") == []
    assert either.search('"; DROP TABLE messages') == []
    assert [f.conversation.id for f in either.search("100%") + either.search("u%f")] == []


def test_search_finds_titles(either: ConversationStore) -> None:
    one = keep(either, ("Bonjour", "Salut."))
    either.rename(one, "Vacances à la mer")
    assert [f.conversation.id for f in either.search("mer vacances")] == [one]


def test_rename(store: ConversationStore) -> None:
    one = keep(store, ("Bonjour", "Salut."))
    store.rename(one, "  Un autre\n titre ")
    assert store.get(one).title == "Un autre titre"
    store.add(one, "Encore", "Oui.", "fr").result()
    assert store.get(one).title == "Un autre titre"
    with pytest.raises(StorageError, match="at least one"):
        store.rename(one, "  ")
    with pytest.raises(StorageError, match="no conversation"):
        store.rename(99, "x")


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def test_deleted_is_gone_from_the_disk(either: ConversationStore, file: Path) -> None:
    keep(either, ("Bonjour", "Salut."))
    secret = keep(either, *((f"Mon secret est zanzibar{n}", f"Zanzibar{n} est noté.") for n in range(50)))
    assert b"zanzibar" in bytes_of(file.parent)
    either.delete(secret)
    assert b"zanzibar" not in bytes_of(file.parent).lower()
    assert either.search("zanzibar") == [] and len(either.summaries()) == 1
    with pytest.raises(StorageError, match="no conversation"):
        either.get(secret)


def test_messages_are_removed_from_the_disk(either: ConversationStore, file: Path) -> None:
    rows: list[list[int]] = [[], [], []]
    conversation = None
    for at, text in enumerate(("Le mot est zanzibar", "Une question", "Une autre")):
        conversation = either.add(conversation, text, f"réponse {text}", "fr", rows[at]).result()
    assert conversation is not None and [len(ids) for ids in rows] == [2, 2, 2]
    either.remove([rows[0]])
    assert [said.text for said in either.messages(conversation)][::2] == ["Une question", "Une autre"]
    assert either.get(conversation).title == "Une question" and either.search("zanzibar") == []
    everything = b"".join(path.read_bytes() for path in file.parent.iterdir())
    assert b"zanzibar" not in everything
    either.rename(conversation, "Mon titre")
    either.remove([rows[1]])
    assert either.get(conversation).title == "Mon titre"
    either.remove([rows[2], rows[0], []])
    assert either.summaries() == []


def test_delete_all(store: ConversationStore, file: Path) -> None:
    keep(store, ("Un zanzibar", "Oui."))
    keep(store, ("Deux", "Oui."))
    assert store.delete_all() == 2
    assert store.summaries() == [] and b"zanzibar" not in bytes_of(file.parent)


def test_a_deleted_conversation_does_not_come_back(store: ConversationStore) -> None:
    one = keep(store, ("Bonjour", "Salut."))
    store.delete(one)
    assert store.summaries() == []
    again = store.add(one, "Encore", "Oui.", "fr").result()
    assert again > one, "its number is not used again"
    assert [said.text for said in store.messages(again)] == ["Encore", "Oui."]


def test_a_damaged_file_is_set_aside(file: Path, told: list[StorageError]) -> None:
    file.parent.mkdir()
    file.write_bytes(b"no database at all" * 100)
    store = ConversationStore(file, told.append)
    assert store.summaries() == []
    keep(store, ("Bonjour", "Salut."))
    store.close()
    assert len(told) == 1 and "\n" not in str(told[0])
    assert file.with_suffix(".damaged.db").read_bytes().startswith(b"no database")


@pytest.mark.parametrize("place", [0.3, 0.5, 0.7, 0.9])
def test_a_file_damaged_inside_never_crashes(file: Path, told: list[StorageError], place: float) -> None:
    store = ConversationStore(file)
    for n in range(40):
        keep(store, (f"Question {n} " + "mot " * 50, "Réponse " + "mot " * 50))
    store.close()
    raw = bytearray(file.read_bytes())
    at = int(len(raw) * place) // 4096 * 4096
    raw[at : at + 4096] = os.urandom(4096)
    file.write_bytes(raw)
    store = ConversationStore(file, told.append)
    try:
        store.summaries()
        store.search("mot")
        one = keep(store, ("Bonjour", "Salut."))
        assert [m.text for m in store.messages(one)] == ["Bonjour", "Salut."]
    finally:
        store.close()
    assert len(told) <= 1
    if told:
        assert file.with_suffix(".damaged.db").exists()


def test_damage_while_running_is_met_by_the_writer(
    store: ConversationStore, file: Path, told: list[StorageError]
) -> None:
    keep(store, ("Bonjour", "Salut."))

    def broken(connection: sqlite3.Connection) -> int:
        if not told:
            raise sqlite3.DatabaseError("database disk image is malformed")
        return len(connection.execute("SELECT * FROM conversations").fetchall())

    assert store._write(broken).result() == 0
    assert len(told) == 1 and file.with_suffix(".damaged.db").exists()


def test_a_file_of_a_newer_kazeia_is_left_alone(file: Path, told: list[StorageError]) -> None:
    store = ConversationStore(file)
    keep(store, ("Bonjour", "Salut."))
    store.close()
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    store = ConversationStore(file, told.append)
    with pytest.raises(StorageError, match="newer Kazeia"):
        store.summaries()
    with pytest.raises(StorageError, match="newer Kazeia"):
        store.add(None, "a", "b", "fr").result()
    store.close()
    assert [str(t) for t in told] and not file.with_suffix(".damaged.db").exists()


def test_a_place_that_cannot_be_used_is_one_plain_line(tmp_path: Path, told: list[StorageError]) -> None:
    (tmp_path / "file").write_text("")
    store = ConversationStore(tmp_path / "file" / "conversations.db", told.append)
    with pytest.raises(StorageError, match="cannot be used"):
        store.add(None, "a", "b", "fr").result()
    store.close()
    assert len(told) == 1


def test_a_file_that_somebody_removed_is_begun_anew(store: ConversationStore, file: Path) -> None:
    keep(store, ("Bonjour", "Salut."))
    for path in file.parent.iterdir():
        path.unlink()
    one = keep(store, ("Encore", "Oui."))
    assert [s.id for s in store.summaries()] == [one]


WRITER = """
import sys
from pathlib import Path
from kazeia_desktop.memory.conversations import ConversationStore
store = ConversationStore(Path(sys.argv[1]), print)
one = None
for n in range(40):
    one = store.add(one, f"question {n}", "réponse", "fr")
store.close()
"""


def test_two_processes_at_once(file: Path, told: list[StorageError]) -> None:
    others = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(file)], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for other in others:
        assert other.communicate(timeout=60)[0] == "" and other.returncode == 0
    store = ConversationStore(file, told.append)
    assert [s.n_messages for s in store.summaries()] == [80, 80] and not told
    store.close()


def test_what_a_sqlite_without_an_index_wrote_is_found_later(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for has_index, word in ((True, "un"), (False, "deux"), (True, "trois")):
        for module in (database, conversations):
            monkeypatch.setattr(module, "has_index", lambda has_index=has_index: has_index)
        store = ConversationStore(file)
        keep(store, (word, "oui"))
        found = [bool(store.search(one)) for one in ("un", "deux", "trois")]
        store.close()
    assert found == [True, True, True]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Bonjour.", "Bonjour."),
        ("  deux\n mots, ", "deux mots"),
        ("Peux-tu me dire ce que tu penses de la philosophie de Platon, s'il te plaît ?",
         "Peux-tu me dire ce que tu penses de la…"),
        ("x" * 100, "x" * 48 + "…"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_title_is_the_first_words(text: str, title: str) -> None:
    assert title_of(text) == title


_OLD_SCHEMA = """
CREATE TABLE conversations(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    language TEXT NOT NULL,
    begun_s REAL NOT NULL,
    changed_s REAL NOT NULL);
CREATE TABLE messages(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    role TEXT NOT NULL CHECK(role IN ('user', 'assistant')),
    text TEXT NOT NULL,
    folded TEXT NOT NULL,
    said_s REAL NOT NULL);
CREATE INDEX messages_of ON messages(conversation, id);
INSERT INTO conversations VALUES (7, 'Le gâteau', 'fr', 100.0, 200.0);
INSERT INTO messages VALUES (11, 7, 'user', 'Le gâteau', 'le gateau', 100.0);
INSERT INTO messages VALUES (12, 7, 'assistant', 'On prend des œufs…', 'on prend des oeufs…', 100.0);
INSERT INTO messages VALUES (13, 7, 'user', 'Et puis ?', 'et puis ?', 200.0);
INSERT INTO messages VALUES (14, 7, 'assistant', 'Du sucre.', 'du sucre.', 200.0);
PRAGMA user_version = 1;
"""


def test_a_file_of_the_version_before_is_taken_over(file: Path, store: ConversationStore) -> None:
    file.parent.mkdir()
    with sqlite3.connect(file) as old:
        old.executescript(_OLD_SCHEMA)
    old.close()
    said = store.messages(7)
    assert [(m.id, m.text, m.ended, dict(m.metrics)) for m in said] == [
        (11, "Le gâteau", "done", {}), (12, "On prend des œufs…", "interrupted", {}),
        (13, "Et puis ?", "done", {}), (14, "Du sucre.", "done", {}),
    ]  # fmt: skip
    assert store.add(7, "Encore", "", "fr", ended="interrupted").result() == 7
    assert [hit.conversation.id for hit in store.search("oeufs")] == [7]
    assert store.messages(7)[-1].ended == "interrupted"
    with sqlite3.connect(file) as new:
        assert new.execute("PRAGMA user_version").fetchone()[0] == database.SCHEMA_VERSION == 2
    new.close()


def test_turns_with_and_without_answers() -> None:
    said = [
        Said("assistant", "?", 0.0), Said("user", "a", 0.0, ended="interrupted"), Said("user", "b", 0.0),
        Said("assistant", "B", 0.0, ended="interrupted"), Said("user", "c", 0.0, ended="interrupted"),
    ]  # fmt: skip
    turns = list(kept(said))
    answers = [(t.question.text, None if t.answer is None else t.answer.text, t.ended) for t in turns]
    assert answers == [("a", None, "interrupted"), ("b", "B", "interrupted"), ("c", None, "interrupted")]
    assert list(exchanges(said)) == [("b", "B")]
    assert [(e.turn_id, e.answer, e.reason) for e in (t.as_turn(i) for i, t in enumerate(turns))] == [
        (0, "", "interrupted"), (1, "B", "interrupted"), (2, "", "interrupted"),
    ]  # fmt: skip


@pytest.mark.parametrize("figures", ["{", "[1]", "3", '{"stt_ms": "slow", "a": null}'])
def test_figures_that_are_none_are_no_fault(file: Path, store: ConversationStore, figures: str) -> None:
    one = store.add(None, "a", "b", "fr", metrics={"stt_ms": 3.0}).result()
    assert dict(store.messages(one)[1].metrics) == {"stt_ms": 3.0}
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE messages SET metrics = ?", (figures,))
    connection.close()
    assert dict(store.messages(one)[1].metrics) == {}


def test_half_a_character_is_kept_as_what_it_is(store: ConversationStore) -> None:
    conversation = store.add(None, "Ça \ud83d va ?", "Oui \udc00.", "fr").result()
    assert [one.text for one in store.messages(conversation)] == ["Ça ? va ?", "Oui ?."]


@pytest.mark.parametrize(
    "figures",
    [
        '{"a_ms": NaN, "stt_ms": 3.0}',
        '{"a_ms": 1e999, "stt_ms": 3}',
        f'{{"a_ms": {"9" * 400}, "stt_ms": 3.0}}',
        f'{{"a_ms": {"9" * 5000}}}',
        "[" * 100_000,
    ],
)
def test_figures_that_no_float_holds_are_left_out(file: Path, store: ConversationStore, figures: str) -> None:
    conversation = keep(store, ("Un", "Deux"))
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE messages SET metrics = ?, said_s = 1e300", (figures,))
    said = store.messages(conversation)
    assert dict(said[1].metrics) in ({}, {"stt_ms": 3.0})
    summary = store.get(conversation)
    assert as_markdown(summary, said, "fr")
    json.loads(as_json(summary, said), parse_constant=pytest.fail)


def test_figures_that_are_no_numbers_are_not_kept(store: ConversationStore) -> None:
    took = {"stt_ms": 3.0, "a_ms": float("nan"), "b_ms": float("inf"), "c_ms": None}
    conversation = store.add(None, "Un", "Deux", "fr", metrics=took).result()
    assert dict(store.messages(conversation)[1].metrics) == {"stt_ms": 3.0}


@pytest.mark.parametrize("statement", ["PRAGMA user_version = -3", "PRAGMA user_version = 0", "DROP TABLE messages"])
def test_a_file_with_other_tables_than_its_version_says_is_set_aside(
    file: Path, told: list[StorageError], statement: str
) -> None:
    first = ConversationStore(file)
    keep(first, ("Un", "Deux"))
    first.close()
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(statement)
    second = ConversationStore(file, told.append)
    try:
        assert keep(second, ("Trois", "Quatre"))
        assert len(second.summaries()) == 1
    finally:
        second.close()
    assert len(told) == 1 and "is kept as" in str(told[0])
    assert list(file.parent.glob("*.damaged.db"))


_KILLED = """
import os, signal, sys
from pathlib import Path
from kazeia_desktop.memory import database
at = int(sys.argv[2])
steps = list(database._ENDS)
class Killing(tuple):
    def __iter__(self):
        for n, statement in enumerate(tuple.__iter__(self)):
            if n == at:
                os.kill(os.getpid(), signal.SIGKILL)
            yield statement
        os.kill(os.getpid(), signal.SIGKILL)
database._STEPS = {0: database._FIRST, 1: Killing(steps)}
database.Database(Path(sys.argv[1]), print).open()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9")
@pytest.mark.parametrize("at", range(4))
def test_killed_while_taking_over_a_file_it_is_taken_over_the_next_time(
    file: Path, store: ConversationStore, at: int
) -> None:
    file.parent.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        for statement in database._FIRST:
            connection.execute(statement)
        connection.execute("INSERT INTO conversations VALUES (1, 'Un', 'fr', 1.0, 1.0)")
        for role, text in (("user", "Un"), ("assistant", "Deux trois…")):
            add = "INSERT INTO messages(conversation, role, text, folded, said_s) VALUES (1, ?, ?, ?, 1.0)"
            connection.execute(add, (role, text, text.lower()))
        connection.execute("PRAGMA user_version = 1")
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(file), str(at)], check=False, timeout=60)
    assert killed.returncode == -9
    assert [(one.text, one.ended) for one in store.messages(1)] == [("Un", "done"), ("Deux trois…", "interrupted")]
    assert [hit.conversation.id for hit in store.search("deux")] == [1]
