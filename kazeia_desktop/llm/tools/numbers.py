"""Numbers in what people say: "trois cent quarante-cinq virgule six" and "1 250,5" become "345.6" and "1250.5".

Text is compared without case and accents. What comes out has its words unchanged and every number in digits with a
decimal point, so that a tool needs to know one form only.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

_UNITS_FR: Final = re.findall(
    r"\S+",
    "zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit "
    "dix-neuf",
)
_UNITS_EN: Final = re.findall(
    r"\S+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen",
)
_WORDS: Final[dict[str, dict[str, int]]] = {
    "fr": {word: n for n, word in enumerate(_UNITS_FR)}
    | {"une": 1, "vingt": 20, "vingts": 20, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60}
    | {"septante": 70, "huitante": 80, "octante": 80, "nonante": 90}
    | {"cent": 100, "cents": 100, "mille": 1000, "million": 10**6, "millions": 10**6, "milliard": 10**9}
    | {"milliards": 10**9},
    "en": {word: n for n, word in enumerate(_UNITS_EN)}
    | {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
    | {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9},
}
_AND: Final = {"fr": "et", "en": "and"}
_POINT: Final = {"fr": "virgule", "en": "point"}
_TOKEN: Final = re.compile(r"\d[\d.,]*\d|\d|[^\W\d_]+|\S")
_GROUPS: Final = re.compile(r"(?<=\d)[\u202f\u00a0 ](?=\d{3}(?!\d))")
_JOINERS: Final = str.maketrans({"\u2019": "'", "\u2011": "-", "\u2010": "-", "\u2212": "-", "œ": "oe", "æ": "ae"})


def fold(text: str) -> str:
    """Lower case without accents; typographic apostrophes and hyphens as typed ones; one space between words."""
    low = unicodedata.normalize("NFKD", text.casefold().translate(_JOINERS))
    return " ".join("".join(c for c in low if not unicodedata.combining(c)).replace("\u2044", "/").split())


@dataclass(slots=True)
class _Reading:
    """A number as its words come: "deux" 2, "mille" 2000, "trois" 2003 ..."""

    total: int = 0
    group: int = 0
    scale: int = 10**12
    begun: bool = False

    def takes(self, n: int) -> bool:
        """Whether the word of value n goes on with this number; if so it is added."""
        if not self.begun:
            self._add(n)
            self.begun = True
            return True
        tens = self.group % 100
        if n >= 1000:
            fits = n < self.scale and (self.group > 0 or self.total == 0 or n == 1000)  # deux millions mille
        elif n == 100:
            fits = 0 < self.group < 10 or (self.group == 0 and self.total > 0)
        elif n == 20 and tens == 4:  # quatre-vingt
            fits = True
        elif n == 0 or (self.total == 0 and self.group == 0):  # nothing follows a zero, and it follows nothing
            fits = False
        elif n < 10:
            fits = tens == 0 or (tens >= 20 and tens % 10 == 0)
        elif n < 20:
            fits = tens in (0, 60, 80)
        else:
            fits = tens == 0
        if fits:
            self._add(n)
        return fits

    def _add(self, n: int) -> None:
        if n >= 1000:
            self.total += (self.group or 1) * n
            self.group, self.scale = 0, n
        elif n == 100:
            self.group = (self.group or 1) * 100
        elif n == 20 and self.group % 100 == 4:
            self.group += 76
        else:
            self.group += n

    @property
    def value(self) -> int:
        return self.total + self.group


def with_digits(folded: str, language: str) -> str:
    """`folded` text (see `fold`) with every number in digits: "12.5", never "12,5" or "1 250"."""
    tokens = _TOKEN.findall(_GROUPS.sub("", folded))
    out: list[str] = []
    at = 0
    while at < len(tokens):
        number, after = _number(tokens, at, language)
        if after > at:
            out.append(number)
            at = after
        else:
            out.append(tokens[at])
            at += 1
    return " ".join(out)


def _number(tokens: list[str], at: int, language: str) -> tuple[str, int]:
    """The number that begins at a token, and the token after it; that token itself where none begins."""
    words = _WORDS[language]
    if tokens[at][0].isdigit():
        number = _digits(tokens[at], language)
        after = at + 1
        number, after = _decimals(number, tokens, after, language)
        if after < len(tokens) and (scale := words.get(tokens[after], 0)) >= 1000:
            return _scaled(number, scale), after + 1
        return number, after
    reading = _Reading()
    after = at
    while after < len(tokens):
        step = after
        if reading.begun and tokens[step] == "-":
            step += 1
        if reading.begun and step < len(tokens) and tokens[step] == _AND[language] and _may_join(reading, language):
            step += 1
            step += step < len(tokens) and tokens[step] == "-"
        word, width = _word(tokens, step, words)
        if not width or not reading.takes(words[word]):
            break
        after = step + width
    if after == at:
        return "", at
    number, ends = _decimals(str(reading.value), tokens, after, language)
    if ends > after and ends < len(tokens) and (scale := words.get(tokens[ends], 0)) >= 1000:
        return _scaled(number, scale), ends + 1
    return number, ends


def _may_join(reading: _Reading, language: str) -> bool:
    """Whether "et" may stand inside: vingt et un; one hundred and five."""
    tens = reading.group % 100
    if language == "fr":
        return tens in (20, 30, 40, 50, 60, 70, 80, 90)
    return tens == 0 and reading.value >= 100


def _word(tokens: list[str], at: int, words: dict[str, int]) -> tuple[str, int]:
    """A number's word at a token and its width; "dix-sept" is three tokens."""
    if at + 2 < len(tokens) and tokens[at + 1] == "-" and "-".join((tokens[at], tokens[at + 2])) in words:
        return f"{tokens[at]}-{tokens[at + 2]}", 3
    if at + 1 < len(tokens) and tokens[at] == "dix" and f"dix-{tokens[at + 1]}" in words:
        return f"dix-{tokens[at + 1]}", 2
    return (tokens[at], 1) if at < len(tokens) and tokens[at] in words else ("", 0)


def _digits(token: str, language: str) -> str:
    """A number written in digits: "12,5" is a decimal in French, "1,250" is not in English."""
    if language == "en":
        token = re.sub(r",(?=\d{3}(?!\d))", "", token)
    head, mark, tail = token.replace(",", ".").partition(".")
    return head + (f".{tail.replace('.', '')}" if mark and tail else "")


def _decimals(number: str, tokens: list[str], at: int, language: str) -> tuple[str, int]:
    """What follows "virgule": zeros, then a number; in English also digit by digit."""
    if at + 1 >= len(tokens) or tokens[at] != _POINT[language] or "." in number:
        return number, at
    words, after, decimals = _WORDS[language], at + 1, ""
    while after < len(tokens):
        if tokens[after].isdigit():
            decimals += tokens[after]
            after += 1
            continue
        word, width = _word(tokens, after, words)
        if not width or words[word] >= 1000:
            break
        if words[word] == 0 or language == "en":
            decimals += str(words[word])
            after += width
            continue
        reading = _Reading()
        while width and words[word] < 1000 and reading.takes(words[word]):
            after += width
            after += after + 1 < len(tokens) and tokens[after] == "-"
            word, width = _word(tokens, after, words)
        decimals += str(reading.value)
        break
    return (f"{number}.{decimals}", after) if decimals else (number, at)


def _scaled(number: str, scale: int) -> str:
    """ "2.5" millions."""
    head, _, tail = number.partition(".")
    places = len(str(scale)) - 1
    shifted = head + tail[:places].ljust(places, "0")
    return str(int(shifted)) + (f".{tail[places:]}" if len(tail) > places else "")
