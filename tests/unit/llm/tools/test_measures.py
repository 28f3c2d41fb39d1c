"""Conversions in requests."""

from fractions import Fraction

import pytest

from kazeia_desktop.llm.tools.measures import conversion_in, unit_words
from kazeia_desktop.llm.tools.request import Request

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("said", "language", "found"),
    [
        ("5 km en m", "fr", ("5", "km", "m")), ("Combien de minutes dans une heure et demie ?", "fr", None),
        ("Convertis 20 degrés en Fahrenheit", "fr", ("20", "°C", "°F")),
        ("moins 40 °C en °F", "fr", ("-40", "°C", "°F")),
        ("100 °F en degrés", "fr", ("100", "°F", "°C")), ("Combien de m² dans 3 hectares ?", "fr", ("3", "ha", "m2")),
        ("5 pieds 6 pouces en centimètres", "fr", ("5.5", "ft", "cm")),
        ("1 mètre 80 en pieds", "fr", ("1.8", "m", "ft")),
        ("2 kilos en litres", "fr", None), ("5 km en km", "fr", None), ("J'ai couru 5 km en 30 minutes", "fr", None),
        ("une heure", "fr", None), ("Combien de grammes de farine dans 3 tasses ?", "fr", None),
        ("6 feet 2 inches in centimeters", "en", ("37/6", "ft", "cm")),
        ("how many cups in 2 liters", "en", ("2", "l", "cup")),
        ("60 mph to km/h", "en", ("60", "mph", "km/h")), ("put 3 things in 2 boxes", "en", None),
    ],
)  # fmt: skip
def test_conversions(said: str, language: str, found: tuple[str, str, str] | None) -> None:
    wanted = None if found is None else (Fraction(found[0]), *found[1:])
    assert conversion_in(Request(said, language).plain, language) == wanted


def test_units_are_counted() -> None:
    assert unit_words(Request("trois tasses de farine en millilitres", "fr").plain, "fr") == 2
    assert unit_words(Request("l'heure de la messe", "fr").plain, "fr") == 1
