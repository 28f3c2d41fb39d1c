"""The conversation as data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.events import Exchange
from kazeia_desktop.gui.transcript import Speaker, Transcript, end_of

pytestmark = pytest.mark.gui


def texts(transcript: Transcript) -> list[tuple[str, str]]:
    messages = (transcript.message(row) for row in range(transcript.rowCount()))
    return [(m.speaker.value, m.text) for m in messages]


def test_a_turn_from_speech_to_end() -> None:
    transcript = Transcript()
    transcript.turn_started(1, False)
    assert texts(transcript) == [("user", "")]
    transcript.user_text(1, "Bonjour.")
    transcript.reply_delta(1, "Bonjour à vous.")
    transcript.reply_delta(1, " Il fait beau.")
    assert texts(transcript) == [("user", "Bonjour."), ("kazeia", "Bonjour à vous. Il fait beau.")]
    assert transcript.message(1).settled == 0
    transcript.clause_started(1, "Bonjour à vous.")
    assert transcript.message(1).settled == len("Bonjour à vous.")
    transcript.turn_ended(1, "Bonjour à vous. Il fait beau.", "done", {"total_ms": 10.0})
    reply = transcript.message(1)
    assert (reply.settled, reply.ended, reply.metrics) == (len(reply.text), "done", {"total_ms": 10.0})


def test_an_interrupted_reply_settles_what_was_heard_and_grows_no_more() -> None:
    transcript = Transcript()
    transcript.user_text(1, "Bonjour.")
    transcript.reply_delta(1, "Un. Deux. Trois.")
    transcript.turn_ended(1, "Un. Deux.", "interrupted", {})
    transcript.reply_delta(1, " Quatre.")
    reply = transcript.message(1)
    assert (reply.text, reply.text[: reply.settled]) == ("Un. Deux. Trois.", "Un. Deux.")


def test_what_was_heard_within_a_clause_settles() -> None:
    transcript = Transcript()
    transcript.user_text(1, "Bonjour.")
    transcript.reply_delta(1, "Bonjour à vous. Il fait beau.")
    transcript.turn_ended(1, "Bonjour à vous. Il fait…", "interrupted", {})
    reply = transcript.message(1)
    assert reply.text[: reply.settled] == "Bonjour à vous. Il fait"


def test_turns_are_removed_wherever_they_are() -> None:
    transcript = Transcript()
    for turn in range(1, 5):
        transcript.user_text(turn, f"Question {turn}")
        transcript.reply_delta(turn, f"Réponse {turn}")
    transcript.hearing(True)
    transcript.turns_removed(2, 2)
    assert [m.turn_id for m in transcript.messages][:-1] == [1, 1, 3, 3, 4, 4]
    transcript.turns_removed(9, 12)
    transcript.turns_removed(3, 4)
    assert texts(transcript) == [("user", "Question 1"), ("kazeia", "Réponse 1"), ("user", "")]
    transcript.hearing(False)
    assert transcript.last_answer == 1
    transcript.turns_removed(1, 1)
    assert transcript.rowCount() == 0 and transcript.last_answer is None


def test_who_coughs_leaves_no_bubble_and_who_speaks_one() -> None:
    transcript = Transcript()
    transcript.hearing(True)
    transcript.hearing(True)
    assert transcript.rowCount() == 1 and transcript.engine_turn(transcript.message(0)) is None
    transcript.turn_started(1, False)
    transcript.hearing(False)
    transcript.user_text(1, "Bonjour.")
    assert texts(transcript) == [("user", "Bonjour.")]


def test_nothing_understood_leaves_no_bubble() -> None:
    transcript = Transcript()
    transcript.turn_started(1, False)
    transcript.turn_ended(1, "", "nothing", {})
    assert transcript.rowCount() == 0


def test_a_typed_turn_has_no_bubble_before_its_text() -> None:
    transcript = Transcript()
    transcript.turn_started(1, True)
    assert transcript.rowCount() == 0


def test_without_a_voice_everything_is_settled_and_stays_so() -> None:
    transcript = Transcript()
    transcript.spoken = False
    transcript.reply_delta(1, "Un. Deux.")
    assert transcript.message(0).settled == len("Un. Deux.")
    transcript.turn_ended(1, "", "interrupted", {})
    assert transcript.message(0).settled == len("Un. Deux.")


def test_turn_ids_begin_again_with_a_new_engine() -> None:
    transcript = Transcript()
    transcript.user_text(1, "Un.")
    transcript.reply_delta(1, "Réponse")
    transcript.new_engine()
    transcript.user_text(1, "Deux.")
    assert texts(transcript) == [("user", "Un."), ("kazeia", "Réponse"), ("user", "Deux.")]
    assert transcript.message(1).ended == "interrupted"


def test_data_for_views_and_screen_readers() -> None:
    transcript = Transcript()
    transcript.user_text(1, "Un.")
    assert transcript.data(transcript.index(0)) == "Un."
    assert transcript.message(0).speaker is Speaker.USER


@given(st.text(min_size=1, max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_a_part_is_found_whatever_its_spaces(part: str, before: str, after: str) -> None:
    end = end_of(before + part + after, f"  {part} ", 0)
    if not part.strip():
        assert end is None
    else:
        assert end is not None
        squeezed = "".join((before + part + after)[:end].split())
        assert squeezed.endswith("".join(part.split()))


def test_a_part_that_is_not_there() -> None:
    assert end_of("Un. Deux.", "Trois.", 0) is None
    assert end_of("Un. Deux.", "Un.", 3) is None


def test_a_question_that_was_stopped_before_an_answer_says_so() -> None:
    transcript = Transcript()
    transcript.user_text(1, "Raconte")
    transcript.turn_ended(1, "", "interrupted", {"total_ms": 5.0})
    assert texts(transcript) == [("user", "Raconte")]
    assert transcript.message(0).ended == "interrupted" and transcript.message(0).settled == len("Raconte")
    transcript.user_text(2, "Raconte")
    transcript.reply_delta(2, "Il")
    transcript.turn_ended(2, "Il", "interrupted", {})
    assert [m.ended for m in transcript.messages] == ["interrupted", "done", "interrupted"]


def test_what_was_stopped_before_it_was_understood_goes() -> None:
    transcript = Transcript()
    transcript.hearing(True)
    transcript.turn_started(1, False)
    transcript.turn_ended(1, "", "interrupted", {})
    assert texts(transcript) == []


def test_a_conversation_that_is_taken_up_shows_how_its_turns_ended() -> None:
    transcript = Transcript()
    took = {"first_audio_ms": 900.0}
    transcript.show_conversation(
        (Exchange(1, "Un", "", "interrupted", {}, 100.0), Exchange(2, "Deux", "Oui…", "interrupted", took, 200.0))
    )
    assert texts(transcript) == [("user", "Un"), ("user", "Deux"), ("kazeia", "Oui…")]
    assert [m.ended for m in transcript.messages] == ["interrupted", "done", "interrupted"]
    assert [m.said_s for m in transcript.messages] == [100.0, 200.0, 200.0]
    assert dict(transcript.message(2).metrics) == took and not transcript.message(0).metrics
