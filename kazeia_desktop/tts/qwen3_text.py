"""Text to the talker's tokens, whole or piece by piece."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from kazeia_desktop._native import TalkerModel
from kazeia_desktop.frames import IntArray

_OPENING: Final = "<|im_start|>assistant\n"
_CLOSING: Final = "<|im_end|>\n" + _OPENING
N_ROLE: Final = 3
"""Tokens before the text: <|im_start|>, assistant, newline."""
N_CLOSING: Final = 5
"""Tokens after the text: <|im_end|>, newline, <|im_start|>, assistant, newline."""
_ENDS: Final = re.compile(r"(?<=\S) (?=\S)|(?<=[^\W_])(?=[。！？，、；：])")
"""Where Qwen's expression always cuts: before one space between two words, and before a mark after an ideograph."""


class TextTokenizer:
    """Qwen's byte-level BPE as llama.cpp has it, made equal to Hugging Face's.

    Hugging Face normalises to NFC first, llama.cpp does not. What looks like a special token in the text
    (`<|im_end|>`) is text: only the wrap may close the turn.
    """

    def __init__(self, vocabulary: TalkerModel) -> None:
        self._vocabulary = vocabulary
        self._opening = vocabulary.tokenize(_OPENING, True)
        self._closing = vocabulary.tokenize(_CLOSING, True)

    def wrapped(self, text: str) -> IntArray:
        """The text as an assistant's turn, as the official processor wraps it: (n,) int32."""
        # "assistant\n" is cut together with the text: line breaks that follow it join its own.
        head = self._opening[:1]
        body = self._plain("assistant\n" + _clean(text))
        return np.concatenate([head, body, self._closing]).astype(np.int32)

    def text(self, text: str) -> IntArray:
        """The tokens of the text alone: (n,) int32."""
        return self.wrapped(text)[N_ROLE:-N_CLOSING]

    def pieces(self, pieces: Iterable[str]) -> Iterator[int]:
        """Token after token of a text that comes piece by piece: those of the whole text, however it is cut.

        A word is cut into tokens when the next one has begun.
        """
        waiting, cut = "", self.text  # what follows "assistant\n" is cut together with it
        for piece in pieces:
            waiting += piece
            ends = [found.start() for found in _ENDS.finditer(waiting)]
            if ends:
                yield from cut(waiting[: ends[-1]]).tolist()
                waiting, cut = waiting[ends[-1] :], self._clean_plain
        if waiting:
            yield from cut(waiting).tolist()

    def _clean_plain(self, text: str) -> IntArray:
        return self._plain(_clean(text))

    def _plain(self, text: str) -> IntArray:
        return self._vocabulary.tokenize(text, False)


def _clean(text: str) -> str:
    """NFC, and lone surrogates (which no UTF-8 has) replaced."""
    return unicodedata.normalize("NFC", text).encode("utf-8", "replace").decode("utf-8")


class Pieces:
    """A text that comes piece by piece, and can be told again from its beginning."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._coming = iter(pieces)
        self._told: list[str] = []

    def again(self) -> Iterator[str]:
        """From the beginning, and on as it comes."""
        yield from self._told
        for piece in self._coming:
            self._told.append(piece)
            yield piece


def counted(pieces: Iterable[str], n_bytes: list[int]) -> Iterator[str]:
    """The pieces; what they have in UTF-8 is added to n_bytes[0] as they come."""
    for piece in pieces:
        n_bytes[0] += len(piece.encode("utf-8", "replace"))
        yield piece
