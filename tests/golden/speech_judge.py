"""Whether an answer may be spoken: the fixed patterns of data/speech_dialogues.toml."""

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

DATA: Final = Path(__file__).parent / "data" / "speech_dialogues.toml"

_PLAIN: Final = str.maketrans({"’": "'", "\u00a0": " ", "\u202f": " ", "\u2009": " "})
_END: Final = re.compile(r"[.!?…]+(?=[\s\"»)]|$)|\n+")
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_RUN: Final = 5
"""So many words in a row of what nobody heard are its continuation."""


@dataclass(frozen=True, slots=True)
class Turn:
    """See the data file. written, heard: words; None: not interrupted."""

    user: str
    must: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    by: str = ""
    language: str = "fr"
    written: int | None = None
    heard: int = 0


@dataclass(frozen=True, slots=True)
class Dialogue:
    name: str
    kind: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Common:
    """What holds for every answer."""

    sentences: int
    words: int
    never: tuple[str, ...]
    fr: frozenset[str]
    en: frozenset[str]


def load(path: Path = DATA) -> tuple[Common, list[Dialogue]]:
    """The committed dialogues of a file; what holds for every answer is in `DATA`."""
    data: dict[str, Any] = tomllib.loads(DATA.read_text(encoding="utf-8"))
    common = data["common"]
    rows = data["dialogue"] if path == DATA else tomllib.loads(path.read_text(encoding="utf-8"))["dialogue"]
    words = {language: frozenset(common[language].split()) for language in ("fr", "en")}
    dialogues = [Dialogue(row["name"], row["kind"], tuple(map(_turn, row["turn"]))) for row in rows]
    return Common(common["sentences"], common["words"], tuple(common["never"]), words["fr"], words["en"]), dialogues


def _turn(row: dict[str, Any]) -> Turn:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Turn(**values)


def plain(text: str) -> str:
    """NFC, with plain apostrophes and spaces."""
    return unicodedata.normalize("NFC", text).translate(_PLAIN).strip()


def words(text: str) -> list[str]:
    """In lower case; "j'habite" is one."""
    return _WORD.findall(plain(text).lower())


def sentences(text: str) -> int:
    """Parts with a letter or a figure between ends of sentences and of lines."""
    return sum(1 for part in _END.split(plain(text)) if _WORD.search(part))


def language_of(text: str, common: Common) -> str:
    """ "fr", "en", or "" where nothing tells."""
    said = words(text)
    # "l'heure" tells as well as "le"
    fr = sum(word in common.fr or re.match(r"[cdjlmnstqy]u?'", word) is not None for word in said)
    en = sum(word in common.en for word in said)
    return "" if fr == en else "fr" if fr > en else "en"


def faults(turn: Turn, answer: str, by_tool: bool, unheard: Sequence[str], common: Common) -> list[str]:
    """What is wrong with an answer; nothing: it is as a listener wants it.

    Args:
        answer: what is shown, whole; of an interrupted one what was written.
        unheard: rests of earlier answers that were interrupted.
    """
    text, found = plain(answer), []
    if not words(text):
        return ["empty"]
    if turn.by and (turn.by == "tool") is not by_tool:
        found.append("answered by the model" if turn.by == "tool" else "answered by a tool")
    found += [f"has {p}" for p in (*common.never, *turn.never) if re.search(p, text, re.IGNORECASE | re.MULTILINE)]
    found += [f"lacks {p}" for p in turn.must if not re.search(p, text, re.IGNORECASE)]
    if turn.written is None:
        if (n := sentences(text)) > common.sentences:
            found.append(f"{n} sentences")
        if (n := len(words(text))) > common.words:
            found.append(f"{n} words")
    said = language_of(text, common)
    if turn.language != "any" and said != turn.language and (said or len(words(text)) > 4):
        found.append(f"language {said or 'unknown'}")
    if any(_runs(words(rest)) & _runs(words(text)) for rest in unheard):
        found.append("goes on with what was interrupted")
    return found


def _runs(said: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(said[at : at + _RUN]) for at in range(len(said) - _RUN + 1)}
