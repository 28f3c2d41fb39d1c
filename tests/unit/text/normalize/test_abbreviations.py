"""Abbreviations, titles, acronyms."""

import pytest

from kazeia_desktop.text.normalizer import normalize

pytestmark = pytest.mark.unit

FRENCH = [
    ("M. Dupont, Mme X, Dr. Who, Mgr. Paul", "monsieur Dupont, madame X, docteur Who, monseigneur Paul"),
    ("p. 12, pp. 3-5, chap. 3, art. 5", "page douze, pages trois à cinq, chapitre trois, article cinq"),
    ("Jules César est né en 100 av. J.-C. à Rome.", "Jules César est né en cent avant Jésus-Christ à Rome."),
    ("des pommes, etc.", "des pommes, et cetera"),
    ("p. ex. ceci, c.-à-d. cela", "par exemple ceci, c'est-à-dire cela"),
    ("La S.N.C.F. est là.", "La S N C F est là."),
    ("la SNCF, l'ONU, une API", "la S N C F, l'ONU, une A P I"),
    ("R&D, AT&T", "R et D, AT et T"),
    ("C#, C++", "C dièse, C plus plus"),
    ("et/ou, il/elle", "et ou, il ou elle"),
    ("étudiant(e)s, ami·e·s", "étudiants, amis"),
    ("l'av. de la Gare", "l'avenue de la Gare"),
    ("LES VACANCES SONT FINIES", "LES VACANCES SONT FINIES"),
    ("St Jean, Ste Anne", "saint Jean, sainte Anne"),
    ("env. 3 km", "environ trois kilomètres"),
    ("tél. : 112", "téléphone: cent douze"),
]

ENGLISH = [
    ("Mr. Smith, Mrs. X, Dr. Who", "mister Smith, missus X, doctor Who"),
    ("e.g. this, i.e. that, etc.", "for example, this, that is, that, et cetera"),
    ("No. 5, p. 12, Fig. 3, vs. him", "number five, page twelve, figure three, versus him"),
    ("NASA and the FBI use HTML5", "NASA and the F B I use H T M L five"),
    ("PDFs", "P D F"),
    ("St. Louis, Main St.", "saint Louis, Main street"),
    ("Ph.D., U.S., 100 BC", "P H D, U S, one hundred B C"),
    ("and/or, he/she, w/ me", "and or, he or she, with me"),
]


@pytest.mark.parametrize(("displayed", "spoken"), FRENCH)
def test_french(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "fr") == spoken


@pytest.mark.parametrize(("displayed", "spoken"), ENGLISH)
def test_english(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "en") == spoken
