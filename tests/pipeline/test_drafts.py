"""What is being said is recognised before it has ended: shown while it is said, and ready when it is over."""

import time

import pytest

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.events import Failed, State, StateChanged, TurnEnded, TurnStarted, UserPartial, UserText
from tests.fakes.stages import FakeConversation, until

pytestmark = pytest.mark.pipeline

RATE = 16_000


def test_what_was_recognised_at_the_pause_is_the_text_of_the_turn() -> None:
    with FakeConversation(["Bonjour."], instant=True) as fake:
        fake.source.say(0.4)
        fake.source.silence(0.3)
        assert fake.watcher.wait_for(UserPartial, text="Bonjour.")
        assert not fake.watcher.seen(TurnStarted)
        fake.source.silence(0.5)
        assert fake.watcher.wait_for(UserText, text="Bonjour.")
        assert fake.watcher.wait_for(TurnEnded, reason="done")
        assert len(fake.recognizer.heard) == 1  # silence is not recognised once more


def test_the_time_that_is_told_is_what_was_waited_for() -> None:
    with FakeConversation(["Bonjour."], instant=True) as fake:
        fake.source.say(0.4)
        fake.source.silence(0.3)
        assert fake.watcher.wait_for(UserPartial)
        fake.source.silence(0.5)
        end = fake.watcher.wait_for(TurnEnded, reason="done")
        assert isinstance(end, TurnEnded)
        stt_ms, per_s = end.metrics["stt_ms"], end.metrics["stt_ms_per_s"]
        assert stt_ms is not None and 0.0 <= stt_ms < 100.0
        assert per_s is not None


def test_what_follows_the_pause_belongs_to_the_same_turn() -> None:
    with FakeConversation(["Quelle heure", "Quelle heure est-il ?"], instant=True) as fake:
        fake.source.say(0.4)
        fake.source.silence(0.3)
        assert fake.watcher.wait_for(UserPartial, text="Quelle heure")
        fake.source.say(0.4)
        fake.source.silence(1.0)
        assert fake.watcher.wait_for(UserText, text="Quelle heure est-il ?")
        assert fake.watcher.wait_for(TurnEnded, reason="done")
        assert fake.recognizer.heard[1] > fake.recognizer.heard[0] + 0.6 * RATE
        assert [said for said, _ in fake.session.said] == ["Quelle heure est-il ?"]


def test_a_draft_that_is_out_of_date_is_dropped() -> None:
    with FakeConversation(["De la première moitié.", "Tout."], instant=True) as fake:
        fake.recognizer.gate.shut()
        fake.source.say(0.4)
        fake.source.silence(0.3)
        until(fake.recognizer.gate.reached.is_set, "the first half is being recognised")
        fake.source.say(0.4)
        fake.source.silence(0.3)
        fake.recognizer.gate.open()
        fake.source.silence(0.5)
        assert fake.watcher.wait_for(UserText)
        assert fake.watcher.wait_for(TurnEnded, reason="done")
        assert len(fake.recognizer.heard) == 2
        assert len(fake.session.said) == 1


def test_captions_come_while_one_goes_on_speaking_and_stay_drafts() -> None:
    with FakeConversation(["Un", "Un deux", "Un deux trois"], instant=True) as fake:
        fake.source.say(1.1)
        assert fake.watcher.wait_for(UserPartial, text="Un")
        fake.source.say(1.2)
        assert fake.watcher.wait_for(UserPartial, text="Un deux")
        assert not fake.watcher.seen(TurnStarted)
        fake.source.silence(1.0)
        assert fake.watcher.wait_for(UserText, text="Un deux trois")


def test_a_fault_of_a_draft_is_told_once_and_for_the_turn() -> None:
    with FakeConversation(instant=True) as fake:
        fake.recognizer.error = InferenceError("The recogniser failed.")
        fake.source.say(0.4)
        fake.source.silence(0.3)
        until(lambda: len(fake.recognizer.heard) == 1, "it was tried")
        assert not fake.watcher.seen(Failed)
        fake.source.silence(0.5)
        assert fake.watcher.wait_for(Failed)
        assert fake.watcher.wait_for(TurnEnded, reason="error")
        assert len(fake.recognizer.heard) == 2


