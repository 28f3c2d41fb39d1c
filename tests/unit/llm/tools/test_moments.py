"""Durations and times of day as people say them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.llm.tools.moments import MAX_SECONDS, TimeOfDay, duration_s, time_of_day
from kazeia_desktop.llm.tools.numbers import fold, with_digits

pytestmark = pytest.mark.unit


def plain(said: str, language: str) -> str:
    return with_digits(fold(said), language)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("5 minutes", 300), ("trois minutes trente pour les œufs", 210), ("dans un quart d'heure", 900),
        ("une heure et demie", 5400), ("une demi-heure", 1800), ("1h30", 5400), ("1 h 30 min 10 s", 5410),
        ("une minute et demie", 90), ("trois quarts d'heure", 2700), ("5 minutes et 30 secondes", 330),
        ("48 heures", None), ("0 minute", None), ("cinq pommes", None), ("2,5 heures", 9000), ("", None),
        ("24 heures", MAX_SECONDS),
    ],
)  # fmt: skip
def test_french_durations(said: str, seconds: int | None) -> None:
    assert duration_s(plain(said, "fr"), "fr") == seconds


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("ten minutes", 600), ("half an hour", 1800), ("an hour and a half", 5400), ("one and a half hours", 5400),
        ("a quarter of an hour", 900), ("1 minute and 30 seconds", 90), ("a minute", 60), ("2 hours 15", 8100),
        ("a three-minute timer", 180), ("hours", None),
    ],
)  # fmt: skip
def test_english_durations(said: str, seconds: int | None) -> None:
    assert duration_s(plain(said, "en"), "en") == seconds


@pytest.mark.parametrize(
    ("said", "hour", "minute"),
    [
        ("7 heures et demie", 7, 30), ("18h45", 18, 45), ("18:45", 18, 45), ("midi", 12, 0), ("minuit et demi", 0, 30),
        ("8 heures moins le quart", 7, 45), ("8 heures moins dix", 7, 50), ("7 heures du soir", 19, 0),
        ("9 h", 9, 0), ("huit heures et quart", 8, 15), ("minuit moins cinq", 23, 55), ("midi et quart", 12, 15),
        ("3 heures de l'après-midi", 15, 0), ("24 h", 0, 0),
    ],
)  # fmt: skip
def test_french_times(said: str, hour: int, minute: int) -> None:
    assert time_of_day(plain(said, "fr"), "fr") == TimeOfDay(hour, minute)


@pytest.mark.parametrize(
    ("said", "moment"),
    [
        ("half past six", TimeOfDay(6, 30, True)), ("quarter to seven", TimeOfDay(6, 45, True)),
        ("ten past six", TimeOfDay(6, 10, True)), ("6:30 p.m.", TimeOfDay(18, 30)), ("7 am", TimeOfDay(7, 0)),
        ("7 o'clock", TimeOfDay(7, 0, True)), ("noon", TimeOfDay(12, 0)), ("six thirty", TimeOfDay(6, 30, True)),
        ("12 a.m.", TimeOfDay(0, 0)), ("7 in the evening", TimeOfDay(19, 0)), ("18:30", TimeOfDay(18, 30)),
        ("midnight", TimeOfDay(0, 0)),
    ],
)  # fmt: skip
def test_english_times(said: str, moment: TimeOfDay) -> None:
    assert time_of_day(plain(said, "en"), "en") == moment


@pytest.mark.parametrize("said", ["", "sept pommes", "77 h", "8 h 75"])
def test_what_is_no_time(said: str) -> None:
    assert time_of_day(plain(said, "fr"), "fr") is None


@given(st.text(max_size=60), st.sampled_from(["fr", "en"]))
def test_any_text_is_read(text: str, language: str) -> None:
    seconds = duration_s(plain(text, language), language)
    assert seconds is None or 0 < seconds <= MAX_SECONDS
    moment = time_of_day(plain(text, language), language)
    assert moment is None or (0 <= moment.hour < 24 and 0 <= moment.minute < 60)
