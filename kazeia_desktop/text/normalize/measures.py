"""Money and units of measure in words."""

import re
from typing import Final

from kazeia_desktop.text.normalize.words import BEFORE, NUMBER, cardinal, feminine, number, parts, value

_UNITS: Final[dict[str, dict[str, str]]] = {
    "fr": {
        "km²": "kilomètre carré", "m²": "mètre carré", "cm²": "centimètre carré", "mm²": "millimètre carré",
        "km2": "kilomètre carré", "m2": "mètre carré", "cm2": "centimètre carré",
        "m³": "mètre cube", "cm³": "centimètre cube", "m3": "mètre cube", "cm3": "centimètre cube",
        "km": "kilomètre", "hm": "hectomètre", "dm": "décimètre", "cm": "centimètre", "mm": "millimètre",
        "µm": "micromètre", "μm": "micromètre", "nm": "nanomètre", "m": "mètre", "ha": "hectare",
        "kg": "kilogramme", "Kg": "kilogramme", "mg": "milligramme", "µg": "microgramme", "g": "gramme", "t": "tonne",
        "hl": "hectolitre", "dl": "décilitre", "dL": "décilitre", "cl": "centilitre", "cL": "centilitre",
        "ml": "millilitre", "mL": "millilitre", "l": "litre", "L": "litre",
        "TWh": "térawattheure", "GWh": "gigawattheure", "MWh": "mégawattheure", "kWh": "kilowattheure",
        "Wh": "wattheure", "mAh": "milliampèreheure", "GW": "gigawatt", "MW": "mégawatt", "kW": "kilowatt", "W": "watt",
        "kV": "kilovolt", "V": "volt", "mA": "milliampère", "A": "ampère", "Ω": "ohm", "kJ": "kilojoule",
        "GHz": "gigahertz", "MHz": "mégahertz", "kHz": "kilohertz", "Hz": "hertz", "dB": "décibel",
        "To": "téraoctet", "Go": "gigaoctet", "Mo": "mégaoctet", "Ko": "kilooctet", "ko": "kilooctet",
        "TB": "téraoctet", "GB": "gigaoctet", "MB": "mégaoctet", "KB": "kilooctet", "Gb": "gigabit", "Mb": "mégabit",
        "Mbit": "mégabit", "Gbit": "gigabit", "Mbps": "mégabit par seconde", "Gbps": "gigabit par seconde",
        "kcal": "kilocalorie", "cal": "calorie", "hPa": "hectopascal", "Pa": "pascal", "bar": "bar", "ch": "cheval",
        "mn": "minute", "min": "minute", "ms": "milliseconde", "µs": "microseconde", "ns": "nanoseconde",
        "s": "seconde", "sec": "seconde", "h": "heure", "j": "jour", "px": "pixel", "fps": "image par seconde",
        "°C": "degré", "°F": "degré Fahrenheit", "°": "degré",
        "c. à s.": "cuillère à soupe", "c. à c.": "cuillère à café", "càs": "cuillère à soupe",
        "càc": "cuillère à café", "mph": "mile par heure",
    },
    "en": {
        "km²": "square kilometre", "m²": "square metre", "cm²": "square centimetre", "km2": "square kilometre",
        "m2": "square metre", "cm2": "square centimetre", "m³": "cubic metre", "cm³": "cubic centimetre",
        "m3": "cubic metre", "ft²": "square foot", "km": "kilometre", "cm": "centimetre", "mm": "millimetre",
        "µm": "micrometre", "nm": "nanometre", "m": "metre", "ha": "hectare", "kg": "kilogram", "mg": "milligram",
        "µg": "microgram", "g": "gram", "lbs": "pound", "lb": "pound", "oz": "ounce", "cl": "centilitre",
        "ml": "millilitre", "mL": "millilitre", "l": "litre", "L": "litre", "tsp": "teaspoon", "tbsp": "tablespoon",
        "mi": "mile", "yd": "yard", "ft": "foot", "gal": "gallon", "mph": "mile per hour", "kph": "kilometre per hour",
        "TWh": "terawatt-hour", "GWh": "gigawatt-hour", "MWh": "megawatt-hour", "kWh": "kilowatt-hour",
        "Wh": "watt-hour", "mAh": "milliamp-hour", "GW": "gigawatt", "MW": "megawatt", "kW": "kilowatt", "W": "watt",
        "kV": "kilovolt", "V": "volt", "mA": "milliamp", "Ω": "ohm", "kJ": "kilojoule",
        "GHz": "gigahertz", "MHz": "megahertz", "kHz": "kilohertz", "Hz": "hertz", "dB": "decibel",
        "TB": "terabyte", "GB": "gigabyte", "MB": "megabyte", "KB": "kilobyte", "kB": "kilobyte", "Gb": "gigabit",
        "Mb": "megabit", "Mbit": "megabit", "Gbit": "gigabit", "Mbps": "megabit per second",
        "Gbps": "gigabit per second", "kcal": "kilocalorie", "cal": "calorie", "hPa": "hectopascal", "Pa": "pascal",
        "psi": "P S I", "hp": "horsepower", "min": "minute", "ms": "millisecond", "µs": "microsecond",
        "ns": "nanosecond", "s": "second", "sec": "second", "h": "hour", "hr": "hour", "hrs": "hour", "px": "pixel",
        "fps": "frame per second", "°C": "degree Celsius", "°F": "degree Fahrenheit", "°": "degree",
    },
}  # fmt: skip
_BELOW_EXTRA: Final = {
    "fr": {"jour": "jour", "semaine": "semaine", "mois": "mois", "an": "an", "année": "année", "nuit": "nuit",
           "heure": "heure", "personne": "personne", "pers": "personne", "habitant": "habitant", "hab": "habitant",
           "kg": "kilogramme", "minute": "minute", "seconde": "seconde"},
    "en": {"day": "day", "week": "week", "month": "month", "mo": "month", "year": "year", "yr": "year",
           "night": "night",
           "hour": "hour", "person": "person", "minute": "minute", "second": "second", "d": "day"},
}  # fmt: skip
_PER: Final = {"fr": "par", "en": "per"}
_STANDALONE: Final = (
    "km/h",
    "m/s",
    "km²",
    "m²",
    "cm²",
    "m³",
    "cm³",
    "km",
    "cm",
    "mm",
    "kg",
    "mg",
    "ml",
    "kWh",
    "°C",
    "°F",
)
"""Units that are also read without a figure before them."""
_UNCOUNTED: Final = frozenset(
    {"hertz", "kilohertz", "mégahertz", "gigahertz", "megahertz", "P S I", "horsepower", "mois"}
)
_IRREGULAR: Final = {"penny": "pence", "foot": "feet", "square foot": "square feet", "cheval": "chevaux"}
_FEMININE: Final = (
    "heure", "minute", "seconde", "tonne", "milliseconde", "microseconde", "nanoseconde", "kilocalorie", "calorie",
    "livre", "image", "cuillère", "roupie", "couronne",
)  # fmt: skip

