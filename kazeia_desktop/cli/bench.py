"""`kazeia bench`: side-by-side figures, as JSON and as a table."""

import argparse

from kazeia_desktop.cli.bench_llm import register as register_llm
from kazeia_desktop.cli.bench_stt import register as register_stt
from kazeia_desktop.cli.bench_tts import register as register_tts
from kazeia_desktop.cli.bench_turn import register as register_turn
from kazeia_desktop.cli.output import Subparsers


def register(commands: Subparsers) -> None:
    """Add `bench stt`, `bench llm`, `bench tts` and `bench turn`."""
    bench: argparse.ArgumentParser = commands.add_parser(
        "bench",
        help="measure this machine",
        description="Measure the stages on this machine, beside peers where installed.",
    )
    kinds = bench.add_subparsers(dest="kind", required=True, metavar="STAGE")
    register_stt(kinds)
    register_llm(kinds)
    register_tts(kinds)
    register_turn(kinds)
