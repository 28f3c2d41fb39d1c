"""Numbers, dates, times, money and units, written as they are spoken in French or English."""

import re
from collections.abc import Callable
from typing import Final

import num2words as _num2words

_MAX_DIGITS: Final = 15
"""Longer figures are read digit by digit, as a person would."""
_SPACES: Final = " \u00a0\u202f\u2009"

MONTHS: Final = {
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),  # noqa: SIM905
    "en": "January February March April May June July August September October November December".split(),  # noqa: SIM905
}

_WORDS: Final = {
    "fr": {
        "point": "virgule", "minus": "moins", "percent": "pour cent", "degree": "degré", "to": "à",
        "half": "demi", "hour": "heure", "and": "et", "times": "fois", "over": "sur", "first": "premier",
    },
    "en": {
        "point": "point", "minus": "minus", "percent": "percent", "degree": "degree", "to": "to",
        "half": "half", "hour": "hour", "and": "and", "times": "times", "over": "over", "first": "first",
    },
}  # fmt: skip

_UNITS: Final[dict[str, dict[str, str]]] = {
    "fr": {
        "km/h": "kilomètre par heure", "m/s": "mètre par seconde", "km²": "kilomètre carré", "m²": "mètre carré",
        "cm²": "centimètre carré", "m³": "mètre cube", "cm³": "centimètre cube", "km": "kilomètre",
        "cm": "centimètre", "mm": "millimètre", "µm": "micromètre", "nm": "nanomètre", "m": "mètre",
        "kg": "kilogramme", "mg": "milligramme", "g": "gramme", "t": "tonne", "cl": "centilitre",
        "ml": "millilitre", "mL": "millilitre", "dl": "décilitre", "l": "litre", "L": "litre",
        "kWh": "kilowatt-heure", "kW": "kilowatt", "MW": "mégawatt", "W": "watt", "V": "volt", "A": "ampère",
        "Hz": "hertz", "kHz": "kilohertz", "MHz": "mégahertz", "GHz": "gigahertz", "Ko": "kilo-octet",
        "ko": "kilo-octet", "Mo": "mégaoctet", "Go": "gigaoctet", "To": "téraoctet", "Mb/s": "mégabit par seconde",
        "min": "minute", "ms": "milliseconde", "s": "seconde", "h": "heure", "ha": "hectare", "hPa": "hectopascal",
        "°C": "degré", "°F": "degré Fahrenheit", "°": "degré", "dB": "décibel", "kcal": "kilocalorie", "J": "joule",
    },
    "en": {
        "km/h": "kilometre per hour", "mph": "mile per hour", "m/s": "metre per second", "km²": "square kilometre",
        "m²": "square metre", "m³": "cubic metre", "km": "kilometre", "cm": "centimetre", "mm": "millimetre",
        "m": "metre", "kg": "kilogram", "mg": "milligram", "g": "gram", "lb": "pound", "lbs": "pound", "oz": "ounce",
        "ml": "millilitre", "mL": "millilitre", "l": "litre", "L": "litre", "kWh": "kilowatt hour", "kW": "kilowatt",
        "W": "watt", "V": "volt", "A": "ampere", "Hz": "hertz", "kHz": "kilohertz", "MHz": "megahertz",
        "GHz": "gigahertz", "KB": "kilobyte", "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte", "min": "minute",
        "ms": "millisecond", "s": "second", "h": "hour", "°C": "degree Celsius", "°F": "degree Fahrenheit",
        "°": "degree", "dB": "decibel", "ft": "foot", "kcal": "kilocalorie",
    },
}  # fmt: skip

_CURRENCIES: Final = {
    "fr": {"€": ("euro", "centime"), "$": ("dollar", "cent"), "£": ("livre", "penny")},
    "en": {"€": ("euro", "cent"), "$": ("dollar", "cent"), "£": ("pound", "penny")},
}
_UNCOUNTED: Final = frozenset({"hertz", "kilohertz", "mégahertz", "gigahertz", "megahertz"})
_IRREGULAR: Final = {"penny": "pence", "foot": "feet"}

_NUMBER: Final = rf"\d{{1,3}}(?:[{_SPACES}]\d{{3}})+(?:[.,]\d+)?|\d{{1,3}}(?:,\d{{3}}){{2,}}|\d+(?:[.,]\d+)?"


def cardinal(n: int, language: str) -> str:
    """An integer in words; digit by digit when it has more than 15 digits."""
    if len(str(abs(n))) > _MAX_DIGITS:
        return " ".join(cardinal(int(d), language) for d in str(abs(n)))
    said = str(_num2words.num2words(n, lang=language))
    # "vingt-et-un" and "vingt et un" are both right; voices read the second better.
    return said.replace("-et-", " et ") if language == "fr" else said.replace(",", "")


