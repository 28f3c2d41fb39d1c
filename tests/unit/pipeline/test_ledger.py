"""Which messages of the history belong to which turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.llm.base import Message
from kazeia_desktop.pipeline.ledger import Ledger

pytestmark = pytest.mark.unit


def history(*questions: str) -> list[Message]:
    return [Message(role, text) for text in questions for role in ("user", "assistant")]


def ledger(*questions: str) -> Ledger:
    made = Ledger()
    for turn_id, question in enumerate(questions, 1):
        made.add(turn_id, question)
    return made


def test_turns_that_the_session_dropped_have_no_place() -> None:
    made = ledger("a", "b", "c")
    assert made.span(history("b", "c"), 1, 1) is None
    assert made.span(history("b", "c"), 1, 2) == (0, 2)
    assert made.span(history("b", "c"), 2, 3) == (0, 4)
    assert made.span(history("b", "c"), 4, 9) is None


def test_a_withdrawn_question_has_no_place() -> None:
    assert ledger("a", "b", "c").span(history("a", "c"), 2, 2) is None
    assert ledger("a", "b", "c").span(history("a", "c"), 2, 3) == (2, 4)


def test_texts_are_compared_as_the_session_keeps_them() -> None:
    assert ledger(" été ").span(history("été"), 1, 1) == (0, 2)


@given(st.lists(st.sampled_from("ab"), max_size=8), st.integers(0, 9), st.integers(0, 9), st.integers(0, 8))
def test_against_a_plain_count(questions: list[str], first: int, last: int, dropped: int) -> None:
    there = questions[dropped:]
    turns = list(range(1, len(questions) + 1))[dropped:]
    places = [at for at, turn in enumerate(turns) if first <= turn <= last]
    expected = (2 * places[0], 2 * places[-1] + 2) if places else None
    assert ledger(*questions).span(history(*there), first, last) == expected