_CURRENCIES: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "fr": {"€": ("euro", "centime"), "$": ("dollar", "cent"), "£": ("livre", "penny"), "¥": ("yen", ""),
           "CHF": ("franc suisse", "centime"), "₹": ("roupie", ""), "₽": ("rouble", ""), "FCFA": ("franc CFA", "")},
    "en": {"€": ("euro", "cent"), "$": ("dollar", "cent"), "£": ("pound", "penny"), "¥": ("yen", ""),
           "CHF": ("Swiss franc", "centime"), "₹": ("rupee", ""), "₽": ("rouble", ""), "FCFA": ("C F A franc", "")},
}  # fmt: skip
_CODES: Final = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "US$": "$", "CHF": "CHF", "FCFA": "FCFA"}
_SIGN: Final = r"US\$|[€$£¥₹₽]|\b(?:EUR|USD|GBP|JPY|CHF|FCFA)\b"
_MULTIPLES: Final = {
    "fr": {"k": "mille", "K": "mille", "M": "million", "Md": "milliard", "Mds": "milliard", "Mrd": "milliard",
           "million": "million", "millions": "million", "milliard": "milliard", "milliards": "milliard"},
    "en": {"k": "thousand", "K": "thousand", "m": "million", "M": "million", "bn": "billion", "B": "billion",
           "thousand": "thousand", "million": "million", "billion": "billion", "trillion": "trillion"},
}  # fmt: skip


