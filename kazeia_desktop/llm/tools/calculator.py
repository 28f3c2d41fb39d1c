"""Arithmetic, exact: fractions inside, no float, nothing evaluated by Python.

sum     = product { ("+" | "-") product }        "80 - 20 %" takes a fifth off, as people mean it
product = sign { ("*" | "/") sign | "%" "of" sign }
sign    = "-" sign | power
power   = value { "%" } [ "^" sign ]
value   = number | "(" sum ")" | ("sqrt" | "cbrt") [ "-" ] value
"""

import math
import re
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

_TOKEN: Final = re.compile(r"\s*(\d+(?:\.\d+)?|[-+*/^%()]|of\b|sqrt\b|cbrt\b)")
_MAX_TOKENS: Final = 200
_MAX_DEPTH: Final = 40
_MAX_BITS: Final = 2000
"""Of numerator and denominator: 600 digits, far more than anybody listens to."""
_ROOT_DIGITS: Final = 40


class CannotCompute(ValueError):
    """reason: "zero" (a division by it), "large" (too many digits), "root" (of a negative number) or "form"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Result:
    """exact: false for a root that no fraction is."""

    value: Fraction
    exact: bool = True


def calculate(expression: str) -> Result:
    """The value of an expression, see the module.

    Raises:
        CannotCompute: why not.
    """
    return _Parser(_tokens(expression)).result()


def _tokens(expression: str) -> list[str]:
    found: list[str] = []
    at = 0
    expression = expression.rstrip()
    while at < len(expression):
        token = _TOKEN.match(expression, at)
        if token is None or len(found) >= _MAX_TOKENS:
            raise CannotCompute("form")
        found.append(token[1])
        at = token.end()
    return found


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._exact = True

    def result(self) -> Result:
        value = self._sum()
        if self._at < len(self._tokens):
            raise CannotCompute("form")
        return Result(value, self._exact)

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str:
        token = self._peek()
        if token not in wanted:
            return ""
        self._at += 1
        return token

    def _sum(self) -> Fraction:
        value = self._product()
        while sign := self._take("+", "-"):
            begin = self._at
            other = self._product()
            if self._tokens[self._at - 1] == "%" and self._tokens[begin : self._at].count("%") == self._at - begin - 1:
                other *= value  # of what stands before
            value = _bounded(value + other if sign == "+" else value - other)
        return value

    def _product(self) -> Fraction:
        value = self._sign()
        while sign := self._take("*", "/", "of"):
            if sign == "of" and self._tokens[self._at - 2] != "%":
                raise CannotCompute("form")
            other = self._sign()
            if sign == "/" and other == 0:
                raise CannotCompute("zero")
            value = _bounded(value / other if sign == "/" else value * other)
        return value

    def _sign(self) -> Fraction:
        if not self._take("-"):
            return self._power()
        self._deeper()
        value = -self._sign()
        self._depth -= 1
        return value

    def _power(self) -> Fraction:
        value = self._value()
        while self._take("%"):
            value /= 100
        if not self._take("^"):
            return value
        self._deeper()
        exponent = self._sign()
        self._depth -= 1
        return self._raised(value, exponent)

    def _raised(self, value: Fraction, exponent: Fraction) -> Fraction:
        if exponent.denominator == 2 and abs(exponent.numerator) <= 99:
            return self._raised(self._root(value, 2), Fraction(exponent.numerator))
        if exponent.denominator != 1:
            raise CannotCompute("form")
        if value == 0 and exponent < 0:
            raise CannotCompute("zero")
        bits = max(value.numerator.bit_length(), value.denominator.bit_length())
        if abs(value) not in (0, 1) and (bits - 1) * abs(exponent) > _MAX_BITS:
            raise CannotCompute("large")
        return _bounded(value ** int(exponent if abs(value) not in (0, 1) else exponent % 2 + 2 * (exponent != 0)))

    def _value(self) -> Fraction:
        token = self._peek()
        if token[:1].isdigit():
            self._at += 1
            return _bounded(Fraction(token))
        self._deeper()
        if self._take("("):
            value = self._sum()
            if not self._take(")"):
                raise CannotCompute("form")
        elif root := self._take("sqrt", "cbrt"):
            sign = -1 if self._take("-") else 1
            value = self._root(sign * self._value(), 2 if root == "sqrt" else 3)
        else:
            raise CannotCompute("form")
        self._depth -= 1
        return value

    def _root(self, value: Fraction, degree: int) -> Fraction:
        if value < 0 and degree == 2:
            raise CannotCompute("root")
        parts = [_whole_root(part, degree) for part in (abs(value.numerator), value.denominator)]
        if None not in parts:
            top, bottom = (part or 0 for part in parts)
            return Fraction(top, bottom) * (-1 if value < 0 else 1)
        self._exact = False
        context = Context(prec=_ROOT_DIGITS)
        size = context.divide(Decimal(abs(value.numerator)), Decimal(value.denominator))
        root = context.sqrt(size) if degree == 2 else context.power(size, context.divide(Decimal(1), Decimal(3)))
        return Fraction(root) * (-1 if value < 0 else 1)

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise CannotCompute("form")


def _whole_root(n: int, degree: int) -> int | None:
    """The root of n where it is whole."""
    root = math.isqrt(n) if degree == 2 else _cube_root(n)
    return root if root**degree == n else None


def _cube_root(n: int) -> int:
    low, high = 0, 1 << (n.bit_length() // 3 + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= n else (low, middle - 1)
    return low


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
        raise CannotCompute("large")
    return value
