"""Looking into a text that is still arriving, without ever guessing what follows."""

from typing import Final

NEWLINES: Final = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
LONGEST_WORD: Final = 24
_MARKS: Final = frozenset("*_~`\"“«([‘'")
"""Signs before a word that do not tell how the word begins."""
_MOST_MARKS: Final = 8


class More(Exception):
    """The text at hand does not allow a decision yet."""


class Lookahead:
    """The text from the head of the clause that is being read.

    Attributes:
        text: what has arrived.
        final: nothing follows.
    """

    def __init__(self) -> None:
        self.text = ""
        self.final = False
        self._gap = (0, 0)  # a run of white space that was looked at: no need to look again

    def restart_at(self, at: int) -> None:
        """Forget what stands before `at`."""
        self.text = self.text[at:]
        self._gap = (0, 0)

    def character(self, at: int) -> str:
        """The character at `at`; "" past the end of the whole text.

        Raises:
            More: it is not there yet.
        """
        if at < len(self.text):
            return self.text[at]
        if self.final:
            return ""
        raise More

    def after_spaces(self, at: int) -> int:
        """Where the run of white space at `at` ends: at a visible character, a line's end or the end of all."""
        begin, end = self._gap
        i = end if begin <= at <= end else at
        text = self.text
        while i < len(text) and text[i].isspace() and text[i] not in NEWLINES:
            i += 1
        self._gap = (at, i)
        self.character(i)
        return i

    def after_marks(self, at: int) -> str:
        """The character that a following sentence really begins with, behind quotes and emphasis."""
        for i in range(at, at + _MOST_MARKS):
            character = self.character(i)
            if character not in _MARKS and not character.isspace():
                return character
        return ""

    def word_at(self, at: int) -> str:
        """The letters from `at`, at most 24."""
        end = at
        while end < at + LONGEST_WORD and self.character(end).isalpha():
            end += 1
        return self.text[at:end]
