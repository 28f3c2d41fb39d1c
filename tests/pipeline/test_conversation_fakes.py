"""Whole conversations on fakes: what is answered, what stops, what stays in the history."""

import time

import pytest

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.events import (
    ClauseStarted,
    Failed,
    Notice,
    State,
    StateChanged,
    TurnEnded,
    TurnsRemoved,
    TurnStarted,
    UserText,
)
from kazeia_desktop.pipeline import answering
from kazeia_desktop.pipeline.metrics import SPANS
from tests.fakes.stages import FakeConversation, until

pytestmark = pytest.mark.pipeline

ALL = "Bonjour à vous. Il fait beau. Au revoir."


def test_a_spoken_turn_is_answered_clause_by_clause_and_remembered() -> None:
    with FakeConversation(instant=True) as fake:
        fake.ask()
        end = fake.watcher.wait_for(TurnEnded)
        assert isinstance(end, TurnEnded)
        assert (end.reason, end.reply) == ("done", ALL)
        assert fake.voice.spoken == ["Bonjour à vous.", "Il fait beau.", "Au revoir."]
        assert fake.session.said == [("Quel temps fait-il ?", ALL)]
        assert all(end.metrics[name] is not None for name in SPANS)
        assert fake.watcher.wait_for(StateChanged, state=State.LISTENING)


def test_the_first_word_is_kept_by_the_pre_roll() -> None:
    with FakeConversation(instant=True) as fake:
        fake.source.silence(2.0)
        fake.ask(1.0)
        fake.watcher.wait_for(TurnEnded)
        # 1 s of speech, 0.5 s before it, and after it the 0.2 s that make a pause or the 0.6 s that end it
        assert 1.65 * 16_000 <= fake.recognizer.heard[-1] <= 2.2 * 16_000


def _barge_in(fake: FakeConversation) -> None:
    fake.source.say(0.3)


def test_barge_in_at_the_endpoint_keeps_both_halves_of_the_question() -> None:
    with FakeConversation(["Première", "Les deux moitiés"], instant=True) as fake:
        fake.recognizer.gate.shut()
        fake.ask(1.0)
        fake.watcher.wait_for(TurnStarted)
        fake.ask(1.0)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted", reply="")
        assert fake.watcher.wait_for(TurnsRemoved, first=1, last=1), "the second turn asks it again, whole"
        fake.recognizer.gate.open()
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")
        # What came before the pause is heard again with the rest: twice 1 s of speech, with what surrounds it.
        assert fake.recognizer.heard[-1] > 3.0 * 16_000
        assert len(fake.session.said) == 1


def test_barge_in_during_recognition() -> None:
    with FakeConversation(["Une question."], instant=True) as fake:
        fake.recognizer.gate.shut()
        fake.ask()
        until(fake.recognizer.gate.reached.is_set, "recognition begins")
        _barge_in(fake)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted")
        assert fake.session.said == []
        fake.recognizer.gate.open()
        fake.source.silence(1.0)
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")


@pytest.mark.parametrize("word", [0, 1])
def test_barge_in_at_the_first_token(word: int) -> None:
    with FakeConversation(instant=True) as fake:
        fake.session.gate_at = word
        fake.session.gate.shut()
        fake.ask()
        until(fake.session.gate.reached.is_set, "the model begins")
        _barge_in(fake)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted", reply="")
        fake.session.gate.open()
        fake.source.silence(1.0)
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")
        assert fake.session.said == [("Quel temps fait-il ?", ALL)]  # the unheard answer is not there
        assert fake.voice.spoken == ["Bonjour à vous.", "Il fait beau.", "Au revoir."]


def test_barge_in_at_the_first_clause_before_any_sound() -> None:
    with FakeConversation() as fake:
        fake.voice.gate.shut()
        fake.ask()
        until(fake.voice.gate.reached.is_set, "the voice begins")
        _barge_in(fake)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted", reply="")
        fake.voice.gate.open()
        until(lambda: fake.session.said == [], "the history is amended")
        assert fake.sink.queued_s() == 0.0
        assert fake.voice.spoken == []


def test_barge_in_in_the_middle_keeps_what_was_heard() -> None:
    with FakeConversation() as fake:
        fake.ask()
        until(lambda: fake.sink.queued_s() == 3.0, "three clauses are queued")
        fake.sink.play(1.7)  # all of the first clause, two of three words of the second
        fake.watcher.wait_for(ClauseStarted, index=1)
        _barge_in(fake)
        end = fake.watcher.wait_for(TurnEnded, reason="interrupted")
        assert isinstance(end, TurnEnded)
        assert end.reply == "Bonjour à vous. Il fait…"
        assert fake.sink.queued_s() == 0.0
        kept = [("Quel temps fait-il ?", "Bonjour à vous. Il fait")]  # the model would learn to end so
        until(lambda: fake.session.said == kept, "the history is amended")


