"""Numbers in words."""

import pytest

from kazeia_desktop.text.normalize.words import cardinal, digits, feminine, number, ordinal, parts, value

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("n", "french", "english"),
    [
        (0, "zéro", "zero"),
        (21, "vingt et un", "twenty-one"),
        (71, "soixante et onze", "seventy-one"),
        (80, "quatre-vingts", "eighty"),
        (81, "quatre-vingt-un", "eighty-one"),
        (91, "quatre-vingt-onze", "ninety-one"),
        (200, "deux cents", "two hundred"),
        (201, "deux cent un", "two hundred and one"),
        (1_000, "mille", "one thousand"),
        (80_000, "quatre-vingt mille", "eighty thousand"),
        (1_000_000, "un million", "one million"),
        (200_000_000, "deux cents millions", "two hundred million"),
        (-5, "moins cinq", "minus five"),
    ],
)
def test_cardinal(n: int, french: str, english: str) -> None:
    assert cardinal(n, "fr") == french
    assert cardinal(n, "en") == english


@pytest.mark.parametrize(
    ("n", "french", "english"),
    [
        (1, "premier", "first"),
        (2, "deuxième", "second"),
        (4, "quatrième", "fourth"),
        (5, "cinquième", "fifth"),
        (9, "neuvième", "ninth"),
        (12, "douzième", "twelfth"),
        (20, "vingtième", "twentieth"),
        (21, "vingt et unième", "twenty-first"),
        (80, "quatre-vingtième", "eightieth"),
        (200, "deux centième", "two hundredth"),
        (1_000, "millième", "one thousandth"),
        (2_000_000, "deux millionième", "two millionth"),
    ],
)
def test_ordinal(n: int, french: str, english: str) -> None:
    assert ordinal(n, "fr") == french
    assert ordinal(n, "en") == english


def test_feminine() -> None:
    assert ordinal(1, "fr", feminine=True) == "première"
    assert [feminine(w) for w in ("un", "vingt et un", "quatre-vingt-un", "deux", "chacun")] == [
        "une", "vingt et une", "quatre-vingt-une", "deux", "chacun",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "language", "expected"),
    [
        ("3,14", "fr", ("3", "14")),
        ("3.14", "fr", ("3", "14")),
        ("1 234 567,8", "fr", ("1234567", "8")),
        ("1.234.567", "fr", ("1234567", "")),
        ("1.234,5", "fr", ("1234", "5")),
        ("1,234.5", "fr", ("1234", "5")),
        ("10,000", "fr", ("10000", "")),
        ("12,500", "fr", ("12", "500")),
        ("1,234", "en", ("1234", "")),
        ("0,234", "en", ("0", "234")),
        ("1,234,567.89", "en", ("1234567", "89")),
        ("1'234", "fr", ("1234", "")),
    ],
)
def test_parts(written: str, language: str, expected: tuple[str, str]) -> None:
    assert parts(written, language) == expected


def test_number() -> None:
    assert number("3,05", "fr") == "trois virgule zéro cinq"
    assert number("3,00", "fr") == "trois virgule zéro zéro"
    assert number("3,14159", "fr") == "trois virgule un quatre un cinq neuf"
    assert number("2.05", "en") == "two point zero five"
    assert value("1 234,5", "fr") == 1234.5
    assert digits("007", "fr") == "zéro zéro sept"
