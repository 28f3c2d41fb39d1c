"""Roman figures: kings, centuries, chapters. Letters that only look like them are left alone."""

import re
from typing import Final

from kazeia_desktop.text.normalize.words import cardinal, ordinal, word_set

_VALUES: Final = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_SHAPE: Final = r"(?=[IVXLCDM])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
_RULERS: Final = word_set(
    "Louis Charles Henri Henry François Francis Philippe Philip Jean John Paul Pie Pius Napoléon Napoleon "
    "Élisabeth Elisabeth Elizabeth Guillaume William Frédéric Frederick Georges George Édouard Edouard Edward "
    "Jacques James Richard Léopold Leopold Albert Baudouin Robert Hugues Alexandre Alexander Nicolas Nicholas "
    "Pierre Peter Benoît Benedict Grégoire Gregory Innocent Léon Leo Clément Clement Ramsès Ramses Ptolémée Ptolemy "
    "Darius Xerxès Catherine Marie Mary Gustave Ferdinand Christian Harald Olaf Urbain Urban "
    "Boniface Sixte Joseph Mohammed Hassan Juan Felipe Victor Umberto Othon "
    "Otto Vladimir Ivan Mehmed Abdallah Rainier Clovis Childéric Dagobert"
)
_COUNTED: Final = word_set(
    "chapitre chapter tome volume acte act scène scene partie part livre book titre title annexe appendix section "
    "phase étape stage niveau level numéro number classe class type guerre mondiale war apollo rocky fantasy "
    "article leçon lesson chant canto strophe groupe group zone catégorie category grade mark"
)
_NEVER: Final = word_set(
    "XL XXL XXXL XX XXX CD CV MC DC MD CC CM DM ML DL CL CI DI LI MI MM MIX DIX CDI MV LV CX XC CDD CCI"
)
"""Sizes, abbreviations and words that are well-formed Roman figures."""

_ORDINAL_FR: Final = re.compile(rf"\b({_SHAPE})(ère|ers?|re|èmes?|emes?|es?|è)\b(?!['’])")
_AFTER_NAME: Final = re.compile(rf"(?<![\w'’])([^\W\d_][\w'’-]{{1,30}})( )({_SHAPE})(?<! )\b(?![\w'’&.-]\w)")
_RANGE: Final = re.compile(rf"(?<=[IVXe])\s?[-–]\s?(?={_SHAPE}(?:e|ème|er)?\b)")


def roman(figures: str) -> int:
    """The value of well-formed Roman figures."""
    total = 0
    for sign, following in zip(figures, [*figures[1:], ""], strict=True):
        here = _VALUES[sign]
        total += -here if following and _VALUES[following] > here else here
    return total


def speak_roman(text: str, language: str) -> str:
    """Roman figures of `text` in words: "Louis quatorze", "dix-huitième siècle", "Henry the Eighth"."""
    if language == "fr":
        text = _ORDINAL_FR.sub(_ordinal_fr, _RANGE.sub(", ", text))
    return _AFTER_NAME.sub(lambda m: _after_name(m, language), text)


def _ordinal_fr(match: re.Match[str]) -> str:
    figures, ending = match[1], match[2]
    first = ending in ("er", "ers", "re", "ère")
    if first != (figures == "I") or (len(figures) == 1 and figures in "LCDM") or figures == "MM":
        return match[0]  # "Le", "De", "Ver" and "MMe" are words
    return ordinal(roman(figures), "fr", ending in ("re", "ère"))


def _after_name(match: re.Match[str], language: str) -> str:
    word, space, figures = match.groups()
    ruler = word in _RULERS or ("-" in word and word.rpartition("-")[2] in _RULERS)
    counted = word.lower() in _COUNTED
    if not (ruler or counted) and (len(figures) == 1 or figures in _NEVER or figures[0] not in "IVX" or word.isupper()):
        return match[0]
    if ruler and len(figures) == 1 and figures in "LCDM":  # "Paul D", "Marie C"
        return match[0]
    if ruler and language == "en":
        return f"{word} the {ordinal(roman(figures), 'en').capitalize()}"
    return f"{word}{space}{'premier' if ruler and figures == 'I' else cardinal(roman(figures), language)}"