def ordinal(n: int, language: str, feminine: bool = False) -> str:
    """An ordinal in words: "dix-huitième", "première"."""
    if language == "fr" and n == 1:
        return "première" if feminine else "premier"
    said = str(_num2words.num2words(n, lang=language, to="ordinal"))
    return said.replace("-et-", " et ") if language == "fr" else said


def digits(figures: str, language: str) -> str:
    """Figures one by one: "007" is "zéro zéro sept"."""
    return " ".join(cardinal(int(c), language) for c in figures if c.isdigit())


def number(written: str, language: str) -> str:
    """A number as written, with either decimal sign and any thousands separator.

    "3,14" is "trois virgule quatorze"; "2.05" is "two point zero five".
    """
    bare = re.sub(rf"[{_SPACES}]", "", written)
    thousands = re.fullmatch(r"\d{1,3}(?:,\d{3})+", bare)
    if thousands and (language == "en" or bare.count(",") > 1):
        bare = bare.replace(",", "")
    whole, sign, decimals = bare.replace(",", ".").partition(".")
    if not sign:
        return digits(whole, language) if _read_by_digits(whole) else cardinal(int(whole), language)
    said = f"{cardinal(int(whole or '0'), language)} {_WORDS[language]['point']} "
    if language == "en":
        return said + digits(decimals, language)
    zeros = len(decimals) - len(decimals.lstrip("0"))
    tail = decimals[zeros:]
    parts = ["zéro"] * zeros
    if tail:
        parts.append(cardinal(int(tail), language) if len(tail) <= 3 else digits(tail, language))
    return said + " ".join(parts)


def _read_by_digits(whole: str) -> bool:
    return len(whole) > _MAX_DIGITS or (len(whole) > 1 and whole.startswith("0"))


def _value(written: str) -> float:
    return float(re.sub(rf"[{_SPACES}]", "", written).replace(",", "."))


def _plural(unit: str, written: str, language: str) -> str:
    many = _value(written) >= 2 if language == "fr" else _value(written) != 1
    head, space, rest = unit.partition(" ")
    if not many or head in _UNCOUNTED:
        return unit
    if head in _IRREGULAR:
        return _IRREGULAR[head]
    if language == "en":
        if head in ("square", "cubic"):
            return f"{head} {rest}s"
        if unit.endswith("hour") and head == "kilowatt":
            return f"{unit}s"
        return f"{head}s{space}{rest}"
    if rest in ("carré", "cube"):
        return f"{head}s {rest}s"
    return f"{head}s{space}{rest}"


def _money(amount: str, sign: str, language: str) -> str:
    unit, cent = _CURRENCIES[language][sign]
    bare = re.sub(rf"[{_SPACES}]", "", amount)
    if language == "en":
        bare = re.sub(r",(?=\d{3}\b)", "", bare)
    whole, dot, part = bare.replace(",", ".").partition(".")
    if dot and len(part) not in (1, 2):
        return f"{number(amount, language)} {_plural(unit, amount, language)}"
    said = f"{cardinal(int(whole), language)} {_plural(unit, whole, language)}"
    if language == "fr" and int(whole) >= 1_000_000 and int(whole) % 1_000_000 == 0:
        said = f"{cardinal(int(whole), language)} d'{_plural(unit, whole, language)}"
    cents = int(part.ljust(2, "0")) if part else 0
    if not cents:
        return said
    if language == "fr":
        return f"{said} {cardinal(cents, language)}"
    return f"{said} and {cardinal(cents, language)} {_plural(cent, str(cents), language)}"


def _date(day: str, month: str, year: str, language: str) -> str | None:
    d, m = int(day), int(month)
    if not (1 <= d <= 31 and 1 <= m <= 12):
        return None
    y = int(year) + (2000 if len(year) == 2 else 0)
    if language == "fr":
        return f"{'premier' if d == 1 else cardinal(d, 'fr')} {MONTHS['fr'][m - 1]} {cardinal(y, 'fr')}"
    return f"{MONTHS['en'][m - 1]} {ordinal(d, 'en')}, {_year_en(y)}"


def _year_en(year: int) -> str:
    return str(_num2words.num2words(year, lang="en", to="year")) if 1100 <= year <= 2099 else cardinal(year, "en")


def _clock(hours: str, minutes: str, language: str) -> str | None:
    h, m = int(hours), int(minutes or "0")
    if h > 24 or m > 59:
        return None
    if language == "fr":
        said = f"{'une' if h == 1 else _feminine(cardinal(h, 'fr'))} heure{'s' if h > 1 else ''}"
        return said if m == 0 else f"{said} {_feminine(cardinal(m, 'fr'))}"
    if m == 0:
        return f"{cardinal(h, 'en')} o'clock" if h <= 12 else f"{cardinal(h, 'en')} hundred"
    return f"{cardinal(h, 'en')} {'oh ' if m < 10 else ''}{cardinal(m, 'en')}"


