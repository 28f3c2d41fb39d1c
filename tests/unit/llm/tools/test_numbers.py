"""Numbers in words and in digits become one form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from kazeia_desktop.llm.tools.numbers import fold, with_digits

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("trois cent quarante-cinq moins quatre-vingt-dix-neuf", "345 moins 99"),
        ("Calcule 12,5 % de 80", "calcule 12.5 % de 80"), ("1 250,5 divisé par huit", "1250.5 divise par 8"),
        ("1\u202f250", "1250"), ("soixante et onze", "71"), ("vingt et un", "21"), ("un et deux", "1 et 2"),
        ("trois virgule quatorze", "3.14"), ("zéro virgule zéro cinq", "0.05"), ("deux trois", "2 3"),
        ("septante et un", "71"), ("2,5 millions", "2500000"), ("deux virgule cinq millions", "2500000"),
        ("1,2345 mille", "1234.5"), ("L’heure", "l ' heure"), ("quatre vingt", "80"), ("18h45", "18 h 45"),
        ("Mille", "1000"), ("deux mille cent", "2100"), ("cent mille", "100000"),
        ("deux millions mille trois", "2001003"),
    ],
)  # fmt: skip
def test_french(said: str, plain: str) -> None:
    assert with_digits(fold(said), "fr") == plain


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("one hundred and five times two", "105 times 2"), ("twenty-five point one four", "25.14"),
        ("1,250.5 plus 3", "1250.5 plus 3"), ("two and three", "2 and 3"), ("half past six", "half past 6"),
        ("three million two hundred thousand", "3200000"), ("nineteen hundred", "19 100"),
    ],
)  # fmt: skip
def test_english(said: str, plain: str) -> None:
    assert with_digits(fold(said), "en") == plain


@given(st.integers(0, 999_999_999), st.sampled_from(["fr", "fr_BE", "fr_CH", "en"]))
def test_every_number_as_it_is_said(n: int, language: str) -> None:
    words = num2words(n, lang=language).replace(",", "")
    assert with_digits(fold(words), language[:2]) == str(n)


@given(st.text(max_size=60), st.sampled_from(["fr", "en"]))
def test_any_text_is_read_once_and_for_all(text: str, language: str) -> None:
    plain = with_digits(fold(text), language)
    assert with_digits(plain, language) == plain or any(c.isdigit() for c in plain)
