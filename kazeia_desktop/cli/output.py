"""How commands speak: results on stdout (text or JSON), everything else on stderr."""

import argparse
import contextlib
import json
import sys
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from kazeia_desktop.events import Event
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.channel import Channel, ChannelClosed
from kazeia_desktop.settings.schema import Settings

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


def load_settings() -> tuple[Paths, Settings]:
    """The directories and the stored settings (defaults where there are none)."""
    from kazeia_desktop.settings.store import SettingsStore

    paths = Paths.from_environment()
    return paths, SettingsStore(paths.settings_file).load()


def emitter(events: Channel[Event]) -> Callable[[Event], None]:
    """A listener that hands events to `events` and never holds up a stage, also when nobody reads any more."""

    def emit(event: Event) -> None:
        with contextlib.suppress(ChannelClosed, TimeoutError):
            events.put(event, timeout_s=0.0)

    return emit