def test_barge_in_in_the_last_clause() -> None:
    with FakeConversation() as fake:
        fake.ask()
        until(lambda: fake.sink.queued_s() == 3.0, "three clauses are queued")
        fake.sink.play(2.6)
        fake.watcher.wait_for(ClauseStarted, index=2)
        _barge_in(fake)
        assert fake.watcher.wait_for(TurnEnded, reason="interrupted", reply="Bonjour à vous. Il fait beau. Au…")


def test_no_sound_of_an_interrupted_turn_is_ever_queued() -> None:
    with FakeConversation() as fake:
        fake.ask()
        until(lambda: fake.sink.queued_s() > 0, "the voice is queued")
        fake.conversation.interrupt()
        fake.watcher.wait_for(TurnEnded, reason="interrupted")
        for _ in range(50):
            assert fake.sink.queued_s() == 0.0
            time.sleep(0.002)


def test_a_cough_before_the_answer_does_not_lose_the_question() -> None:
    with FakeConversation(instant=True) as fake:
        fake.session.gate_at = 0
        fake.session.gate.shut()
        fake.ask()
        until(fake.session.gate.reached.is_set, "the model begins")
        fake.source.say(0.13)  # heard (96 ms) but too short to be a sentence (250 ms)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted")
        fake.session.gate.open()
        fake.source.silence(1.0)
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")
        assert fake.session.said == [("Quel temps fait-il ?", ALL)]


def test_half_duplex_is_deaf_while_it_speaks_and_hears_again_after() -> None:
    with FakeConversation(half_duplex=True) as fake:
        fake.ask()
        until(lambda: fake.sink.queued_s() == 3.0, "three clauses are queued")
        fake.sink.play(0.5)
        fake.watcher.wait_for(StateChanged, state=State.SPEAKING)
        fake.source.say(1.0)
        fake.source.silence(1.0)
        fake.sink.play(10)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="done")
        fake.source.silence(0.5)
        fake.ask()
        assert fake.watcher.wait_for(TurnStarted, turn_id=2)


def test_stop_button_ends_the_voice_in_half_duplex() -> None:
    with FakeConversation(half_duplex=True) as fake:
        fake.ask()
        until(lambda: fake.sink.queued_s() == 3.0, "three clauses are queued")
        fake.sink.play(0.5)
        fake.watcher.wait_for(StateChanged, state=State.SPEAKING)
        fake.conversation.interrupt()
        assert fake.watcher.wait_for(TurnEnded, reason="interrupted")
        assert fake.sink.queued_s() == 0.0


def test_our_own_words_heard_back_are_not_answered() -> None:
    with FakeConversation(["Quel temps fait-il ?", "il fait beau au revoir"], instant=True) as fake:
        fake.ask()
        fake.watcher.wait_for(TurnEnded, turn_id=1, reason="done")
        fake.ask()
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="echo")
        assert len(fake.session.said) == 1


def test_nothing_understood_is_not_answered() -> None:
    with FakeConversation([""], instant=True) as fake:
        fake.ask()
        assert fake.watcher.wait_for(TurnEnded, reason="nothing")
        assert fake.session.said == []


def test_a_typed_turn_interrupts_and_is_answered() -> None:
    with FakeConversation() as fake:
        fake.ask()
        until(lambda: fake.sink.queued_s() > 0, "the voice is queued")
        fake.conversation.send_text("  Et demain ?  ")
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="interrupted")
        assert fake.watcher.wait_for(UserText, turn_id=2, text="Et demain ?")
        until(lambda: fake.sink.queued_s() == 3.0, "the second answer is queued")
        fake.sink.play(10)
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")
        assert fake.session.said == [("Et demain ?", ALL)]


def test_without_a_microphone_and_a_loudspeaker_text_works() -> None:
    with FakeConversation(with_source=False, with_sink=False) as fake:
        assert fake.conversation.state is State.IDLE
        fake.conversation.send_text("Bonjour")
        assert fake.watcher.wait_for(TurnEnded, reason="done", reply=ALL)


def test_muted_hears_nothing_until_unmuted() -> None:
    with FakeConversation(instant=True) as fake:
        fake.conversation.set_muted(True)
        fake.watcher.wait_for(StateChanged, state=State.MUTED)
        fake.ask()
        until(lambda: len(fake.source._frames) == 0, "all was read")
        fake.conversation.set_muted(False)
        fake.ask()
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="done")


def test_send_now_does_not_wait_for_a_pause() -> None:
    with FakeConversation(instant=True) as fake:
        fake.source.say(1.0)
        fake.watcher.wait_for(StateChanged, state=State.HEARING)
        until(lambda: len(fake.source._frames) == 0, "all was read")
        fake.conversation.send_now()
        fake.source.say(0.1)
        assert fake.watcher.wait_for(UserText)


@pytest.mark.parametrize("stage", ["recognizer", "session", "voice"])
def test_a_failing_stage_is_told_and_the_next_turn_works(stage: str) -> None:
    with FakeConversation(instant=True) as fake:
        failing = getattr(fake, stage)
        failing.error = InferenceError("It failed with {value}.", value=3)
        fake.ask()
        assert fake.watcher.wait_for(Failed, template="It failed with {value}.", fatal=False)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="error")
        failing.error = None
        fake.ask()
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")


