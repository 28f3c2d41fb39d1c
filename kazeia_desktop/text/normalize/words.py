"""Numbers in words: cardinals, ordinals, decimals, agreement."""

import functools
import re
from typing import Final

import num2words as _num2words

MAX_DIGITS: Final = 15
"""Longer figures are read one by one, as a person would."""

NUMBER: Final = (
    r"(?:\d{1,3}(?:[ ']\d{3})+(?!\d)(?:[.,]\d{1,40})?"  # 1 234 567,89
    r"|\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d{1,40})?"  # 1,234,567.89
    r"|\d{1,3}(?:\.\d{3})+(?!\d)(?:,\d{1,40})?"  # 1.234.567,89
    r"|\d{1,60}(?:[.,]\d{1,60})?)"
)
"""A number as written, with either decimal sign and any thousands separator."""
BEFORE: Final = r"(?<![\w.,/])"
"""A number does not begin within a word or another number."""

_DECIMAL: Final = {"fr": "virgule", "en": "point"}
_FRENCH_ORDINALS: Final = {"un": "unième", "cinq": "cinquième", "neuf": "neuvième"}
_ENGLISH_ORDINALS: Final = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip


def word_set(line: str) -> frozenset[str]:
    """The words of a line as a set: tables of words are read easier so."""
    return frozenset(line.split())


@functools.lru_cache(maxsize=4096)
def cardinal(n: int, language: str) -> str:
    """An integer in words; figure by figure when it has more than 15."""
    if len(str(abs(n))) > MAX_DIGITS:
        return digits(str(abs(n)), language)
    said = str(_num2words.num2words(n, lang=language))
    # "vingt-et-un" and "vingt et un" are both right; voices read the second better.
    return said.replace("-et-", " et ") if language == "fr" else said.replace(",", "")


def ordinal(n: int, language: str, feminine: bool = False) -> str:
    """An ordinal in words: "dix-huitième", "première", "twenty-first".

    num2words makes "quatre-vingtsième" and "deux millionsième" in French, so the ending is ours.
    """
    if language == "fr" and n == 1:
        return "première" if feminine else "premier"
    said = cardinal(n, language)
    head, sign, last = said.rpartition(" ")
    stem, hyphen, last = last.rpartition("-")
    head = f"{head}{sign}{stem}{hyphen}"
    if language == "en":
        ending = _ENGLISH_ORDINALS.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
        return head + ending
    if last in ("vingts", "cents", "millions", "milliards", "billions"):
        last = last[:-1]
    return head + (_FRENCH_ORDINALS.get(last) or f"{last.removesuffix('e')}ième")


def digits(figures: str, language: str) -> str:
    """Figures one by one: "007" is "zéro zéro sept"."""
    return " ".join(cardinal(int(c), language) for c in figures if c.isdigit())


def feminine(said: str) -> str:
    """ "vingt et un" as it is said before a feminine noun."""
    return f"{said[:-2]}une" if said == "un" or said.endswith((" un", "-un")) else said


def parts(written: str, language: str) -> tuple[str, str]:
    """The figures before and behind the decimal sign; the latter "" for a whole number.

    A lone sign before three figures is a thousands separator where the language writes it so
    (English ","), or where the three are zeros: models write French with English habits.
    """
    bare = written.replace(" ", "").replace("'", "")
    comma, dot = bare.rfind(","), bare.rfind(".")
    if comma >= 0 and dot >= 0:
        sign = "," if comma > dot else "."
        whole, _, decimals = bare.replace("." if sign == "," else ",", "").rpartition(sign)
        return whole, decimals
    sign = "," if comma >= 0 else "."
    if bare.count(sign) > 1:
        return bare.replace(sign, ""), ""
    whole, _, decimals = bare.partition(sign)
    if len(decimals) == 3 and len(whole) <= 3 and not whole.startswith("0"):
        english_thousands = language == "en" and sign == ","
        if english_thousands or (decimals == "000" and (language == "fr" or sign == ",")):
            return whole + decimals, ""
    return whole, decimals


def value(written: str, language: str) -> float:
    """The number that is written."""
    whole, decimals = parts(written, language)
    return float(f"{whole}.{decimals or 0}")


def number(written: str, language: str) -> str:
    """A number as written, in words: "3,14" is "trois virgule quatorze", "2.05" is "two point zero five"."""
    whole, decimals = parts(written, language)
    if len(whole) > MAX_DIGITS or (len(whole) > 1 and whole.startswith("0")):
        said = digits(whole, language)
    else:
        said = cardinal(int(whole or "0"), language)
    if not decimals:
        return said
    said = f"{said} {_DECIMAL[language]} "
    if language == "en":
        return said + digits(decimals, language)
    tail = decimals.lstrip("0")
    zeros = ["zéro"] * (len(decimals) - len(tail))
    if not tail:
        return said + " ".join(zeros)
    return said + " ".join([*zeros, cardinal(int(tail), language) if len(tail) <= 3 else digits(tail, language)])


def speak_left_over(text: str, language: str) -> str:
    """Every figure that no other rule took, in words."""
    text = re.sub(rf"(?<![\w.,])({NUMBER})(?![\w])", lambda m: number(m[1], language), text)
    return re.sub(r"\d{1,60}", lambda m: f" {number(m[0], language)} ", text)
