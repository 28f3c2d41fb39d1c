"""The text of a message as it is drawn: a small, safe part of Markdown.

Paragraphs, headings, lists, fenced and inline code, bold, italic, links to the web. Nothing of the text ever becomes
markup of its own: every character of it is escaped. A text that still grows is drawn as it will most likely go on, so
that a sign that opens something is not seen for a moment and gone in the next.
"""

import functools
import html
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import Final

from kazeia_desktop.gui.theme import BODY_PX, LINE_HEIGHT, SMALL_PX, Tokens

LINE_PX: Final = round(BODY_PX * LINE_HEIGHT)
_MARKS: Final = {False: ("#FFE89A", "#FFBF47"), True: ("#574800", "#8A5A00")}
"""Behind what was searched, and behind the place that is shown: light and dark."""
_FENCE: Final = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]{0,20})[^\n`]*$")
_HEADING: Final = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+")
_ITEM: Final = re.compile(r"([ \t]*)(?:([-*+•])|(\d{1,3})[.)])(?:[ \t]+|$)")
_LINK: Final = re.compile(r"\[([^\[\]\n]{1,200})\]\((https?://[^\s()<>\"]{1,500})\)")
_ADDRESS: Final = re.compile(r"https?://[^\s<>\"«»]{1,500}[^\s<>\"«».,;:!?)\]]")
_LONE: Final = re.compile(r"(?:\*{1,2}|_{1,2}|`{1,2}|\[[^\]\n]{0,80})$")
_LONGEST_EMPHASIS: Final = 300
"""What stands out is never longer; so many signs that never close cost no more than a glance each."""
_STOPS: Final = re.compile(r"[`*_\[\\]|https?://")


class Style(IntFlag):
    PLAIN = 0
    BOLD = 1
    ITALIC = 2
    CODE = 4


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of the text. href: where they lead."""

    start: int
    end: int
    style: Style = Style.PLAIN
    href: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, or what stands like one.

    kind: "text", "heading", "item" or "code". lines: of "code" one span each; else spans of each line.
    mark: an item's bullet or number. depth: of an item, 0 outermost. language: of code.
    """

    kind: str
    lines: tuple[tuple[Span, ...], ...]
    mark: str = ""
    depth: int = 0
    language: str = ""


