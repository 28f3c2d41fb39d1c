"""Word error rate, with accents and punctuation folded."""

import re
import unicodedata
from collections.abc import Sequence


def words(text: str) -> list[str]:
    """Lower-case words without accents and punctuation."""
    plain = unicodedata.normalize("NFD", text.lower().replace("’", "'").replace("œ", "oe"))
    bare = "".join(c for c in plain if unicodedata.category(c) != "Mn")
    return re.sub(r"[^a-z0-9]+", " ", bare).split()


def word_errors(wanted: Sequence[str], heard: Sequence[str]) -> int:
    """Substitutions, deletions and insertions between two word lists (Levenshtein)."""
    row = list(range(len(heard) + 1))
    for i, want in enumerate(wanted, 1):
        before, row[0] = row[0], i
        for j, got in enumerate(heard, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (want != got))
    return row[-1]


def word_error_rate(wanted: Sequence[str], heard: Sequence[str]) -> float:
    """Errors over all texts / words wanted."""
    pairs = [(words(w), words(h)) for w, h in zip(wanted, heard, strict=True)]
    return sum(word_errors(w, h) for w, h in pairs) / max(1, sum(len(w) for w, _ in pairs))
