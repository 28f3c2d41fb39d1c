"""The normaliser as a whole: what holds for any text."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.text.normalizer import normalize

pytestmark = pytest.mark.unit

SIGNS = (
    "1 21 80 3,14 1.000 14h30 14:30 03.05.2026 2026-05-03 06 12 € $ % ° km/h kg m² 1/2 XIV Louis n° M. p. etc. v1.2.3 "
    "S.N.C.F. ONU http://a.fr a@b.fr ** * _ ` ``` # | --- [a](b) $x^2$ \\frac{1}{2} ^ & + = / < > @ ~ « » ' ’ ( ) ... "
    "?! … été the Bonjour 😀 ½ ² ٣ 漢 - – — , . ; : ! ? <b> &amp; 1er 2nd May"
)
BLANKS = [" ", "\n", "\u202f", "\u200d", "\x00", "\ud800", "\u0301", "\n- ", "\n1. ", "\n| "]
PIECES = st.sampled_from([*SIGNS.split(" "), *BLANKS])
WORDS = "le chat est déjà parti vers l'école aujourd'hui peut-être"
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.lists(PIECES, max_size=25).map(" ".join) | st.text(max_size=80)


def is_speakable(sign: str) -> bool:
    return sign in " ,.;:?!'-…" or unicodedata.category(sign)[0] in "LM"


@given(text=TEXTS, language=st.sampled_from(["fr", "en"]))
def test_only_what_a_voice_can_say_is_left(text: str, language: str) -> None:
    spoken = normalize(text, language)
    assert all(map(is_speakable, spoken))
    assert spoken == unicodedata.normalize("NFC", spoken)
    assert spoken == spoken.strip()
    assert "  " not in spoken
    assert not spoken or any(c.isalpha() for c in spoken)


@given(text=TEXTS, language=st.sampled_from(["fr", "en"]))
def test_what_is_spoken_has_no_figures_left_to_speak(text: str, language: str) -> None:
    assert not any(c.isdigit() for c in normalize(text, language))


@given(words=st.lists(st.sampled_from(WORDS.split()), min_size=1))
def test_plain_words_are_untouched(words: list[str]) -> None:
    text = " ".join(words)
    assert normalize(text, "fr") == text


@pytest.mark.parametrize(
    "unit",
    ["a", " ", ".", "1", "1 ", "1,", "1.", "a.", "A.", "-", "--", "_", "*", "* ", "**a", "`", "```", "~", "# ",
     "|", "| ", "[", "[a](", "![", "(", "<", "<a ", "<!--", "&", "$", "$a", "$1", "1€", "%", "/", "/a", "1/",
     "\\", "\\frac{", "^{", "_{", "http://", "www.", "a@", "1:", "1h", "1-", "I", "IV ", "Louis ", "M.", "«",
     "'", "’a", "\n", "- a\n", "1. ", "> ", "=", "=>", "+", "😀", "\u0301", "½", "\x00", "1e5", "1x", "06 ",
     "v1.", "May 1 ", "2020-", "5'", "a/b", "?!", "1km", "1 km/", "étudiant(e)", "AB", "A-1", "é"],
)  # fmt: skip
@pytest.mark.parametrize("language", ["fr", "en"])
def test_no_text_takes_long(unit: str, language: str) -> None:
    """10,000 characters of the worst shapes: a pattern that backtracks would take seconds to hours."""
    started = time.process_time()
    for head, tail in (("", ""), ("a", "!"), ("$", "1")):
        spoken = normalize(head + (unit * 10_000)[:10_000] + tail, language)
        assert all(map(is_speakable, spoken))
    assert time.process_time() - started < 3.0


def test_noise_without_spaces_is_not_read() -> None:
    assert normalize("x" * 10_000, "fr") == ""
    assert normalize("La clé est " + "a1B2" * 30 + " voilà", "fr") == "La clé est voilà"
    assert len(normalize("mot " * 10_000, "fr")) < 20_001


def test_the_voice_hears_words_in_either_language() -> None:
    assert normalize("3,5 km à 45 %", "fr") == "trois virgule cinq kilomètres à quarante-cinq pour cent"
    assert normalize("3.5 km at 45%", "en") == "three point five kilometres at forty-five percent"
