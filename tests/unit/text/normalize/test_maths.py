"""LaTeX bits and formulas."""

import pytest

from kazeia_desktop.text.normalizer import normalize

pytestmark = pytest.mark.unit

FRENCH = [
    ("$E = mc^2$", "E égale mc au carré"),
    ("\\frac{1}{2} + \\frac{a}{b}", "un demi plus a sur b"),
    ("\\(x^2 + 1\\)", "x au carré plus un"),
    ("\\[ a \\times b \\]", "a fois b"),
    ("$x_{n+1} = \\sqrt{2}$", "x n plus un égale racine de deux"),
    ("\\boxed{42}", "quarante-deux"),
    ("x^{10}", "x puissance dix"),
    ("Ça coûte $5 et $6", "Ça coûte cinq dollars et six dollars"),
    ("x² + y³ = 10⁶", "x au carré plus y au cube égale dix puissance six"),
    ("10⁻³", "dix puissance moins trois"),
    ("6.02e23", "six virgule zéro deux fois dix puissance vingt-trois"),
    ("f(x) = 2x + 1", "f de x égale deux x plus un"),
    ("(a+b)(a-b)=c", "a plus b, a moins b, égale c"),
    (
        "5 - 3 = 2 ; 10 / 2 = 5 ; 2 * 3 = 6",
        "cinq moins trois égale deux; dix sur deux égale cinq; deux fois trois égale six",
    ),
    ("x <= 3, x != y, x >= 2", "x inférieur ou égal à trois, x différent de y, x supérieur ou égal à deux"),
    ("a && b || c", "a et b ou c"),
    ("\\alpha \\leq \\pi", "alpha inférieur ou égal à pi"),
    ("3 × 4, 3 x 4, 3*4, 2**3", "trois fois quatre, trois fois quatre, trois fois quatre, deux au cube"),
    ("a/2 = 3", "a sur deux égale trois"),
    ("± 2, ≈ 3, ~5", "plus ou moins deux, environ trois, environ cinq"),
    ("\\text{aire} = \\pi r^2", "aire égale pi r au carré"),
]

ENGLISH = [
    ("$x^2$ costs $5", "x squared costs five dollars"),
    ("\\frac{1}{2} x^{2} \\times 3", "one half x squared times three"),
    ("a + b = c", "a plus b equals c"),
    ("5 - 3 = 2", "five minus three equals two"),
    ("a/b = c", "a over b equals c"),
    ("x < 3", "x less than three"),
    ("√2 ≈ 1.41", "square root of two about one point four one"),
]


@pytest.mark.parametrize(("displayed", "spoken"), FRENCH)
def test_french(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "fr") == spoken


@pytest.mark.parametrize(("displayed", "spoken"), ENGLISH)
def test_english(displayed: str, spoken: str) -> None:
    assert normalize(displayed, "en") == spoken
