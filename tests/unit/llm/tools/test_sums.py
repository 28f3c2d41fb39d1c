"""Arithmetical requests become expressions; other sentences do not."""

import pytest

from kazeia_desktop.llm.tools.request import Request
from kazeia_desktop.llm.tools.sums import expression_in

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("said", "expression"),
    [
        ("Dis-moi combien font moins trois plus cinq", "- 3 + 5"), ("3 x 4", "3 * 4"), ("12-5", "12 - 5"),
        ("Combien font 2 au carré plus 3 au carré ?", "2 ^ 2 + 3 ^ 2"), ("80 euros moins 20 %", "80 - 20 %"),
        ("la moitié de 250", "1 / 2 * 250"), ("le double de 7,5", "2 * 7.5"), ("2 puissance 10", "2 ^ 10"),
        ("dix divisé par zéro", "10 / 0"), ("3/4 de 200", "3 / 4 * 200"), ("Quel est le carré de 15 ?", "15 ^ 2"),
        ("J'ai 35 ans et ma sœur a 4 ans de moins.", ""), ("Combien de pays y a-t-il en Europe ?", ""),
        ("14", ""), ("Je fais du 42 fillette", ""), ("racine cubique de 27", "cbrt 27"), ("2 3", ""),
        ("Combien font un et deux ?", ""),
    ],
)  # fmt: skip
def test_french(said: str, expression: str) -> None:
    assert expression_in(Request(said, "fr").plain, "fr") == expression


@pytest.mark.parametrize(
    ("said", "expression"),
    [
        ("What's the square root of 2?", "sqrt 2"), ("half of 30", "1 / 2 * 30"), ("what is 5 squared", "5 ^ 2"),
        ("twelve minus five", "12 - 5"), ("a quarter of 200", "1 / 4 * 200"), ("twice 8", "2 * 8"),
        ("the result of 2 plus 2", "2 + 2"), ("what is the best of 2 worlds", ""),
    ],
)  # fmt: skip
def test_english(said: str, expression: str) -> None:
    assert expression_in(Request(said, "en").plain, "en") == expression
