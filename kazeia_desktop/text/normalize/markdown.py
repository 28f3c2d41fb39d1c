"""Markdown and HTML to plain text, as a person reads them: marks out, code mentioned, rows and lists in commas.

Works on a whole text as on a clause cut out of one: half a fence, a lone "**", a table without its head.
"""

import html
import re
from typing import Final

_FENCE: Final = re.compile(
    r"(```+|^[ \t]*~~~+)[^\n]*(?:\n(?:(?![ \t]*\1)[^\n]*\n)*(?:[ \t]*\1[`~]*|[^\n]*\Z)|\Z)", re.MULTILINE
)
_CODE_SAID: Final = {"fr": "extrait de code", "en": "code snippet"}
_LONGEST_CODE: Final = 40
"""Longer code within a line is mentioned, not read."""
_INLINE_FENCE: Final = re.compile(r"```([^`\n]{1,200})```")
_CODE: Final = re.compile(r"(`{1,2})([^`\n]{1,200})\1")
_CODE_NOISE: Final = re.compile(r"[()\[\]{};\"'\\,]+|(?<=[a-z])(?=[A-Z])|_+")
_IMAGE: Final = re.compile(r"!\[([^\]\n]{0,200})\](?:\([^)\n]{0,500}\)?|\[[^\]\n]{0,100}\])?")
_LINK: Final = re.compile(r"\[([^\]\[\n]{1,200})\]\([^)\n]{0,500}(?:\)|$)", re.MULTILINE)
_REFERENCE: Final = re.compile(r"\[([^\]\[\n]{1,200})\]\[[^\]\n]{0,100}\]")
_DEFINITION: Final = re.compile(r"^\s{0,3}\[[^\]\n]{1,100}\]:\s.{0,500}$", re.MULTILINE)
_FOOTNOTE: Final = re.compile(r"\[\^?\d{1,3}\]|\[\^[\w-]{1,30}\]:?")
_AUTOLINK: Final = re.compile(r"<((?:https?://|mailto:|www\.)?[^\s<>]{1,500}?[.@][^\s<>]{1,500}?)>")
_SPECIAL: Final = re.compile(r"<\|[\w ]{1,30}\|>")
_COMMENT: Final = re.compile(r"<!--.{0,500}?(?:-->|\Z)", re.DOTALL)
_BREAK: Final = re.compile(r"\s?<(?:br|hr)\s{0,3}/?>\s?", re.IGNORECASE)
_RAISED: Final = re.compile(r"<sup>\s?(-?\d{1,4})\s?</sup>", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,15}(?:\s[^<>\n]{0,200})?/?>")
_ENTITY: Final = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,31});")
_ESCAPE: Final = re.compile(r"\\([*_`#\-.~|>+&])")

_HEADING: Final = re.compile(r"^\s{0,3}#{1,6}\s+(.*)$")
_QUOTE: Final = re.compile(r"^\s*(?:>\s?)+")
_BULLET: Final = re.compile(r"^\s*(?:[-*•▪◦–—‣]|\+(?=\s+[^\W\d]))\s+(?:\[[ xX]?\]\s+)?")
_NUMBERED: Final = re.compile(r"^\s*(?:(\d{1,3})[.)]\s+(?=\S)|([a-zA-Z])\)\s+(?=\S)|([a-h])\.\s+(?=[A-ZÀ-Ý]))")
_RULE: Final = re.compile(r"^\s*(?:[-*_=~]\s?){3,}$")
_TABLE_RULE: Final = re.compile(r"^[\s|]*:?--[\s:|-]*$|^\s*\|[\s:|-]*$")
_ROW: Final = re.compile(r"^\s*\|.*\|\s*$|\S\s\|\s|^\s*\|\s")

_STRONG: Final = re.compile(r"(\*{1,3}|~~)(?=\S)([^*~\n]{1,400}?)(?<=\S)\1")
_UNDERLINED: Final = re.compile(r"(?<!\w)(_{1,3})(?=\S)([^\n]{1,400}?)(?<=\S)\1(?!\w)")
_POWER: Final = re.compile(r"(?<=[\d)])\s?\*\*\s?(?=\d)")
_LEFT_OVER: Final = re.compile(
    r"\*{2,}|~~|__+|(?<![\w)\]\s])\*|\*(?![\w(\[\s])|(?<=\s)\*(?=\w)|(?<=[^\W\d])\*(?=\s|$)"
    r"|(?<!\d )(?<!\) )(?<!\b\w )\*(?=\s)"
)
_SENTENCE_END: Final = ".!?…:;,"


def plain(text: str, language: str) -> str:
    """One line without marks; where a line ended, a comma or a full stop.

    Args:
        text: cleaned text with "\\n" at the ends of lines.
        language: "fr" or "en".
    """
    text = _INLINE_FENCE.sub(r"`\1`", text)
    text = _FENCE.sub(f"\n\n{_CODE_SAID[language]}\n\n", text)
    text = _CODE.sub(lambda m: _code(m[2], language), text).replace("`", " ")
    text = _AUTOLINK.sub(r"\1", _SPECIAL.sub(" ", _COMMENT.sub(" ", text)))
    text = _RAISED.sub(r"^\1", _BREAK.sub("\n", text))
    text = _ENTITY.sub(lambda m: html.unescape(m[0]), _TAG.sub("", text)).replace("\xa0", " ")
    text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    text = _FOOTNOTE.sub("", _DEFINITION.sub("", _REFERENCE.sub(r"\1", text)))
    text = _joined(text.split("\n"))
    text = _POWER.sub("^", text)
    for _ in range(3):  # bold inside italics inside strike-through
        text = _UNDERLINED.sub(r"\2", _STRONG.sub(r"\2", text))
    return _LEFT_OVER.sub("", _ESCAPE.sub(r" \1 ", text) if "\\" in text else text)


def _code(code: str, language: str) -> str:
    """A name or a short command is read without its signs, anything longer is mentioned."""
    words = _CODE_NOISE.sub(" ", code)
    if len(code) > _LONGEST_CODE or len(words.split()) > 6:
        return _CODE_SAID[language]
    return words.strip()


def _joined(lines: list[str]) -> str:
    """The lines as one, with the pause that each end of a line deserves."""
    said: list[str] = []
    pause = ""
    for line in lines:
        text, closes = _line(line)
        if text:
            if said:
                said.append(" " if said[-1][-1] in _SENTENCE_END else pause)
            said.append(text)
            pause = ". " if closes else ", "
        elif not line.strip():
            pause = ". "
    return "".join(said) + ("." if pause == ". " and len(said) > 1 and said[-1][-1] not in _SENTENCE_END else "")


def _line(line: str) -> tuple[str, bool]:
    """A line without its block marks, and whether its end is that of a sentence."""
    if _RULE.match(line) or _TABLE_RULE.match(line):
        return "", False
    line = _QUOTE.sub("", line) if ">" in line else line
    if heading := _HEADING.match(line):
        return heading[1].strip(" #"), True
    if _ROW.search(line):
        cells = (cell.strip() for cell in line.split("|"))
        return ", ".join(cell for cell in cells if any(c.isalnum() for c in cell)), True
    return _NUMBERED.sub(r"\1\2\3, ", _BULLET.sub("", line)).strip(), False
