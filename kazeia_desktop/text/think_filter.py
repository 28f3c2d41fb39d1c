"""Keeps a model's reasoning out of what is shown and spoken."""

import re
from typing import Final

_NAMES: Final = ("think", "thinking", "thought", "reasoning")
_TAG: Final = re.compile(rf"<(/?)(?:{'|'.join(_NAMES)})\s{{0,8}}>", re.IGNORECASE)
_LONGEST_TAG: Final = max(len(name) for name in _NAMES) + 11
_TAG_START: Final = re.compile(r"</?[a-z]*\s{0,8}", re.IGNORECASE)


class ThinkFilter:
    """Text as the model writes it in, text without `<think>...</think>` out.

    Tags may be cut anywhere between pieces, nested, of either case, or never closed: what follows
    an unclosed one is dropped. A closing tag without an opening one is dropped too.
    """

    def __init__(self) -> None:
        self._held = ""  # may be the beginning of a tag
        self._depth = 0

    def push(self, text: str) -> str:
        """More text. Returns what is certainly visible."""
        return self._filter(self._held + text, final=False)

    def finish(self) -> str:
        """The text ends here. Returns what was held back; the filter is then as new."""
        visible = self._filter(self._held, final=True)
        self._held, self._depth = "", 0
        return visible

    def _filter(self, text: str, final: bool) -> str:
        visible: list[str] = []
        at = 0
        self._held = ""
        while True:
            tag = _TAG.search(text, at)
            end = tag.start() if tag else len(text)
            if tag is None and not final:
                end = self._held_from(text, at)
                self._held = text[end:]
            if self._depth == 0:
                visible.append(text[at:end])
            if tag is None:
                return "".join(visible)
            self._depth = max(0, self._depth + (-1 if tag[1] else 1))
            at = tag.end()

    @staticmethod
    def _held_from(text: str, at: int) -> int:
        """Where an unfinished tag begins at the end of `text`, or its length."""
        begin = text.rfind("<", max(at, len(text) - _LONGEST_TAG))
        if begin < 0 or not _TAG_START.fullmatch(text, begin):
            return len(text)
        name = text[begin + 1 :].lstrip("/").rstrip().lower()
        return begin if any(known.startswith(name) for known in _NAMES) else len(text)