def _any(names: object) -> str:
    assert isinstance(names, dict)
    return "|".join(re.escape(str(name)) for name in sorted(names, key=len, reverse=True))


_AMOUNT_FIRST: Final = {
    language: re.compile(
        rf"{BEFORE}({NUMBER})(?: ?({_any(_MULTIPLES[language])})(?: d['’])?)? ?({_SIGN})(\d{{2}}(?!\d))?"
    )
    for language in _MULTIPLES
}
_SIGN_FIRST: Final = {
    language: re.compile(rf"(?<!\d)({_SIGN}) ?({NUMBER})(?: ?({_any(_MULTIPLES[language])})\b)?")
    for language in _MULTIPLES
}
_QUANTITY: Final = {
    language: re.compile(
        rf"{BEFORE}({NUMBER})[ -]?({_any(units)})"
        rf"(?:/(100 ?)?({_any(units | _BELOW_EXTRA[language])}))?(?![\w²³/°])(?!['’]\w)"
    )
    for language, units in _UNITS.items()
}
_PER_AFTER: Final = {
    language: re.compile(rf"(?<=[^\W\d]) ?/ ?({_any(units | _UNITS[language])})\b")
    for language, units in _BELOW_EXTRA.items()
}
_ALONE: Final = re.compile(rf"(?<![\w/.-])({'|'.join(_STANDALONE)})(?![\w/²³'’])")
_PART_OF: Final = {
    language: re.compile(
        rf"(?<![\w.,/])((?:(\d{{1,3}}) )?(\d{{1,2}}/\d{{1,2}})) ?({_any(units)})(?![\w²³/°])(?!['’]\w)"
    )
    for language, units in _UNITS.items()
}
_FEET: Final = re.compile(r"(?<![\w.,'])(\d{1,2}) ?' ?(\d{1,2})(?:\"|''|″|”)?(?![\w'])")
_PERCENT: Final = {language: re.compile(r"(?<=\d) ?(%|‰)") for language in ("fr", "en")}


def plural(unit: str, many: bool, language: str) -> str:
    """The name of a unit beside a number: "mètres carrés", "miles per hour"."""
    head, per, rest = unit.partition(f" {_PER[language]} ")
    if not many or head in _UNCOUNTED:
        return unit
    if head in _IRREGULAR:
        return _IRREGULAR[head] + per + rest
    if language == "en":
        first, space, second = head.partition(" ")
        said = head + "s" if first in ("square", "cubic", "Swiss", "C") or not space else f"{first}s {second}"
    else:
        noun, space, adjective = head.partition(" ")
        agrees = adjective in ("carré", "cube", "suisse")
        said = f"{noun}s{space}{adjective}{'s' if agrees else ''}"
    return said + per + rest


def speak_measures(text: str, language: str) -> str:
    """Amounts of money, percentages and measures of `text` in words."""
    text = _SIGN_FIRST[language].sub(lambda m: _money(m[2], m[3], m[1], language), text)
    text = _AMOUNT_FIRST[language].sub(lambda m: _amount_first(m, language), text)
    text = _PERCENT[language].sub(lambda m: f" {_percent(m[1], language)}", text)
    text = _PART_OF[language].sub(lambda m: _part_of(m, language), text)
    if language == "en":
        text = _FEET.sub(r"\1 foot \2", text)
    text = _QUANTITY[language].sub(lambda m: _quantity(m, language), text)
    text = _PER_AFTER[language].sub(lambda m: f" {_PER[language]} {_below(m[1], language)}", text)
    return _ALONE.sub(lambda m: plural(_alone(m[1], language), True, language), text)