def test_a_stage_that_breaks_is_told_and_restarted() -> None:
    with FakeConversation(instant=True) as fake:
        broken = fake.session.reply
        fake.session.reply = None  # type: ignore[assignment]
        fake.ask()
        failed = fake.watcher.wait_for(Failed, fatal=False)
        assert isinstance(failed, Failed)
        assert failed.values["part"] == "llm"
        fake.session.reply = broken  # type: ignore[method-assign]
        fake.ask()
        assert fake.watcher.wait_for(TurnEnded, turn_id=2, reason="done")


test_a_stage_that_breaks_is_told_and_restarted = pytest.mark.expects_warning(
    test_a_stage_that_breaks_is_told_and_restarted
)


def test_a_forgotten_beginning_is_told_once() -> None:
    with FakeConversation(instant=True) as fake:
        fake.session.dropped_turns = 2
        for _ in range(3):
            fake.ask()
            fake.watcher.wait_for(TurnEnded, reason="done")
        assert len([event for event in fake.watcher.events if isinstance(event, Notice)]) == 1


def test_in_a_pause_the_session_works_ahead_until_somebody_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "_PAUSE_S", 0.01)
    with FakeConversation(instant=True) as fake:
        fake.session.rests_long = True
        for n in (1, 2):
            fake.ask()
            fake.watcher.wait_for(TurnEnded, reason="done")
            assert fake.session.rested.wait(5)
            fake.session.rested.clear()
            assert fake.session.rests == n


def test_changing_a_model_reloads_it_between_turns() -> None:
    with FakeConversation(instant=True) as fake:
        old = fake.recognizer
        stt = fake.settings.stt.model_copy(update={"model": "whisper-small"})
        fake.conversation.apply(fake.settings.model_copy(update={"stt": stt}))
        fake.ask()
        assert fake.watcher.wait_for(UserText, text="Après le changement.")
        assert old.closed


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [("llm", "model", "smollm2-135m"), ("llm", "kv_type", "q8_0"), ("backends", "two_contexts", "always")],
)
def test_changing_the_language_model_keeps_the_conversation(section: str, field: str, value: str) -> None:
    with FakeConversation(instant=True) as fake:
        fake.ask()
        fake.watcher.wait_for(TurnEnded, reason="done")
        old = fake.session
        said = list(old.said)
        assert said
        changed = getattr(fake.settings, section).model_copy(update={field: value})
        fake.conversation.apply(fake.settings.model_copy(update={section: changed}))
        fake.ask()
        fake.watcher.wait_for(TurnEnded, reason="done")
        assert old.closed
        assert fake.session is not old
        assert fake.session.said[: len(said)] == said
        assert len(fake.session.said) == len(said) + 1


def test_changing_a_threshold_reloads_nothing() -> None:
    with FakeConversation(instant=True) as fake:
        stt = fake.settings.stt.model_copy(update={"language": "en"})
        fake.conversation.apply(fake.settings.model_copy(update={"stt": stt}))
        assert fake.recognizer.applied == [stt]
        assert not fake.recognizer.closed


@pytest.mark.parametrize("where", ["listening", "hearing", "recognizing", "thinking", "synthesizing", "speaking"])
def test_closing_in_any_state_ends_every_thread(where: str) -> None:
    fake = FakeConversation()
    fake.conversation.start()
    gates = {"recognizing": fake.recognizer.gate, "thinking": fake.session.gate, "synthesizing": fake.voice.gate}
    fake.session.gate_at = 0
    if where in gates:
        gates[where].shut()
    if where == "hearing":
        fake.source.say(0.5)
        fake.watcher.wait_for(StateChanged, state=State.HEARING)
    elif where in gates:
        fake.ask()
        until(gates[where].reached.is_set, where)
    elif where == "speaking":
        fake.ask()
        until(lambda: fake.sink.queued_s() > 0, where)
        fake.sink.play(0.2)
    started = time.monotonic()
    fake.conversation.close()
    fake.conversation.close()
    assert time.monotonic() - started < 2.0
    assert fake.recognizer.closed and fake.session.closed and fake.voice.closed


def test_half_duplex_can_be_chosen_while_it_runs() -> None:
    with FakeConversation() as fake:
        audio = fake.settings.audio.model_copy(update={"duplex": "half"})
        fake.conversation.apply(fake.settings.model_copy(update={"audio": audio}))
        fake.ask()
        until(lambda: fake.sink.queued_s() == 3.0, "three clauses are queued")
        fake.sink.play(0.5)
        fake.watcher.wait_for(StateChanged, state=State.SPEAKING)
        fake.source.say(1.0)
        fake.source.silence(1.0)
        fake.sink.play(10)
        assert fake.watcher.wait_for(TurnEnded, turn_id=1, reason="done")
