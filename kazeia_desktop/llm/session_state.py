"""The history as the model has read it, kept with a saved state."""

import json
import unicodedata
from collections.abc import Sequence
from typing import Final

from kazeia_desktop.llm.answer import shortened
from kazeia_desktop.llm.base import Message
from kazeia_desktop.llm.vocabulary import Vocabulary

_EXCHANGE: Final = 2
"""Messages that agree at least."""


def packed(history: Sequence[Message], summary: str = "") -> bytes:
    """With tokens and openings. summary: of what was forgotten before."""
    read = [[m.role, m.text, m.note, m.opening, list(m.tokens)] for m in history]
    return json.dumps({"summary": summary, "history": read}).encode()


def unpacked(data: bytes) -> tuple[list[Message], str]:
    """The history and the summary that `packed` was given, from a file that is known to be whole."""
    kept = json.loads(data)
    if not isinstance(kept, dict):
        return [], ""  # of an earlier form
    read = [Message(role, text, tuple(tokens), opening, note) for role, text, note, opening, tokens in kept["history"]]
    return read, kept["summary"]


def joined(saved: Sequence[Message], history: Sequence[Message], vocabulary: Vocabulary) -> list[Message] | None:
    """`history` as the model has read it, as far as a state of `saved` is one of it; None: of none of it.

    What `saved` does not begin with was dropped before it was saved, and stays so. An answer of which the history
    has only the beginning keeps the tokens that say that. What follows is as the history has it, to be read anew.
    """
    best, at = 0, 0
    for start in range(0, len(history), 2):
        n = _agreeing(saved, history[start:])
        if n > best:
            best, at = n, start
    if best < _EXCHANGE:
        return None
    rest = list(history[at + best :])
    if rest and best < len(saved) and rest[0].role == saved[best].role == "assistant":
        rest[0] = shortened(saved[best], rest[0].text, vocabulary)
    elif best % 2:
        return [*saved[: best - 1], *history[at + best - 1 :]]
    return [*saved[:best], *rest]


def _agreeing(saved: Sequence[Message], history: Sequence[Message]) -> int:
    """How many messages are the same, from the first on."""
    n = 0
    for one, other in zip(saved, history, strict=False):
        if _compared(one) != _compared(other) or other.note not in ("", one.note):
            break
        n += 1
    return n


def _compared(message: Message) -> tuple[str, str]:
    """What is the same when texts were kept elsewhere meanwhile: their spaces may differ, and notes are not kept."""
    return message.role, "".join(unicodedata.normalize("NFC", message.text).split())
