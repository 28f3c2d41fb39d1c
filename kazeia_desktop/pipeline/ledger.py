"""Which messages of the model's history belong to which turn."""

import unicodedata
from collections.abc import Iterable, Sequence

from kazeia_desktop.llm.base import Message


class Ledger:
    """The turns that entered the session's history, in order. One thread: the language model's.

    The session drops turns by itself (a full context, an answer without a word), so a place is found from the end
    on, by the question's text.
    """

    def __init__(self) -> None:
        self._asked: list[tuple[int, str]] = []

    def add(self, turn_id: int, question: str) -> None:
        """The question entered the history."""
        self._asked.append((turn_id, _as_kept(question)))

    def replace(self, asked: Iterable[tuple[int, str]]) -> None:
        """Another history begins: (turn, question), oldest first."""
        self._asked = [(turn_id, _as_kept(question)) for turn_id, question in asked]

    def drop(self, first: int, last: int) -> None:
        """The turns `first` to `last` are no longer there."""
        self._asked = [one for one in self._asked if not first <= one[0] <= last]

    def span(self, history: Sequence[Message], first: int, last: int) -> tuple[int, int] | None:
        """Where the exchanges of the turns `first` to `last` are in the history: from, up to and without.

        None: nothing of them is there.
        """
        questions = [at for at, message in enumerate(history) if message.role == "user"]
        start, end = None, len(history)
        for turn_id, question in reversed(self._asked):
            if not questions or turn_id < first:
                break
            if history[questions[-1]].text != question:
                continue  # it was withdrawn
            at = questions.pop()
            if turn_id > last:
                end = at
            else:
                start = at
        return None if start is None or end <= start else (start, end)


def _as_kept(question: str) -> str:
    return unicodedata.normalize("NFC", question).strip()
