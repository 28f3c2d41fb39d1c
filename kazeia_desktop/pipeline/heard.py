"""What somebody heard of a reply, as text, from what the loudspeaker has played."""

import difflib
import re
import unicodedata
from collections.abc import Mapping, Sequence

from kazeia_desktop.audio.base import Heard

_CHARACTERS_PER_S = 15.0  # French and English read aloud: 14-16 characters a second
_MIN_ECHO_WORDS = 3
_ECHO_RATIO = 0.75
_CUT = "…"


def heard_text(clauses: Mapping[int, str], heard: Sequence[Heard], sample_rate_hz: int) -> str:
    """The part of a reply that was played.

    Args:
        clauses: index of a clause -> its text.
        heard: what was played of each clause.
        sample_rate_hz: of the samples counted in `heard`.
    Returns:
        Clauses played to the end, then the whole words of the one that was cut, ended by "…".
    """
    said: list[str] = []
    for part in sorted(heard, key=lambda h: h.clause_index):
        text = clauses.get(part.clause_index, "").strip()
        if not text or part.played_samples <= 0:
            continue
        total = part.total_samples
        if not part.complete:  # still being made: its length is guessed from its text
            total = max(total, int(len(text) / _CHARACTERS_PER_S * sample_rate_hz))
        if part.played_samples >= total:
            said.append(text)
            continue
        words = text.split()
        n_heard = int(len(words) * part.played_samples / total)
        if n_heard:
            said.append(" ".join(words[:n_heard]).rstrip(" ,;:") + _CUT)
        break
    return " ".join(said)


def without_cut(heard: str) -> str:
    """As the model remembers it: a small one that has seen "…" at the end of two answers ends the third one so."""
    return heard.removesuffix(_CUT)


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFD", text.lower())
    return re.findall(r"[a-z0-9]+", "".join(c for c in plain if not unicodedata.combining(c)))


def is_echo(transcript: str, spoken: str) -> bool:
    """Whether `transcript` is the microphone's hearing of our own `spoken` words.

    Three words or more of which three quarters stand, in order, in what was just spoken. Shorter
    ones are never called an echo: "oui" is an answer.
    """
    words, ours = _words(transcript), _words(spoken)
    if len(words) < _MIN_ECHO_WORDS or not ours:
        return False
    matcher = difflib.SequenceMatcher(a=words, b=ours, autojunk=False)
    matched = sum(block.size for block in matcher.get_matching_blocks())
    return matched / len(words) >= _ECHO_RATIO
