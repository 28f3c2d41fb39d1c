"""Cutting a clause's phonemes into runs of the model.

A run yields its sound only at its end, and a long one cannot be interrupted as fast: so a clause is cut
at its signs into runs of a few seconds, and between words only where it must be.
"""

import re
from collections.abc import Iterator
from typing import Final

MAX_PHONEMES: Final = 508
"""Kokoro's positions are 512: two for the ends, and two that its authors leave free."""
GOOD_PHONEMES: Final = 80
"""About 5 s of speech: from here on a run ends at the next sign. Rendered in about 2 s."""
LONG_PHONEMES: Final = 200
"""Without any sign so far, a run ends between words from here on."""
SHORT_PHONEMES: Final = 20
"""The model swallows sounds of a shorter run: it is joined to its neighbour where there is one."""

_BEHIND_SIGN: Final = re.compile(r"(?<=[,.;:!?…—]) ")


def cut_into_pieces(said: str) -> list[str]:
    """Pieces of `said` in order, none empty, none over 508 symbols; only spaces between them are lost."""
    pieces: list[str] = []
    for part in _parts(said.strip()):
        room = LONG_PHONEMES if pieces and len(pieces[-1]) < SHORT_PHONEMES else GOOD_PHONEMES
        if pieces and len(pieces[-1]) + 1 + len(part) <= room:
            pieces[-1] = f"{pieces[-1]} {part}"
        else:
            pieces.append(part)
    if len(pieces) > 1 and len(pieces[-1]) < SHORT_PHONEMES and len(pieces[-2]) < LONG_PHONEMES:
        last = pieces.pop()
        pieces[-1] = f"{pieces[-1]} {last}"
    return pieces


def _parts(said: str) -> Iterator[str]:
    """What lies between signs, cut further where it is too long for one run."""
    for part in _BEHIND_SIGN.split(said):
        yield from _between_words(part) if len(part) > LONG_PHONEMES else [part] if part else []


def _between_words(part: str) -> Iterator[str]:
    held = ""
    for word in part.split():
        if held and len(held) + 1 + len(word) > LONG_PHONEMES:
            yield held
            held = ""
        held = f"{held} {word}" if held else word
        while len(held) > MAX_PHONEMES:
            yield held[:MAX_PHONEMES]
            held = held[MAX_PHONEMES:]
    if held:
        yield held
