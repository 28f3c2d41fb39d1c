"""`kazeia bench`: side-by-side figures, as JSON and as a table."""

import argparse

from kazeia_desktop.cli import bench_llm, bench_stt, bench_turn
from kazeia_desktop.cli.output import Subparsers


def register(commands: Subparsers) -> None:
    """Add `bench stt`, `bench llm` and `bench turn`."""
    bench: argparse.ArgumentParser = commands.add_parser(
        "bench",
        help="measure this machine",
        description="Measure the stages on this machine, beside peers where installed.",
    )
    kinds = bench.add_subparsers(dest="kind", required=True, metavar="STAGE")
    bench_stt.register(kinds)
    bench_llm.register(kinds)
    bench_turn.register(kinds)
