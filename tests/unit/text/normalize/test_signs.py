"""Punctuation that shapes the voice stays, everything else goes."""

import pytest

from kazeia_desktop.text.normalizer import normalize

pytestmark = pytest.mark.unit

FRENCH = [
    ("Il dit : « Bonjour ! » — puis (enfin) il part…", "Il dit: Bonjour! puis, enfin, il part…"),
    ("Vraiment\u202f? Oui\u202f!", "Vraiment? Oui!"),
    ("Sérieux ?! Non...", "Sérieux?! Non…"),
    ("Quoi ???  Ah !!!!", "Quoi? Ah!"),
    ("C’est l’été, aujourd’hui ; qu’est-ce ?", "C'est l'été, aujourd'hui; qu'est-ce?"),
    ("peut-être, va-t-il", "peut-être, va-t-il"),
    ("...", ""),
    ("?!", ""),
    ("", ""),
    ("   \n ", ""),
    ("«»", ""),
    ("( )", ""),
    ("a -> b", "a, b"),
    ("Paris–Lyon", "Paris, Lyon"),
    ("7 €/h ; ...ok", "sept euros par heure… ok"),
]

ENGLISH = [
    ('"Quote," she said - then left -- quickly.', "Quote, she said, then left, quickly."),
    ("it's Bob's", "it's Bob's"),
    ("rock 'n' roll", "rock n roll"),
]


@pytest.mark.parametrize(("displayed", "spoken"), FRENCH)
def test_french(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "fr") == spoken


@pytest.mark.parametrize(("displayed", "spoken"), ENGLISH)
def test_english(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "en") == spoken
