"""`kazeia bench llm`: how fast the language model reads and writes here."""

import argparse
import multiprocessing
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text
from kazeia_desktop.runtime.cancel import CancelToken

if TYPE_CHECKING:
    from kazeia_desktop.llm.llama import LlamaModel

_PROMPT_TOKENS: Final = 512
_WRITTEN_TOKENS: Final = 48
_RUNS: Final = 5


def register(kinds: Subparsers) -> None:
    """Add `bench llm`."""
    parser = kinds.add_parser(
        "llm", help="time the language model", description="Reading and writing speed, alone and beside busy threads."
    )
    parser.add_argument("--model", metavar="NAME|PATH", help="default: the setting llm.model")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Medians of 5 runs."""
    from kazeia_desktop.llm.llama import LlamaModel
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore
    from kazeia_desktop.settings.store import with_value

    paths, settings = load_settings()
    if options.model:
        settings = with_value(settings, "llm.model", options.model)
    file: Path = ModelStore(paths.models_dir, Catalog.load()).require_weights(settings.llm.model)
    model = LlamaModel(file, settings.llm)
    try:
        record: dict[str, object] = {"model": str(file), "threads": settings.llm.threads, **_prefill(model)}
        record["decode_ms_per_token"] = {str(busy): _decode(model, busy) for busy in (0, 1, 2)}
    finally:
        model.close()
    if options.json:
        print_json(record)
    else:
        for name, value in record.items():
            print_text(f"{name:24} {value}")
    return 0


def _prefill(model: "LlamaModel") -> dict[str, object]:
    tokens = model.tokenize("Il fait beau aujourd'hui et nous allons nous promener. " * 60, special=False)
    speeds = []
    follow_up = []
    for run in range(_RUNS):
        prompt = [*model.tokenize(f"Essai {run} : ", special=False), *tokens[:_PROMPT_TOKENS]]
        started = time.perf_counter()
        model.prefill(prompt, CancelToken())
        whole_s = time.perf_counter() - started
        started = time.perf_counter()
        model.prefill([*prompt, *tokens[:20]], CancelToken())
        speeds.append(len(prompt) / whole_s)
        follow_up.append((time.perf_counter() - started) / whole_s)
    return {
        "prefill_tokens_per_s": round(statistics.median(speeds), 1),
        "follow_up_of_whole": round(statistics.median(follow_up), 3),
    }


def _decode(model: "LlamaModel", n_busy: int) -> float:
    """Median ms a token with some processes that keep a core busy each."""
    busy = [multiprocessing.get_context("spawn").Process(target=_burn, daemon=True) for _ in range(n_busy)]
    for process in busy:
        process.start()
    try:
        time.sleep(1.0 if busy else 0.0)  # they need to have started
        model.prefill(model.tokenize("Raconte une histoire. ", special=False), CancelToken())
        times = []
        last = time.perf_counter()
        for _ in model.generate(_WRITTEN_TOKENS, CancelToken()):
            now = time.perf_counter()
            times.append((now - last) * 1000)
            last = now
        return round(statistics.median(times), 2)
    finally:
        for process in busy:
            process.kill()
            process.join()


def _burn() -> None:
    while True:
        pass
