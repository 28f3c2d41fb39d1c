"""Arithmetic is exact, and nothing that is said can harm."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.llm.tools.calculator import CannotCompute, calculate

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("17 * 23", "391"), ("12.5 % of 80", "10"), ("1250/8", "156.25"), ("sqrt 144", "12"), ("2+2*3", "8"),
        ("(2+2)*3", "12"), ("-3 + 5", "2"), ("2 ^ 10", "1024"), ("2^3^2", "512"), ("-2^2", "-4"), ("2^-2", "0.25"),
        ("0.1 + 0.2", "0.3"), ("80 - 20 %", "64"), ("100 + 10 % of 50", "105"), ("50 + 10 %", "55"), ("10 %", "0.1"),
        ("cbrt 27", "3"), ("cbrt -8", "-2"), ("sqrt 6.25", "2.5"), ("9^0.5", "3"), ("4 ^ 1.5", "8"),
        ("1/3*3", "1"), ("0^0", "1"), ("0*5", "0"), ("1 ^ 99999999999", "1"), ("10 - 2 - 3", "5"), ("8/4/2", "1"),
        ("50 % of 50 % of 80", "20"), ("200 - 10 - 10 %", "171"), ("(0-1)^3", "-1"), ("(0-1)^4", "1"),
    ],
)  # fmt: skip
def test_values(expression: str, value: str) -> None:
    assert calculate(expression).value == Fraction(value) and calculate(expression).exact


def test_a_root_that_no_fraction_is_says_so() -> None:
    root = calculate("sqrt 2")
    assert not root.exact and abs(root.value**2 - 2) < Fraction(1, 10**30)
    assert abs(calculate("cbrt 2").value ** 3 - 2) < Fraction(1, 10**30)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("1/0", "zero"), ("0^-1", "zero"), ("10^10^10", "large"), ("9^9^9^9", "large"), ("2^99999", "large"),
        ("1.000001^9999999", "large"), ("9" * 700, "large"), ("sqrt -1", "root"), ("", "form"), ("2+", "form"),
        ("2 3", "form"), ("(2", "form"), ("2)", "form"), ("__import__('os')", "form"), ("2 of 3", "form"),
        ("(" * 500 + "1" + ")" * 500, "form"), ("-" * 100 + "1", "form"), ("1+" * 300 + "1", "form"),
        ("2^0.3", "form"), ("1e9", "form"), ("2*" * 3 + "*", "form"),
    ],
)  # fmt: skip
def test_what_cannot_be_computed(expression: str, reason: str) -> None:
    with pytest.raises(CannotCompute) as caught:
        calculate(expression)
    assert caught.value.reason == reason


@given(st.text(alphabet="0123456789.+-*/^%()of sqrtcb", max_size=40))
def test_any_text_is_computed_or_refused(expression: str) -> None:
    try:
        calculate(expression)
    except CannotCompute as error:
        assert error.reason in ("zero", "large", "root", "form")


@given(st.recursive(st.integers(0, 99).map(str), lambda e: st.tuples(e, st.sampled_from("+-*"), e).map(
    lambda t: f"({t[0]}{t[1]}{t[2]})"), max_leaves=12))  # fmt: skip
def test_whole_numbers_as_python_has_them(expression: str) -> None:
    assert calculate(expression).value == eval(expression)
