"""Headless commands. One module a group; each registers its parsers and imports its stages when run.

Exit codes: 0, or 1 for an error told in one plain line, or 2 for bad usage.
"""

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Sequence

from kazeia_desktop import __version__, log
from kazeia_desktop.errors import InferenceError, KazeiaError, UsageError
from kazeia_desktop.translations import system_language

_GROUPS = (
    "ask", "talk", "transcribe", "chat", "say", "decode", "split",
    "models", "voices", "conversations", "devices", "settings", "bench", "doctor", "running",
)  # fmt: skip
_IN_GROUP = {"toggle": "running", "show": "running", "quit": "running"}
"""Commands that are not called as their module."""


def parser(only: str = "") -> argparse.ArgumentParser:
    """The command line; with the name of a command in `only`, just that one, so that it starts fast."""
    description = (
        "A private voice assistant. Without a command: the window; with --background alone: the window, hidden where "
        "there is a tray."
    )
    top = argparse.ArgumentParser(prog="kazeia", description=description)
    top.add_argument("--version", action="version", version=f"kazeia {__version__}")
    only = _IN_GROUP.get(only, only)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for group in (only,) if only in _GROUPS else _GROUPS:
        importlib.import_module(f"kazeia_desktop.cli.{group}").register(commands)
    return top


def main(arguments: Sequence[str]) -> int:
    """Parse and run one command; returns its exit code."""
    log.set_up(None)
    try:
        if os.environ.get("KAZEIA_CPU_ISA"):
            importlib.import_module("kazeia_desktop._native")  # a value that cannot be used is told by every command
        options = parser(arguments[0]).parse_args(list(arguments))
        code: int = options.run(options)
        return code
    except SystemExit as stop:  # argparse has printed its own line
        return stop.code if isinstance(stop.code, int) else 2
    except KazeiaError as error:
        return _told(error)
    except ImportError as error:  # a library that Kazeia stands on; whatever command meets it first
        return _told(
            InferenceError(
                "A part of Kazeia is missing or broken ({reason}): delete the folder .venv and run `make build`.",
                reason=error,
            )
        )
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return 130


def _told(error: KazeiaError) -> int:
    """The error in one line; returns the exit code."""
    logging.getLogger(__name__).debug("command failed", exc_info=error)
    sys.stderr.write(f"kazeia: {error.told_in(system_language())}\n")
    return 2 if isinstance(error, UsageError) else 1
