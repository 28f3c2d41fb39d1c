"""An answer that is being written, and what of it was thought only."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from kazeia_desktop.llm.base import Message, ReplyStats
from kazeia_desktop.runtime.cancel import CancelToken

_OPENINGS: Final = ("<think>", "<thinking>", "<thought>", "<reasoning>")  # as text.think_filter knows them
_NAMES: Final = "(?:think|thinking|thought|reasoning)"
_REASONING: Final = re.compile(rf"<{_NAMES}\s*>.*?(?:</{_NAMES}\s*>|\Z)|</{_NAMES}\s*>", re.DOTALL | re.IGNORECASE)
_THINKING: Final = re.compile(rf"\s*<{_NAMES}\s*>(?!.*</{_NAMES}\s*>)", re.DOTALL | re.IGNORECASE)


@dataclass(slots=True)
class Answer:
    """prompt, opening: see Prompt. longest: tokens that it may have, a thought's not counted."""

    prompt: list[int]
    opening: str
    cancel: CancelToken
    called_s: float
    dropped: int
    longest: int
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


def visible_text(said: str) -> str:
    """An answer without reasoning."""
    return _REASONING.sub("", said)


def _is_thinking(said: str) -> bool:
    """Whether an answer so far is, or may become, a thought that is not closed."""
    begun = said.lstrip().lower()
    return any(tag.startswith(begun) for tag in _OPENINGS) or bool(_THINKING.match(said))
