"""How commands speak: results on stdout (text or JSON), everything else on stderr."""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from kazeia_desktop.errors import AudioFormatError, SettingsError
from kazeia_desktop.events import Event
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.channel import Channel, ChannelClosed
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.translations import system_language, translate

EVENTS_KEPT: Final = 10_000


class Subparsers(Protocol):
    """What `argparse.ArgumentParser.add_subparsers` returns, as far as commands use it."""

    def add_parser(self, name: str, *, help: str, description: str) -> argparse.ArgumentParser: ...


def print_json(record: Mapping[str, object]) -> None:
    """One JSON object on one line of stdout, flushed so that a reader sees it at once."""
    sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def print_text(text: str) -> None:
    """One line for a person, on stdout."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Sentence(Protocol):
    """An English template with its values."""

    @property
    def template(self) -> str: ...

    @property
    def values(self) -> Mapping[str, object]: ...


def print_told(told: Sentence) -> None:
    """One sentence for a person, in the system's language, on stderr."""
    sys.stderr.write(f"kazeia: {translate(told.template, system_language(), **told.values)}\n")


def load_settings() -> tuple[Paths, Settings]:
    """The directories and the stored settings: defaults where there are none, or, told in one line, where they
    cannot be used.
    """
    from kazeia_desktop.settings.store import SettingsStore

    paths = Paths.from_environment()
    store = SettingsStore(paths.settings_file)
    settings = store.load()
    if store.problem is not None:
        sys.stderr.write(f"kazeia: {store.problem.told_in(system_language())}\n")
    return paths, settings


def keep_setting(paths: Paths, key: str, value: float) -> None:
    """Store a setting that a tool changed; where that cannot be, it is told and holds for this run.

    Args:
        key: "section.field".
    """
    from kazeia_desktop.settings.store import SettingsStore, with_value

    store = SettingsStore(paths.settings_file)
    try:
        store.save(with_value(store.load(), key, value))
    except SettingsError as error:
        sys.stderr.write(f"kazeia: {error.told_in(system_language())}\n")


def check_place(path: Path) -> None:
    """Before long work: whether its result can be written to `path`.

    Raises:
        AudioFormatError: no such folder, a folder itself, or no permission.
    """
    folder = path.parent
    reason = ""
    if not folder.is_dir():
        reason = f"no folder {folder}"
    elif path.is_dir():
        reason = "is a folder"
    elif not os.access(path if path.exists() else folder, os.W_OK):
        reason = "no permission"
    if reason:
        raise AudioFormatError("{path} cannot be written ({reason}): choose another place.", path=path, reason=reason)


def emitter(events: Channel[Event]) -> Callable[[Event], None]:
    """A listener that hands events to `events` and never holds up a stage, also when nobody reads any more."""

    def emit(event: Event) -> None:
        with contextlib.suppress(ChannelClosed, TimeoutError):
            events.put(event, timeout_s=0.0)

    return emit
