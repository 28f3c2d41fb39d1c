"""`kazeia chat`: a typed conversation on stdin and stdout."""

import argparse
import contextlib
import io
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text, print_told
from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.llm.base import ChatSession, ReplyStats
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.translations import system_language

if TYPE_CHECKING:
    from kazeia_desktop.cli.chat_partner import Partner
    from kazeia_desktop.llm.llama import LlamaModel


def register(commands: Subparsers) -> None:
    """Add `chat`."""
    parser = commands.add_parser(
        "chat",
        help="typed conversation",
        description="One message a line on stdin, replies on stdout. Ctrl-C stops a reply, Ctrl-D ends.",
    )
    parser.add_argument("--model", metavar="NAME|PATH", help="default: the setting llm.model")
    parser.add_argument("--language", choices=("fr", "en"), help="default: the setting llm.language")
    parser.add_argument("--raw", action="store_true", help="continue each line as it stands: no template, no history")
    parser.add_argument("--no-tools", action="store_true", help="the model answers everything, also the time")
    parser.add_argument("--resume", type=int, metavar="ID", help="go on with a kept conversation")
    parser.add_argument("--json", action="store_true", help="one JSON line a reply")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, reply, until the end of input. A message that fails is told and the conversation goes on."""
    from kazeia_desktop.cli.chat_partner import Partner
    from kazeia_desktop.llm.llama import LlamaModel
    from kazeia_desktop.llm.opening import open_session
    from kazeia_desktop.llm.trial import try_model
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore, is_path
    from kazeia_desktop.settings.store import with_value

    paths, settings = load_settings()
    for name in ("model", "language"):
        if getattr(options, name):
            settings = with_value(settings, f"llm.{name}", getattr(options, name))
    store = ModelStore(paths.models_dir, Catalog.load())
    file = store.require_weights(settings.llm.model)
    if is_path(settings.llm.model):
        try_model(file, settings.llm, paths)
    if options.raw:
        model = LlamaModel(file, settings.llm)
        with contextlib.closing(model):
            return _each_line(lambda line: _continue(model, line, options.json))
    session = open_session(file, settings, paths, print_told).session
    with (
        contextlib.closing(session),
        contextlib.closing(Partner(session, paths, settings, not options.no_tools)) as who,
    ):
        if options.resume is not None:
            who.resume(options.resume)
        return _each_line(lambda line: _reply(who, session, line, options.json))


def _each_line(answer: Callable[[str], None]) -> int:
    """The exit code: 1 when a line failed."""
    failed = False
    for line in _lines():
        try:
            answer(line)
        except KazeiaError as error:
            failed = True
            sys.stderr.write(f"kazeia: {error.told_in(system_language())}\n")
    return 1 if failed else 0


def _lines() -> Iterator[str]:
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # a byte that is no character must not end the conversation
    while True:
        if sys.stdin.isatty():
            sys.stderr.write("> ")
            sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()


def _reply(who: "Partner", session: ChatSession, message: str, as_json: bool) -> None:
    cancel = CancelToken()
    said = _written(_visible(who, message, cancel), cancel, as_json)
    if not as_json:
        return
    stats = ReplyStats(0, 0, None, None) if who.by_tool else session.stats
    print_json(
        {
            "reply": said.rstrip(),
            "ttft_ms": None if stats.ttft_ms is None else round(stats.ttft_ms, 1),
            "tokens_per_s": None if stats.tokens_per_s is None else round(stats.tokens_per_s, 2),
            "prefilled_tokens": stats.prefilled_tokens,
            "generated_tokens": stats.generated_tokens,
            "dropped_turns": stats.dropped_turns,
            "cancelled": cancel.is_set(),
            "by_tool": who.by_tool,
        }
    )


def _continue(model: "LlamaModel", prompt: str, as_json: bool) -> None:
    cancel = CancelToken()
    said = _written(model.generate_raw(prompt, cancel), cancel, as_json)
    if as_json:
        print_json({"reply": said, "cancelled": cancel.is_set()})


def _written(pieces: Iterator[str], cancel: CancelToken, silent: bool) -> str:
    """All pieces, each written as it comes unless `silent`; Ctrl-C stops them."""
    said: list[str] = []
    with _ctrl_c_sets(cancel):
        for piece in pieces:
            said.append(piece)
            if not silent:
                sys.stdout.write(piece)
                sys.stdout.flush()
    if not silent:
        print_text("")
    return "".join(said)


def _visible(who: "Partner", message: str, cancel: CancelToken) -> Iterator[str]:
    """The reply without reasoning and without leading space, as it is written."""
    from kazeia_desktop.text.think_filter import ThinkFilter

    thoughts = ThinkFilter()
    begun = False
    for raw in who.reply(message, cancel):
        piece = thoughts.push(raw)
        piece = piece if begun else piece.lstrip()
        if piece:
            begun = True
            yield piece
    rest = thoughts.finish()
    if rest and not cancel.is_set():
        yield rest


@contextlib.contextmanager
def _ctrl_c_sets(cancel: CancelToken) -> Iterator[None]:
    """While a reply is written Ctrl-C stops it; otherwise it ends the program."""

    def stop(number: int, frame: FrameType | None) -> None:
        cancel.set()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
