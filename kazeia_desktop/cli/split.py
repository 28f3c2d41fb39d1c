"""`kazeia split`: the clauses that would be spoken for a text."""

import argparse
import sys

from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text
from kazeia_desktop.errors import UsageError


def register(commands: Subparsers) -> None:
    """Add `split`."""
    parser = commands.add_parser(
        "split",
        help="cut a text into spoken clauses",
        description="Text on stdin, one spoken clause a line: reasoning removed, clauses cut, written as spoken.",
    )
    parser.add_argument("--raw", action="store_true", help="sentences as displayed, before normalisation")
    parser.add_argument("--piece", type=int, default=0, metavar="N", help="feed the text N characters at a time")
    parser.add_argument("--language", choices=("fr", "en"), help="default: the voice's")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compose think filter, splitter and normaliser as the conversation does."""
    from kazeia_desktop.text.clause_splitter import ClauseSplitter
    from kazeia_desktop.text.normalizer import normalize
    from kazeia_desktop.text.think_filter import ThinkFilter

    if options.piece < 0:
        raise UsageError("--piece must be 0 or more, not {n}.", n=options.piece)
    settings = load_settings()[1]
    language = options.language or settings.tts.language
    text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    size = options.piece or max(1, len(text))
    thoughts = ThinkFilter()
    splitter = (
        ClauseSplitter(False, language, max_characters=None)
        if options.raw
        else ClauseSplitter(settings.tts.early_comma, language)
    )
    clauses: list[str] = []
    for at in range(0, len(text), size):
        clauses += splitter.push(thoughts.push(text[at : at + size]))
    clauses += splitter.push(thoughts.finish())
    clauses += splitter.finish()
    if not options.raw:
        clauses = [said for clause in clauses if (said := normalize(clause, language))]
    if options.json:
        print_json({"clauses": clauses})
    else:
        for clause in clauses:
            print_text(clause)
    return 0
