"""Cutting a reply into clauses while the model is still writing it.

A cut is decided only when the next visible character is known, so that the clauses are the same
whatever the size of the pieces in which the text arrives.
"""

import re
from typing import Final

_TERMINATORS: Final = frozenset(".!?…")
_CLOSERS: Final = frozenset("\"')]}”’»*_`")
_OPEN_TO_CLOSE: Final = {"«": "»", "“": "”", "(": ")", "[": "]"}
_LONGEST_BRACKET: Final = 240
"""A bracket or quote that is not closed within this many characters does not hold the cut back."""

_TITLES: Final = frozenset(
    "M MM Mr Mme Mmes Mlle Mlles Dr Drs Pr Me Mgr St Ste Mrs Ms Prof Gen Col Capt Lt Sgt Hon Gov Rev Sr Jr".split(" ")  # noqa: SIM905 - a list is easier to read as a line
)
"""Abbreviations before a name, as written: "5 m." is no title."""
_ABBREVIATIONS: Final = frozenset("cf av bd boul ex vs op ibid éd éds e.g i.e env approx inc ltd".split(" "))  # noqa: SIM905
"""Never the end of a sentence."""
_BEFORE_NUMBER: Final = frozenset(
    "p pp art chap fig vol n no nos réf tél tel ch jan feb mar apr jun jul aug sep sept oct nov dec janv".split(" ")  # noqa: SIM905
)
"""Only before a number: "n. 12", but "Non, sept. Puis huit."."""
_WORD_BEFORE: Final = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*$")
_LIST_NUMBER: Final = re.compile(r"\s*\d{1,3}$")
_FENCE: Final = "```"
_MIN_EARLY_CHARACTERS: Final = 15
_MIN_EARLY_WORDS: Final = 3
_SOFT_CUTS: Final = (";:", ",", "")
"""Where a sentence that is too long is cut: best first; "" is any space."""