def _feminine(said: str) -> str:
    return f"{said[:-2]}une" if said == "un" or said.endswith(" un") else said


_ROMAN: Final = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ROMAN_SHAPE: Final = r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"


def roman(figures: str) -> int:
    """The value of well-formed Roman figures."""
    total = 0
    for sign, following in zip(figures, [*figures[1:], ""], strict=True):
        value = _ROMAN[sign]
        total += -value if following and _ROMAN[following] > value else value
    return total


_PHONE_FR: Final = re.compile(rf"(?<!\d)(?:\+33[{_SPACES}.]?|0)[1-9](?:[{_SPACES}.-]?\d{{2}}){{4}}(?!\d)")
_ISO_DATE: Final = re.compile(r"(?<![\d-])(\d{4})-(\d{2})-(\d{2})(?![\d-])")
_SLASH_DATE: Final = re.compile(r"(?<![\d/.])(\d{1,2})([/.])(\d{1,2})\2(\d{4}|\d{2})(?![\d/])(?!\.\d)")
_TIME_FR: Final = re.compile(rf"(?<![\d.,])(\d{{1,2}})[{_SPACES}]?[hH][{_SPACES}]?(\d{{2}})?(?![\w])")
_TIME_COLON: Final = re.compile(r"(?<![\d:.,])(\d{1,2}):(\d{2})(?::\d{2})?(?![\d:])")
_VERSION: Final = re.compile(r"\b[vV]?(\d+(?:\.\d+){2,})\b|\b[vV](\d+(?:\.\d+)*)\b")
_MONEY_AFTER: Final = re.compile(rf"(?<![\w.,])({_NUMBER})[{_SPACES}]?([€$£])")
_MONEY_BEFORE: Final = re.compile(rf"([€$£])[{_SPACES}]?({_NUMBER})")
_FRACTION: Final = re.compile(r"(?<![\d/.,])(\d{1,3})\s?/\s?(\d{1,3})(?![\d/])")
_RANGE: Final = re.compile(r"(?<=\d)\s?[–—-]\s?(?=\d)")
_MINUS: Final = re.compile(r"(?<![\w)])[-−](?=\d)")
_ORDINAL_FR: Final = re.compile(r"\b(\d{1,4})(ers?|ère?s?|re|nde?|è?mes?|es?)\b")
_ORDINAL_EN: Final = re.compile(r"\b(\d{1,4})(st|nd|rd|th)\b")
_YEAR_EN: Final = re.compile(r"(?<![\d.,$€£])(1[1-9]\d{2}|20\d{2})(?![\d.,]\d|\d)")
_CENTURY: Final = re.compile(rf"\b(?=[IVXLC])({_ROMAN_SHAPE})(ers?|ème|e|è)\b(?=\s+(?:siècle|millénaire|arrond))")
_RULER: Final = re.compile(rf"(?<=[a-zà-ÿ]) (?=[IVX])({_ROMAN_SHAPE})(er|ère)?\b(?!['’\-])")
_FEMININE_FR: Final = re.compile(
    r"(?<![\d.,])(\d{0,8}1) (?=(?:heure|minute|seconde|fois|semaine|année|journée|nuit|personne|femme|fille|page|"
    r"partie|question|réponse|chose|ligne|étape|tasse|cuillère|tonne|ville|place|pièce|maison|voiture|chambre)s?\b)"
)
_SPACED_NUMBER: Final = re.compile(rf"(?<![\w.,])({_NUMBER})(?![\w])")
_ANY_FIGURES: Final = re.compile(_NUMBER)


def _unit_pattern(language: str) -> re.Pattern[str]:
    names = "|".join(re.escape(u) for u in sorted(_UNITS[language], key=len, reverse=True))
    return re.compile(rf"(?<![\w.,])({_NUMBER})[{_SPACES}]?({names})(?![\w²³/°])")


_UNIT_PATTERNS: Final = {language: _unit_pattern(language) for language in _UNITS}


def _or_kept(make: Callable[[re.Match[str]], str | None]) -> Callable[[re.Match[str]], str]:
    """A replacement that leaves the text alone when `make` finds that it is something else."""
    return lambda match: match[0] if (said := make(match)) is None else said


