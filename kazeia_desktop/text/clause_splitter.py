"""Cutting a reply into clauses while the model is still writing it.

A place is decided only when everything that the decision looks at is there, so that the clauses are
the same whatever the size of the pieces in which the text arrives. Time is linear in the text.
"""

import re
import unicodedata
from typing import Final

from kazeia_desktop.text.lookahead import LONGEST_WORD, NEWLINES, Lookahead, More
from kazeia_desktop.text.sentence_words import (
    BEFORE_NUMBER,
    CONJUNCTIONS,
    LETTER_NOUNS,
    NAME_ENDS,
    NEVER_LAST,
    STARTERS,
    TITLES,
)

LONGEST_CLAUSE: Final = 200
"""A longer sentence is cut at a pause: about 12 s of speech, what a voice renders before it must be heard."""

_TERMINATORS: Final = frozenset(".!?…。！？")
_WIDE_TERMINATORS: Final = frozenset("。！？")
_CLOSERS: Final = frozenset("\"')]}”’»*_~`")
_OPEN_TO_CLOSE: Final = {"«": "»", "“": "”", "(": ")", "[": "]"}
_NO_BREAK: Final = frozenset("\u00a0\u202f\u2007")
_NOT_AT_HEAD: Final = frozenset(",;:.!?…)]}»”%€")
"""A clause never begins with one of these."""
_INTERESTING: Final = re.compile(r"[\s.!?…。！？\"“”«»()\[\]`]")
_WORD_BEFORE: Final = re.compile(r"[^\W\d_]+(?:\.?-?[^\W\d_]+)*$")
_LIST_HEAD: Final = re.compile(r"(?:\d{1,3}(?:\.\d{1,3}){0,3}|[a-zA-Z]|[IVX]{1,5})$")
_LIST_AFTER_COLON: Final = re.compile(r"[:;][\s\u00a0\u202f]1$")
_PLAIN_WORD: Final = re.compile(r"(?:^|\s)[\w'’*-]+$")

_LONGEST_BRACKET: Final = 240
"""A bracket or quote that is not closed within this many characters does not hold a cut back."""
_LONGEST_CODE: Final = 160
_LONGEST_ROW: Final = 600
_LONGEST_RUN: Final = 40
"""Signs that stand together are looked at as one up to this many."""
_DEEPEST: Final = 16
"""Brackets within brackets; what opens deeper is not followed."""
_MIN_EARLY_CHARACTERS: Final = 15
_MIN_EARLY_WORDS: Final = 3
_MIN_SOFT_FRACTION: Final = 0.3
_N_SOFT_KINDS: Final = 5
"""Where a sentence that is too long is cut, best first: the end of a quoted sentence, ; or :, a comma or a
dash, a conjunction, any space."""
_QUOTED_END, _COLON, _COMMA, _CONJUNCTION, _SPACE = range(_N_SOFT_KINDS)


