"""Who pauses and goes on: nothing of what was said is lost, asked twice, or answered after it was withdrawn."""

import threading

import pytest

from kazeia_desktop.events import (
    Event,
    Failed,
    State,
    StateChanged,
    TurnEnded,
    TurnsRemoved,
    TurnStarted,
    UserPartial,
    UserText,
)
from kazeia_desktop.frames import FloatArray, Transcript
from kazeia_desktop.runtime.cancel import CancelToken
from tests.fakes.stages import FakeConversation, until

pytestmark = pytest.mark.pipeline

RATE = 16_000
SOFT = 0.05


def _read(fake: FakeConversation) -> None:
    """All that was said so far has been through the detector, the last frame of it too."""
    fake.source.silence(0.1)
    until(lambda: not len(fake.source._frames), "the microphone was read")
    fake.source.silence(0.05)
    until(lambda: not len(fake.source._frames), "the microphone was read")


def test_a_caption_from_before_a_typed_turn_is_not_taken_for_the_whole() -> None:
    with FakeConversation(["La moitié.", "Tout."], instant=True) as fake:
        fake.session.gate_at = 0
        fake.session.gate.shut()
        fake.source.say(1.1)
        assert fake.watcher.wait_for(UserPartial, text="La moitié.")
        fake.conversation.send_text("Écrit pendant que je parle.")
        assert fake.watcher.wait_for(TurnStarted, turn_id=1)
        fake.source.say(0.6)
        fake.source.silence(1.0)
        assert fake.watcher.wait_for(TurnStarted, turn_id=2)
        fake.session.gate.open()
        assert fake.watcher.wait_for(UserText, turn_id=2, text="Tout.")
        assert fake.recognizer.heard[-1] > 1.7 * RATE


def test_what_was_cut_off_by_going_on_is_forgotten_when_muted() -> None:
    with FakeConversation(instant=True) as fake:
        fake.session.gate_at = 0
        fake.session.gate.shut()
        fake.ask(1.0)
        until(fake.session.gate.reached.is_set, "the model begins")
        fake.source.say(0.3)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted")
        fake.conversation.set_muted(True)
        _read(fake)
        fake.conversation.set_muted(False)
        fake.session.gate.open()
        fake.ask(0.5)
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")
        assert fake.recognizer.heard[-1] < 1.7 * RATE
        assert not fake.watcher.seen(TurnsRemoved)


def test_a_question_asked_again_after_a_cough_is_shown_once() -> None:
    with FakeConversation(instant=True) as fake:
        fake.session.gate_at = 0
        fake.session.gate.shut()
        fake.ask()
        until(fake.session.gate.reached.is_set, "the model begins")
        fake.source.say(0.13)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted")
        fake.session.gate.open()
        fake.source.silence(1.0)
        assert fake.watcher.wait_for(TurnsRemoved, first=1, last=1)
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")


def test_a_cough_does_not_stop_what_was_typed_meanwhile() -> None:
    with FakeConversation(instant=True) as fake:
        fake.session.gate_at = 0
        fake.session.gate.shut()
        fake.ask()
        until(fake.session.gate.reached.is_set, "the model begins")
        fake.source.say(0.13)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted")
        fake.conversation.send_text("Autre chose.")
        fake.source.silence(1.0)
        _read(fake)
        fake.session.gate.open()
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")
        assert [said for said, _ in fake.session.said] == ["Autre chose."]
        assert not fake.watcher.seen(TurnStarted, turn_id=3)


def test_stopped_during_a_cough_the_question_stays_withdrawn() -> None:
    with FakeConversation(instant=True) as fake:
        fake.session.gate_at = 0
        fake.session.gate.shut()
        fake.ask()
        until(fake.session.gate.reached.is_set, "the model begins")
        fake.source.say(0.13)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted")
        fake.conversation.interrupt()
        fake.session.gate.open()
        fake.source.silence(1.0)
        _read(fake)
        assert not fake.watcher.seen(TurnStarted, turn_id=2)
        assert fake.conversation.state is State.LISTENING
        fake.ask(0.5)
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")
        assert fake.recognizer.heard[-1] < 1.7 * RATE


