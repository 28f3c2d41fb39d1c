"""What of an answer is thought only, for the history as for the voice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kazeia_desktop.llm.answer import Answer, visible_text
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.text.think_filter import ThinkFilter

pytestmark = pytest.mark.unit

_PARTS = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<Thinking >",
        "</thinking>",
        "<thought>",
        "</reasoning>",
        "<",
        "think",
        ">",
        "a ",
        "é",
        "\n",
    ]
)


def answer(longest: int = 10) -> Answer:
    return Answer([1], "", CancelToken(), 0.0, 0, longest)


@settings(deadline=None)
@given(st.lists(_PARTS, max_size=20), st.integers(1, 5))
def test_the_history_keeps_what_is_spoken(parts: list[str], step: int) -> None:
    said = "".join(parts)
    spoken = ThinkFilter()
    heard = "".join(spoken.push(said[at : at + step]) for at in range(0, len(said), step)) + spoken.finish()
    assert visible_text(said) == heard


@pytest.mark.parametrize(
    ("pieces", "spent"),
    [
        (["Bonjour", " à", " vous"], 3),
        (["<thi", "nk>", "hm", "</think>", "Bon", "jour"], 2),
        (["\n<think>", "hm", "hm"], 0),
        (["<", "b>", "x"], 2),
        (["<think>", "</think>", "a", "<think>", "b"], 3),
    ],
)
def test_only_a_first_thought_is_not_counted(pieces: list[str], spent: int) -> None:
    made = answer()
    for piece in pieces:
        made.add(7, piece)
    assert made.spent == spent


@pytest.mark.parametrize(
    ("said", "next_piece", "ends"),
    [
        ("Il dort.", " Elle", True),
        ("Il dort\u202f!", "\nElle", True),
        ("« Il dort. »", " Elle", True),
        ("Il dort", " bien", False),
        ("Il est 3.", "5 heures", False),
        ("Il dort.", "", False),
        ("Mélangez.\n5.", " Faites cuire", False),  # only the number of a list's next item
        ("Mélangez. 5.", " Faites cuire", False),
        ("Ils sont 12.", " Elle", True),
    ],
)
def test_a_nearly_full_answer_ends_between_sentences(said: str, next_piece: str, ends: bool) -> None:
    made = answer()
    for _ in range(7):
        made.add(1, "x")
    made.said = ["xxxxxx", said]
    assert not made.may_end_before(next_piece)
    made.spent = 8
    assert made.may_end_before(next_piece) is ends
