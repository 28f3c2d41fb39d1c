"""Dates and times of day in words."""

import re
from collections.abc import Callable
from typing import Final

import num2words as _num2words

from kazeia_desktop.text.normalize.words import cardinal, feminine, ordinal

MONTHS: Final = {
    "fr": ["janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
           "décembre"],
    "en": ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December"],
}  # fmt: skip
_MONTH_NAMES: Final = {language: "|".join(names) for language, names in MONTHS.items()}
_SHORT_FR: Final = re.compile(r"(?<=\d )(janv|févr|fév|avr|juil|sept|oct|nov|déc)\.(?=\s|$|,)")
_SHORT_EN: Final = re.compile(r"\b(Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.(?= \d)")

_ISO: Final = re.compile(
    r"(?<![\d-])(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:\.\d{1,9})?)?Z?)?(?![\d-])"
)
_NUMERIC: Final = re.compile(r"(?<![\d/.-])(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/-])(?!\.\d)")
_MONTH_YEAR: Final = re.compile(r"(?<![\d/.,])(0[1-9]|1[0-2])/((?:19|20)\d{2})(?![\d/])")
_DAY_MONTH_FR: Final = re.compile(r"\b(le|du|au|dès le) (\d{1,2})/(0[1-9]|1[0-2])(?![\d/])")
_FIRST_FR: Final = re.compile(rf"\b1(?=\s(?:{_MONTH_NAMES['fr']})\b)", re.IGNORECASE)
_MONTH_DAY_EN: Final = re.compile(
    rf"\b({_MONTH_NAMES['en']}) (\d{{1,2}})(?:st|nd|rd|th)?(?![\d:,.]?\d)(?:(,?) (\d{{4}})\b)?"
)
_DAY_MONTH_EN: Final = re.compile(
    rf"(?<![\d.,])(the )?(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH_NAMES['en']})\b(?:,? (\d{{4}})\b)?"
)
_YEAR_CONTEXT: Final = (
    r"\b(?:in|since|from|until|till|by|around|circa|before|after|during|year|between|and|to|of|early|late|mid|"
    rf"spring|summer|autumn|fall|winter|{_MONTH_NAMES['en']})[ -]"
)
_YEAR: Final = re.compile(r"(?<![\w.,$€£])(?:(19\d{2}|20\d{2})|(?<=[ (-])(1[0-8]\d{2}))(s?)(?![\w%]|[.,:]\d| ?[$€£%°])")
_OLD_YEAR: Final = re.compile(rf"{_YEAR_CONTEXT}$", re.IGNORECASE)
_YEARS_EN: Final = re.compile(r"(?<=\b[12]\d{3}) ?[-–] ?(?=[12]\d{3}\b(?!-))")
_DECADE: Final = re.compile(r"(?<![\w.,])'?([2-9]0)'?s\b")

_HOURS_RANGE: Final = re.compile(r"(?<=\d[hH])\s?[-–]\s?(?=\d)|(?<=\d[hH]\d\d)\s?[-–]\s?(?=\d)")
_ROUND_THE_CLOCK: Final = (
    (re.compile(r"\b24(?: ?h)? ?/ ?24(?: ?h)?\b"), "vingt-quatre heures sur vingt-quatre"),
    (re.compile(r"\b7(?: ?j)? ?/ ?7(?: ?j)?\b"), "sept jours sur sept"),
    (re.compile(r"\b24\s?/\s?7\b"), "vingt-quatre heures sur vingt-quatre, sept jours sur sept"),
)
_HOUR_FR: Final = re.compile(r"(?<![\w.,/])(\d{1,2}) ?[hH](?: ?([0-5]\d)(?: ?min\b)?)?(?![\w²/])(?!['’]\w)")
_COLON: Final = re.compile(r"(?<![\d:.,])(\d{1,2}):([0-5]\d)(?::([0-5]\d))?(?![\d:])(?: ?([aApP])\.?[mM]\b\.?)?")
_BARE_AM_PM: Final = re.compile(r"(?<![\d:.,])(\d{1,2}) ?([aApP])\.?[mM]\b\.?(?!\w)")
_TIME_RANGE: Final = re.compile(r"(?<=:\d\d)\s?[-–]\s?(?=\d{1,2}:)")


def _or_kept(make: Callable[[re.Match[str]], str | None]) -> Callable[[re.Match[str]], str]:
    """A replacement that leaves the text alone when `make` finds that it is something else."""
    return lambda match: match[0] if (said := make(match)) is None else said


