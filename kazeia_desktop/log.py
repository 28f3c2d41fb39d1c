"""Logging: to stderr for commands, to a rotating file for the window. Never what people say.

Text that the user speaks, types or hears is logged at DEBUG only.
"""

import logging
import logging.handlers
import os
from pathlib import Path

_FORMAT = "%(asctime)s %(levelname)-7s %(threadName)s %(name)s: %(message)s"


def set_up(log_dir: Path | None, default_level: str = "WARNING") -> None:
    """Configure the root logger.

    Args:
        log_dir: where `kazeia.log` is kept (three files of 1 MB); None logs to stderr only.
        default_level: level when KAZEIA_LOG is not set to a level's name.
    """
    level = os.environ.get("KAZEIA_LOG", default_level).upper()
    known = logging.getLevelNamesMapping()
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    if log_dir is not None:
        log_dir.mkdir(parents=True, exist_ok=True)
        handlers.append(
            logging.handlers.RotatingFileHandler(
                log_dir / "kazeia.log", maxBytes=1_000_000, backupCount=2, encoding="utf-8", delay=True
            )
        )
    logging.basicConfig(level=known.get(level, logging.WARNING), format=_FORMAT, handlers=handlers, force=True)
    if level not in known:
        logging.getLogger(__name__).warning(
            "KAZEIA_LOG=%s is not a level; use one of DEBUG, INFO, WARNING, ERROR", level
        )
