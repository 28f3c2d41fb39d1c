"""Kings, centuries, chapters; and what only looks Roman."""

import pytest

from kazeia_desktop.text.normalizer import normalize

pytestmark = pytest.mark.unit

FRENCH = [
    ("Charles Ier et Louis XIV, au XVIIIe siècle.", "Charles premier et Louis quatorze, au dix-huitième siècle."),
    ("Napoléon III, Jean-Paul II, Henri IV", "Napoléon trois, Jean-Paul deux, Henri quatre"),
    ("chapitre IV, tome V", "chapitre quatre, tome cinq"),
    ("la Ve République", "la cinquième République"),
    ("le XXIe siècle, XVIIe-XVIIIe", "le vingt et unième siècle, dix-septième, dix-huitième"),
    ("Malcolm X, vitamine C, taille XL", "Malcolm X, vitamine C, taille X L"),
    ("un CD, un CV", "un C D, un C V"),
    ("Le vin. De Ce Me. Ver vert", "Le vin. De Ce Me. Ver vert"),
    ("la Première Guerre mondiale, la guerre mondiale II", "la Première Guerre mondiale, la guerre mondiale deux"),
]

ENGLISH = [
    ("Henry VIII and Louis XIV", "Henry the Eighth and Louis the Fourteenth"),
    ("World War II, Chapter IV", "World War two, Chapter four"),
    ("Vitamin C, Malcolm X", "Vitamin C, Malcolm X"),
    ("Then I am", "Then I am"),
    ("He said I'm here and L’Oréal, D-Day", "He said I'm here and L'Oréal, D-Day"),
]


@pytest.mark.parametrize(("displayed", "spoken"), FRENCH)
def test_french(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "fr") == spoken


@pytest.mark.parametrize(("displayed", "spoken"), ENGLISH)
def test_english(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "en") == spoken
