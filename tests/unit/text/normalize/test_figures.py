"""Phones, versions, ranges, fractions, ordinals."""

import pytest

from kazeia_desktop.text.normalizer import normalize

pytestmark = pytest.mark.unit

FRENCH = [
    ("06 12 34 56 78", "zéro six, douze, trente-quatre, cinquante-six, soixante-dix-huit"),
    ("0612345678", "zéro six, douze, trente-quatre, cinquante-six, soixante-dix-huit"),
    ("01.02.03.04.05", "zéro un, zéro deux, zéro trois, zéro quatre, zéro cinq"),
    ("+33 6 12 34 56 78", "plus trente-trois, six, douze, trente-quatre, cinquante-six, soixante-dix-huit"),
    (
        "v1.2.3, version v2.0, Python 3.11",
        "version un point deux point trois, version deux point zéro, Python trois virgule onze",
    ),
    ("192.168.1.1", "cent quatre-vingt-douze point cent soixante-huit point un point un"),
    (
        "1er, 1ère, 2e, 2nd, 3ème, le 21e, les 1ers",
        "premier, première, deuxième, second, troisième, le vingt et unième, les premiers",
    ),
    ("1/2, 3/4, 2/3, 5/8", "un demi, trois quarts, deux tiers, cinq huitièmes"),
    ("7/10, 18/20", "sept sur dix, dix-huit sur vingt"),
    ("½, 1½", "un demi, un et demi"),
    ("-5, de -10 à -5", "moins cinq, de moins dix à moins cinq"),
    ("10–15 ans, 2019-2020", "dix à quinze ans, deux mille dix-neuf à deux mille vingt"),
    (
        "1 heure, 21 personnes, 31 pages, 101 femmes",
        "une heure, vingt et une personnes, trente et une pages, cent une femmes",
    ),
    ("1 chat, 21 chiens", "un chat, vingt et un chiens"),
    ("COVID-19, A4, H₂O, 3D, G7, MP3", "COVID dix-neuf, A quatre, H deux O, trois D, G sept, M P trois"),
    ("16:9, 2x plus vite, 18+", "seize pour neuf, deux fois plus vite, dix-huit plus"),
    ("n° 12, #1, L. 121-1", "numéro douze, numéro un, L. cent vingt et un tiret un"),
    ("1920x1080", "mille neuf cent vingt fois mille quatre-vingts"),
    (
        "007, 12345678901234567",
        "zéro zéro sept, un deux trois quatre cinq six sept huit neuf zéro un deux trois quatre cinq six sept",
    ),
]

ENGLISH = [
    ("555-123-4567", "five five five, one two three, four five six seven"),
    ("call 911", "call nine one one"),
    ("v1.2.3", "version one point two point three"),
    ("1st, 2nd, 3rd, 21st, 101st", "first, second, third, twenty-first, one hundred and first"),
    ("1/2, 3/4, 7/10", "one half, three quarters, seven out of ten"),
    ("1 1/2 cups", "one and a half cups"),
    ("pages 10-12", "pages ten to twelve"),
    ("10x faster", "ten times faster"),
    ("50/50", "fifty fifty"),
    ("COVID-19, iPhone 15", "COVID nineteen, iPhone fifteen"),
    ("#1", "number one"),
]


@pytest.mark.parametrize(("displayed", "spoken"), FRENCH)
def test_french(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "fr") == spoken


@pytest.mark.parametrize(("displayed", "spoken"), ENGLISH)
def test_english(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "en") == spoken
