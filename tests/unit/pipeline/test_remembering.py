"""What is kept between conversations, and how one goes on."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kazeia_desktop.errors import StorageError
from kazeia_desktop.events import ConversationOpened, Event, Exchange, Notice, TurnEnded, UserText
from kazeia_desktop.llm.base import Message
from kazeia_desktop.paths import Paths
from kazeia_desktop.pipeline.remembering import Memory
from kazeia_desktop.settings.schema import PrivacySettings

pytestmark = pytest.mark.unit

KEEPS = PrivacySettings(keep_conversations=True)
LONG = " ".join(["Il était une fois une assistante qui parlait beaucoup."] * 30)


class Session:
    """Remembers, and writes its memory as its state."""

    def __init__(self) -> None:
        self.history: list[Message] = []
        self.facts: list[str] = []
        self.loads = True

    def restore(self, history: Sequence[Message]) -> None:
        self.history = list(history)

    def reset(self) -> None:
        self.history = []

    def apply_facts(self, text: str) -> None:
        self.facts.append(text)

    def save_state(self, path: Path, max_bytes: int | None = None) -> bool:
        path.write_text(repr([m.text for m in self.history]), "utf-8")
        return True

    def load_state(self, path: Path) -> bool:
        return self.loads and path.read_text("utf-8") == repr([m.text for m in self.history])


class Home:
    """A memory in a folder of its own, with a session."""

    def __init__(self, root: Path, settings: PrivacySettings = KEEPS) -> None:
        self.paths = Paths(root / "config", root / "data", root / "cache", root / "logs")
        self.events: list[Event] = []
        self.session = Session()
        self.memory = Memory(self.paths, settings, self.events.append)
        self._turn = 0

    def exchange(self, question: str, reply: str) -> None:
        self._turn += 1
        self.session.history += [Message("user", question), Message("assistant", reply)]
        self.memory.hear(UserText(self._turn, question, "fr"))
        self.memory.hear(TurnEnded(self._turn, reply, "done", {}))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    made.memory.close()


def files(root: Path) -> list[str]:
    return sorted(path.name for path in root.rglob("*") if path.is_file())


def test_a_conversation_goes_on_with_its_state(home: Home) -> None:
    home.exchange("Raconte", LONG)
    first = home.memory.current
    assert first is not None
    assert home.memory.begin(home.session) == ConversationOpened(None, "")  # type: ignore[arg-type]
    assert home.memory.current is None and home.session.history == []
    assert files(home.paths.states_dir) == [f"{first}.state"]
    home.exchange("Autre chose", "Oui.")
    opened = home.memory.open(first, home.session, lambda n: 7)  # type: ignore[arg-type]
    asked_s = opened.exchanges[0].asked_s
    assert opened == ConversationOpened(first, "Raconte", (Exchange(7, "Raconte", LONG, asked_s=asked_s),))
    assert asked_s is not None
    assert [m.text for m in home.session.history] == ["Raconte", LONG]
    assert home.memory.current == first
    assert files(home.paths.states_dir) == [f"{first}.state"], "what was short is not worth a state"


def test_a_state_that_does_not_fit_is_removed(home: Home) -> None:
    home.exchange("Raconte", LONG)
    first = home.memory.current
    assert first is not None
    home.memory.leave(home.session)  # type: ignore[arg-type]
    home.session.loads = False
    home.memory.open(first, home.session, lambda n: 1)  # type: ignore[arg-type]
    assert len(home.session.history) == 2 and home.memory.current == first


def test_deleting_takes_everything_along(home: Home, tmp_path: Path) -> None:
    home.exchange("Mon mot de passe est zanzibar", LONG)
    first = home.memory.current
    assert first is not None
    home.memory.leave(home.session)  # type: ignore[arg-type]
    home.memory.delete(first)
    assert home.memory.current is None
    assert b"zanzibar" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    with pytest.raises(StorageError, match="no conversation"):
        home.memory.delete(first)
    home.exchange("Encore", "Oui.")
    assert home.memory.delete_all() == 1 and home.memory.store.summaries() == []


def test_a_state_never_holds_what_was_deleted(home: Home) -> None:
    home.exchange("Mon mot de passe est zanzibar", LONG)
    home.exchange("Raconte", LONG)
    home.memory.leave(home.session)  # type: ignore[arg-type]
    assert len(files(home.paths.states_dir)) == 1
    home.memory.remove(1, 1)
    assert files(home.paths.states_dir) == []
    home.memory.leave(home.session)  # type: ignore[arg-type]
    assert files(home.paths.states_dir) == [], "the session still knows it"
    del home.session.history[:2]
    home.memory.removed()
    home.memory.leave(home.session)  # type: ignore[arg-type]
    assert len(files(home.paths.states_dir)) == 1


def test_private_mode_writes_nothing_at_all(tmp_path: Path) -> None:
    home = Home(tmp_path, PrivacySettings())
    home.exchange("Un secret", LONG)
    home.memory.before_reply(home.session)  # type: ignore[arg-type]
    home.memory.begin(home.session)  # type: ignore[arg-type]
    home.exchange("Un autre secret", LONG)
    home.memory.leave(home.session)  # type: ignore[arg-type]
    home.memory.store.search("secret")
    home.memory.close()
    assert list(tmp_path.rglob("*")) == []


def test_the_note_of_facts_is_read_when_it_changes(home: Home) -> None:
    session = home.session
    home.memory.before_reply(session)  # type: ignore[arg-type]
    assert session.facts == []
    home.paths.config_dir.mkdir()
    home.paths.facts_file.write_text("J'habite à Brest.", "utf-8")
    for _ in range(3):
        home.memory.before_reply(session)  # type: ignore[arg-type]
    home.paths.facts_file.write_text("J'habite à Lyon, avec un chat.", "utf-8")
    home.memory.before_reply(session)  # type: ignore[arg-type]
    assert session.facts == ["J'habite à Brest.", "J'habite à Lyon, avec un chat."]
    home.memory.new_session(session)  # type: ignore[arg-type]
    assert session.facts[-1] == "J'habite à Lyon, avec un chat." and len(session.facts) == 3
    home.memory.apply(KEEPS.model_copy(update={"use_facts": False}))
    home.memory.before_reply(session)  # type: ignore[arg-type]
    assert session.facts[-1] == ""


def test_a_fault_is_told_once(home: Home) -> None:
    home.paths.config_dir.mkdir()
    home.paths.facts_file.write_text("un fait\n" * 1000, "utf-8")
    for _ in range(3):
        home.memory.before_reply(home.session)  # type: ignore[arg-type]
    assert [type(event) for event in home.events] == [Notice]


def test_room_for_states_is_bounded(tmp_path: Path) -> None:
    home = Home(tmp_path, KEEPS.model_copy(update={"saved_states_mb": 0}))
    home.exchange("Raconte", LONG)
    home.memory.leave(home.session)  # type: ignore[arg-type]
    assert files(home.paths.cache_dir) == []
    home.memory.apply(KEEPS)
    home.memory.leave(home.session)  # type: ignore[arg-type]
    assert len(files(home.paths.states_dir)) == 1
    home.memory.apply(KEEPS.model_copy(update={"saved_states_mb": 0}))
    assert files(home.paths.states_dir) == []
    home.memory.close()


def test_a_state_never_holds_what_was_private(tmp_path: Path) -> None:
    home = Home(tmp_path, PrivacySettings())
    home.exchange("Un secret", LONG)
    home.memory.apply(KEEPS)
    home.exchange("Raconte", LONG)
    home.memory.leave(home.session)  # type: ignore[arg-type]
    assert home.memory.current is not None and files(home.paths.cache_dir) == []
    home.memory.close()


def test_a_conversation_goes_on_with_how_its_turns_ended(home: Home) -> None:
    hear = home.memory.hear
    for turn, question, reply, reason in (
        (1, "Un", "", "interrupted"),
        (2, "Deux", "C'est long…", "interrupted"),
        (3, "Trois", "Voyons…", "done"),
        (4, "Quatre", "", "interrupted"),
    ):
        hear(UserText(turn, question, "fr"))
        hear(TurnEnded(turn, reply, reason, {"total_ms": 5.0}))
    first = home.memory.current
    assert first is not None
    opened = home.memory.open(first, home.session, lambda n: 10)  # type: ignore[arg-type]
    assert [(e.turn_id, e.question, e.answer, e.reason) for e in opened.exchanges] == [
        (10, "Un", "", "interrupted"), (11, "Deux", "C'est long…", "interrupted"),
        (12, "Trois", "Voyons…", "done"), (13, "Quatre", "", "interrupted"),
    ]  # fmt: skip
    assert [dict(e.metrics) for e in opened.exchanges] == [{}, {"total_ms": 5.0}, {"total_ms": 5.0}, {}]
    said = [m.text for m in home.session.history]
    assert said == ["Deux", "C'est long", "Trois", "Voyons…"], "what it remembers is what was heard, without the cut"
    home.memory.remove(13, 13)
    home.memory.removed()
    assert [m.text for m in home.memory.store.messages(first)][-1] == "Voyons…"