def test_going_on_softly_keeps_both_halves_of_the_question() -> None:
    with FakeConversation(["Première", "Les deux"], instant=True) as fake:
        scorer = fake.conversation._parts.detector._scorer  # type: ignore[union-attr]
        scorer.probability = lambda samples: 0.55 if samples.any() else 0.02  # type: ignore[method-assign]
        fake.session.gate_at = 0
        fake.session.gate.shut()
        fake.ask()
        until(fake.session.gate.reached.is_set, "the model begins")
        fake.ask()
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted")
        fake.session.gate.open()
        assert fake.watcher.wait_for(TurnsRemoved, first=1, last=1)
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")
        assert fake.recognizer.heard[-1] > 3.0 * RATE
        assert [said for said, _ in fake.session.said] == ["Les deux"]


def test_more_than_half_a_minute_in_two_halves_is_kept_whole() -> None:
    with FakeConversation(["Première", "Les deux"], instant=True) as fake:
        fake.session.gate_at = 0
        fake.session.gate.shut()
        fake.ask(20.0)
        until(fake.session.gate.reached.is_set, "the model begins")
        fake.ask(15.0)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted")
        fake.session.gate.open()
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")
        assert fake.recognizer.heard[-1] > 35.0 * RATE


@pytest.mark.expects_warning
def test_an_unexpected_fault_of_a_draft_is_met_again_and_told_once() -> None:
    with FakeConversation(instant=True) as fake:
        broken = threading.Event()
        broken.set()
        whole = fake.recognizer.transcribe

        def transcribe(samples: FloatArray, turn_id: int, cancel: CancelToken) -> Transcript:
            if broken.is_set():
                fake.recognizer.heard.append(len(samples))
                raise RuntimeError("inside the runtime")
            return whole(samples, turn_id, cancel)

        fake.recognizer.transcribe = transcribe  # type: ignore[method-assign]
        fake.source.say(0.4)
        fake.source.silence(0.3)
        until(lambda: len(fake.recognizer.heard) == 1, "it was tried")
        broken.clear()
        fake.source.silence(0.5)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="done")  # it is heard after all
        assert not fake.watcher.seen(Failed)
        broken.set()
        fake.ask()
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="error")
        assert sum(isinstance(event, Failed) for event in fake.watcher.events) == 1


def test_stopped_just_when_the_turn_begins_it_listens_again() -> None:
    with FakeConversation(instant=True) as fake:
        desk = fake.conversation._desk
        begin = desk.begin

        def begin_and_stop(typed: bool, cancel: CancelToken | None = None) -> object:
            turn = begin(typed, cancel)
            fake.conversation.interrupt()  # as Escape, pressed this very moment
            return turn

        desk.begin = begin_and_stop  # type: ignore[method-assign, assignment]
        fake.ask()
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted")
        assert fake.watcher.wait_for(StateChanged, state=State.LISTENING)
        _read(fake)
        assert fake.conversation.state is State.LISTENING


def test_closed_while_the_listening_waits_for_a_stuck_recogniser() -> None:
    fake = FakeConversation(instant=True)
    fake.conversation.start()
    fake.recognizer.gate.shut()
    turns: list[Event] = []
    for at in range(1, 8):
        fake.ask(0.5)
        fake.source.silence(1.0)
        until(lambda at=at: fake.watcher.seen(TurnStarted, turn_id=at), "it ends")  # type: ignore[misc]
    fake.conversation.close()
    turns = [event for event in fake.watcher.events if isinstance(event, TurnStarted | TurnEnded)]
    begun = [event.turn_id for event in turns if isinstance(event, TurnStarted)]
    assert begun == [event.turn_id for event in turns if isinstance(event, TurnEnded)]
    assert not fake.watcher.seen(Failed)


def test_closing_in_a_sentence_begins_no_turn_that_never_ends() -> None:
    for _ in range(20):
        fake = FakeConversation(instant=True)
        fake.conversation.start()
        fake.ask(0.5)
        fake.ask(0.5)
        fake.watcher.wait_for(TurnStarted)
        fake.conversation.close()
        begun = [event.turn_id for event in fake.watcher.events if isinstance(event, TurnStarted)]
        ended = [event.turn_id for event in fake.watcher.events if isinstance(event, TurnEnded)]
        assert begun == ended
        assert not fake.watcher.seen(Failed)
