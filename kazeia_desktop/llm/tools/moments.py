"""Durations and times of day in a request. Text is as `numbers.with_digits` leaves it: words and signs apart."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

MAX_SECONDS: Final = 24 * 3600
"""A longer timer is a matter for a calendar."""

_N: Final = r"(\d+(?:\.\d+)?)"
_NAMES: Final = {
    "fr": {"h": r"heures?|h", "m": r"minutes?|min|mn", "s": r"secondes?|sec|s"},
    "en": {"h": r"hours?|h|hrs?", "m": r"minutes?|mins?|min", "s": r"seconds?|secs?|s"},
}
_SECONDS: Final = {"h": 3600, "m": 60, "s": 1}
_REWRITTEN: Final = {
    "fr": (
        (r"\b3 quarts d ' heure", "45 minutes"),
        (r"\b(?:1 )?quart d ' heure", "15 minutes"),
        (r"\b(?:1 )?demi - ?heure|\b(?:1 )?demi heure", "30 minutes"),
        (r"\b(heures?|h) et demie?\b", r"\1 30 minutes"),
        (r"\b(heures?|h) et quart\b", r"\1 15 minutes"),
        (r"\b(heures?|h) (?:et )?3 quarts\b", r"\1 45 minutes"),
        (r"\b(minutes?|min) et demie?\b", r"\1 30 secondes"),
    ),
    "en": (
        (r"\bhalf (?:an|a|1) - ?hour|\bhalf (?:an|a|1) hour|\b(?:a )?half - hour", "30 minutes"),
        (r"\b(?:a|1) quarter (?:of )?(?:an|a|1) hour", "15 minutes"),
        (r"\b3 quarters of (?:an|a|1) hour", "45 minutes"),
        (r"\b(?:an|a|1) (hour|minute|second) and a half\b", r"1.5 \1"),
        (r"\b(\d+) and a half (hours|minutes)\b", r"\1.5 \2"),
        (r"\b(?:an|a) (hour|minute|second)\b", r"1 \1"),
        (r"\bhalf a minute\b", "30 seconds"),
    ),
}


def duration_s(plain: str, language: str) -> int | None:
    """The first duration in `plain`, in whole seconds: "1 heure et demie", "3 minutes 30", "half an hour"."""
    for pattern, by in _REWRITTEN[language]:
        plain = re.sub(pattern, by, plain)
    names = _NAMES[language]
    units = "|".join(f"(?P<{key}>{names[key]})" for key in names)
    part = re.compile(rf"{_N} ?-? ?(?:{units})\b(?: \.)?")
    first = part.search(plain)
    if first is None:
        return None
    total, at, last = Fraction(0), first.start(), ""
    joined = re.compile(r" ?(?:,|et|and)? ?")
    while (found := part.match(plain, at)) is not None:
        key = next(name for name in names if found[name])
        if last and _SECONDS[key] >= _SECONDS[last]:
            break
        total += Fraction(found[1]) * _SECONDS[key]
        last = key
        gap = joined.match(plain, found.end())
        at = gap.end() if gap else found.end()
        end = found.end()
    if last in ("h", "m") and (rest := re.match(r" (\d{1,2})\b(?! ?(?:[%/*+:]|h\b))", plain[end:])):
        total += int(rest[1]) * (60 if last == "h" else 1)  # "1 h 30", "3 minutes 30"
    seconds = round(total)
    return seconds if 0 < seconds <= MAX_SECONDS else None


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """either: it may as well mean twelve hours later ("half past six" without morning or evening)."""

    hour: int
    minute: int
    either: bool = False


_CLOCK_FR: Final = re.compile(
    r"\b(?:(?P<word>midi|minuit)|(?P<hour>\d{1,2}) ?(?:heures?|h|:))"
    r"(?: (?:(?P<half>et demie?)|(?P<quarter>et quart)|(?P<to_quarter>moins (?:le )?quart)"
    r"|moins (?P<to>\d{1,2})|(?P<minute>\d{1,2})(?! ?[%/]))\b(?: minutes?)?)?"
    r"(?: (?P<part>du matin|du soir|de l ' apres - midi|de la nuit|ce soir))?"
)
_CLOCK_EN: Final = re.compile(
    r"\b(?:(?P<word>noon|midnight|midday)"
    r"|(?:(?P<half>half) past|(?P<quarter>(?:a )?quarter) past|(?P<to_quarter>(?:a )?quarter) to"
    r"|(?P<past>\d{1,2})(?: minutes)? past|(?P<to>\d{1,2})(?: minutes)? to) (?P<of>\d{1,2})"
    r"|(?P<hour>\d{1,2})(?: ?[:.] ?(?P<minute>\d{2})| (?P<minute2>\d{2}))?(?: o ' clock)?)\b"
    r"(?: ?(?P<part>a ?\.? ?m\b ?\.?|p ?\.? ?m\b ?\.?"
    r"|in the (?:morning|evening|afternoon)|at night|tonight))?"
)


def time_of_day(plain: str, language: str) -> TimeOfDay | None:
    """The first time of day in `plain`: "7 heures et demie", "18 h 45", "half past 6", "7 : 30 p . m ."."""
    found = (_CLOCK_FR if language == "fr" else _CLOCK_EN).search(plain)
    if found is None:
        return None
    if found["word"]:
        hour = 12 if found["word"] in ("midi", "noon", "midday") else 0
        sure = True
    else:
        hour = int(found["hour"] or found["of"])
        sure = language == "fr" or hour > 12 or (hour == 0)
    minute = _minute(found)
    part = (found["part"] or "").replace(" ", "")
    if part:
        sure = True
        evening = part.startswith(
            ("p", "dusoir", "del'apres", "cesoir", "intheeve", "intheafter", "atnight", "tonight")
        )
        if evening and hour < 12:
            hour += 12
        elif not evening and hour == 12 and not found["word"]:
            hour = 0
    if minute < 0:
        hour, minute = hour - 1, minute + 60
    hour %= 24
    return None if minute > 59 or (found["hour"] and int(found["hour"]) > 24) else TimeOfDay(hour, minute, not sure)


def _minute(found: re.Match[str]) -> int:
    groups = found.groupdict()
    if groups["half"]:
        return 30
    if groups["quarter"]:
        return 15
    if groups["to_quarter"]:
        return -15
    if groups["to"]:
        return -int(groups["to"])
    return int(groups.get("past") or groups.get("minute") or groups.get("minute2") or 0)
