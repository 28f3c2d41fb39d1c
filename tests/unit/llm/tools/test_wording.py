"""Numbers, times and dates as they are written."""

import datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.llm.tools.wording import date, duration, number, of_duration, quantity, time_of_day

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("value", "language", "written"),
    [
        ("10", "fr", ("10", True)), ("156.25", "fr", ("156,25", True)), ("1234567.5", "fr", ("1 234 567,5", True)),
        ("1234", "fr", ("1234", True)), ("1234", "en", ("1,234", True)), ("-3", "fr", ("-3", True)),
        ("0", "en", ("0", True)),
        ("10/3", "fr", ("3,33333", False)), ("1/3", "en", ("0.333333", False)), ("0.000001", "fr", ("0,000001", True)),
        ("1000000000000000000", "fr", ("1 fois 10 puissance 18", True)), ("1234567/3", "fr", ("411 522", False)),
        ("12345678901234567890", "en", ("1.235 times 10 to the power of 19", False)),
    ],
)  # fmt: skip
def test_numbers(value: str, language: str, written: tuple[str, bool]) -> None:
    assert number(Fraction(value), language) == written


def test_a_root_is_about() -> None:
    assert number(Fraction(2), "fr", exact=False) == ("2", False)


@given(st.fractions(), st.sampled_from(["fr", "en"]))
def test_every_number_is_written(value: Fraction, language: str) -> None:
    written, exact = number(value, language)
    if exact and "10" not in written:
        plain = written.replace(" ", "").replace(",", "." if language == "fr" else "")
        assert Fraction(plain) == value


def test_quantities() -> None:
    assert quantity(Fraction(1), "lb", "fr") == ("une livre", True)
    assert quantity(Fraction(3, 2), "km", "fr") == ("1,5 kilomètre", True)
    assert quantity(Fraction("3.10686"), "mi", "en") == ("3.107 miles", False)
    assert quantity(Fraction(1), "ft", "en") == ("1 foot", True)


def test_durations() -> None:
    assert duration(5400, "fr") == "une heure 30 minutes" and of_duration(5400, "fr") == "d'une heure 30 minutes"
    assert of_duration(300, "fr") == "de 5 minutes" and duration(3661, "en") == "1 hour 1 minute 1 second"
    assert duration(0, "en") == "0 second"


def test_times_and_dates() -> None:
    assert [time_of_day(h, m, "fr") for h, m in ((14, 20), (7, 0), (0, 0), (12, 0), (0, 5))] == [
        "14 h 20", "7 h", "minuit", "midi", "0 h 05",
    ]  # fmt: skip
    assert [time_of_day(h, m, "en") for h, m in ((14, 20), (0, 5), (12, 0), (12, 30))] == [
        "2:20 p.m.", "12:05 a.m.", "noon", "12:30 p.m.",
    ]  # fmt: skip
    assert date(datetime.date(2026, 12, 1), "fr") == "mardi 1er décembre 2026"
    assert date(datetime.date(2026, 11, 30), "en") == "Monday, 30 November 2026"
