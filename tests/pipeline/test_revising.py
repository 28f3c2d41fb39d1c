"""Asking again, editing, deleting and hearing again, in every state, on fakes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kazeia_desktop.events import (
    ClauseStarted,
    ConversationOpened,
    ReplayStarted,
    State,
    StateChanged,
    TurnEnded,
    TurnsRemoved,
    TurnStarted,
    UserText,
)
from kazeia_desktop.paths import Paths
from kazeia_desktop.pipeline.conversation import Conversation
from kazeia_desktop.pipeline.remembering import Memory
from kazeia_desktop.settings.schema import PrivacySettings
from tests.fakes.stages import RATE_HZ, FakeConversation, until

pytestmark = pytest.mark.pipeline

ALL = "Bonjour à vous. Il fait beau. Au revoir."


def say(fake: FakeConversation, *texts: str) -> None:
    for text in texts:
        fake.conversation.send_text(text)
        fake.watcher.wait_for(TurnEnded, reason="done")


def test_regenerate_answers_the_last_question_anew() -> None:
    with FakeConversation(instant=True) as fake:
        fake.conversation.regenerate()  # nothing was said: nothing happens
        say(fake, "Un", "Deux")
        fake.session.answer = "Autrement."
        fake.conversation.regenerate()
        assert fake.watcher.wait_for(TurnsRemoved, first=2, last=2)
        assert fake.watcher.wait_for(UserText, turn_id=3, text="Deux")
        assert fake.watcher.wait_for(TurnEnded, turn_id=3, reply="Autrement.")
        assert fake.session.said == [("Un", ALL), ("Deux", "Autrement.")]


def test_edit_cuts_the_history_back() -> None:
    with FakeConversation(instant=True) as fake:
        say(fake, "Un", "Deux", "Trois")
        fake.conversation.edit(2, "  Deux et demi ")
        assert fake.watcher.wait_for(TurnsRemoved, first=2, last=3)
        assert fake.watcher.wait_for(TurnEnded, turn_id=4, reason="done")
        assert fake.session.said == [("Un", ALL), ("Deux et demi", ALL)]


def test_delete_takes_one_turn_out() -> None:
    with FakeConversation(instant=True) as fake:
        say(fake, "Pareil", "Pareil", "Trois")
        fake.session.said[1] = ("Pareil", "l'autre")
        fake.conversation.delete_turn(2)
        until(lambda: fake.session.said == [("Pareil", ALL), ("Trois", ALL)], "the second is gone")
        fake.conversation.delete_turn(3)
        until(lambda: fake.session.said == [("Pareil", ALL)], "the third is gone")
        fake.session.answer = "Oui."
        fake.conversation.regenerate()
        fake.watcher.wait_for(TurnEnded, turn_id=4)
        assert fake.session.said == [("Pareil", "Oui.")]


@pytest.mark.parametrize("turn_id", [-1, 0, 9])
def test_an_unknown_turn_is_left_alone(turn_id: int) -> None:
    with FakeConversation(instant=True) as fake:
        say(fake, "Un")
        fake.conversation.delete_turn(turn_id)
        fake.conversation.edit(turn_id, "Deux")
        fake.conversation.edit(1, "   ")
        say(fake, "Trois")
        assert fake.session.said == [("Un", ALL), ("Trois", ALL)]


def test_a_turn_of_the_conversation_before_is_left_alone() -> None:
    with FakeConversation(instant=True) as fake:
        say(fake, "Un")
        fake.conversation.new_conversation()
        fake.watcher.wait_for(ConversationOpened)
        say(fake, "Deux")
        fake.conversation.edit(1, "Trois")
        fake.conversation.delete_turn(1)
        say(fake, "Quatre")
        assert [question for question, _ in fake.session.said] == ["Deux", "Quatre"]


ACTS: dict[str, Callable[[Conversation], None]] = {
    "regenerate": lambda conversation: conversation.regenerate(),
    "edit": lambda conversation: conversation.edit(1, "Autre"),
    "delete": lambda conversation: conversation.delete_turn(2),
    "replay": lambda conversation: conversation.replay(1, ALL),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("where", ["recognizer", "session", "voice", "sink"])
def test_everything_is_safe_wherever_a_turn_stands(act: str, where: str) -> None:
    with FakeConversation(instant=True) as fake:
        say(fake, "Un")
        if where == "sink":
            fake.sink.instant = False
        else:
            gate = getattr(fake, where).gate
            fake.session.gate_at = 1
            gate.reached.clear()
            gate.shut()
        fake.ask()
        # Recognition begins before the turn does: an act that names the turn comes once it is there.
        fake.watcher.wait_for(TurnStarted, turn_id=2)
        if where == "sink":
            until(lambda: fake.sink.queued_s() == 3.0, "it speaks")
            fake.sink.play(0.4)
        else:
            until(gate.reached.is_set, "it stands there")
        ACTS[act](fake.conversation)
        fake.watcher.wait_for(TurnEnded, turn_id=2)
        for stage in (fake.recognizer, fake.session, fake.voice):
            stage.gate.open()
        fake.sink.instant = True
        fake.sink.play(100)
        if act != "delete":
            fake.watcher.wait_for(TurnEnded, turn_id=3)
        say(fake, "Encore")
        questions = [question for question, _ in fake.session.said]
        assert questions[-1] == "Encore"
        assert questions[0] == ("Autre" if act == "edit" else "Un")
        if act == "delete":
            assert questions == ["Un", "Encore"]


# Hearing again


def test_a_reply_is_heard_again_without_voice_or_memory() -> None:
    with FakeConversation(instant=True) as fake:
        say(fake, "Un")
        spoken, said = list(fake.voice.spoken), list(fake.session.said)
        fake.sink.instant = False
        fake.conversation.replay(1)
        assert fake.watcher.wait_for(ReplayStarted, turn_id=2, of=1)
        until(lambda: fake.sink.queued_s() == 3.0, "all of it is queued")
        fake.sink.play(1.5)
        assert fake.watcher.wait_for(StateChanged, state=State.SPEAKING)
        assert fake.watcher.wait_for(ClauseStarted, turn_id=2, index=1, text="Il fait beau.")
        fake.sink.play(10)
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")
        assert (fake.voice.spoken, fake.session.said) == (spoken, said)


def test_stop_and_the_voice_of_the_user_end_a_replay() -> None:
    with FakeConversation(instant=True) as fake:
        say(fake, "Un")
        fake.sink.instant = False
        fake.conversation.replay(1)
        until(lambda: fake.sink.queued_s() > 0, "it is queued")
        fake.conversation.interrupt()
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="interrupted")
        assert fake.sink.queued_s() == 0
        fake.conversation.replay(1)
        until(lambda: fake.sink.queued_s() > 0, "it is queued")
        fake.ask()
        assert fake.watcher.wait_for(TurnEnded, turn_id=3, reason="interrupted")
        fake.sink.instant = True
        fake.sink.play(100)
        assert fake.watcher.wait_for(TurnEnded, turn_id=4, reason="done")
        assert [question for question, _ in fake.session.said] == ["Un", "Quel temps fait-il ?"]


def test_of_an_interrupted_reply_what_was_heard_is_heard_again() -> None:
    with FakeConversation() as fake:
        fake.conversation.send_text("Un")
        until(lambda: fake.sink.queued_s() == 3.0, "three clauses are queued")
        fake.sink.play(1.25)
        fake.conversation.interrupt()
        fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted")
        fake.conversation.replay(1)
        until(lambda: fake.sink.queued_s() == pytest.approx(1.25, abs=2 / RATE_HZ), "what was heard is queued")


def test_what_is_no_longer_kept_is_spoken_anew_and_kept_again() -> None:
    with FakeConversation(instant=True) as fake:
        say(fake, "Un")
        fake.conversation._audio.drop(1, 1)
        fake.conversation.replay(1)  # neither sound nor text
        for _ in range(2):
            fake.conversation.replay(1, "Bonjour à vous.")
            fake.watcher.wait_for(ReplayStarted)
            fake.watcher.wait_for(TurnEnded, reason="done")
        assert fake.voice.spoken[3:] == ["Bonjour à vous."]


def test_without_a_loudspeaker_nothing_is_replayed() -> None:
    with FakeConversation(with_sink=False) as fake:
        say(fake, "Un")
        fake.conversation.replay(1, ALL)
        say(fake, "Deux")
        assert not any(isinstance(event, ReplayStarted) for event in fake.watcher.events)


def test_deleting_what_is_being_replayed_silences_it() -> None:
    with FakeConversation(instant=True) as fake:
        say(fake, "Un")
        fake.sink.instant = False
        fake.conversation.replay(1)
        until(lambda: fake.sink.queued_s() > 0, "it is queued")
        fake.conversation.delete_turn(1)
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="interrupted")
        assert fake.sink.queued_s() == 0
        until(lambda: fake.session.said == [], "it is forgotten")


# What is kept


def memory_in(root: Path) -> Memory:
    paths = Paths(root / "config", root / "data", root / "cache", root / "logs")
    return Memory(paths, PrivacySettings(keep_conversations=True), lambda event: None)


def kept(memory: Memory) -> list[list[str]]:
    return [[said.text for said in memory.store.messages(one.id)] for one in memory.store.summaries()]


def test_what_is_kept_follows(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    with FakeConversation(instant=True, memory=memory) as fake:
        say(fake, "Zanzibar", "Deux", "Trois")
        fake.conversation.edit(2, "Deux et demi")
        fake.watcher.wait_for(TurnEnded, turn_id=4)
        assert kept(memory) == [["Zanzibar", ALL, "Deux et demi", ALL]]
        assert memory.store.summaries()[0].title == "Zanzibar"
        fake.conversation.delete_turn(1)
        assert kept(memory) == [["Deux et demi", ALL]]
        assert memory.store.summaries()[0].title == "Deux et demi"
        fake.conversation.delete_turn(4)
        assert kept(memory) == []
        say(fake, "Encore")
        assert kept(memory) == [["Encore", ALL]]
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"Zanzibar" not in everything and b"Encore" in everything


def test_a_turn_that_ends_after_it_was_deleted_is_not_kept(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    with FakeConversation(instant=True, memory=memory) as fake:
        memory.hear(UserText(99, "Zanzibar", "fr"))
        memory.remove(99, 99)
        memory.hear(TurnEnded(99, "Oui.", "done", {}))
        say(fake, "Deux")
        assert kept(memory) == [["Deux", ALL]]


def test_a_conversation_that_is_taken_up_can_be_revised(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    with FakeConversation(instant=True, memory=memory) as fake:
        say(fake, "Un", "Deux", "Trois")
        first = memory.current
        assert first is not None
        fake.conversation.new_conversation()
        say(fake, "Autre chose")
        fake.conversation.open_conversation(first)
        opened = fake.watcher.wait_for(ConversationOpened, id=first)
        assert isinstance(opened, ConversationOpened)
        assert [(one.question, one.answer) for one in opened.exchanges] == [("Un", ALL), ("Deux", ALL), ("Trois", ALL)]
        fake.conversation.delete_turn(opened.exchanges[0].turn_id)
        fake.conversation.edit(opened.exchanges[2].turn_id, "Trois et demi")
        fake.watcher.wait_for(TurnEnded, reason="done")
        assert [question for question, _ in fake.session.said] == ["Deux", "Trois et demi"]
        assert [said.text for said in memory.store.messages(first)] == ["Deux", ALL, "Trois et demi", ALL]