@functools.lru_cache(maxsize=64)
def parse(text: str, growing: bool = False) -> tuple[Block, ...]:
    """The blocks of a text. Linear in its length, but for signs that never close."""
    blocks: list[Block] = []
    lines = list(_lines(text))
    at = 0
    held: list[tuple[Span, ...]] = []

    def end_paragraph() -> None:
        if held:
            blocks.append(Block("text", tuple(held)))
            held.clear()

    while at < len(lines):
        start, end = lines[at]
        line = text[start:end]
        at += 1
        if fence := _FENCE.match(line):
            end_paragraph()
            inside: list[tuple[Span, ...]] = []
            while at < len(lines):
                start, end = lines[at]
                at += 1
                if text[start:end].strip().startswith(fence[1]) and not text[start:end].strip(fence[1][0] + " \t"):
                    break
                inside.append((Span(start, end, Style.CODE),))
            blocks.append(Block("code", tuple(inside), language=fence[2]))
        elif not line.strip():
            end_paragraph()
        elif heading := _HEADING.match(line):
            end_paragraph()
            blocks.append(Block("heading", (_inline(text, start + heading.end(), end, growing),)))
        elif item := _ITEM.match(line):
            end_paragraph()
            depth = min(3, len(item[1].expandtabs(4)) // 2)
            mark = "•" if item[3] is None else f"{item[3]}."
            blocks.append(Block("item", (_inline(text, start + item.end(), end, growing),), mark, depth))
        elif blocks and not held and blocks[-1].kind == "item" and line.startswith("  "):
            last = blocks.pop()  # the item goes on
            inner = start + len(line) - len(line.lstrip())
            blocks.append(Block("item", (*last.lines, _inline(text, inner, end, growing)), last.mark, last.depth))
        else:
            held.append(_inline(text, start, end, growing))
    end_paragraph()
    return tuple(blocks)


@functools.lru_cache(maxsize=64)
def plain(text: str) -> tuple[Block, ...]:
    """A text in which nothing is markup: what the user said."""
    return (Block("text", tuple((Span(start, end),) for start, end in _lines(text))),)


def code_of(text: str, blocks: Sequence[Block], number: int) -> str:
    """The text of the code block of that number, counted from 0."""
    codes = [block for block in blocks if block.kind == "code"]
    return "\n".join(text[span.start : span.end] for line in codes[number].lines for span in line)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield start, end
        start = end + 1
    if start < len(text):
        yield start, len(text)


def _inline(text: str, start: int, end: int, growing: bool) -> tuple[Span, ...]:
    growing = growing and end == len(text)
    if growing and (lone := _LONE.search(text, start, end)):
        end = lone.start()
    return tuple(span for span in _spans(text, start, end, Style.PLAIN, growing) if span.end > span.start)


def _spans(text: str, start: int, end: int, style: Style, growing: bool) -> Iterator[Span]:
    """Between `start` and `end`; what opens there closes there, or nowhere."""
    plain_from = at = start
    while stop := _STOPS.search(text, at, end):
        at = stop.start()
        sign = text[at]
        found: tuple[int, list[Span]] | None = None
        if sign == "\\" and at + 1 < end and text[at + 1] in "\\`*_[]#-":
            found = at + 2, [Span(at + 1, at + 2, style)]
        elif sign == "`":
            found = _code(text, at, end, style, growing)
        elif sign == "[":
            link = _LINK.match(text, at, end)
            found = None if link is None else (link.end(), [Span(link.start(1), link.end(1), style, link[2])])
        elif sign == "h":
            address = _ADDRESS.match(text, at, end)
            found = None if address is None else (address.end(), [Span(at, address.end(), style, address[0])])
        elif sign in "*_":
            found = _emphasis(text, at, end, style, growing)
        if found is None:
            at = stop.end()
            continue
        yield Span(plain_from, at, style)
        at, inside = found
        yield from inside
        plain_from = at
    yield Span(plain_from, end, style)


def _code(text: str, at: int, end: int, style: Style, growing: bool) -> tuple[int, list[Span]] | None:
    n = 1
    while at + n < end and text[at + n] == "`":
        n += 1
    close = text.find("`" * n, at + n, end)
    if close < 0 and not growing:
        return None
    inner = end if close < 0 else close
    return (end if close < 0 else close + n), [Span(at + n, inner, style | Style.CODE)]


def _emphasis(text: str, at: int, end: int, style: Style, growing: bool) -> tuple[int, list[Span]] | None:
    sign = text[at]
    n = 2 if text.startswith(sign * 2, at) else 1
    inner = at + n
    before = text[at - 1] if at else " "
    if inner >= end or text[inner].isspace() or text[inner] == sign or (sign == "_" and before.isalnum()):
        return None
    if n == 1 and sign == "*" and before.isalnum():
        return None  # 2*3
    close, limit = inner, min(end, inner + _LONGEST_EMPHASIS)
    while (close := text.find(sign * n, close, limit)) >= 0:
        after = text[close + n] if close + n < end else " "
        if not text[close - 1].isspace() and after != sign and not (sign == "_" and after.isalnum()):
            break
        close += n
    if close < 0 and not (growing and n == 2 and limit == end):
        return None
    stop = end if close < 0 else close
    more = Style.BOLD if n == 2 else Style.ITALIC
    if style & more:
        return None
    return (end if close < 0 else close + n), list(_spans(text, inner, stop, style | more, growing))


# Drawing


@dataclass(frozen=True, slots=True)
class Look:
    """How a message is drawn now.

    settled: characters that are certain; the rest is lighter. marks: places that were searched, in order;
    current: the one that is shown, -1 for none. copy: the words of the link that copies a block of code.
    """

    tokens: Tokens
    settled: int
    marks: tuple[tuple[int, int], ...] = ()
    current: int = -1
    copy: str = ""


def to_html(text: str, blocks: Sequence[Block], look: Look) -> str:
    """Rich text of Qt's kind. A block's code is copied by the link `copy:N`, counted from 0."""
    parts: list[str] = []
    n_codes = 0
    for at, block in enumerate(blocks):
        before = blocks[at - 1].kind if at else ""
        gap = 0 if not at or block.kind == before == "item" else 8
        if block.kind == "code":
            parts.append(_code_block(text, block, look, n_codes, gap))
            n_codes += 1
            continue
        line = f"line-height:{LINE_PX}px"
        inner = "<br>".join("".join(_drawn(text, span, look) for span in spans) for spans in block.lines)
        if block.kind == "heading":
            inner = f"<b>{inner}</b>"
        elif block.kind == "item":
            hang = 16 if block.mark == "•" else 9 * len(block.mark) + 6
            tail = block.lines[0][0].start if block.lines[0] else max(0, len(text) - 1)  # none yet: the text's end
            mark = (
                f'<span style="color:{look.tokens.quiet}">{block.mark}</span>' if tail >= look.settled else block.mark
            )
            left = hang + 20 * block.depth
            style = f"margin:{gap if gap else 2}px 0 0 {left}px; text-indent:-{hang}px; {line}"
            parts.append(f'<p style="{style}">{mark}&nbsp;&nbsp;{inner}</p>')
            continue
        parts.append(f'<p style="margin:{gap}px 0 0 0; {line}">{inner}</p>')
    return "".join(parts)


def _code_block(text: str, block: Block, look: Look, number: int, gap: int) -> str:
    tokens = look.tokens
    code = "\n".join("".join(_drawn(text, span, look, block=True) for span in spans) for spans in block.lines)
    head = (
        f'<span style="color:{tokens.quiet}; font-size:{SMALL_PX}px">{html.escape(block.language)}</span></td>'
        f'<td align="right"><a href="copy:{number}" style="color:{tokens.quiet}; font-size:{SMALL_PX}px">'
        f"{html.escape(look.copy)}</a>"
    )
    space = f'<p style="margin:0; line-height:{gap}px; font-size:{gap}px">&nbsp;</p>' if gap else ""
    return (
        f'{space}<table width="100%" cellspacing="0" cellpadding="6" style="background-color:{tokens.hover}">'
        f'<tr><td>{head}</td></tr><tr><td colspan="2">'
        f'<pre style="margin:0; font-family:monospace; white-space:pre-wrap">{code or " "}</pre></td></tr></table>'
    )


def _drawn(text: str, span: Span, look: Look, block: bool = False) -> str:
    """A span, cut where it settles and where something was found in it."""
    cuts = {span.start, span.end}
    if span.start < look.settled < span.end:
        cuts.add(look.settled)
    for begin, end in look.marks:
        cuts.update(at for at in (begin, end) if span.start < at < span.end)
    places = sorted(cuts)
    return "".join(_piece(text, a, b, span, look, block) for a, b in itertools.pairwise(places))


def _piece(text: str, start: int, end: int, span: Span, look: Look, block: bool) -> str:
    shown = text[start:end]
    drawn = html.escape(shown) if span.style & Style.CODE else _escaped(shown)
    style = []
    if start >= look.settled:
        style.append(f"color:{look.tokens.quiet}")
    if span.style & Style.CODE and not block:
        style.append(f"font-family:monospace; background-color:{look.tokens.hover}")
    for at, (begin, stop) in enumerate(look.marks):
        if begin <= start < stop:
            ground = _MARKS[look.tokens.dark][at == look.current]
            style = [f"background-color:{ground}; color:{look.tokens.text}"]
            break
    if span.style & Style.BOLD:
        drawn = f"<b>{drawn}</b>"
    if span.style & Style.ITALIC:
        drawn = f"<i>{drawn}</i>"
    if style:
        drawn = f'<span style="{"; ".join(style)}">{drawn}</span>'
    if span.href:
        color = look.tokens.quiet if start >= look.settled else look.tokens.user
        drawn = f'<a href="{html.escape(span.href)}" style="color:{color}">{drawn}</a>'
    return drawn


def _escaped(text: str) -> str:
    """As HTML; French signs keep to their word, so that no line begins with a question mark.

    No-break spaces of full width: Qt breaks lines at narrow ones (U+202F).
    """
    text = re.sub(r"[ \u202f]([?!;:»])", "\u00a0\\1", text).replace("«\u202f", "« ").replace("« ", "«\u00a0")
    return html.escape(text)
