"""Reading the end of the log file: entries with their levels, filtered. No Qt."""

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import StorageError

TAIL_BYTES: Final = 1 << 18
SHOWN_LINES: Final = 1000
_HEAD: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) ([A-Z]+) +(.*?) ([\w.]+): ")
"""`log.FORMAT`: time, level, thread, logger."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record: its lines, a traceback included. level: as `logging` counts."""

    level: int
    text: str

    @property
    def head(self) -> str:
        """Time, level and logger, without what was said."""
        found = _HEAD.match(self.text)
        return " ".join((found[1], found[2], found[4])) if found else ""


def read_tail(file: Path, most_bytes: int = TAIL_BYTES) -> tuple[Entry, ...]:
    """The newest whole entries within the last `most_bytes` of the file; none where there is no file.

    Raises:
        StorageError: it is there and cannot be read.
    """
    try:
        with file.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - most_bytes))
            text = stream.read(most_bytes).decode("utf-8", "replace")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StorageError(
            "The log {file} cannot be read ({reason}). Check its permissions.",
            file=str(file), reason=error.strerror or type(error).__name__,
        ) from error  # fmt: skip
    return parse(text)


def parse(text: str) -> tuple[Entry, ...]:
    """The entries of a piece of a log; what stands before the first one's head is dropped."""
    levels = logging.getLevelNamesMapping()
    found: list[tuple[int, list[str]]] = []
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head is not None:
            found.append((levels.get(head[2], logging.INFO), [line]))
        elif found:
            found[-1][1].append(line)
    return tuple(Entry(level, "\n".join(lines)) for level, lines in found)


def shown(entries: Iterable[Entry], least_level: int, words: str, most_lines: int = SHOWN_LINES) -> str:
    """The newest entries of at least that level that hold `words` (without case), as text."""
    wanted = words.strip().casefold()
    kept = [e.text for e in entries if e.level >= least_level and (not wanted or wanted in e.text.casefold())]
    return "\n".join("\n".join(kept).splitlines()[-most_lines:])
