"""Web and e-mail addresses, files, handles."""

import pytest

from kazeia_desktop.text.normalizer import normalize

pytestmark = pytest.mark.unit

FRENCH = [
    ("Voir https://www.exemple.fr/page?x=1 pour plus.", "Voir exemple point fr pour plus."),
    ("(https://a.exemple.com:8080/x).", "a point exemple point com."),
    ("www.exemple.fr !", "exemple point fr!"),
    ("jean_paul.x@ex-emple.fr", "jean tiret bas paul point x arobase ex tiret emple point fr"),
    ("exemple.fr et main.py", "exemple point fr et main point py"),
    ("node.js, fin.Puis", "node point js, fin. Puis"),
    ("#python @jean", "hashtag python arobase jean"),
    ("/usr/local/bin", "slash usr slash local slash bin"),
    ("C:\\Users\\bob", "C: Users bob"),
]

ENGLISH = [
    (
        "john.doe@example.com, example.com/docs, main.py",
        "john dot doe at example dot com, example dot com, main dot py",
    ),
    ("Visit www.example.org/path or email me@x.co.uk!", "Visit example dot org or email me at x dot co dot uk!"),
    ("@bob", "at bob"),
    ("#tech", "hashtag tech"),
]


@pytest.mark.parametrize(("displayed", "spoken"), FRENCH)
def test_french(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "fr") == spoken


@pytest.mark.parametrize(("displayed", "spoken"), ENGLISH)
def test_english(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "en") == spoken