class ClauseSplitter:
    """One reply's text in, its clauses out, stripped of white space; nothing visible is lost.

    Fenced code is one clause, a table's row is one, and a line's end always ends one.

    Args:
        early_comma: cut the first clause at a comma where it is long enough, to speak sooner.
        language: "fr" or "en"; only tells whether "U.S." before a capital ends a sentence.
        max_characters: a sentence longer than this is cut at a pause; None never cuts one.
    """

    def __init__(self, early_comma: bool, language: str = "fr", max_characters: int | None = LONGEST_CLAUSE) -> None:
        self._early_comma = early_comma
        self._language = language
        self._max_characters = max_characters
        self._restart()

    def _restart(self) -> None:
        self._look = Lookahead()  # from the first visible character of the clause
        self._first = True  # nothing that can be said was cut yet
        self._line_start = True
        self._reset_scan()

    def _reset_scan(self) -> None:
        self._at = 0  # everything before was looked at and holds no cut
        self._seek = 0  # where the line of a fence or row begins that is not complete yet
        self._seen = 0  # no end of line from there up to here
        self._in_row: bool | None = None
        self._brackets: list[tuple[str, int]] = []  # closing sign, where it was opened
        self._soft: list[int | None] = [None] * _N_SOFT_KINDS

    def push(self, text: str) -> list[str]:
        """More text. Returns the clauses that are now certain."""
        self._look.text += text
        return self._take()

    def finish(self) -> list[str]:
        """The text ends here. Returns what is left; the splitter is then as new."""
        self._look.final = True
        clauses = self._take()
        if rest := self._look.text.strip():
            clauses.append(rest)
        self._restart()
        return clauses

    def _take(self) -> list[str]:
        clauses: list[str] = []
        while True:
            if self._at == 0:
                self._skip_lead()
            try:
                cut = self._next_cut()
            except More:
                return clauses
            if cut is None:
                return clauses
            clause = self._look.text[:cut].strip()
            self._look.restart_at(cut)
            self._line_start = False
            self._reset_scan()
            clauses.append(clause)
            if any(c.isalnum() for c in clause):
                self._first = False

    def _skip_lead(self) -> None:
        stripped = self._look.text.lstrip()
        lead = self._look.text[: len(self._look.text) - len(stripped)]
        self._line_start = self._line_start or not NEWLINES.isdisjoint(lead)
        self._look.text = stripped

    # ------------------------------------------------------------------ scanning

    def _next_cut(self) -> int | None:
        """Where the clause at the head of the buffer ends; None when the buffer holds no cut.

        Raises:
            More: not known yet.
        """
        if self._at == 0 and self._look.text:
            if (fence := self._fence_at_head()) is not None:
                return fence
            if (row := self._row_at_head()) is not None:
                return row
        while found := _INTERESTING.search(self._look.text, self._at):
            i = self._at = found.start()
            sign = self._look.text[i]
            if sign in NEWLINES:
                # The newline stays in the buffer: the next clause learns from it that it begins a line.
                return i
            if self._max_characters is not None and i >= self._max_characters and (cut := self._soft_cut()):
                return cut
            if sign in _TERMINATORS:
                brackets = self._brackets.copy()
                try:
                    cut, self._at = self._at_terminator(i)
                except More:
                    self._brackets = brackets  # the same signs are looked at again
                    raise
                if cut:
                    return self._at
            elif sign.isspace():
                end = self._look.after_spaces(i)
                if end < len(self._look.text) and self._look.text[end] not in NEWLINES and self._cut_at_space(i, end):
                    return i
                self._at = end
            elif sign == "`":
                cut, self._at = self._at_backtick(i)
                if cut:
                    return self._at
            else:
                self._follow_bracket(i)
                self._at = i + 1
        self._at = len(self._look.text)
        return None

    def _fence_at_head(self) -> int | None:
        """End of the fenced code at the head of the buffer, None when there is none."""
        sign = self._look.text[0]
        if sign != "`" and not (sign == "~" and self._line_start):
            return None
        n_signs = 0
        while n_signs < _LONGEST_RUN and self._look.character(n_signs) == sign:
            n_signs += 1
        if n_signs < 3:
            return None
        seek = self._seek or n_signs
        while (line_end := self._look.text.find("\n", max(seek, self._seen))) >= 0:
            line = self._look.text[seek:line_end]
            if seek == n_signs and sign * 3 in line:
                return None  # ```code``` within a line
            if seek > n_signs and self._closes_fence(line, sign * n_signs):
                return self._fence_end(seek, line, sign)
            seek = line_end + 1
        self._seek, self._seen = seek, len(self._look.text)
        if not self._look.final:
            raise More
        line = self._look.text[seek:]
        if seek == n_signs:
            return None if sign * 3 in line else len(self._look.text)
        return self._fence_end(seek, line, sign) if self._closes_fence(line, sign * n_signs) else len(self._look.text)

    @staticmethod
    def _closes_fence(line: str, fence: str) -> bool:
        """Text behind the closing fence is forgiven; "```js" opens another fence inside, it closes none."""
        line = line.strip()
        rest = line.lstrip(fence[0]).strip()
        return line.startswith(fence) and (not rest or not re.fullmatch(r"[\w+#.-]{1,20}", rest))

    @staticmethod
    def _fence_end(at: int, line: str, sign: str) -> int:
        return at + len(line) - len(line.lstrip().lstrip(sign))

    def _row_at_head(self) -> int | None:
        """End of the table's row at the head of the buffer, None when there is none."""
        if self._in_row is None:
            self._in_row = self._line_start and self._look.text[0] == "|"
        if not self._in_row:
            return None
        end = self._look.text.find("\n", self._seek, _LONGEST_ROW)
        if end >= 0:
            return end
        self._seek = min(len(self._look.text), _LONGEST_ROW)
        if len(self._look.text) < _LONGEST_ROW:
            if not self._look.final:
                raise More
            return len(self._look.text)
        self._in_row = False
        return None

    def _at_backtick(self, i: int) -> tuple[bool, int]:
        """Code within a line is passed over as one; three backticks that do not close on it begin a fence."""
        n_signs = 1
        while n_signs < _LONGEST_RUN and self._look.character(i + n_signs) == "`":
            n_signs += 1
        limit = i + n_signs + _LONGEST_CODE
        close = self._look.text.find("`" * n_signs, i + n_signs, limit)
        line_end = self._look.text.find("\n", i + n_signs, limit)
        if close >= 0 and not 0 <= line_end < close:
            return False, close + n_signs
        if close < 0 and line_end < 0 and len(self._look.text) < limit and not self._look.final:
            raise More
        is_fence = n_signs >= 3 and i > 0
        return is_fence, i if is_fence else i + n_signs

    # ------------------------------------------------------------------ brackets and quotes

    def _follow_bracket(self, i: int) -> None:
        text = self._look.text
        sign = text[i]
        if any(sign == close for close, _ in self._brackets):
            while self._brackets.pop()[0] != sign:
                pass
        elif sign == '"':
            before = text[i - 1] if i else " "
            if (before.isspace() or before in "([«*_") and not self._look.character(i + 1).isspace():
                self._brackets.append(('"', i))
        elif sign in _OPEN_TO_CLOSE:
            smiley = sign == "(" and i > 0 and (text[i - 1] in ":;=" or text[i - 2 : i] in (":-", ";-", ":'"))
            if not smiley and len(self._brackets) < _DEEPEST:
                self._brackets.append((_OPEN_TO_CLOSE[sign], i))

    def _inside(self, at: int) -> bool:
        while self._brackets and at - self._brackets[0][1] > _LONGEST_BRACKET:
            del self._brackets[0]
        return bool(self._brackets)

    # ------------------------------------------------------------------ ends of sentences

    def _at_terminator(self, i: int) -> tuple[bool, int]:
        """Whether the signs at `i` end the clause, and the place behind them and the quotes that close there."""
        end = i
        while end < i + _LONGEST_RUN and (self._look.character(end) or " ") in _TERMINATORS:
            end += 1
        signs = self._look.text[i:end]
        quoted = False
        while (sign := self._look.character(end)) != "" and end < i + 2 * _LONGEST_RUN:
            if sign in _CLOSERS:
                self._follow_closer(end)
                quoted = quoted or sign in "\"”»’'"
                end += 1
            elif sign.isspace() and self._look.character(end + 1) == "»":
                self._follow_closer(end + 1)
                quoted, end = True, end + 2
            elif unicodedata.category(sign) in ("So", "Sk", "Mn", "Cf", "Me"):  # an emoji stuck to its sentence
                end += 1
            else:
                break
        if sign == "" or sign in NEWLINES:
            return False, end
        if not sign.isspace():
            return self._ends_glued(signs, i, end), end
        following = self._look.after_spaces(end)
        if following == len(self._look.text) or self._look.text[following] in NEWLINES:
            return False, following
        if not self._ends_sentence(signs, i, following, quoted):
            return False, end
        if self._inside(end):
            self._soft[_QUOTED_END] = end
            return False, end
        return True, end

    def _follow_closer(self, i: int) -> None:
        if any(self._look.text[i] == close for close, _ in self._brackets):
            self._follow_bracket(i)

    def _ends_glued(self, signs: str, i: int, end: int) -> bool:
        """A missing space: "Bonjour !Comment", but not "a.b" or "page?Q=1"."""
        if self._inside(end):
            return False
        if not _WIDE_TERMINATORS.isdisjoint(signs):
            return True
        if not set(signs) - {"."} or not self._look.text[end].isupper():
            return False
        second = self._look.character(end + 1)
        starts = second == "" or second.isalpha() or second.isspace() or second in "'’"
        return bool(starts and _PLAIN_WORD.search(self._look.text[max(0, i - LONGEST_WORD) : i].rstrip()))

    def _ends_sentence(self, signs: str, i: int, following: int, quoted: bool) -> bool:
        head = self._look.after_marks(following)
        if self._look.text[following] in _NOT_AT_HEAD:
            return False
        if set(signs) - {".", "…"}:
            return not (quoted and head.islower())
        if len(signs) > 1 or signs == "…":
            return not head.islower()
        return self._stop_ends(i, following, head)

    def _stop_ends(self, i: int, following: int, head: str) -> bool:
        """Whether the single full stop at `i`, before a space, ends a sentence."""
        text = self._look.text
        before = text[max(0, i - LONGEST_WORD) : i]
        if i <= 12 and _LIST_HEAD.fullmatch(before.lstrip("*_#> ")) and not (before == "I" and self._language == "en"):
            return False
        if _LIST_AFTER_COLON.search(before):
            return False
        word = _WORD_BEFORE.search(before)
        if word is None:
            return not head.islower()
        name = word.group()
        lower = name.lower()
        if name in TITLES or lower in NEVER_LAST:
            return False
        if head.islower():
            # Who begins sentences in lower case ends them before lower case.
            return len(name) > 1 and lower not in BEFORE_NUMBER | NAME_ENDS | {"etc"} and text[0].islower()
        if lower in BEFORE_NUMBER and (head.isdigit() or (head in "IVXL" and self._is_roman(following))):
            return False
        if lower in NAME_ENDS or (self._language == "en" and "." in name):
            return not head.isalpha() or self._look.word_at(following) in STARTERS
        if len(name) == 1 and name.isupper():
            return self._letter_ends(before[: word.start()])
        return True

    def _is_roman(self, at: int) -> bool:
        word = self._look.word_at(at)
        return bool(word) and not set(word) - set("IVXLC")

    def _letter_ends(self, before: str) -> bool:
        """After a single capital: an initial ("J. Dupont") goes on, the name of a thing ("plan B.") ends."""
        words = before.split()
        return bool(words) and words[-1].lower().strip("*_") in LETTER_NOUNS

    # ------------------------------------------------------------------ cuts within a sentence

    def _cut_at_space(self, i: int, end: int) -> bool:
        """Whether to cut early at the space [i, end), or whether it is noted as a place for a soft cut."""
        text = self._look.text
        before, after = text[i - 1], text[end]
        if text[i] in _NO_BREAK or after in _NOT_AT_HEAD or before in "«([“" or (before in ",;:" and i < 2):
            return False
        sign = before if before in ",;:" else ""
        in_number = after.isdigit() and (before.isdigit() or (sign != "" and text[i - 2].isdigit()))
        if in_number:
            return False
        if self._inside(i):
            self._note(_SPACE, i)
            return False
        if sign and self._early_comma and self._first and self._long_enough(i):
            return True
        if self._max_characters is None:
            return False
        if sign:
            self._note(_COMMA if sign == "," else _COLON, i)
        elif after in "–—":
            self._note(_COMMA, i)
        elif after.isalpha() and self._look.word_at(end).lower() in CONJUNCTIONS:
            self._note(_CONJUNCTION, i)
        elif before != "." and not before.isdigit():
            self._note(_SPACE, i)
        return False

    def _note(self, kind: int, at: int) -> None:
        self._soft[kind] = at

    def _long_enough(self, i: int) -> bool:
        before = self._look.text[max(0, i - LONGEST_CLAUSE) : i]
        words = sum(any(c.isalpha() for c in word) for word in before.split())
        return i >= _MIN_EARLY_CHARACTERS and words >= _MIN_EARLY_WORDS

    def _soft_cut(self) -> int | None:
        """The best place so far; one that leaves a scrap at the head only when there is no other."""
        assert self._max_characters is not None
        noted = [at for at in self._soft if at]
        far = [at for at in noted if at >= self._max_characters * _MIN_SOFT_FRACTION]
        return next(iter(far or noted), None)