def test_muted_in_the_middle_nothing_is_shown_or_answered() -> None:
    with FakeConversation(instant=True) as fake:
        fake.recognizer.gate.shut()
        fake.source.say(0.4)
        fake.source.silence(0.3)
        until(fake.recognizer.gate.reached.is_set, "it is being recognised")
        fake.conversation.set_muted(True)
        fake.source.silence(0.1)
        assert fake.watcher.wait_for(StateChanged, state=State.MUTED)
        until(lambda: not len(fake.source._frames), "the microphone was read")
        fake.recognizer.gate.open()
        fake.conversation.set_muted(False)
        fake.ask()
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="done")
        texts = [event for event in fake.watcher.events if isinstance(event, UserText)]
        assert len(texts) == 1


def test_a_stop_ends_a_draft_that_became_a_turn() -> None:
    with FakeConversation(instant=True) as fake:
        fake.recognizer.gate.shut()
        fake.ask()
        assert fake.watcher.wait_for(TurnStarted)
        fake.conversation.interrupt()  # its gate stays shut: only the cancel lets it go
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted")
        fake.conversation.send_text("Et maintenant ?")
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")
        assert not fake.watcher.seen(UserText, turn_id=1)


def test_closing_ends_a_draft() -> None:
    fake = FakeConversation(instant=True)
    fake.conversation.start()
    fake.recognizer.gate.shut()
    fake.source.say(0.4)
    fake.source.silence(0.3)
    until(fake.recognizer.gate.reached.is_set, "it is being recognised")
    started_s = time.monotonic()
    fake.conversation.close()
    assert time.monotonic() - started_s < 2.0


def test_our_own_voice_is_no_caption() -> None:
    with FakeConversation(["Bonjour à vous. Il fait beau. Au revoir."], instant=True) as fake:
        fake.conversation.send_text("Bonjour")
        fake.watcher.wait_for(TurnEnded, turn_id=1, reason="done")
        fake.source.say(0.4)
        fake.source.silence(1.0)
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="echo")
        assert not fake.watcher.seen(UserPartial)


def test_what_is_probably_whole_is_read_before_it_is_asked() -> None:
    with FakeConversation(["Quelle heure", "Quelle heure est-il ?"], instant=True) as fake:
        fake.source.say(0.4)
        fake.source.silence(0.3)
        until(lambda: fake.session.ahead == ["Quelle heure"], "it was read")
        assert fake.session.said == []  # and not remembered
        fake.source.say(0.4)
        fake.source.silence(0.3)
        until(lambda: fake.session.ahead[1:] == ["Quelle heure est-il ?"], "the whole was read")
        fake.source.silence(0.5)
        assert fake.watcher.wait_for(TurnEnded, reason="done")
        assert [said for said, _ in fake.session.said] == ["Quelle heure est-il ?"]


def test_a_caption_is_not_read_ahead() -> None:
    with FakeConversation(["Un", "Un deux"], instant=True) as fake:
        fake.source.say(1.1)
        assert fake.watcher.wait_for(UserPartial, text="Un")
        fake.source.silence(1.0)
        assert fake.watcher.wait_for(TurnEnded, reason="done")
        assert fake.session.ahead == ["Un deux"]


def test_a_fault_while_reading_ahead_is_told_when_it_is_asked() -> None:
    with FakeConversation(instant=True) as fake:
        fake.session.error = InferenceError("The model failed.")
        fake.source.say(0.4)
        fake.source.silence(0.3)
        until(lambda: len(fake.session.ahead) == 1, "it was tried")
        assert not fake.watcher.seen(Failed)
        fake.source.silence(0.5)
        assert fake.watcher.wait_for(Failed)
        assert fake.watcher.wait_for(TurnEnded, reason="error")


def test_the_first_token_is_timed_from_the_text_also_while_it_is_read_ahead() -> None:
    with FakeConversation(["Bonjour."], instant=True) as fake:
        fake.session.ahead_gate.shut()
        fake.source.say(0.4)
        fake.source.silence(1.0)
        assert fake.watcher.wait_for(UserText)
        time.sleep(0.05)  # so long the model still reads
        fake.session.ahead_gate.open()
        end = fake.watcher.wait_for(TurnEnded, reason="done")
        assert isinstance(end, TurnEnded)
        ttft_ms = end.metrics["llm_ttft_ms"]
        assert ttft_ms is not None and ttft_ms >= 50.0
