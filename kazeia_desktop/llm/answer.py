"""An answer that is being written, and what of it was thought only."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from kazeia_desktop.llm.base import Message, ReplyStats
from kazeia_desktop.llm.vocabulary import Vocabulary
from kazeia_desktop.runtime.cancel import CancelToken

_OPENINGS: Final = ("<think>", "<thinking>", "<thought>", "<reasoning>")  # as text.think_filter knows them
_TAG: Final = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)\s{0,8}>", re.IGNORECASE)
_NEARLY: Final = 0.8
_SENTENCE_ENDS: Final = (".", "!", "?", "…")
_ITEM: Final = re.compile(r"(?:\n|[.!?…:;]\s)\s*(?:\d{1,2}|[a-z])[.)]$", re.IGNORECASE)
"""The number of a list's next item ends in a full stop too."""
_FEW: Final = 4  # pieces in which a sentence's end is looked for


@dataclass(slots=True)
class Answer:
    """prompt, opening, thought: see Prompt. longest: tokens that it may have, a thought's not counted."""

    prompt: list[int]
    opening: str
    cancel: CancelToken
    called_s: float
    dropped: int
    longest: int
    thought: str = ""
    pieces: Iterator[tuple[int, str]] | None = None
    prefilled: int = 0
    said: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    spent: int = 0  # tokens of `longest`: all but those of a thought
    thinks: bool = True  # it may begin with a thought
    ttft_ms: float | None = None
    writing_s: float = 0.0

    def add(self, token: int, text: str) -> None:
        """One more token and the characters that it completes."""
        self.tokens.append(token)
        self.said.append(text)
        if self.thinks:
            self.thinks = _is_thinking("".join(self.said))
        self.spent += not self.thinks

    def may_end_before(self, text: str) -> bool:
        """Whether it is nearly as long as it may be, and `text` begins another sentence: what is spoken is not cut."""
        if self.spent < _NEARLY * self.longest or not text[:1].isspace():
            return False
        last = "".join(self.said[-_FEW:]).rstrip("»\"')\u202f\xa0 ")
        return last.endswith(_SENTENCE_ENDS) and _ITEM.search(last) is None

    def stats(self) -> ReplyStats:
        """Figures so far."""
        n = len(self.tokens)
        speed = (n - 1) / self.writing_s if n > 1 and self.writing_s > 0 else None
        return ReplyStats(self.prefilled, n, self.ttft_ms, speed, self.dropped)

    def message(self) -> Message:
        """What the history keeps of it."""
        said = "".join(self.said)
        visible = visible_text(said)
        if visible != said:
            return Message("assistant", visible.strip())
        # The context holds what the history says.
        return Message("assistant", visible.strip(), tuple(self.tokens), self.opening)


def shortened(message: Message, heard: str, vocabulary: Vocabulary) -> Message:
    """An answer of which only `heard` was heard.

    Its own tokens are kept as far as they say that: they may be others than the text's, and need no reading again.
    """
    wanted, said, n, n_bytes = heard.encode("utf-8", "replace"), b"", 0, 0
    for i, token in enumerate(message.tokens):
        said = (said + vocabulary.piece(token)).lstrip()
        if not wanted.startswith(said):
            break
        if len(said) == len(wanted) or not _is_inside_character(wanted[len(said)]):
            n, n_bytes = i + 1, len(said)
    rest = wanted[n_bytes:].decode("utf-8", "replace")
    tokens = (*message.tokens[:n], *vocabulary.tokenize(rest, special=False)) if n else ()
    return Message("assistant", heard, tokens, message.opening)


def _is_inside_character(byte: int) -> bool:
    """Whether it goes on with a UTF-8 character."""
    return byte & 0xC0 == 0x80


def visible_text(said: str) -> str:
    """An answer without reasoning, as text.think_filter leaves it: nested thoughts, and one never closed, are none."""
    visible, depth, at = [], 0, 0
    for tag in _TAG.finditer(said):
        if depth == 0:
            visible.append(said[at : tag.start()])
        depth = max(0, depth + (-1 if tag[1] else 1))
        at = tag.end()
    if depth == 0:
        visible.append(said[at:])
    return "".join(visible)


def _is_thinking(said: str) -> bool:
    """Whether an answer so far is, or may become, a thought that is not closed."""
    begun = said.lstrip().lower()
    if any(tag.startswith(begun) for tag in _OPENINGS):
        return True
    opened = _TAG.match(begun)
    return opened is not None and not opened[1] and not visible_text(said).strip()
