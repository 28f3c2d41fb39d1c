"""Dates and times of day."""

import pytest

from kazeia_desktop.text.normalizer import normalize

pytestmark = pytest.mark.unit

FRENCH = [
    ("Le 3/5/2026, le 03.05.2026", "Le trois mai deux mille vingt-six, le trois mai deux mille vingt-six"),
    ("2026-05-03", "trois mai deux mille vingt-six"),
    ("03-05-2026", "trois mai deux mille vingt-six"),
    ("le 14/07", "le quatorze juillet"),
    ("le 01/05/99", "le premier mai mille neuf cent quatre-vingt-dix-neuf"),
    ("45/13/2026", "quarante-cinq sur treize sur deux mille vingt-six"),
    ("05/2026", "mai deux mille vingt-six"),
    ("le 1 mai et le 1er juin", "le premier mai et le premier juin"),
    ("12 sept. 2020", "douze septembre deux mille vingt"),
    ("14h30, 14:30, 8 h, 1h", "quatorze heures trente, quatorze heures trente, huit heures, une heure"),
    ("21h01", "vingt et une heures une"),
    ("de 9h à 17h30", "de neuf heures à dix-sept heures trente"),
    ("7h-9h", "sept heures à neuf heures"),
    ("2 h 05 min", "deux heures cinq"),
    ("14:30:15", "quatorze heures trente et quinze secondes"),
    ("2026-05-03T14:30:00Z", "trois mai deux mille vingt-six à quatorze heures trente"),
    (
        "24h/24 et 24/7",
        "vingt-quatre heures sur vingt-quatre et vingt-quatre heures sur vingt-quatre, sept jours sur sept",
    ),
    (
        "vers 1500 av. J.-C.; en 476 apr. J.-C.",
        "vers mille cinq cents avant Jésus-Christ; en quatre cent soixante-seize après Jésus-Christ",
    ),
    ("25:61", "vingt-cinq pour soixante et un"),
    ("9h00 précises", "neuf heures précises"),
]

ENGLISH = [
    (
        "May 3, 2026; 3 May 2026; May 3rd",
        "May third, twenty twenty-six; the third of May, twenty twenty-six; May third",
    ),
    ("5/3/2026, 25/12/2024", "May third, twenty twenty-six, December twenty-fifth, twenty twenty-four"),
    ("2026-05-03", "May third, twenty twenty-six"),
    ("Jan. 5, July 4th, 1776", "January fifth, July fourth, seventeen seventy-six"),
    ("the 3rd of May", "the third of May"),
    ("2:30 PM, 8am, 14:30", "two thirty P M, eight A M, fourteen thirty"),
    ("8:00, 8:05, 8:00 a.m.", "eight o'clock, eight oh five, eight A M"),
    ("In 1980, in 2005, in 1066", "In nineteen eighty, in two thousand and five, in ten sixty-six"),
    ("1234 people", "one thousand two hundred and thirty-four people"),
    ("the 1980s, the 90s, the 1800s", "the nineteen eighties, the nineties, the eighteen hundreds"),
    ("2019-2020", "twenty nineteen to twenty twenty"),
    ("24/7", "twenty-four seven"),
]


@pytest.mark.parametrize(("displayed", "spoken"), FRENCH)
def test_french(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "fr") == spoken


@pytest.mark.parametrize(("displayed", "spoken"), ENGLISH)
def test_english(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "en") == spoken
