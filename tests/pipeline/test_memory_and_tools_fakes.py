"""Whole conversations with memory and tools, on fakes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kazeia_desktop.events import (
    ConversationOpened,
    Failed,
    ReplyDelta,
    SettingChanged,
    State,
    StateChanged,
    TurnEnded,
    TurnStarted,
    UserText,
)
from kazeia_desktop.paths import Paths
from kazeia_desktop.pipeline.errands import Errands
from kazeia_desktop.pipeline.remembering import Memory
from kazeia_desktop.settings.schema import PrivacySettings, Settings
from tests.fakes.stages import FakeConversation, until

pytestmark = pytest.mark.pipeline


class Case:
    """A conversation with everything, in a folder of its own."""

    def __init__(self, root: Path, keeps: bool = True, instant: bool = True, texts: list[str] | None = None) -> None:
        self.root = root
        self.paths = Paths(root / "config", root / "data", root / "cache", root / "logs")
        self.errands = Errands(self.paths.alarms_file, Settings())
        self.memory = Memory(
            self.paths, PrivacySettings(keep_conversations=keeps), lambda event: self.fake.watcher(event)
        )
        self.fake = FakeConversation(texts, instant=instant, memory=self.memory, errands=self.errands)
        # The fake session has pairs where a real one has messages.
        self.memory.leave = lambda session: None  # type: ignore[method-assign]

    def send(self, text: str) -> str:
        self.fake.conversation.send_text(text)
        ended = self.fake.watcher.wait_for(TurnEnded)
        assert isinstance(ended, TurnEnded)
        return ended.reply

    def kept(self) -> list[list[str]]:
        summaries = self.memory.store.summaries()
        return [[said.text for said in self.memory.store.messages(summary.id)] for summary in reversed(summaries)]


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    made = Case(tmp_path)
    with made.fake:
        yield made


def test_what_was_said_and_heard_is_kept(case: Case) -> None:
    reply = case.send("Bonjour")
    assert case.kept() == [["Bonjour", reply]]
    case.fake.conversation.new_conversation()
    case.fake.watcher.wait_for(ConversationOpened, id=None)
    assert case.fake.session.said == []
    case.send("Encore")
    assert [texts[0] for texts in case.kept()] == ["Bonjour", "Encore"]


def test_after_an_interruption_only_what_was_heard(tmp_path: Path) -> None:
    case = Case(tmp_path, instant=False)
    with case.fake as fake:
        fake.conversation.send_text("Raconte")
        until(lambda: fake.sink.queued_s() > 2.5, "the reply is queued")
        fake.sink.play(1.0)
        fake.conversation.interrupt()
        fake.watcher.wait_for(TurnEnded, reason="interrupted")
        assert case.kept() == [["Raconte", "Bonjour à vous."]]


def test_private_mode_leaves_the_disk_alone(tmp_path: Path) -> None:
    case = Case(tmp_path, keeps=False)
    with case.fake:
        case.send("Un secret")
        case.send("Quelle heure est-il ?")
        case.send("Mets un minuteur de 5 minutes")
        case.fake.conversation.new_conversation()
        case.fake.watcher.wait_for(ConversationOpened)
        case.send("Un autre")
    assert list(tmp_path.rglob("*")) == []


def test_a_conversation_goes_on(case: Case) -> None:
    reply = case.send("Bonjour")
    first = case.memory.current
    assert first is not None
    case.fake.conversation.new_conversation()
    case.send("Autre chose")
    case.fake.conversation.open_conversation(first)
    opened = case.fake.watcher.wait_for(ConversationOpened, id=first)
    assert isinstance(opened, ConversationOpened) and opened.title == "Bonjour"
    assert case.fake.session.said == [("Bonjour", reply)]
    case.fake.conversation.open_conversation(99)
    assert case.fake.watcher.wait_for(Failed)
    assert case.memory.current == first


def test_deleting_the_conversation_that_grows(case: Case) -> None:
    case.send("Bonjour")
    first = case.memory.current
    assert first is not None
    case.fake.conversation.delete_conversation(first)
    case.fake.watcher.wait_for(ConversationOpened, id=None)
    assert case.kept() == [] and case.fake.session.said == []


def test_a_tool_answers_instead_of_the_model(case: Case) -> None:
    assert case.send("Combien font 17 fois 23 ?") == "Cela fait 391."
    assert case.fake.voice.spoken == ["Cela fait trois cent quatre-vingt-onze."]
    assert case.fake.session.said == [("Combien font 17 fois 23 ?", "Cela fait 391.")]
    assert case.send("Bonjour").startswith("Bonjour")


def heard_to_the_end(fake: FakeConversation, turns: int = 1) -> None:
    """Plays what comes, piece by piece, until so many turns have ended well."""

    def ended() -> bool:
        fake.sink.play(1e9)
        return sum(isinstance(e, TurnEnded) and e.reason == "done" for e in fake.watcher.events) >= turns

    until(ended, "the turn ends")


def test_what_a_tool_did_is_taken_back_when_nothing_of_it_was_heard(tmp_path: Path) -> None:
    case = Case(tmp_path, instant=False)
    with case.fake as fake:
        fake.conversation.send_text("Mets un minuteur de 5 minutes")
        until(lambda: len(case.errands.pending()) == 1, "the timer runs")
        fake.watcher.wait_for(ReplyDelta)
        fake.conversation.interrupt()
        until(lambda: case.errands.pending() == [], "the timer is taken back")
        assert fake.session.said == []
        fake.conversation.send_text("Mets un minuteur de 5 minutes pour les pâtes")
        heard_to_the_end(fake)
        assert [one.label for one in case.errands.pending()] == ["les pâtes"]


def test_louder_is_heard_and_told(case: Case) -> None:
    assert case.send("Parle plus fort") == "Le volume est à 120 %."
    assert SettingChanged("audio.volume", 1.2) in case.fake.watcher.events


def test_a_timer_is_spoken_when_nobody_speaks(tmp_path: Path) -> None:
    case = Case(tmp_path, instant=False)
    with case.fake as fake:
        fake.conversation.send_text("Bonjour")
        fake.watcher.wait_for(StateChanged, state=State.THINKING)
        assert not fake.conversation.announce("Le minuteur est terminé.")
        heard_to_the_end(fake)
        assert fake.conversation.announce("Le minuteur est terminé.")
        started = fake.watcher.wait_for(TurnStarted)
        assert isinstance(started, TurnStarted)
        heard_to_the_end(fake, 2)
        ended = fake.watcher.wait_for(TurnEnded, turn_id=started.turn_id)
        assert isinstance(ended, TurnEnded) and ended.reply == "Le minuteur est terminé."
        assert not any(isinstance(e, UserText) and e.turn_id == started.turn_id for e in fake.watcher.events)
        assert len(fake.session.said) == 1 and [len(texts) for texts in case.kept()] == [2]


def test_a_timer_really_rings(case: Case) -> None:
    case.send("Mets un minuteur d'une seconde")
    ended = case.fake.watcher.wait_for(TurnEnded)
    assert isinstance(ended, TurnEnded) and ended.reply == "Le minuteur d'une seconde est terminé."


def test_closing_with_timers_and_alarms_pending(tmp_path: Path) -> None:
    case = Case(tmp_path)
    with case.fake:
        case.send("Mets un minuteur de 5 minutes")
        case.send("Réveille-moi à 7 heures")
    assert case.paths.alarms_file.exists()
    again = Case(tmp_path)
    with again.fake:
        assert [one.kind for one in again.errands.pending()] == ["alarm"]
