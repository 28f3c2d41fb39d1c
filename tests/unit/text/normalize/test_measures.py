"""Money and units."""

import pytest

from kazeia_desktop.text.normalizer import normalize

pytestmark = pytest.mark.unit

FRENCH = [
    ("1 234 567,89 €", "un million deux cent trente-quatre mille cinq cent soixante-sept euros quatre-vingt-neuf"),
    ("0,50 €, 1 €, 2 €", "cinquante centimes, un euro, deux euros"),
    (
        "5 M€, 2 Md€, 10 k€, 3 millions d'€",
        "cinq millions d'euros, deux milliards d'euros, dix mille euros, trois millions d'euros",
    ),
    ("2 000 000 €", "deux millions d'euros"),
    ("-5 €", "moins cinq euros"),
    ("5€50", "cinq euros cinquante"),
    ("$29.99, £5, 29 USD", "vingt-neuf dollars quatre-vingt-dix-neuf, cinq livres, vingt-neuf dollars"),
    ("1.500,50 € ou 1,500.50 $", "mille cinq cents euros cinquante ou mille cinq cents dollars cinquante"),
    ("10-20 €", "dix à vingt euros"),
    ("3 €/kg, 10 €/mois", "trois euros par kilogramme, dix euros par mois"),
    ("1 £", "une livre"),
    ("20 CHF", "vingt francs suisses"),
    ("90 km/h", "quatre-vingt-dix kilomètres par heure"),
    ("en km/h", "en kilomètres par heure"),
    ("22,1 °C et 45 %", "vingt-deux virgule un degrés et quarante-cinq pour cent"),
    ("100°C, soit 212°F", "cent degrés, soit deux cent douze degrés Fahrenheit"),
    ("3 m², 5 m3, 100 000 km²", "trois mètres carrés, cinq mètres cubes, cent mille kilomètres carrés"),
    (
        "16 Go, 5 Mo/s, 100 kWh, 3,5 GHz",
        "seize gigaoctets, cinq mégaoctets par seconde, cent kilowattheures, trois virgule cinq gigahertz",
    ),
    ("6 l/100 km", "six litres aux cent kilomètres"),
    ("1,5 kg", "un virgule cinq kilogramme"),
    ("1/2 c. à c. de sel", "un demi cuillère à café de sel"),
    ("3/4 h, 1/4 l", "trois quarts d'heure, un quart de litre"),
    ("1 t, 21 min, 1 s", "une tonne, vingt et une minutes, une seconde"),
    ("-5 °C à +30 °C", "moins cinq degrés à plus trente degrés"),
    ("5-10 %", "cinq à dix pour cent"),
    ("2 ‰", "deux pour mille"),
    ("5 ch., 20 kg/m³", "cinq chevaux, vingt kilogrammes par mètre cube"),
]

ENGLISH = [
    (
        "$29, $29.99, £5.50, €1",
        "twenty-nine dollars, twenty-nine dollars and ninety-nine cents, five pounds and fifty pence, one euro",
    ),
    ("$3M, $1.5 million, $0.99", "three million dollars, one point five million dollars, ninety-nine cents"),
    ("$1,234.56", "one thousand two hundred and thirty-four dollars and fifty-six cents"),
    ("$10-$20", "ten dollars to twenty dollars"),
    ("$5/month", "five dollars per month"),
    ("60 mph, 90 km/h", "sixty miles per hour, ninety kilometres per hour"),
    ("22 °C, -5°F", "twenty-two degrees Celsius, minus five degrees Fahrenheit"),
    ("6 ft, 5'10\"", "six feet, five foot ten"),
    ("16 GB, 100 Mbps", "sixteen gigabytes, one hundred megabits per second"),
    ("2 1/4 tsp", "two and a quarter teaspoons"),
    ("the 5-km race", "the five kilometre race"),
    ("50%", "fifty percent"),
    ("1 lb, 2 lbs, 3 m²", "one pound, two pounds, three square metres"),
]


@pytest.mark.parametrize(("displayed", "spoken"), FRENCH)
def test_french(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "fr") == spoken


@pytest.mark.parametrize(("displayed", "spoken"), ENGLISH)
def test_english(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "en") == spoken