def _percent(sign: str, language: str) -> str:
    return {"fr": {"%": "pour cent", "‰": "pour mille"}, "en": {"%": "percent", "‰": "per thousand"}}[language][sign]


def _many(written: str, language: str) -> bool:
    return value(written, language) >= 2 if language == "fr" else value(written, language) != 1


def _amount_first(match: re.Match[str], language: str) -> str:
    amount, multiple, sign, cents = match.groups()
    if cents and parts(amount, language)[1] == "" and multiple is None:  # 5€50
        return _money(f"{amount}{',' if language == 'fr' else '.'}{cents}", None, sign, language)
    return _money(amount, multiple, sign, language) + (f" {cents}" if cents else "")


def _money(amount: str, multiple: str | None, sign: str, language: str) -> str:
    unit, cent = _CURRENCIES[language][_CODES.get(sign, sign)]
    if multiple:
        return _millions(amount, _MULTIPLES[language][multiple], unit, language)
    whole, decimals = parts(amount, language)
    if len(decimals) > 2 or len(whole) > 15:
        return f"{number(amount, language)} {plural(unit, _many(amount, language), language)}"
    n, cents = int(whole), int(decimals.ljust(2, "0")) if decimals and cent else 0
    said_cents = f"{cardinal(cents, language)} {plural(cent, cents > 1, language)}"
    if n == 0 and cents:
        return said_cents
    many = n >= 2 or (n == 0 and language == "en")
    said = f"{_agreed(cardinal(n, language), unit, language)} {plural(unit, many, language)}"
    if language == "fr" and n >= 1_000_000 and n % 1_000_000 == 0:
        said = f"{cardinal(n, 'fr')} {_of(plural(unit, True, 'fr'))}"
    if not cents:
        return said
    return f"{said} {cardinal(cents, 'fr')}" if language == "fr" else f"{said} and {said_cents}"


def _millions(amount: str, multiple: str, unit: str, language: str) -> str:
    said = number(amount, language)
    if language == "en":
        return f"{said} {multiple} {plural(unit, True, language)}"
    if multiple == "mille":
        said = "" if said == "un" else said + " "
        return f"{said}mille {plural(unit, True, language)}"
    return f"{said} {multiple}{'s' if _many(amount, 'fr') else ''} {_of(plural(unit, True, language))}"


def _of(noun: str) -> str:
    return f"d'{noun}" if noun[0] in "aeiouyéh" else f"de {noun}"


def _agreed(said: str, unit: str, language: str) -> str:
    return feminine(said) if language == "fr" and unit.startswith(_FEMININE) else said


def _quantity(match: re.Match[str], language: str) -> str:
    written, symbol, hundred, below = match.groups()
    unit = _UNITS[language][symbol]
    # "a 5-km race"
    many = _many(written, language) and not (language == "en" and match[0][len(written)] == "-")
    said = f"{_agreed(number(written, language), unit, language)} {plural(unit, many, language)}"
    if below is None:
        return said
    if hundred:
        name = plural(_UNITS[language].get(below, below), True, language)
        return f"{said} {'aux' if language == 'fr' else 'per'} {cardinal(100, language)} {name}"
    return f"{said} {_PER[language]} {_below(below, language)}"


def _part_of(match: re.Match[str], language: str) -> str:
    """ "1/2 l", "3/4 h", "2 1/4 tsp": the name of the unit behind a fraction that stays."""
    written, whole, fraction, symbol = match.groups()
    unit = _UNITS[language][symbol]
    if whole or fraction == "1/2" or language == "en":
        return f"{written} {plural(unit, whole is not None and whole != '0', language)}"
    return f"{written} {_of(unit)}"


def _below(symbol: str, language: str) -> str:
    return _BELOW_EXTRA[language].get(symbol) or _UNITS[language][symbol]


def _alone(symbol: str, language: str) -> str:
    above, slash, below = symbol.partition("/")
    return _UNITS[language][above] + (f" {_PER[language]} {_UNITS[language][below]}" if slash else "")
