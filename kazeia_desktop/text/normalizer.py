"""What is displayed, as it is said: the last step before the voice."""

import re
import unicodedata
from typing import Final

from kazeia_desktop.text.markup import plain
from kazeia_desktop.text.numbers import speak_numbers

_MAX_CHARACTERS: Final = 20_000
"""A clause is never this long; what is, is not language."""
_LONGEST_WORD: Final = 60
"""A longer run without a space is an identifier or noise: nobody says it."""

_EXPANSIONS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "fr": (
        (r"\bav\.\s?J\.-C\.", "avant Jésus-Christ"),
        (r"\bapr\.\s?J\.-C\.", "après Jésus-Christ"),
        (r"\bp\.\s?ex\.", "par exemple"),
        (r"\bc\.-?à-?d\.", "c'est-à-dire"),
        (r"\bM\.(?=\s+[A-ZÀ-Ý])", "monsieur"),
        (r"\bMM\.(?=\s+[A-ZÀ-Ý])", "messieurs"),
        (r"\bM(?:me|ᵐᵉ)\b\.?", "madame"),
        (r"\bMmes\b", "mesdames"),
        (r"\bMlle\b\.?", "mademoiselle"),
        (r"\bMlles\b", "mesdemoiselles"),
        (r"\bMgr\b\.?", "monseigneur"),
        (r"\bDr\b\.?", "docteur"),
        (r"\bPr\b\.?(?=\s+[A-ZÀ-Ý])", "professeur"),
        (r"\bMe\b(?=\s+[A-ZÀ-Ý])", "maître"),
        (r"\bSt(?=[ -][A-ZÀ-Ý])", "saint"),
        (r"\bSte(?=[ -][A-ZÀ-Ý])", "sainte"),
        (r"\b[nN](?:°|º|o\.)\s?(?=\d)", "numéro "),
        (r"\b[nN](?:°s|os)\s?(?=\d)", "numéros "),
        (r"\bpp?\.\s?(?=\d)", "page "),
        (r"\bchap\.\s?(?=\d)", "chapitre "),
        (r"\bart\.\s?(?=\d)", "article "),
        (r"\bfig\.\s?(?=\d)", "figure "),
        (r"\bvol\.\s?(?=\d)", "volume "),
        (r"\bt[ée]l\.\s?:?", "téléphone "),
        (r"\bav\.(?=\s+(?:de|du|des|d'))", "avenue"),
        (r"\bbd\b\.?(?=\s)", "boulevard"),
        (r"\benv\.(?=\s)", "environ"),
        (r"\betc(?:\.|\b)(?:\.\.)?", "et cetera"),
        (r"\bcf\.?(?=\s)", "voir"),
        (r"\bvs\.?(?=\s)", "contre"),
        (r"\bmin\.(?=\s|$)", "minimum"),
        (r"\bmax\.(?=\s|$)", "maximum"),
        (r"\bs'il vous pla[iî]t\b|\bSVP\b|\bsvp\b", "s'il vous plaît"),
    ),
    "en": (
        (r"\be\.g\.,?", "for example,"),
        (r"\bi\.e\.,?", "that is,"),
        (r"\betc(?:\.|\b)", "et cetera"),
        (r"\bMr\b\.?", "mister"),
        (r"\bMrs\b\.?", "missus"),
        (r"\bMs\b\.?", "miss"),
        (r"\bDr\b\.?(?=\s+[A-Z])", "doctor"),
        (r"\bProf\b\.?(?=\s+[A-Z])", "professor"),
        (r"\bSt\b\.?(?=\s+[A-Z])", "saint"),
        (r"\b[Nn]o\.\s?(?=\d)", "number "),
        (r"\b[nN]°\s?(?=\d)", "number "),
        (r"\bpp?\.\s?(?=\d)", "page "),
        (r"\bch(?:ap)?\.\s?(?=\d)", "chapter "),
        (r"\bfig\.\s?(?=\d)", "figure "),
        (r"\bvol\.\s?(?=\d)", "volume "),
        (r"\bvs\.?(?=\s)", "versus"),
        (r"\bapprox\.", "approximately"),
        (r"\bB\.?C\.?(?=\W|$)", "B C"),
        (r"\b(\d+)\s?am\b", r"\1 A M"),
        (r"\b(\d+)\s?pm\b", r"\1 P M"),
    ),
}

