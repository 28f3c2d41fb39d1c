"""Numbers, durations, times and dates as they are written in an answer; the normaliser says them."""

import datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Final

from kazeia_desktop.llm.tools.units import UNITS

_EXACT_DECIMALS: Final = 6
_LARGE: Final = 10**15
_MONTHS: Final = {
    "fr": ("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre",
           "novembre", "décembre"),
    "en": ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December"),
}  # fmt: skip
_WEEKDAYS: Final = {
    "fr": ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}
_FEMININE: Final = frozenset({"oz", "lb", "t", "pt", "cup", "fl oz", "tbsp", "tsp", "s", "min", "h", "wk", "acre"})
_TIMES: Final = {"fr": (("heure", "heures"), ("minute", "minutes"), ("seconde", "secondes")),
                 "en": (("hour", "hours"), ("minute", "minutes"), ("second", "seconds"))}  # fmt: skip


def number(value: Fraction, language: str, exact: bool = True, digits: int = 6) -> tuple[str, bool]:
    """A number as written in `language`, and whether that is exactly the value.

    Args:
        exact: whether `value` itself is.
        digits: significant ones of a value that has no short form.
    """
    if abs(value) >= _LARGE and value != 0:
        return _power_of_ten(value, language, digits)
    scaled = value * 10**_EXACT_DECIMALS
    if not (exact and scaled.denominator == 1):
        context = Context(prec=max(digits, len(str(abs(int(value))))), rounding=ROUND_HALF_EVEN)
        rounded = Fraction(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
        return _grouped(rounded, language), False
    return _grouped(value, language), True


def _grouped(value: Fraction, language: str) -> str:
    plain = format((Context(prec=60).divide(Decimal(value.numerator), Decimal(value.denominator))).normalize(), "f")
    sign, plain = ("-", plain[1:]) if plain.startswith("-") else ("", plain)
    whole, _, decimals = plain.partition(".")
    separator = "," if language == "en" else " "
    if len(whole) > 4 or (language == "en" and len(whole) > 3):
        whole = f"{int(whole):,}".replace(",", separator)
    mark = "." if language == "en" else ","
    return sign + whole + (f"{mark}{decimals}" if decimals else "")


def _power_of_ten(value: Fraction, language: str, digits: int) -> tuple[str, bool]:
    rounded = Context(prec=min(digits, 4)).divide(Decimal(value.numerator), Decimal(value.denominator))
    exponent = rounded.adjusted()
    head = _grouped(Fraction(rounded.scaleb(-exponent)), language)
    between = " fois 10 puissance " if language == "fr" else " times 10 to the power of "
    return f"{head}{between}{exponent}", Fraction(rounded) == value


def quantity(value: Fraction, sign: str, language: str, digits: int = 4) -> tuple[str, bool]:
    """A value with its unit's name, and whether it is written exactly."""
    written, is_exact = (
        number(value, language, digits=digits) if _short(value) else number(value, language, False, digits)
    )
    one, many = UNITS[sign].names[language]
    singular = abs(value) < 2 if language == "fr" else value == 1
    if language == "fr" and written == "1" and sign in _FEMININE:
        written = "une"
    return f"{written} {one if singular else many}", is_exact


def _short(value: Fraction) -> bool:
    """At most three decimals: worth saying whole."""
    return (value * 1000).denominator == 1


def duration(seconds: int, language: str) -> str:
    """ "1 heure 30 minutes", "une minute", "45 seconds"."""
    parts = []
    for n, (one, many) in zip((seconds // 3600, seconds // 60 % 60, seconds % 60), _TIMES[language], strict=True):
        if n:
            parts.append(f"{'une' if n == 1 and language == 'fr' else n} {one if n == 1 else many}")
    return " ".join(parts) or f"0 {_TIMES[language][2][0]}"


def of_duration(seconds: int, language: str) -> str:
    """The same after French "de"."""
    written = duration(seconds, language)
    return written if language == "en" else f"d'{written}" if written.startswith("une") else f"de {written}"


def time_of_day(hour: int, minute: int, language: str) -> str:
    """ "14 h 20", "midi", "2:20 p.m."."""
    if language == "fr":
        if minute == 0 and hour in (0, 12):
            return "minuit" if hour == 0 else "midi"
        return f"{hour} h {minute:02d}" if minute else f"{hour} h"
    if minute == 0 and hour in (0, 12):
        return "midnight" if hour == 0 else "noon"
    return f"{(hour + 11) % 12 + 1}:{minute:02d} {'a.m.' if hour < 12 else 'p.m.'}"


def date(day: datetime.date, language: str) -> str:
    """ "lundi 30 novembre 2026", "Monday, 30 November 2026"."""
    weekday, month = _WEEKDAYS[language][day.weekday()], _MONTHS[language][day.month - 1]
    if language == "fr":
        return f"{weekday} {'1er' if day.day == 1 else day.day} {month} {day.year}"
    return f"{weekday}, {day.day} {month} {day.year}"
