"""The history as the model has read it, kept with a saved state."""

import json
import unicodedata
from collections.abc import Sequence

from kazeia_desktop.llm.base import Message


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


def agrees(saved: Sequence[Message], history: Sequence[Message]) -> bool:
    """Whether a state of `saved` is one of `history`; what came before was dropped when it was saved."""
    if not saved:
        return False
    rest = history[max(0, len(history) - len(saved)) :]
    return len(saved) == len(rest) and all(
        _compared(one) == _compared(other) and other.note in ("", one.note)
        for one, other in zip(saved, rest, strict=True)
    )


def _compared(message: Message) -> tuple[str, str]:
    """What is the same when texts were kept elsewhere meanwhile: line ends may be spaces, and notes are not kept."""
    return message.role, " ".join(unicodedata.normalize("NFC", message.text).split())
