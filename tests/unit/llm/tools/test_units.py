"""Conversions are exact, both ways."""

from fractions import Fraction

import pytest

from kazeia_desktop.llm.tools.units import UNITS, convert

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        ("32", "°F", "°C", "0"), ("100", "°C", "°F", "212"), ("-40", "°C", "°F", "-40"), ("0", "K", "°C", "-273.15"),
        ("1", "mi", "km", "1.609344"), ("12", "in", "ft", "1"), ("16", "oz", "lb", "1"), ("90", "km/h", "m/s", "25"),
        ("2.5", "l", "ml", "2500"), ("1.5", "h", "min", "90"), ("8", "pt", "gal", "1"), ("1", "nmi", "m", "1852"),
        ("1", "kn", "km/h", "1.852"), ("3", "tsp", "tbsp", "1"), ("1", "m3", "l", "1000"), ("1", "ha", "m2", "10000"),
    ],
)  # fmt: skip
def test_known_values(value: str, source: str, target: str, result: str) -> None:
    assert convert(Fraction(value), source, target) == Fraction(result)


def test_there_and_back() -> None:
    for one in UNITS.values():
        for other in UNITS.values():
            if one.kind == other.kind:
                assert convert(convert(Fraction(7, 3), one.sign, other.sign), other.sign, one.sign) == Fraction(7, 3)


def test_different_kinds_do_not_convert() -> None:
    with pytest.raises(ValueError, match="different"):
        convert(Fraction(1), "kg", "km")
    with pytest.raises(KeyError):
        convert(Fraction(1), "parsec", "km")