class ClauseSplitter:
    """One reply's text in, its clauses out. Abbreviations of French and English are known together.

    Args:
        early_comma: cut the first clause at a comma where it is long enough, to speak sooner.
        max_characters: a sentence longer than this is cut at a pause; None never cuts one.
    """

    def __init__(self, early_comma: bool, max_characters: int | None = 200) -> None:
        self._early_comma = early_comma
        self._max_characters = max_characters
        self._first = True
        self._buffer = ""
        self._reset_scan()

    def _reset_scan(self) -> None:
        self._at = 0  # everything before was looked at and holds no cut
        self._brackets: list[tuple[str, int]] = []  # closing sign, where it was opened
        self._soft: dict[str, int] = {}  # class of soft cut -> the last place for it

    def push(self, text: str) -> list[str]:
        """More text. Returns the clauses that are now certain."""
        self._buffer += text
        return self._take(final=False)

    def finish(self) -> list[str]:
        """The text ends here. Returns what is left; the splitter is then as new."""
        clauses = self._take(final=True)
        rest = self._buffer.strip()
        if rest:
            clauses.append(rest)
        self._buffer, self._first = "", True
        self._reset_scan()
        return clauses

    def _take(self, final: bool) -> list[str]:
        clauses: list[str] = []
        while (cut := self._next_cut(final)) is not None:
            clause, self._buffer = self._buffer[:cut].strip(), self._buffer[cut:]
            self._reset_scan()
            if clause:
                clauses.append(clause)
                self._first = False
        return clauses

    def _next_cut(self, final: bool) -> int | None:
        text = self._buffer
        start = len(text) - len(text.lstrip())
        fence = self._fence_end(text, start, final)
        if fence is not None:
            return fence if fence > 0 else None
        while self._at < len(text):
            i = self._at
            sign = text[i]
            if sign == "\n" and text[:i].strip():
                return i + 1
            if sign in _TERMINATORS:
                end = self._end_of_signs(text, i)
                following = self._visible_after(text, end)
                if following is None:
                    if not final:
                        return None  # wait for the next visible character
                    self._at = len(text)
                    return None
                self._follow_brackets(text, i, end)
                if text[end].isspace() and not self._inside(end) and self._ends_sentence(text, i, end, following):
                    return end
                self._at = end
                continue
            if sign in ",;:" and text[i + 1 : i + 2] == "":
                if not final:
                    return None
            elif self._early_cut(text, i):
                if self._visible_after(text, i + 1) is None and not final:
                    return None
                return i + 1
            self._follow_brackets(text, i, i + 1)
            self._note_soft_cut(text, i)
            if self._max_characters is not None and i - start >= self._max_characters and self._soft:
                return next(self._soft[kind] for kind in _SOFT_CUTS if kind in self._soft)
            self._at = i + 1
        return None

    @staticmethod
    def _fence_end(text: str, start: int, final: bool) -> int | None:
        """End of the fenced code that begins at `start`; 0 to wait for more; None when there is none."""
        head = text[start : start + 3]
        if head != _FENCE:
            return 0 if not final and head and _FENCE.startswith(head) and start + len(head) == len(text) else None
        close = text.find(f"\n{_FENCE}", start + 3)
        line_end = text.find("\n", close + 4) if close >= 0 else -1
        if line_end >= 0:
            return line_end + 1
        return len(text) if final else 0

    @staticmethod
    def _end_of_signs(text: str, i: int) -> int:
        """Past the run of terminators and the quotes that close after it, a no-break space before » included."""
        end = i
        while end < len(text) and text[end] in _TERMINATORS:
            end += 1
        while end < len(text):
            if text[end] in _CLOSERS:
                end += 1
            elif text[end] in "\u00a0\u202f " and text[end + 1 : end + 2] == "»":
                end += 2
            else:
                break
        return end

    @staticmethod
    def _visible_after(text: str, at: int) -> str | None:
        """The next visible character, or None when it is not there yet."""
        for sign in text[at:]:
            if not sign.isspace():
                return sign
        return None

    def _follow_brackets(self, text: str, begin: int, end: int) -> None:
        for i in range(begin, end):
            sign = text[i]
            if sign in _OPEN_TO_CLOSE:
                self._brackets.append((_OPEN_TO_CLOSE[sign], i))
            elif any(sign == close for close, _ in self._brackets):
                while self._brackets and self._brackets.pop()[0] != sign:
                    pass

    def _inside(self, at: int) -> bool:
        return any(at - opened <= _LONGEST_BRACKET for _, opened in self._brackets)

    def _ends_sentence(self, text: str, i: int, end: int, following: str) -> bool:
        signs = text[i:end].rstrip("".join(_CLOSERS) + "\u00a0\u202f ")
        if "!" in signs or "?" in signs:
            return True
        if following.islower():
            return False
        if len(signs) > 1 or signs == "…":  # an ellipsis before a capital
            return True
        before = text[:i]
        if _LIST_NUMBER.fullmatch(before):
            return False
        word = _WORD_BEFORE.search(before)
        if word is None:
            return True
        name = word.group()
        if name in _TITLES or name.lower() in _ABBREVIATIONS:
            return False
        if following.isdigit() and name.lower() in _BEFORE_NUMBER:
            return False
        # An initial (J. Dupont), but not the end of S.N.C.F.
        return not (len(name) == 1 and name.isupper())

    def _early_cut(self, text: str, i: int) -> bool:
        if not (self._early_comma and self._first and text[i] == ",") or self._inside(i):
            return False
        before = text[:i].strip()
        return (
            text[i + 1 : i + 2].isspace()
            and len(before) >= _MIN_EARLY_CHARACTERS
            and len(before.split()) >= _MIN_EARLY_WORDS
        )

    def _note_soft_cut(self, text: str, i: int) -> None:
        """Remember where a too long sentence could be cut: behind a sign and a space, or at a space."""
        if not text[i].isspace() or text[i] in "\u00a0\u202f":
            return
        before = text[i - 1] if i else ""
        for kind in _SOFT_CUTS[:2]:
            if before and before in kind:
                self._soft[kind] = i
        if text[:i].strip():
            self._soft[""] = i
