"""No phoneme is lost where a clause is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.tts.pieces import GOOD_PHONEMES, LONG_PHONEMES, MAX_PHONEMES, SHORT_PHONEMES, cut_into_pieces

pytestmark = pytest.mark.unit


@given(st.text(alphabet="abˈɔ̃ʁ  ,.!?…—", max_size=1500))
def test_pieces_hold_every_symbol_in_order(said: str) -> None:
    pieces = cut_into_pieces(said)
    assert "".join(pieces).replace(" ", "") == said.replace(" ", "")
    assert all(0 < len(piece) <= MAX_PHONEMES for piece in pieces)


def test_a_short_clause_is_one_run() -> None:
    assert cut_into_pieces("wˈi, bjɛ̃ sˈyʁ.") == ["wˈi, bjɛ̃ sˈyʁ."]


@pytest.mark.parametrize("said", ["", " "])
def test_nothing(said: str) -> None:
    assert cut_into_pieces(said) == []


def test_a_long_clause_is_cut_at_its_signs() -> None:
    part = "abcde " * 9 + "abcdef,"
    assert cut_into_pieces(f"{part} {part} {part}") == [part, part, part]


def test_parts_are_joined_up_to_five_seconds() -> None:
    part = "abcde fghij kl,"
    pieces = cut_into_pieces(" ".join([part] * 12))
    assert len(pieces) == 3
    assert all(SHORT_PHONEMES < len(piece) <= GOOD_PHONEMES for piece in pieces)
    assert all(piece.endswith(",") for piece in pieces)


def test_a_last_word_is_not_left_alone() -> None:
    pieces = cut_into_pieces("abcdefgh " * 9 + "abc, wˈi.")
    assert len(pieces) == 1


def test_without_signs_it_is_cut_between_words() -> None:
    pieces = cut_into_pieces("abcdefghi " * 60)
    assert len(pieces) == 3 and all(len(piece) <= LONG_PHONEMES for piece in pieces)
    assert all(piece.split(" ") == ["abcdefghi"] * len(piece.split(" ")) for piece in pieces)


def test_one_endless_word() -> None:
    assert [len(piece) for piece in cut_into_pieces("a" * 1200)] == [
        MAX_PHONEMES,
        MAX_PHONEMES,
        1200 - 2 * MAX_PHONEMES,
    ]
