"""`kazeia talk`: hands-free conversation on real devices, without the window."""

import argparse
import dataclasses
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from kazeia_desktop.cli.output import (
    EVENTS_KEPT,
    Subparsers,
    emitter,
    keep_setting,
    load_settings,
    print_json,
    print_text,
)
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.events import (
    ConversationOpened,
    Event,
    Exchange,
    Failed,
    Level,
    LoadProgress,
    Notice,
    ReplyDelta,
    SettingChanged,
    State,
    StateChanged,
    TurnEnded,
    UserText,
)
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.channel import Channel
from kazeia_desktop.translations import system_language, translate


def register(commands: Subparsers) -> None:
    """Add `talk`."""
    parser = commands.add_parser(
        "talk",
        help="talk hands-free, without the window",
        description="Hands-free conversation on the microphone and the loudspeaker. Ctrl-C ends it.",
    )
    parser.add_argument("--input", metavar="DEV", help="microphone; see `kazeia devices`")
    parser.add_argument("--output", metavar="DEV", help="loudspeaker")
    parser.add_argument("--turns", type=int, metavar="N", help="end after N answered turns")
    parser.add_argument("--resume", type=int, metavar="ID", help="go on with a kept conversation")
    parser.add_argument("--json", action="store_true", help="one JSON line an event")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Converse until Ctrl-C, SIGTERM or the last of `--turns`."""
    from kazeia_desktop.pipeline.builder import build
    from kazeia_desktop.settings.store import with_value

    paths, settings = load_settings()
    if options.input:
        settings = with_value(settings, "audio.input_device", options.input)
    if options.output:
        settings = with_value(settings, "audio.output_device", options.output)
    events: Channel[Event] = Channel(EVENTS_KEPT)
    with _stopped_by_signal(events):
        conversation = build(settings, paths, emitter(events))
        try:
            conversation.start()
            if conversation.state is State.IDLE:
                raise AudioDeviceError(
                    "There is no microphone to talk into: plug one in, see `kazeia devices`, or use `kazeia chat`."
                )
            if options.resume is not None:
                conversation.open_conversation(options.resume)
            _report(events, options.json, options.turns, paths)
        finally:
            events.close()
            conversation.close()
    return 0


@contextmanager
def _stopped_by_signal(events: Channel[Event]) -> Iterator[None]:
    """SIGINT and SIGTERM end the conversation in order."""

    def stop(number: int, frame: FrameType | None) -> None:
        threading.Thread(target=events.close, name="stop").start()  # the handler must not take a lock

    before = [(number, signal.signal(number, stop)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _report(events: Channel[Event], as_json: bool, turns: int | None, paths: Paths) -> None:
    answered = 0
    for event in events:
        if isinstance(event, SettingChanged):
            keep_setting(paths, event.key, event.value)
        if as_json:
            print_json({"event": _snake(type(event).__name__), **_plain(event)})
        else:
            _print(event)
        if isinstance(event, TurnEnded) and event.reason == "done":
            answered += 1
            if turns is not None and answered >= turns:
                return


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _plain(event: Event | Exchange) -> dict[str, object]:
    record: dict[str, object] = {}
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        record[field.name] = dict(value) if field.name in ("metrics", "values") else value
    if isinstance(event, ConversationOpened):
        record["exchanges"] = [_plain(exchange) for exchange in event.exchanges]
    if isinstance(event, Notice | Failed):
        record["values"] = {name: str(value) for name, value in event.values.items()}
        record["message"] = translate(event.template, system_language(), **event.values)
    return record


def _print(event: Event) -> None:
    language = system_language()
    match event:
        case LoadProgress(part, _):
            sys.stderr.write(f"  … {part}\n")
        case StateChanged(state):
            sys.stderr.write(f"[{translate(state.value, language)}]\n")
        case UserText(_, text, _):
            print_text(f"{translate('You', language)}: {text}")
        case TurnEnded(_, reply, "done" | "interrupted") if reply:
            print_text(f"Kazeia: {reply}")
        case Notice(template, values) | Failed(template, values, _, _):
            sys.stderr.write(translate(template, language, **values) + "\n")
        case Level() | ReplyDelta() | _:
            pass
