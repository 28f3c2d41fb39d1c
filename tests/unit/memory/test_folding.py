"""Searching does not mind case, accents and ligatures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.memory.folding import excerpt, folded, words

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("L'Été", "l'ete"),
        ("œuf", "oeuf"),
        ("ÇA", "ca"),
        ("cafe\u0301", "cafe"),
        ("Straße", "strasse"),
        ("½", "1⁄2"),
        ("", ""),
    ],
)
def test_folded(text: str, plain: str) -> None:
    assert folded(text) == plain


def test_words_are_cut_at_signs() -> None:
    assert words("L'été, c'est « l'Œuf » n_1 !") == ["l", "ete", "c", "est", "l", "oeuf", "n", "1"]


def test_an_excerpt_shows_the_place_with_its_accents() -> None:
    text = "a" * 200 + " c'est l'été à Paris " + "b" * 200
    found = excerpt(text, ["ete"])
    assert "l'été à Paris" in found and found.startswith("…") and found.endswith("…") and len(found) < 180


def test_an_excerpt_prefers_the_beginning_of_a_word() -> None:
    assert "été" in excerpt("x" * 5 + "ete" + " y" * 200 + " l'été", ["ete"])


@given(st.text(), st.text(min_size=1))
def test_any_text_is_folded_once_and_for_all(text: str, wanted: str) -> None:
    assert folded(folded(text)) == folded(text)
    excerpt(text, words(wanted))