def speak_numbers(text: str, language: str) -> str:
    """All figures of `text` in words; nothing else is changed.

    Args:
        text: plain text of one clause.
        language: "fr" or "en".
    """
    words = _WORDS[language]
    if language == "fr":
        text = _PHONE_FR.sub(lambda m: _phone(m[0]), text)
    text = _ISO_DATE.sub(_or_kept(lambda m: _date(m[3], m[2], m[1], language)), text)
    text = _SLASH_DATE.sub(_or_kept(lambda m: _slash_date(m, language)), text)
    if language == "fr":
        text = _TIME_FR.sub(_or_kept(lambda m: _clock(m[1], m[2], "fr")), text)
    text = _TIME_COLON.sub(_or_kept(lambda m: _clock(m[1], m[2], language)), text)
    text = _VERSION.sub(lambda m: f" {words_of_version(m[1] or m[2], language)} ", text)
    text = _MONEY_AFTER.sub(lambda m: _money(m[1], m[2], language), text)
    text = _MONEY_BEFORE.sub(lambda m: _money(m[2], m[1], language), text)
    text = _MINUS.sub(f"{words['minus']} ", text)
    text = _RANGE.sub(f" {words['to']} ", text)
    text = re.sub(rf"(?<=\d)[{_SPACES}]?%", f" {words['percent']}", text)
    text = _UNIT_PATTERNS[language].sub(lambda m: _with_unit(m[1], m[2], language), text)
    if language == "fr":
        text = _CENTURY.sub(lambda m: ordinal(roman(m[1]), "fr"), text)
        text = _FEMININE_FR.sub(lambda m: _feminine(cardinal(int(m[1]), "fr")) + " ", text)
        text = _RULER.sub(_or_kept(_ruler), text)
        text = _ORDINAL_FR.sub(lambda m: ordinal(int(m[1]), "fr", m[2].startswith(("èr", "re"))), text)
        text = re.sub(r"\b1 (?=(?:" + "|".join(MONTHS["fr"]) + r")\b)", "premier ", text)
    else:
        text = _ORDINAL_EN.sub(lambda m: ordinal(int(m[1]), "en"), text)
        text = _YEAR_EN.sub(lambda m: _year_en(int(m[1])), text)
    text = _FRACTION.sub(lambda m: _fraction(int(m[1]), int(m[2]), language), text)
    text = _SPACED_NUMBER.sub(lambda m: number(m[1], language), text)
    return _ANY_FIGURES.sub(lambda m: f" {number(m[0], language)} ", text)


def words_of_version(written: str, language: str) -> str:
    """ "1.2.3" is "un point deux point trois"."""
    dot = " point "
    return dot.join(cardinal(int(part), language) for part in written.split("."))


def _phone(written: str) -> str:
    figures = re.sub(r"\D", "", written)
    plus = "plus trente-trois, " if written.startswith("+") else ""
    figures = figures[2:] if plus else figures
    groups = ([figures[0]] if len(figures) % 2 else []) + [
        figures[i : i + 2] for i in range(len(figures) % 2, len(figures), 2)
    ]
    return plus + ", ".join(digits(g, "fr") if g.startswith("0") else cardinal(int(g), "fr") for g in groups)


def _slash_date(match: re.Match[str], language: str) -> str | None:
    first, _, second, year = match.groups()
    if language == "en" and match[2] == "/":
        return _date(second, first, year, language) or _date(first, second, year, language)
    return _date(first, second, year, language)


def _with_unit(written: str, unit: str, language: str) -> str:
    said = number(written, language)
    name = _plural(_UNITS[language][unit], written, language)
    if language == "fr" and name.startswith(("heure", "minute", "seconde", "tonne", "milliseconde", "kilocalorie")):
        said = _feminine(said)
    return f"{said} {name}"


def _ruler(match: re.Match[str]) -> str | None:
    """ "Louis XIV" is "Louis quatorze", "Charles Ier" is "Charles premier"; a lone I or a word is left alone."""
    if match[1] in ("", "I", "V", "X") and not match[2]:
        return None if match[1] in ("", "I") else f" {cardinal(roman(match[1]), 'fr')}"
    if match[2]:
        return f" {ordinal(roman(match[1]), 'fr', match[2] == 'ère')}"
    return f" {cardinal(roman(match[1]), 'fr')}"


def _fraction(above: int, below: int, language: str) -> str:
    known = {
        "fr": {(1, 2): "un demi", (1, 3): "un tiers", (2, 3): "deux tiers", (1, 4): "un quart", (3, 4): "trois quarts"},
        "en": {(1, 2): "one half", (1, 3): "one third", (2, 3): "two thirds", (1, 4): "a quarter"},
    }[language]
    if (above, below) in known:
        return known[above, below]
    return f"{cardinal(above, language)} {_WORDS[language]['over']} {cardinal(below, language)}"
