"""Emoji, look-alikes, controls."""

import pytest

from kazeia_desktop.text.normalizer import normalize

pytestmark = pytest.mark.unit

FRENCH = [
    ("Bravo 🎉👏 !", "Bravo!"),
    ("👍🏽 👨\u200d👩\u200d👧 🇫🇷", ""),
    ("1️⃣ Un", "un Un"),
    ("✅ Oui → suite", "Oui, suite"),
    ("suite :) ;-) <3", "suite"),
    ("٣ pommes", "trois pommes"),
    ("𝐁𝐨𝐥𝐝 ﬁn １２", "Bold fin douze"),
    ("a\u200bb\xadc", "abc"),
    ("Zà́̂̃lgo", "Zà́̂lgo"),
    ("a\x00b\x07", "a b"),
    ("\ud800oui", "oui"),
    ("№ 5", "numéro cinq"),
    ("été", "été"),
    ("1\u202f234\xa0567", "un million deux cent trente-quatre mille cinq cent soixante-sept"),
    ("Привет мир", "Привет мир"),
    ("1ᵉʳ étage", "premier étage"),
]

ENGLISH = [
    ("Great job! 🎉", "Great job!"),
    ("☕ time", "time"),
    ("“Quote” ‘x’", "Quote x"),
]


@pytest.mark.parametrize(("displayed", "spoken"), FRENCH)
def test_french(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "fr") == spoken


@pytest.mark.parametrize(("displayed", "spoken"), ENGLISH)
def test_english(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "en") == spoken
