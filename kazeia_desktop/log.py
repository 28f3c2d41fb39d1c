"""Logging: to stderr for commands, to a rotating file for the window. Never what people say.

Text that the user speaks, types or hears is logged at DEBUG only.
"""

import contextlib
import logging
import logging.handlers
import os
import traceback
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FILE_NAME: Final = "kazeia.log"
_FORMAT = "%(asctime)s %(levelname)-7s %(threadName)s %(name)s: %(message)s"
_KEPT: Final = 50
_FRAMES: Final = 6


@dataclass(frozen=True, slots=True)
class Incident:
    """A warning or an error without anything that a person said, wrote or named.

    Attributes:
        at_s: `time.time()`.
        level: "WARNING", "ERROR" or "CRITICAL".
        logger: its name.
        told: the sentence of the source with its numbers; texts in it are "…". "" where the sentence is not ours.
        fault: the kind of the exception and where it came from; "" without one.
    """

    at_s: float
    level: str
    logger: str
    told: str
    fault: str


class RecentIncidents(logging.Handler):
    """Keeps the last warnings and errors of this run, for a report that may be shown to anybody."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._kept: deque[Incident] = deque(maxlen=_KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        """See logging.Handler."""
        ours = record.name.partition(".")[0] == "kazeia_desktop"
        told = _without_texts(str(record.msg), record.args) if ours else ""
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        fault = "" if error is None else where(error)
        self._kept.append(Incident(record.created, record.levelname, record.name, told, fault))

    def last(self) -> tuple[Incident, ...]:
        """Oldest first."""
        with self.lock or contextlib.nullcontext():
            return tuple(self._kept)


INCIDENTS: Final = RecentIncidents()
"""Like the loggers of a process there is one."""


def _without_texts(template: str, arguments: object) -> str:
    if not arguments or not isinstance(arguments, tuple):
        return template
    bare = tuple(value if isinstance(value, int | float) else "…" for value in arguments)
    try:
        return template % bare
    except (TypeError, ValueError):  # it wants a number where a text was
        return template


def where(error: BaseException) -> str:
    """The kind of an error and the last places it came through, without its message, which may hold what was said."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames)]
    return " < ".join((type(error).__name__, *places))


def set_up(log_dir: Path | None, default_level: str = "WARNING") -> None:
    """Configure the root logger.

    Args:
        log_dir: where `kazeia.log` is kept (three files of 1 MB); None logs to stderr only.
        default_level: level when KAZEIA_LOG is not set to a level's name.
    """
    level = os.environ.get("KAZEIA_LOG", default_level).upper()
    known = logging.getLevelNamesMapping()
    handlers: list[logging.Handler] = [logging.StreamHandler(), INCIDENTS]
    if log_dir is not None:
        log_dir.mkdir(parents=True, exist_ok=True)
        handlers.append(
            logging.handlers.RotatingFileHandler(
                log_dir / FILE_NAME, maxBytes=1_000_000, backupCount=2, encoding="utf-8", delay=True
            )
        )
    logging.basicConfig(level=known.get(level, logging.WARNING), format=_FORMAT, handlers=handlers, force=True)
    if level not in known:
        logging.getLogger(__name__).warning(
            "KAZEIA_LOG=%s is not a level; use one of DEBUG, INFO, WARNING, ERROR", level
        )