def speak_dates(text: str, language: str) -> str:
    """Dates and times of `text` in words; nothing else is changed."""
    to = " à " if language == "fr" else " to "
    text = _TIME_RANGE.sub(to, text)
    if language == "fr":
        for pattern, said in _ROUND_THE_CLOCK:
            text = pattern.sub(said, text)
        text = _SHORT_FR.sub(lambda m: next(n for n in MONTHS["fr"] if n.startswith(m[1])), text)
        text = _DAY_MONTH_FR.sub(_or_kept(_day_month_fr), text)
    text = _ISO.sub(_or_kept(lambda m: _iso(m, language)), text)
    text = _NUMERIC.sub(_or_kept(lambda m: _numeric(m, language)), text)
    text = _MONTH_YEAR.sub(lambda m: f"{MONTHS[language][int(m[1]) - 1]} {year(int(m[2]), language)}", text)
    if language == "fr":
        text = _HOUR_FR.sub(_or_kept(lambda m: _clock_fr(m[1], m[2])), _HOURS_RANGE.sub(to, text))
        text = _COLON.sub(_or_kept(lambda m: None if m[4] else _clock_fr(m[1], m[2], m[3])), text)
        return _FIRST_FR.sub("premier", text)
    text = _YEARS_EN.sub(to, text.replace("24/7", "twenty-four seven"))
    text = _SHORT_EN.sub(lambda m: next(n for n in MONTHS["en"] if n.startswith(m[1][:3])), text)
    text = _COLON.sub(_or_kept(lambda m: _clock_en(m[1], m[2], m[4])), text)
    text = _BARE_AM_PM.sub(_or_kept(lambda m: _clock_en(m[1], "0", m[2])), text)
    text = _MONTH_DAY_EN.sub(_or_kept(_month_day_en), text)
    text = _DAY_MONTH_EN.sub(_or_kept(_day_month_en), text)
    text = _YEAR.sub(_or_kept(_year_en), text)
    return _DECADE.sub(lambda m: f"{cardinal(int(m[1]), 'en')[:-1]}ies", text)


def year(n: int, language: str) -> str:
    """A year in words: in English "nineteen eighty"."""
    if language == "en" and 1010 <= n <= 2099:
        return str(_num2words.num2words(n, lang="en", to="year"))
    return cardinal(n, language)


def _date(day: int, month: int, written_year: str, language: str) -> str | None:
    if not (1 <= day <= 31 and 1 <= month <= 12):
        return None
    # A year of two figures is of this century up to 2049.
    century = 0 if len(written_year) == 4 else 2000 if int(written_year) < 50 else 1900
    said = year(century + int(written_year), language)
    name = MONTHS[language][month - 1]
    if language == "fr":
        return f"{'premier' if day == 1 else cardinal(day, 'fr')} {name} {said}"
    return f"{name} {ordinal(day, 'en')}, {said}"


def _iso(match: re.Match[str], language: str) -> str | None:
    date = _date(int(match[3]), int(match[2]), match[1], language)
    if date is None or match[4] is None:
        return date
    time = _clock_fr(match[4], match[5]) if language == "fr" else _clock_en(match[4], match[5], None)
    return date if time is None else f"{date} {'à' if language == 'fr' else 'at'} {time}"


def _numeric(match: re.Match[str], language: str) -> str | None:
    first, sign, second, written = int(match[1]), match[2], int(match[3]), match[4]
    if sign == "-" and len(written) == 2:
        return None
    if language == "en" and sign == "/":
        return _date(second, first, written, language) or _date(first, second, written, language)
    return _date(first, second, written, language)


def _day_month_fr(match: re.Match[str]) -> str | None:
    day, month = int(match[2]), int(match[3])
    if not 1 <= day <= 31:
        return None
    return f"{match[1]} {'premier' if day == 1 else cardinal(day, 'fr')} {MONTHS['fr'][month - 1]}"


def _month_day_en(match: re.Match[str]) -> str | None:
    day = int(match[2])
    if not 1 <= day <= 31:
        return None
    return f"{match[1]} {ordinal(day, 'en')}" + (f", {year(int(match[4]), 'en')}" if match[4] else "")


def _day_month_en(match: re.Match[str]) -> str | None:
    day = int(match[2])
    if not 1 <= day <= 31:
        return None
    return f"the {ordinal(day, 'en')} of {match[3]}" + (f", {year(int(match[4]), 'en')}" if match[4] else "")


def _year_en(match: re.Match[str]) -> str | None:
    """A year, or a number of things? Before 1900 only where a word says that it is a year."""
    if match[2] and not match[3] and not _OLD_YEAR.search(match.string[max(0, match.start() - 12) : match.start()]):
        return None
    said = year(int(match[1] or match[2]), "en")
    if not match[3]:
        return said
    return f"{said[:-1]}ies" if said.endswith("y") else f"{said}s"


def _clock_fr(hours: str, minutes: str | None, seconds: str | None = None) -> str | None:
    h, m = int(hours), int(minutes or "0")
    if h > 24:
        return None
    said = f"{feminine(cardinal(h, 'fr'))} heure{'s' if h > 1 else ''}"
    if m or seconds:
        said += f" {feminine(cardinal(m, 'fr'))}"
    if seconds and int(seconds):
        s = int(seconds)
        said += f" et {feminine(cardinal(s, 'fr'))} seconde{'s' if s > 1 else ''}"
    return said


def _clock_en(hours: str, minutes: str, half: str | None) -> str | None:
    h, m = int(hours), int(minutes)
    if h > (12 if half else 24):
        return None
    said = cardinal(h, "en")
    if m:
        said += f" {'oh ' if m < 10 else ''}{cardinal(m, 'en')}"
    if half:
        return f"{said} {half.upper()} M"
    if m:
        return said
    return f"{said} o'clock" if 1 <= h <= 12 else f"{said} hundred hours"
