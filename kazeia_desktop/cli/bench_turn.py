"""`kazeia bench turn`: the times of whole spoken turns, median of several runs of `kazeia ask`."""

import argparse
import statistics
from pathlib import Path
from typing import Final

from kazeia_desktop.cli.json_child import json_of
from kazeia_desktop.cli.output import Subparsers, print_json, print_text
from kazeia_desktop.errors import UsageError

SAMPLE_QUESTION: Final = Path("/usr/share/asterisk/sounds/fr_CA_f_June/vm-savefolder.wav")
"""A human question of 3 s, from Debian's asterisk-core-sounds-fr-wav."""


def register(kinds: Subparsers) -> None:
    """Add `bench turn`."""
    parser = kinds.add_parser(
        "turn",
        help="time a whole spoken turn",
        description="Runs `kazeia ask` on a spoken question several times, each in a process of its own.",
    )
    parser.add_argument("wav", type=Path, nargs="?", default=SAMPLE_QUESTION, metavar="WAV", help="the spoken question")
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Median and range of every time of a turn."""
    if options.runs < 1:
        raise UsageError("--runs must be at least 1, not {runs}.", runs=options.runs)
    turns = [_ask(options.wav) for _ in range(options.runs)]
    names = list(turns[0]["metrics"])
    figures: dict[str, dict[str, float]] = {}
    for name in names:
        values = [value for turn in turns if (value := turn["metrics"][name]) is not None]
        if values:
            figures[name] = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    if options.json:
        print_json({"wav": str(options.wav), "runs": options.runs, "metrics": figures, "turns": turns})
        return 0
    print_text(f"{'':20}{'median':>10}{'min':>10}{'max':>10}  (ms, {options.runs} runs)")
    for name, row in figures.items():
        print_text(f"{name:20}{row['median']:10.0f}{row['min']:10.0f}{row['max']:10.0f}")
    return 0


def _ask(wav: Path) -> dict[str, dict[str, float | None]]:
    return json_of("kazeia ask", ["kazeia_desktop", "ask", str(wav), "--json"])
