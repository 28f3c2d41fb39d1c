"""From what is displayed to plain words: markdown, code, tables, links and emoji as a person reads them."""

import re
import unicodedata
from typing import Final

_FENCE: Final = re.compile(r"```[^\n]*(?:\n.*?(?:\n```|\Z)|\Z)", re.DOTALL)
_CODE: Final = re.compile(r"(`{1,2})([^`\n]{1,200})\1")
_IMAGE: Final = re.compile(r"!\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)")
_LINK: Final = re.compile(r"\[([^\]\n]{1,200})\]\([^)\n]{0,500}\)")
_HTML: Final = re.compile(r"</?[a-zA-Z][^<>\n]{0,100}>|<!--.{0,500}?-->", re.DOTALL)
_HEADING: Final = re.compile(r"^\s{0,3}#{1,6}\s+", re.MULTILINE)
_QUOTE: Final = re.compile(r"^\s{0,3}(?:>\s?)+", re.MULTILINE)
_BULLET: Final = re.compile(r"^\s*[-*+•·▪◦–]\s+", re.MULTILINE)
_NUMBERED: Final = re.compile(r"^\s*(\d{1,3})[.)]\s+", re.MULTILINE)
_RULE: Final = re.compile(r"^\s*(?:[-*_=]\s?){3,}\s*$", re.MULTILINE)
_TABLE_RULE: Final = re.compile(r"^\s*\|?[\s:|-]*-{2,}[\s:|-]*\|?\s*$", re.MULTILINE)
_TABLE_ROW: Final = re.compile(r"^\s*\|(.*)$", re.MULTILINE)
_STRONG: Final = re.compile(r"(\*{1,3}|_{1,3}|~~)(?=\S)([^*_~\n]{1,400}?)(?<=\S)\1")
_LATEX_FRACTION: Final = re.compile(r"\\[dt]?frac\{([^{}\n]{1,60})\}\{([^{}\n]{1,60})\}")
_LATEX_MATH: Final = re.compile(r"\$([^$\n]{0,120}[\\^_=][^$\n]{0,120})\$")
_LATEX: Final = re.compile(r"\\[()\[\]]|\$\$|\\[a-zA-Z]{1,20}|\\")
_URL: Final = re.compile(r"\b(?:https?|ftp)://[^\s<>«»\"]{1,500}|\bwww\.[^\s<>«»\"]{1,500}", re.IGNORECASE)
_EMAIL: Final = re.compile(r"\b([\w.+-]{1,64})@([\w-]{1,63}(?:\.[\w-]{1,63}){1,4})\b")
_CODE_SAID: Final = {"fr": "un extrait de code.", "en": "a piece of code."}
_AT: Final = {"fr": "arobase", "en": "at"}
_DOT: Final = {"fr": "point", "en": "dot"}
_SKIPPED_CATEGORIES: Final = frozenset({"So", "Cs", "Co", "Cn", "Cf", "Cc", "Sk", "Me"})
_KEPT: Final = frozenset("\n\t°€$£%&@#+=<>/*^|~§©®™¼½¾²³×÷−")


def plain(text: str, language: str) -> str:
    """Markdown, links and pictures out; one line; what a voice can read.

    Args:
        text: a clause as displayed, also a cut one (an unclosed fence, half a table).
        language: "fr" or "en".
    """
    text = unicodedata.normalize("NFC", text)
    text = _FENCE.sub(f" {_CODE_SAID[language]} ", text)
    text = _IMAGE.sub(r"\1", text)
    text = _LINK.sub(r"\1", text)
    text = _HTML.sub(" ", text)
    text = _TABLE_RULE.sub("", text)
    text = _TABLE_ROW.sub(lambda m: ", ".join(cell.strip() for cell in m[1].split("|") if cell.strip()) + ".", text)
    text = _RULE.sub("", text)
    text = _QUOTE.sub("", _HEADING.sub("", text))
    text = _NUMBERED.sub(r"\1, ", _BULLET.sub("", text))
    text = _CODE.sub(r"\2", text)
    for _ in range(3):  # bold inside italics inside strike-through
        text = _STRONG.sub(r"\2", text)
    text = _LATEX_FRACTION.sub(r"\1/\2", _LATEX_MATH.sub(r"\1", text))
    text = _LATEX.sub(" ", text.replace("\\times", "×").replace("\\cdot", "×").replace("\\sqrt", "√"))
    text = _URL.sub(lambda m: _host(m[0], language), text)
    text = _EMAIL.sub(lambda m: f"{_dotted(m[1], language)} {_AT[language]} {_dotted(m[2], language)}", text)
    text = "".join(c for c in text if c in _KEPT or unicodedata.category(c) not in _SKIPPED_CATEGORIES)
    text = text.replace("**", " ").replace("__", " ").replace("`", " ")
    return re.sub(r"\s*\n\s*", "\n", text).strip()


def _dotted(name: str, language: str) -> str:
    return name.replace(".", f" {_DOT[language]} ").replace("-", " ").replace("_", " ")


def _host(url: str, language: str) -> str:
    """An address as it is told to somebody: the host, without protocol, www, path and query."""
    end = re.search(r"[.,;:!?)\]]+$", url)
    tail = end[0] if end else ""
    host = re.sub(r"^(?:\w+://)?(?:www\.)?", "", url[: len(url) - len(tail)], flags=re.IGNORECASE)
    host = re.split(r"[/?#:]", host, maxsplit=1)[0]
    return _dotted(host, language) + tail.strip(")]")
