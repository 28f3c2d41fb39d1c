"""What is kept is what was said and heard, and only when it is wanted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kazeia_desktop.errors import StorageError
from kazeia_desktop.events import TurnEnded, TurnsRemoved, UserText
from kazeia_desktop.memory.conversations import ConversationStore
from kazeia_desktop.memory.recorder import Recorder

pytestmark = pytest.mark.unit


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ConversationStore]:
    made = ConversationStore(tmp_path / "data" / "conversations.db")
    yield made
    made.close()


def exchange(recorder: Recorder, turn: int, question: str, reply: str, reason: str = "done") -> None:
    recorder.hear(UserText(turn, question, "fr"))
    recorder.hear(TurnEnded(turn, reply, reason, {}))


def texts(store: ConversationStore, conversation: int | None) -> list[str]:
    assert conversation is not None
    return [message.text for message in store.messages(conversation)]


def test_exchanges_of_one_conversation(store: ConversationStore) -> None:
    recorder = Recorder(store, keeps=True)
    assert recorder.current is None
    exchange(recorder, 1, "Bonjour", "Salut.")
    exchange(recorder, 2, "Raconte", "Il était une", "interrupted")
    assert texts(store, recorder.current) == ["Bonjour", "Salut.", "Raconte", "Il était une"]


def test_a_question_that_was_stopped_before_an_answer_is_kept_as_such(store: ConversationStore) -> None:
    recorder = Recorder(store, keeps=True)
    exchange(recorder, 1, "Bonjour", "", "interrupted")
    assert recorder.current is not None
    (asked,) = store.messages(recorder.current)
    assert (asked.role, asked.text, asked.ended) == ("user", "Bonjour", "interrupted")
    exchange(recorder, 2, "Raconte", "Il était", "interrupted")
    assert [(m.text, m.ended) for m in store.messages(recorder.current)] == [
        ("Bonjour", "interrupted"), ("Raconte", "done"), ("Il était", "interrupted"),
    ]  # fmt: skip


def test_what_a_later_turn_asks_whole_is_not_kept_twice(store: ConversationStore) -> None:
    recorder = Recorder(store, keeps=True)
    exchange(recorder, 1, "Quelle est", "", "interrupted")
    recorder.hear(TurnsRemoved(1, 1))
    exchange(recorder, 2, "Quelle est la capitale ?", "Paris.")
    assert texts(store, recorder.current) == ["Quelle est la capitale ?", "Paris."]
    assert len(store.summaries()) == 1


def test_what_failed_or_nobody_asked_is_not_kept(store: ConversationStore) -> None:
    recorder = Recorder(store, keeps=True)
    exchange(recorder, 2, "Bonjour", "", "error")
    exchange(recorder, 3, "Bonjour", " ", "done")
    recorder.hear(TurnEnded(4, "Le minuteur sonne.", "done", {}))  # nobody asked
    assert recorder.current is None and store.summaries() == []


def test_the_times_of_a_turn_are_kept(tmp_path: Path) -> None:
    clock = iter((1_000.0, 1_007.0))
    store = ConversationStore(tmp_path / "conversations.db", now=lambda: next(clock))
    recorder = Recorder(store, keeps=True)
    recorder.hear(UserText(1, "Bonjour", "fr"))
    recorder.hear(TurnEnded(1, "Salut.", "done", {"stt_ms": None, "first_audio_ms": 812.5}))
    assert recorder.current is not None
    question, answer = store.messages(recorder.current)
    assert (question.said_s, answer.said_s) == (1_000.0, 1_007.0)
    assert dict(answer.metrics) == {"first_audio_ms": 812.5} and dict(question.metrics) == {}
    store.close()


def test_private_mode_writes_nothing(store: ConversationStore, tmp_path: Path) -> None:
    recorder = Recorder(store, keeps=False)
    exchange(recorder, 1, "Bonjour", "Salut.")
    recorder.hear(UserText(2, "Secret", "fr"))
    recorder.apply(keeps=True)
    recorder.hear(TurnEnded(2, "Oui.", "done", {}))  # asked in private
    recorder.apply(keeps=False)
    exchange(recorder, 5, "Secret", "", "interrupted")
    recorder.apply(keeps=True)
    store.summaries()
    assert list(tmp_path.iterdir()) == []
    exchange(recorder, 3, "Public", "Oui.")
    assert texts(store, recorder.current) == ["Public", "Oui."]
    recorder.apply(keeps=False)
    exchange(recorder, 4, "Secret", "Oui.")
    assert [s.n_messages for s in store.summaries()] == [2]


def test_going_on_with_a_conversation_and_beginning_another(store: ConversationStore) -> None:
    recorder = Recorder(store, keeps=True)
    exchange(recorder, 1, "Un", "Oui.")
    first = recorder.current
    recorder.switch(None)
    exchange(recorder, 2, "Deux", "Oui.")
    assert recorder.current != first
    recorder.switch(first)
    exchange(recorder, 3, "Trois", "Oui.")
    assert texts(store, first) == ["Un", "Oui.", "Trois", "Oui."]


def test_a_fault_is_told_and_tried_again(tmp_path: Path) -> None:
    told: list[StorageError] = []
    (tmp_path / "data").write_text("in the way")
    store = ConversationStore(tmp_path / "data" / "conversations.db", told.append)
    recorder = Recorder(store, keeps=True)
    exchange(recorder, 1, "Un", "Oui.")
    assert recorder.current is None
    (tmp_path / "data").unlink()
    exchange(recorder, 2, "Deux", "Oui.")
    assert texts(store, recorder.current) == ["Deux", "Oui."] and len(told) == 1
    store.close()


def test_what_was_private_is_remembered_as_such(store: ConversationStore) -> None:
    recorder = Recorder(store, keeps=False)
    assert recorder.whole
    exchange(recorder, 1, "Secret", "Oui.")
    recorder.apply(keeps=True)
    exchange(recorder, 2, "Public", "Oui.")
    assert not recorder.whole and recorder.current is not None
    recorder.switch(recorder.current)
    assert recorder.whole


def test_a_conversation_deleted_elsewhere_is_begun_anew(store: ConversationStore) -> None:
    recorder = Recorder(store, keeps=True)
    exchange(recorder, 1, "Un", "Oui.")
    first = recorder.current
    assert first is not None
    store.delete(first)
    exchange(recorder, 2, "Deux", "Oui.")
    assert recorder.current != first and texts(store, recorder.current) == ["Deux", "Oui."]
