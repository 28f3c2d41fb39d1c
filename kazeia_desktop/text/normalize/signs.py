"""Signs in words, and the last tidying: only what a voice can say is left."""

import re
import unicodedata
from typing import Final

_BETWEEN: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "fr": (
        (r"==+", " égale "), (r"!=|<>|=/=", " différent de "), (r"<=(?!>)", " inférieur ou égal à "),
        (r">=", " supérieur ou égal à "), (r"\s?(?:<?[-=~]{1,8}>|<[-=~]{1,8}|→|←|↔)\s?", ", "),
        (r"&&|&", " et "), (r"\|\|", " ou "),
        (r"\+=", " plus égale "), (r"\+/-|\+-", " plus ou moins "), (r"(?<=\w)\+\+", " plus plus "),
    ),
    "en": (
        (r"==+", " equals "), (r"!=|<>|=/=", " not equal to "), (r"<=(?!>)", " at most "), (r">=", " at least "),
        (r"\s?(?:<?[-=~]{1,8}>|<[-=~]{1,8}|→|←|↔)\s?", ", "), (r"&&|&", " and "), (r"\|\|", " or "),
        (r"\+=", " plus equals "), (r"\+/-|\+-", " plus or minus "), (r"(?<=\w)\+\+", " plus plus "),
    ),
}  # fmt: skip
_SIGNS: Final = {
    "fr": {
        "+": "plus", "=": "égale", "×": "fois", "÷": "divisé par", "%": "pour cent", "‰": "pour mille", "#": "dièse",
        "@": "arobase", "≈": "environ", "≤": "inférieur ou égal à", "≥": "supérieur ou égal à", "<": "inférieur à",
        ">": "supérieur à", "€": "euros", "$": "dollars", "£": "livres", "¥": "yens", "°": "degrés", "²": "au carré",
        "³": "au cube", "√": "racine de", "π": "pi", "§": "paragraphe", "−": "moins", "^": "puissance",
        "≠": "différent de", "±": "plus ou moins", "∞": "l'infini", "*": "fois", "∑": "la somme", "∫": "l'intégrale",
        "∈": "appartient à", "∉": "n'appartient pas à", "∩": "inter", "∪": "union", "∀": "pour tout", "∃": "il existe",
        "Δ": "delta", "µ": "micro", "≡": "équivaut à",
    },
    "en": {
        "+": "plus", "=": "equals", "×": "times", "÷": "divided by", "%": "percent", "‰": "per thousand", "#": "hash",
        "@": "at", "≈": "about", "≤": "at most", "≥": "at least", "<": "less than", ">": "greater than",
        "€": "euros", "$": "dollars", "£": "pounds", "¥": "yen", "°": "degrees", "²": "squared", "³": "cubed",
        "√": "square root of", "π": "pi", "§": "section", "−": "minus", "^": "to the power of", "≠": "not equal to",
        "±": "plus or minus", "∞": "infinity", "*": "times", "∑": "the sum", "∫": "the integral", "∈": "in",
        "∉": "not in", "∩": "intersection", "∪": "union", "∀": "for all", "∃": "there exists", "Δ": "delta",
        "µ": "micro", "≡": "is equivalent to",
    },
}  # fmt: skip
_COMPILED: Final = {
    language: tuple((re.compile(pattern), said) for pattern, said in rules) for language, rules in _BETWEEN.items()
}
_SIGN: Final = re.compile("[" + re.escape("".join(_SIGNS["fr"])) + "]")
_HYPHEN_SUM: Final = re.compile(r"(?<=\b[a-zA-Z]) - (?=[\w(])|(?<=\)) - (?=[\w(])")
_TIGHT_SUM: Final = re.compile(r"(?<![\w'-][a-zA-Z])(?<=[a-zA-Z²³)])-(?=[a-zA-Z](?![\w'-])|\()")
_NEGATIVE: Final = re.compile(r"(?<![\w'’)²³-])-(?=[a-zA-Z](?![\w'-]))")
_OVER: Final = re.compile(r"(?:(?<=\))|(?<=\b[a-zA-Z])) ?/ ?(?=[\w(])")
_IS_SUM: Final = re.compile(r"[=+×÷^²³]")
_ALTERNATIVE: Final = re.compile(r"(?<=[a-zà-ÿ]) ?/ ?(?=[a-zà-ÿ])")
_QUOTES: Final = re.compile(r"[«»“”„‹›\"]|(?<!\w)'|'(?!\w)")
_BRACKETS: Final = re.compile(r"\s{0,4}[()\[\]{}]\s{0,4}")
_DASH: Final = re.compile(r"(?<!\w)[-–—]+(?!\w)|\s[-–—]+|[-–—]+\s|[–—]+|-{2,}")
_FIGURE_HYPHEN: Final = re.compile(r"(?<=\w)-(?=\d)|(?<=\d)-(?=\w)")
_SPEAKABLE: Final = frozenset(".,;:?!'-… ")
_SPACES: Final = re.compile(r"\s+")
_SPACE_BEFORE: Final = re.compile(r" (?=[,.;:?!…])")
_STRONGER_FOLLOWS: Final = re.compile(r"[,;:]+(?=[,;:.?!…])")
_STOP_BEFORE: Final = re.compile(r"\.(?=[,;:])")
_AFTER_STRONG: Final = re.compile(r"(?<=[.?!…:;])[,;.:]+(?!\.)")
_REPEATED: Final = re.compile(r"([?!])[?!]{2,}|([?!])\2+")
_ELLIPSIS: Final = re.compile(r"\.{2,}|…[.…]+")
_NO_SPACE_AFTER: Final = re.compile(r"(?<=[?!…:;,.])(?=[^\W\d_])")


def join_figures(text: str) -> str:
    """ "COVID-19" and "MP3-5" without the hyphen before figures are put in words."""
    return _FIGURE_HYPHEN.sub(" ", text)


def speak_signs(text: str, language: str) -> str:
    """Signs of `text` in words; quotes and brackets become pauses or nothing."""
    for pattern, said in _COMPILED[language]:
        text = pattern.sub(said, text)
    if _IS_SUM.search(text):
        minus = " moins " if language == "fr" else " minus "
        text = _OVER.sub(" sur " if language == "fr" else " over ", _NEGATIVE.sub(minus, text))
        text = _TIGHT_SUM.sub(minus, _HYPHEN_SUM.sub(minus, text))
    text = _ALTERNATIVE.sub(" ou " if language == "fr" else " or ", text)
    text = _SIGN.sub(lambda m: f" {_SIGNS[language][m[0]]} ", text)
    return _BRACKETS.sub(", ", _DASH.sub(", ", _QUOTES.sub(" ", text)))


def tidy(text: str) -> str:
    """One space between words, none before a sign, no sign without a word, nothing that cannot be said."""
    text = "".join(c if c in _SPEAKABLE or unicodedata.category(c)[0] in "LM" else " " for c in text)
    text = _SPACE_BEFORE.sub("", _SPACES.sub(" ", text))
    text = _REPEATED.sub(lambda m: m[1] or m[2], _ELLIPSIS.sub("…", text))
    text = _STOP_BEFORE.sub("", text)
    text = _AFTER_STRONG.sub("", _STRONGER_FOLLOWS.sub("", text))
    text = _SPACES.sub(" ", _NO_SPACE_AFTER.sub(" ", text))
    text = text.lstrip(" ,.;:!?-…'").rstrip(" ,;:-'")
    return unicodedata.normalize("NFC", text) if any(c.isalpha() for c in text) else ""