_SIGNS: Final = {
    "fr": {
        "&": "et", "+": "plus", "=": "égale", "×": "fois", "÷": "divisé par", "%": "pour cent", "#": "dièse",
        "@": "arobase", "≈": "environ", "≤": "inférieur ou égal à", "≥": "supérieur ou égal à", "<": "inférieur à",
        ">": "supérieur à", "€": "euros", "$": "dollars", "£": "livres", "°": "degrés", "²": "au carré",
        "³": "au cube", "½": "un demi", "¼": "un quart", "¾": "trois quarts", "→": ",", "√": "racine de",
        "π": "pi", "§": "paragraphe", "−": "moins", "^": "puissance", "≠": "différent de", "±": "plus ou moins",
        "∞": "infini", "*": "fois", "™": "", "®": "", "©": "",
    },
    "en": {
        "&": "and", "+": "plus", "=": "equals", "×": "times", "÷": "divided by", "%": "percent", "#": "number",
        "@": "at", "≈": "about", "≤": "at most", "≥": "at least", "<": "less than", ">": "greater than",
        "€": "euros", "$": "dollars", "£": "pounds", "°": "degrees", "²": "squared", "³": "cubed",
        "½": "one half", "¼": "a quarter", "¾": "three quarters", "→": ",", "√": "square root of", "π": "pi",
        "§": "section", "−": "minus", "^": "to the power of", "≠": "not equal to", "±": "plus or minus",
        "∞": "infinity", "*": "times", "™": "", "®": "", "©": "",
    },
}  # fmt: skip

_COMPILED: Final = {
    language: tuple((re.compile(pattern), said) for pattern, said in rules) for language, rules in _EXPANSIONS.items()
}
_INITIALS: Final = re.compile(r"\b(?:[A-ZÀ-Ý]\.){2,}(?:[A-ZÀ-Ý]\b)?")
_SIGN: Final = re.compile("[" + re.escape("".join(_SIGNS["fr"])) + "]")
_LONG_RUN: Final = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")
_BRACKETS: Final = re.compile(r"\s*[()\[\]{}]\s*")
_SLASH: Final = re.compile(r"(?<=\w)\s?/\s?(?=\w)")
_DASH: Final = re.compile(r"\s+[-–—]+\s+|[–—]+")
_LINE_END: Final = re.compile(r"(?<=[^.!?…:;,])\n")
_QUOTES: Final = re.compile(r"[«»“”„\"]|(?<!\w)['‘]|['’](?!\w)")
_SPEAKABLE: Final = frozenset(".,;:?!'’-… ")


def normalize(clause: str, language: str) -> str:
    """The words to say for a clause as displayed.

    Args:
        clause: text of the reply, with whatever markdown, figures and signs it holds.
        language: "fr" or "en".
    Returns:
        One line of letters, spaces and , . ; : ? ! ' - … only, NFC. Empty when nothing is to be said.
    """
    text = plain(clause[:_MAX_CHARACTERS], language)
    text = _LONG_RUN.sub(" ", _LINE_END.sub(", ", text).replace("\n", " "))
    for pattern, said in _COMPILED[language]:
        text = pattern.sub(said, text)
    text = _INITIALS.sub(lambda m: " ".join(m[0].replace(".", " ").split()), text)
    text = speak_numbers(text, language)
    text = _SLASH.sub(" ou " if language == "fr" else " or ", text)
    text = _SIGN.sub(lambda m: f" {_SIGNS[language][m[0]]} ", text)
    text = _BRACKETS.sub(", ", text)
    text = _DASH.sub(", ", _QUOTES.sub(" ", text))
    return _tidy("".join(c if c in _SPEAKABLE or unicodedata.category(c)[0] in "LM" else " " for c in text))


def _tidy(text: str) -> str:
    """One space between words, none before a comma, and no sign without a word."""
    text = re.sub(r"\s+", " ", text.replace("’", "'")).strip()
    text = re.sub(r"\s+(?=[,.;:?!…])", "", text)
    text = re.sub(r"[,;:]+(?=[,;:.?!…])", "", text)
    text = re.sub(r"([,;:])\1+", r"\1", re.sub(r"\.{2,}", "…", text))
    text = re.sub(r"(?<=[.?!…:;,])(?=[^\W\d_])", " ", text)
    text = text.lstrip(" ,.;:!?-…'").rstrip(" ,;-'")
    return unicodedata.normalize("NFC", text) if any(c.isalpha() for c in text) else ""
