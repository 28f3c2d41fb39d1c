"""Several clauses of our own voice at once, beside one after the other: a part of `kazeia bench tts`."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kazeia_desktop.cli.engine_process import EngineProcess
from kazeia_desktop.cli.tts_engines import OURS, STAGES

MOST: Final = 4
KEYS_HELP: Final = (
    "With N clauses: batchN_speedup and batchN_models_speedup, how many times as much they make at once as one after "
    "the other, altogether and of talker and code predictor; batchN_alone and batchN_together, the rtf and the ms per "
    "frame of each stage. The models' are taken while the codec rests."
)


def clauses(
    model_dir: Path, texts: Sequence[str], frames: int, threads: int, rounds: int, warm_up: tuple[str, int]
) -> dict[str, Any]:
    """Medians over `rounds`, both ways in turn in one process."""
    told: dict[tuple[bool, bool], list[dict[str, Any]]] = {}
    with EngineProcess(OURS, model_dir, threads) as engine:
        for together in (False, True):
            engine.speak_all([warm_up[0]] * len(texts), 0, min(warm_up[1], frames), together, True)
        for round_ in range(rounds):
            for streamed in (True, False):
                for together in (False, True):
                    answer = engine.speak_all(texts, 10 * round_ + 1, frames, together, streamed)
                    told.setdefault((together, streamed), []).append(answer)
    return _figures(f"batch{len(texts)}", told)


def _figures(name: str, told: Mapping[tuple[bool, bool], Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    ways: list[dict[str, float]] = []
    for together in (False, True):
        way = {"rtf": _median(told[together, True], "rtf", 3)}
        for stage in STAGES:
            way[stage] = _median(told[together, stage == "codec_ms"], stage, 2)
        ways.append(way)
    alone, at_once = ways
    models = [way["talker_ms"] + way["code_predictor_ms"] for way in ways]
    return {
        f"{name}_speedup": round(alone["rtf"] / at_once["rtf"], 2),
        f"{name}_models_speedup": round(models[0] / models[1], 2),
        f"{name}_alone": alone,
        f"{name}_together": at_once,
    }


def _median(answers: Sequence[Mapping[str, Any]], key: str, digits: int) -> float:
    return round(float(statistics.median(answer[key] for answer in answers)), digits)


def lines(row: Mapping[str, Any], n: int) -> list[str]:
    """What is printed of a model's figures; nothing where they were not taken."""
    name = f"batch{n}"
    if f"{name}_speedup" not in row:
        return []
    ways = (row[f"{name}_alone"], row[f"{name}_together"])
    rtf = [way["rtf"] for way in ways]
    models = [way["talker_ms"] + way["code_predictor_ms"] for way in ways]
    return [
        f"  {n} clauses at once: {row[f'{name}_speedup']:.2f} times as fast (RTF {rtf[0]:.2f} -> {rtf[1]:.2f}); talker "
        f"and code predictor {row[f'{name}_models_speedup']:.2f} times ({models[0]:.1f} -> {models[1]:.1f} ms a frame)"
    ]
