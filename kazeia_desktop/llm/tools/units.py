"""Units of what people convert: exact factors, names in French and English.

Sources: the SI brochure; international yard and pound (1959) for the imperial units; US liquid measures for gallon,
pint, cup and fluid ounce, as English speakers without a country mean them most.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final


@dataclass(frozen=True, slots=True)
class Unit:
    """sign: its international sign, also its key. kind: what it measures.

    value in the kind's base unit = value x factor + offset. names: language -> (one, many), first the spoken form.
    also: language -> further names as `numbers.fold` leaves them.
    """

    sign: str
    kind: str
    factor: Fraction
    names: Mapping[str, tuple[str, str]]
    also: Mapping[str, tuple[str, ...]]
    offset: Fraction = Fraction(0)


def _unit(
    sign: str,
    kind: str,
    factor: str,
    french: str,
    english: str,
    also_fr: str = "",
    also_en: str = "",
    offset: str = "0",
) -> Unit:
    """french, english: "one|many"; also_*: further names, separated by commas."""

    def pair(names: str) -> tuple[str, str]:
        one, _, many = names.partition("|")
        return one, many or one

    def more(names: str) -> tuple[str, ...]:
        return tuple(name for name in names.split(",") if name)

    return Unit(
        sign,
        kind,
        Fraction(factor),
        {"fr": pair(french), "en": pair(english)},
        {"fr": more(also_fr), "en": more(also_en)},
        Fraction(offset),
    )


_ALL: Final = (
    # length, in metres
    _unit("mm", "length", "1/1000", "millimètre|millimètres", "millimetre|millimetres", "", "millimeter,millimeters"),
    _unit("cm", "length", "1/100", "centimètre|centimètres", "centimetre|centimetres", "", "centimeter,centimeters"),
    _unit("m", "length", "1", "mètre|mètres", "metre|metres", "", "meter,meters"),
    _unit("km", "length", "1000", "kilomètre|kilomètres", "kilometre|kilometres", "", "kilometer,kilometers"),
    _unit("in", "length", "0.0254", "pouce|pouces", "inch|inches"),
    _unit("ft", "length", "0.3048", "pied|pieds", "foot|feet"),
    _unit("yd", "length", "0.9144", "yard|yards", "yard|yards", "verge,verges"),
    _unit("mi", "length", "1609.344", "mile|miles", "mile|miles", "mille terrestre,milles terrestres"),
    _unit("nmi", "length", "1852", "mille marin|milles marins", "nautical mile|nautical miles",
          "mille nautique,milles nautiques"),
    # mass, in kilograms
    _unit("mg", "mass", "1/1000000", "milligramme|milligrammes", "milligram|milligrams"),
    _unit("g", "mass", "1/1000", "gramme|grammes", "gram|grams"),
    _unit("kg", "mass", "1", "kilogramme|kilogrammes", "kilogram|kilograms", "kilo,kilos", "kilo,kilos"),
    _unit("t", "mass", "1000", "tonne|tonnes", "tonne|tonnes", "", "metric ton,metric tons"),
    _unit("oz", "mass", "0.028349523125", "once|onces", "ounce|ounces"),
    _unit("lb", "mass", "0.45359237", "livre|livres", "pound|pounds", "lbs", "lbs"),
    _unit("st", "mass", "6.35029318", "stone|stones", "stone|stone", "", "stones"),
    # temperature, in kelvins
    _unit("°C", "temperature", "1", "degré Celsius|degrés Celsius", "degree Celsius|degrees Celsius",
          "celsius,degre centigrade,degres centigrades", "celsius,degree centigrade,degrees centigrade", "273.15"),
    _unit("°F", "temperature", "5/9", "degré Fahrenheit|degrés Fahrenheit", "degree Fahrenheit|degrees Fahrenheit",
          "fahrenheit", "fahrenheit", "45967/180"),
    _unit("K", "temperature", "1", "kelvin|kelvins", "kelvin|kelvins"),
    # volume, in litres
    _unit("ml", "volume", "1/1000", "millilitre|millilitres", "millilitre|millilitres", "", "milliliter,milliliters"),
    _unit("cl", "volume", "1/100", "centilitre|centilitres", "centilitre|centilitres", "", "centiliter,centiliters"),
    _unit("dl", "volume", "1/10", "décilitre|décilitres", "decilitre|decilitres", "", "deciliter,deciliters"),
    _unit("l", "volume", "1", "litre|litres", "litre|litres", "", "liter,liters"),
    _unit("m3", "volume", "1000", "mètre cube|mètres cubes", "cubic metre|cubic metres", "m³",
          "cubic meter,cubic meters,m³"),
    _unit("gal", "volume", "3.785411784", "gallon|gallons", "gallon|gallons"),
    _unit("pt", "volume", "0.473176473", "pinte|pintes", "pint|pints"),
    _unit("cup", "volume", "0.2365882365", "tasse|tasses", "cup|cups"),
    _unit("fl oz", "volume", "0.0295735295625", "once liquide|onces liquides", "fluid ounce|fluid ounces"),
    _unit("tbsp", "volume", "0.015", "cuillère à soupe|cuillères à soupe", "tablespoon|tablespoons",
          "cuillere a soupe,cuilleres a soupe,cuilleree a soupe,cuillerees a soupe"),
    _unit("tsp", "volume", "0.005", "cuillère à café|cuillères à café", "teaspoon|teaspoons",
          "cuillere a cafe,cuilleres a cafe"),
    # speed, in metres a second
    _unit("m/s", "speed", "1", "mètre par seconde|mètres par seconde", "metre per second|metres per second",
          "metres seconde,metre seconde", "meter per second,meters per second"),
    _unit("km/h", "speed", "5/18", "kilomètre par heure|kilomètres par heure",
          "kilometre per hour|kilometres per hour", "kilometre heure,kilometres heure,kilometres a l'heure,kmh",
          "kilometer per hour,kilometers per hour,kmh"),
    _unit("mph", "speed", "0.44704", "mile par heure|miles par heure", "mile per hour|miles per hour",
          "miles a l'heure,mile a l'heure,mi/h", "mi/h"),
    _unit("kn", "speed", "463/900", "nœud|nœuds", "knot|knots"),
    # time, in seconds
    _unit("s", "time", "1", "seconde|secondes", "second|seconds"),
    _unit("min", "time", "60", "minute|minutes", "minute|minutes"),
    _unit("h", "time", "3600", "heure|heures", "hour|hours"),
    _unit("d", "time", "86400", "jour|jours", "day|days"),
    _unit("wk", "time", "604800", "semaine|semaines", "week|weeks"),
    # area, in square metres
    _unit("m2", "area", "1", "mètre carré|mètres carrés", "square metre|square metres", "m²",
          "square meter,square meters,m²"),
    _unit("km2", "area", "1000000", "kilomètre carré|kilomètres carrés", "square kilometre|square kilometres", "km²",
          "square kilometer,square kilometers,km²"),
    _unit("ha", "area", "10000", "hectare|hectares", "hectare|hectares"),
    _unit("ac", "area", "4046.8564224", "acre|acres", "acre|acres"),
    _unit("ft2", "area", "0.09290304", "pied carré|pieds carrés", "square foot|square feet", "ft²", "ft²"),
    # data, in bytes
    _unit("MB", "data", "1000000", "mégaoctet|mégaoctets", "megabyte|megabytes", "mo"),
    _unit("GB", "data", "1000000000", "gigaoctet|gigaoctets", "gigabyte|gigabytes", "go"),
    _unit("TB", "data", "1000000000000", "téraoctet|téraoctets", "terabyte|terabytes", "to"),
)  # fmt: skip

UNITS: Final[Mapping[str, Unit]] = {unit.sign: unit for unit in _ALL}


def convert(value: Fraction, source: str, target: str) -> Fraction:
    """`value` of the unit `source` in the unit `target`, exact.

    Raises:
        KeyError: an unknown sign. ValueError: they measure different things.
    """
    one, other = UNITS[source], UNITS[target]
    if one.kind != other.kind:
        raise ValueError(f"{source} and {target} measure different things")
    return (value * one.factor + one.offset - other.offset) / other.factor
