"""Text as it is searched: without case and accents, so that "ete" finds "Été" and "oeuf" finds "œuf"."""

import re
import unicodedata
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
_LIGATURES: Final = {"œ": "oe", "æ": "ae"}
_EXCERPT: Final = 80
"""Characters of an excerpt on either side of what was found."""


def folded(text: str) -> str:
    """`text` in lower case, without accents, ligatures written out."""
    return "".join(_folded_character(character) for character in unicodedata.normalize("NFC", text))


def _folded_character(character: str) -> str:
    low = character
    for _ in range(3):  # some signs are another one's variant, whose small letter is again
        low = low.casefold()
        if low.isascii():
            return low
        low = "".join(c for c in unicodedata.normalize("NFKD", low) if not unicodedata.combining(c))
        low = "".join(_LIGATURES.get(c, c) for c in low)
    return low


def words(text: str) -> list[str]:
    """The folded words of `text`, in order."""
    return _WORD.findall(folded(text))


def excerpt(text: str, wanted: list[str]) -> str:
    """The surroundings of the first of the folded words `wanted` in `text`, on one line."""
    text = " ".join(unicodedata.normalize("NFC", text).split())
    starts: list[int] = []  # of each folded character: where it stands in `text`
    plain: list[str] = []
    for at, character in enumerate(text):
        low = _folded_character(character)
        plain.append(low)
        starts += [at] * len(low)
    whole = "".join(plain)
    found = [match.start() for word in wanted if (match := re.search(rf"(?<!\w){re.escape(word)}", whole))]
    found = found or [at for word in wanted if (at := whole.find(word)) >= 0]
    middle = starts[min(found)] if found else 0
    begin, end = max(0, middle - _EXCERPT), min(len(text), middle + _EXCERPT)
    return ("…" if begin else "") + text[begin:end].strip() + ("…" if end < len(text) else "")
