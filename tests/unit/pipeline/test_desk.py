"""At most one turn is current, each ends once, and states are told in order and once."""

import threading

import pytest

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.events import Event, Failed, ReplyDelta, State, StateChanged, TurnEnded, TurnStarted, UserText
from kazeia_desktop.pipeline.desk import TurnDesk
from kazeia_desktop.pipeline.metrics import SPANS, STAGE_FIGURES, VOICE_FIGURES, turn_metrics
from kazeia_desktop.pipeline.turn import Turn
from kazeia_desktop.tts.base import SpeechFigures

pytestmark = pytest.mark.unit


def make() -> tuple[TurnDesk, list[Event]]:
    events: list[Event] = []
    desk = TurnDesk(events.append)
    desk.set_resting(State.LISTENING)
    return desk, events


def test_a_turn_begins_is_claimed_once_and_ends() -> None:
    desk, events = make()
    turn = desk.begin(typed=True)
    desk.advance(turn, State.THINKING)
    assert desk.turn(turn.id) is turn
    assert desk.claim(turn)
    assert not desk.claim(turn)
    desk.close_turn(turn, "Oui.", "done")
    assert events[1:] == [
        TurnStarted(1, True),
        StateChanged(State.THINKING),
        TurnEnded(1, "Oui.", "done", turn_metrics(turn)),
        StateChanged(State.LISTENING),
    ]


def test_items_of_a_cancelled_or_older_turn_are_dropped() -> None:
    desk, _ = make()
    turn = desk.begin(typed=False)
    turn.cancel.set()
    assert desk.turn(turn.id) is None
    assert desk.cancel_of(turn.id).is_set()
    desk.claim(turn)
    assert desk.begin(typed=False).id == turn.id + 1
    assert desk.turn(turn.id) is None


def test_a_turn_that_is_over_changes_no_state() -> None:
    desk, events = make()
    turn = desk.begin(typed=False)
    desk.claim(turn)
    n = len(events)
    desk.advance(turn, State.SPEAKING)
    assert len(events) == n


def test_the_end_of_a_turn_does_not_hide_that_somebody_speaks() -> None:
    desk, events = make()
    turn = desk.begin(typed=False)
    desk.advance(turn, State.SPEAKING)
    desk.hearing()
    desk.claim(turn)
    desk.close_turn(turn, "", "interrupted")
    assert desk.state is State.HEARING
    desk.rest()
    assert events[-1] == StateChanged(State.LISTENING)


def test_a_fatal_fault_stays() -> None:
    desk, events = make()
    desk.fail(InferenceError("Broken {what}.", what="thing"), "retry", fatal=True)
    assert events[-2:] == [Failed("Broken {what}.", {"what": "thing"}, "retry", True), StateChanged(State.ERROR)]
    assert desk.resting is State.ERROR


def test_many_threads_claim_one_turn_once() -> None:
    desk, _ = make()
    turn = desk.begin(typed=False)
    won: list[bool] = []
    threads = [threading.Thread(target=lambda: won.append(desk.claim(turn))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]


def test_metrics_are_ms_between_marks_and_none_where_one_is_missing() -> None:
    turn = Turn(1)
    marks = turn.marks
    marks.set("speech_end", 10.0)
    marks.set("endpoint", 10.6)
    marks.set("endpoint", 99.0)  # only the first counts
    figures = turn_metrics(turn)
    assert list(figures) == [*SPANS, *VOICE_FIGURES, *STAGE_FIGURES]
    assert figures["endpoint_ms"] == 600.0
    assert figures["stt_ms"] is None


def test_turns_have_their_own_tokens_and_clocks() -> None:
    one, two = Turn(1), Turn(2)
    one.cancel.set()
    one.marks.set("prompt", 1.0)
    assert not two.cancel.is_set()
    assert two.marks.between_ms("prompt", "prompt") is None


def test_the_voices_figures_are_means_over_the_frames_of_the_turn() -> None:
    turn = Turn(1)
    assert all(turn_metrics(turn)[name] is None for name in VOICE_FIGURES)
    turn.clauses.append(SpeechFigures(10, 0.5, 20.0, 60.0, 30.0, 0))
    turn.clauses.append(SpeechFigures(30, 1.5, 40.0, 100.0, 50.0, 1))
    figures = turn_metrics(turn)
    assert [figures[name] for name in VOICE_FIGURES] == [35.0, 90.0, 45.0, 1.25, 1]


def test_kazeia_speaks_of_its_own_accord_only_while_nobody_does() -> None:
    desk, events = make()
    turn = desk.begin_if_idle()
    assert turn is not None and events[-1] == TurnStarted(turn.id, True)
    assert desk.begin_if_idle() is None
    desk.claim(turn)
    desk.hearing()
    assert desk.begin_if_idle() is None
    desk.rest()
    assert desk.begin_if_idle() is not None
    closing, _ = make()
    closing.end_idle(closing=True)
    assert closing.begin_if_idle() is None
    assert TurnDesk(events.append).begin_if_idle() is None, "still loading"


def test_two_that_begin_at_once_end_the_one_before() -> None:
    events: list[Event] = []
    desk = TurnDesk(events.append)

    def stop(turn: Turn) -> None:
        if turn.id == 1:  # meanwhile another thread begins, as who types while somebody speaks
            assert desk.claim(turn)
            desk.close_turn(turn, "", "interrupted")
            desk.begin(typed=True)
        elif desk.claim(turn):
            desk.close_turn(turn, "", "interrupted")

    first = desk.begin(typed=False)
    turn = desk.begin_after(stop, typed=False, asked=lambda turn: UserText(turn.id, "Bonjour", "fr"))
    assert [event.turn_id for event in events if isinstance(event, TurnEnded)] == [1, 2]
    assert desk.current is turn and turn.id == 3
    assert events[-1:] == [UserText(3, "Bonjour", "fr")]
    assert not desk.emit_of(first, UserText(1, "Trop tard", "fr"))
    assert desk.emit_of(turn, ReplyDelta(3, "Salut"))
    assert events[-1:] == [ReplyDelta(3, "Salut")]
