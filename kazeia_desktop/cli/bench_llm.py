"""`kazeia bench llm`: how fast the language model reads and writes here."""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text, print_told
from kazeia_desktop.runtime.cancel import CancelToken

if TYPE_CHECKING:
    from kazeia_desktop.llm.llama import LlamaModel
    from kazeia_desktop.llm.spot import Spot
    from kazeia_desktop.paths import Paths
    from kazeia_desktop.runtime.core_share import CoreShare
    from kazeia_desktop.settings.schema import LlmSettings, Settings

_HISTORY_TOKENS: Final = 1500  # some twenty turns of a spoken conversation
_NEW_TOKENS: Final = 20
_WRITTEN_TOKENS: Final = 48
_RUNS: Final = 3
_BUSY: Final = (0, 1, 2)
_STORY: Final = "Il fait beau aujourd'hui et nous allons nous promener au bord de la mer. "
_QUESTIONS: Final = ("Bonjour, comment vas-tu ?", "Quelle est la capitale de la France ?", "Et de l'Italie ?")


def register(kinds: Subparsers) -> None:
    """Add `bench llm`."""
    parser = kinds.add_parser(
        "llm",
        help="time the language model",
        description="Reading and writing speed, alone and beside busy cores; the wait for a first token.",
    )
    parser.add_argument("--model", metavar="NAME|PATH", help="default: the setting llm.model")
    parser.add_argument("--device", metavar="NAME", help="default: the setting backends.llm_device")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Medians. Takes half a minute with the starter model on two cores."""
    from kazeia_desktop.llm.check_store import CheckStore
    from kazeia_desktop.llm.opening import choose, model_maker, spot_of
    from kazeia_desktop.llm.placement import read_facts
    from kazeia_desktop.models.catalog import Catalog
    from kazeia_desktop.models.store import ModelStore
    from kazeia_desktop.settings.store import with_value

    paths, settings = load_settings()
    if options.model:
        settings = with_value(settings, "llm.model", options.model)
    if options.device:
        settings = with_value(settings, "backends.llm_device", options.device)
    file: Path = ModelStore(paths.models_dir, Catalog.load()).require_weights(settings.llm.model)
    facts = read_facts(file)
    placement, _ = choose(file, facts, settings, CheckStore.of(paths))
    for told in placement.told:
        print_told(told)
    make_model = model_maker(facts, settings, placement)
    model = make_model(file, settings.llm, None)
    try:
        record: dict[str, object] = {"model": str(file), "threads": settings.llm.threads, "where": placement.words}
        record |= _reading(model)
        record["decode_ms_per_token"] = {str(n): _writing(model, n) for n in _BUSY}
    finally:
        model.close()
    record |= _first_tokens(file, settings.llm, make_model)
    record |= _work(file, settings.llm, spot_of(placement, settings))
    if placement.device:
        _mark_measured(paths, settings, placement.device)
    if options.json:
        print_json(record)
    else:
        for name, value in record.items():
            print_text(f"{name:24} {value}")
    return 0


def _reading(model: "LlamaModel") -> dict[str, object]:
    """The wait for a first token: a long history read anew, and a follow-up to it."""
    text = model.tokenize(_STORY * 150, special=False)
    n_history = min(_HISTORY_TOKENS, model.n_ctx - 2 * _NEW_TOKENS)
    whole_ms, follow_up_ms, n_read = [], [], []
    for run in range(_RUNS):
        history = [*model.tokenize(f"Essai {run} : ", special=False), *text][:n_history]
        whole_ms.append(_first_token_ms(model, history)[0])
        took_ms, n = _first_token_ms(model, [*history, *text[:_NEW_TOKENS]])
        follow_up_ms.append(took_ms)
        n_read.append(n)
    whole, follow_up = statistics.median(whole_ms), statistics.median(follow_up_ms)
    return {
        "prefill_tokens_per_s": round(1000 * n_history / whole, 1),
        "history_tokens": n_history,
        "history_ttft_ms": round(whole, 1),
        "followup_tokens": _NEW_TOKENS,
        "followup_prefilled_tokens": max(n_read),
        "followup_ttft_ms": round(follow_up, 1),
        "followup_ratio": round(follow_up / whole, 4),
    }


def _first_token_ms(model: "LlamaModel", prompt: list[int]) -> tuple[float, int]:
    """Time to the first token after a prompt, and how many of its tokens were read."""
    started = time.perf_counter()
    n_read = model.prefill(prompt, CancelToken())
    for _ in model.generate(1, CancelToken()):
        pass
    return (time.perf_counter() - started) * 1000, n_read


def _writing(model: "LlamaModel", n_busy: int) -> float:
    """Median ms a token beside some processes that keep a core busy each."""
    with _busy(n_busy):
        model.prefill(model.tokenize("Raconte une histoire. ", special=False), CancelToken())
        times = []
        last = time.perf_counter()
        for _ in model.generate(_WRITTEN_TOKENS, CancelToken()):
            now = time.perf_counter()
            times.append((now - last) * 1000)
            last = now
    return round(statistics.median(times), 2)


def _work(file: Path, settings: "LlmSettings", spot: "Spot") -> dict[str, object]:
    """Which device did what: a backend may leave any operation to the CPU without a word."""
    from kazeia_desktop.llm.node_watch import as_record, computed_on
    from kazeia_desktop.llm.work import measure_work

    work = measure_work(file, settings, spot)
    return {"computed_on": computed_on(work, spot.device or "CPU"), "work": as_record(work)}


def _mark_measured(paths: "Paths", settings: "Settings", name: str) -> None:
    """From now on the device counts as more than experimental here."""
    from kazeia_desktop.cli.compute import Compute

    compute = Compute(paths, settings)
    device = compute.find(name)
    verdict = compute.verdict(device)
    if verdict is not None and verdict.ok:
        compute.keep(device, replace(verdict, measured=True))


def _first_tokens(
    file: Path,
    settings: "LlmSettings",
    make_model: "Callable[[Path, LlmSettings, CoreShare | None], LlamaModel]",
) -> dict[str, object]:
    """What a person waits for in a conversation: the first turn, then a median follow-up."""
    from kazeia_desktop.llm.chat_session import LlamaChatSession

    session = LlamaChatSession(file, settings, make_model=make_model)
    waits = []
    try:
        for question in _QUESTIONS * 2:
            for _ in session.reply(question, CancelToken()):
                pass
            waits.append(session.stats.ttft_ms)
    finally:
        session.close()
    known = [wait for wait in waits[1:] if wait is not None]
    return {
        "ttft_first_turn_ms": None if waits[0] is None else round(waits[0], 1),
        "ttft_follow_up_ms": round(statistics.median(known), 1) if known else None,
    }


@contextmanager
def _busy(n: int) -> Iterator[None]:
    """Other work on `n` cores meanwhile."""
    context = multiprocessing.get_context("spawn")
    ready = context.Semaphore(0)
    processes = [context.Process(target=_burn, args=(ready,), daemon=True) for _ in range(n)]
    try:
        for process in processes:
            process.start()
        for _ in processes:
            ready.acquire(timeout=30)
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def _burn(ready: "multiprocessing.synchronize.Semaphore") -> None:
    ready.release()
    while True:
        pass
