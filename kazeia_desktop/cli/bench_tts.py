"""`kazeia bench tts`: our own voice beside qwentts.cpp, a model a weight type.

Both live in processes of their own and speak the same texts in turn, so the machine's noise meets both alike. The
peer (`pip install realtimetts-qwen-native-cpu`, files from tools/make_qwentts_models.py) is null where it is missing.
"""

import argparse
import importlib.util
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kazeia_desktop.cli.bench_clauses import KEYS_HELP, MOST, clauses, lines
from kazeia_desktop.cli.engine_process import EngineProcess
from kazeia_desktop.cli.json_child import json_of
from kazeia_desktop.cli.machine_probe import machine_state
from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text
from kazeia_desktop.cli.tts_engines import OURS, PEER, PEER_MODULE, STAGES, qwentts_folder
from kazeia_desktop.errors import InferenceError, ModelMissingError, UsageError
from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.voice_manifest import CODE_PREDICTOR, FILE, TALKER, load_manifest
from kazeia_desktop.runtime.cores import others_busy_s
from kazeia_desktop.translations import system_language, translate

TEXTS: Final = (
    "Bonjour, je m'appelle Kazeia, je suis encore en phase de développement.",
    "Demain matin, il fera beau sur toute la côte, puis quelques nuages viendront du nord.",
    "La réunion est déplacée à quinze heures, et je vous rappelle d'apporter le dossier bleu.",
    "Je peux chercher une recette, lire vos messages ou raconter une histoire aux enfants.",
    "Le train de neuf heures douze part de la voie trois, avec cinq minutes de retard.",
)
"""About five seconds each; another one each round, so that no state kept of a text helps."""
_WARM_UP: Final = ("Un instant, je me prépare.", 8)
_LOADS: Final = 3
_CLAUSE_ROUNDS: Final = 3
_MOST_THREADS: Final = 32
"""As the settings take them: more would only wait for each other, and a typing error would make millions."""
_READ_GB_S: Final = 17.5
_GFLOP_S: Final = 144.0
"""What two AVX2 cores of the reference machine reach: a probe that found less was disturbed."""
_CODEC_GFLOP: Final = 4.96
"""Of one frame through the codec's decoder, counted from its layers."""
_SWEEPS: Final = 15
"""Times that the code predictor reads its layers for a frame; each of its heads once."""
_DRIFT: Final = 0.1
_DISTURBED_CORES: Final = 0.1
"""Other work that makes figures worthless: qwentts.cpp's threads spin, and lose a factor beside a busy process."""


def register(kinds: Subparsers) -> None:
    """Add `bench tts`."""
    parser = kinds.add_parser(
        "tts",
        help="time Kazeia's own voice beside its peer",
        description="Speed and memory of Kazeia's own voice beside qwentts.cpp, or a check of what it says. The time "
        "to load it (load_s) is taken in fresh processes, from files that are in memory already. " + KEYS_HELP,
    )
    parser.add_argument("--model", type=Path, action="append", metavar="DIR", help="default: every installed one")
    parser.add_argument("--frames", type=int, default=60, metavar="N", help="of 80 ms, in each text")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="1 to 32")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument(
        "--peer-model", type=Path, metavar="DIR", help="talker.gguf and tokenizer.gguf, or a folder a weight type"
    )
    parser.add_argument("--profile", action="store_true", help="split each stage of our voice")
    parser.add_argument("--voice-check", action="store_true", help="listen to three sentences, five seeds each")
    parser.add_argument("--voice", metavar="NAME", help="for --voice-check: an added voice or one of the model's own")
    parser.add_argument(
        "--clauses", type=int, default=MOST, metavar="N", help="also made so many at once: 2 to 4, or 1 for none"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


@dataclass(frozen=True, slots=True)
class Contest:
    """One model of ours, and the peer's of the same weight type or None. name: what its figures are called."""

    name: str
    model_dir: Path
    peer_dir: Path | None


def run(options: argparse.Namespace) -> int:
    """Medians over `--rounds`; with --voice-check, 1 when a row is not as expected."""
    for flag, value in (("--frames", options.frames), ("--rounds", options.rounds)):
        if value < 1:
            raise UsageError("{flag} must be at least 1, not {n}.", flag=flag, n=value)
    for flag, value, most in (("--clauses", options.clauses, MOST), ("--threads", options.threads, _MOST_THREADS)):
        if not 1 <= value <= most:
            raise UsageError("{flag} must be from 1 to {most}, not {n}.", flag=flag, most=most, n=value)
    models = options.model or _installed(load_settings()[0].models_dir)
    if options.voice_check:
        from kazeia_desktop.cli.voice_check import check

        return check(models, options.threads, options.voice, as_json=options.json)
    contests = _contests(models, options.peer_model)
    before, started, busy_s = machine_state(), time.monotonic(), others_busy_s()
    floor = _probe(options.threads)
    record: dict[str, Any] = {"frames": options.frames, "threads": options.threads, "rounds": options.rounds, **floor}
    record["clauses"] = options.clauses
    for contest in contests:
        rounds = _rounds(contest, options)
        loading = {"load_s": _load_s(contest.model_dir, options.threads)}
        floors = _floors(contest.model_dir, rounds[OURS], floor["peak_gflop_s"])
        record[contest.name] = _figures(rounds) | loading | floors
        if options.clauses > 1:
            n_rounds = min(options.rounds, _CLAUSE_ROUNDS)
            record[contest.name] |= clauses(
                contest.model_dir, TEXTS[: options.clauses], options.frames, options.threads, n_rounds, _WARM_UP
            )
        if options.profile:
            record[contest.name]["profile"] = _profile(rounds[OURS])
    others = None if busy_s is None else ((others_busy_s() or 0.0) - busy_s) / (time.monotonic() - started)
    record["machine"] = {
        "before": before,
        "after": machine_state(),
        "other_work_cores": None if others is None else round(max(0.0, others), 2),
    }
    if options.json:
        print_json(record)
    else:
        _print(record, [contest.name for contest in contests])
    return 0


def _installed(models_dir: Path) -> list[Path]:
    found = sorted(manifest.parent for manifest in models_dir.glob(f"*/{FILE}"))
    if not found:
        raise ModelMissingError("Kazeia's own voice is not installed: give a converted model with --model DIR.")
    return found


def _contests(models: Sequence[Path], peer_model: Path | None) -> list[Contest]:
    """Our models by weight type; a second of one type also carries its folder's name."""
    peers = peer_model or qwentts_folder(load_settings()[0])
    there = importlib.util.find_spec(PEER_MODULE) is not None
    if not there:
        _tell(
            translate(
                "qwentts.cpp is not installed: run `pip install realtimetts-qwen-native-cpu` to compare with it.",
                system_language(),
            )
        )
    contests: list[Contest] = []
    for model_dir in models:
        dtype = load_manifest(model_dir).dtype
        name = dtype if all(c.name != dtype for c in contests) else f"{dtype} {model_dir.resolve().name}"
        contests.append(Contest(name, model_dir, _peer_dir(peers, dtype) if there else None))
    return contests


def _peer_dir(peers: Path, dtype: str) -> Path | None:
    """The peer's folder of this weight type."""
    folder = next((f for f in (peers / dtype, peers) if (f / TALKER).is_file()), None)
    if folder is None:
        _tell(
            translate(
                "qwentts.cpp has no {dtype} model in {folder}: make one with tools/make_qwentts_models.py.",
                system_language(),
                dtype=dtype,
                folder=peers,
            )
        )
        return None
    kind = GgufFile(folder / TALKER).info("talker.blk.0.attn_q.weight").type
    if kind != GgmlType[dtype.upper()]:
        _tell(
            translate(
                "The model of qwentts.cpp in {folder} is not {dtype}: it is left out.",
                system_language(),
                folder=folder,
                dtype=dtype,
            )
        )
        return None
    return folder


def _probe(threads: int, *what: str) -> dict[str, Any]:
    return json_of("machine_probe", ["kazeia_desktop.cli.machine_probe", str(threads), *what])


def _rounds(contest: Contest, options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Engine -> its answer of each round; no entry for a peer that is missing or failed.

    Each of ours carries read_gb_s, what the memory gave right before and after it, in the mean.
    """
    asked = [(_WARM_UP[0], 0, min(_WARM_UP[1], options.frames))]
    asked += [(TEXTS[i % len(TEXTS)], i + 1, options.frames) for i in range(options.rounds)]
    with ExitStack() as stack:
        engines: dict[str, EngineProcess] = {}
        answers: dict[str, list[dict[str, Any]]] = {}
        with _without_peer(engines):
            for name, model_dir in ((OURS, contest.model_dir), (PEER, contest.peer_dir)):
                if model_dir is not None:
                    engines[name] = EngineProcess(name, model_dir, options.threads)
                    stack.enter_context(engines[name])
        for text, seed, frames in asked:
            with _without_peer(engines):
                for name, engine in engines.items():
                    before = _probe(options.threads, "reads")["read_gb_s"] if name == OURS and seed else None
                    answer = engine.speak(text, seed, frames)
                    if before is not None:
                        answer["read_gb_s"] = (before + _probe(options.threads, "reads")["read_gb_s"]) / 2
                    answers.setdefault(name, []).append(answer)
        return {name: answers[name][1:] for name in engines}


def _load_s(model_dir: Path, threads: int) -> float:
    """Seconds to load ours, each time in a fresh process. The rounds before have read the files and packed weights."""
    times = []
    for _ in range(_LOADS):
        with EngineProcess(OURS, model_dir, threads) as engine:
            times.append(engine.load_ms / 1000)
    return round(statistics.median(times), 3)


@contextmanager
def _without_peer(engines: dict[str, EngineProcess]) -> Iterator[None]:
    """A failure of the peer, which is the last of `engines`, is told and takes it out."""
    try:
        yield
    except InferenceError as error:
        if error.values.get("engine") != PEER:
            raise
        _tell(error.told_in(system_language()))
        del engines[PEER]


def _figures(rounds: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Medians of both engines and their ratios."""
    ours, peer = rounds[OURS], rounds.get(PEER, [])
    figures: dict[str, Any] = {}
    for key, digits in (("rtf", 3), ("ttfa_ms", 1)):
        figures[key], figures[f"peer_{key}"] = _median(ours, key, digits), _median(peer, key, digits)
        its = figures[f"peer_{key}"]
        figures[f"ratio_{key.removesuffix('_ms')}"] = round(figures[key] / its, 3) if its else None
    for key in STAGES:
        figures[key], figures[f"peer_{key}"] = _median(ours, key, 2), _median(peer, key, 2)
    figures["peak_rss_mb"] = ours[-1]["peak_rss_mb"]
    figures["peer_peak_rss_mb"] = peer[-1]["peak_rss_mb"] if peer else None
    figures["frames"] = _median(ours, "frames", 0)
    figures["stops"] = sorted({answer["stop"] for answer in ours})
    return figures | _drift(ours)


def _median(answers: Sequence[Mapping[str, Any]], key: str, digits: int) -> float | None:
    known = [answer[key] for answer in answers if answer[key] is not None]
    return round(statistics.median(known), digits) if known else None


def _profile(answers: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Medians of what a frame's time went into, ms."""
    return {
        stage: {part: round(statistics.median(a["profile"][stage][part] for a in answers), 2) for part in parts}
        for stage, parts in answers[0]["profile"].items()
    }


def _drift(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How much slower the last third was than the first; a machine that grew slower by a tenth is throttled."""
    third = max(1, len(answers) // 3)
    first, last = (statistics.median(a["rtf"] for a in part) for part in (answers[:third], answers[-third:]))
    drift = last / first - 1
    return {"drift": round(drift, 3), "throttled": drift > _DRIFT}


def _floors(model_dir: Path, ours: Sequence[Mapping[str, Any]], peak_gflop_s: float) -> dict[str, Any]:
    """Milliseconds a frame below which no machine of this memory and arithmetic gets, and how far above ours are.

    Medians over the rounds, each beside the memory's speed in that round.
    """
    talker = GgufFile(model_dir / TALKER)
    predictor = GgufFile(model_dir / CODE_PREDICTOR)
    n_bytes = {
        "talker": _bytes(talker, "blk.") + _bytes(talker, "output."),
        "code_predictor": _SWEEPS * _bytes(predictor, "blk.") + _bytes(predictor, "head."),
    }
    codec_ms = round(_CODEC_GFLOP / max(peak_gflop_s, _GFLOP_S) * 1000, 2)
    told: dict[str, Any] = {"floor_codec_ms": codec_ms, "read_gb_s": _median(ours, "read_gb_s", 2)}
    for stage, count in n_bytes.items():
        floors = [count / (max(answer["read_gb_s"], _READ_GB_S) * 1e6) for answer in ours]
        told[f"floor_{stage}_ms"] = round(statistics.median(floors), 2)
        known = [a[f"{stage}_ms"] / f for a, f in zip(ours, floors, strict=True) if a[f"{stage}_ms"] is not None]
        told[f"{stage}_over_floor"] = round(statistics.median(known), 2) if known else None
    took_ms = _median(ours, "codec_ms", 2)
    told["codec_over_floor"] = None if took_ms is None else round(took_ms / codec_ms, 2)
    return told


def _bytes(file: GgufFile, prefix: str) -> int:
    return sum(tensor.n_bytes for name, tensor in file.tensors.items() if name.startswith(prefix))


def _tell(line: str) -> None:
    """A line beside the results."""
    sys.stderr.write(f"kazeia: {line}\n")


_COLUMNS: Final = (
    ("rtf", "RTF", 2), ("ttfa_ms", "first audio", 0), ("talker_ms", "talker", 1),
    ("code_predictor_ms", "code predictor", 1), ("codec_ms", "codec", 1), ("peak_rss_mb", "peak MB", 0),
    ("load_s", "load (s)", 2),
)  # fmt: skip


def _print(record: Mapping[str, Any], names: Sequence[str]) -> None:
    print_text(
        f"{record['frames']} frames, {record['threads']} threads, median of {record['rounds']}; "
        f"reads {record['read_gb_s']} GB/s, {record['peak_gflop_s']} GFLOP/s; times in ms"
    )
    others = record["machine"]["other_work_cores"]
    if others is not None and others > _DISTURBED_CORES:
        print_text(f"other programs kept {others} cores busy meanwhile: measure again on a quiet machine")
    print_text(f"{'':24}" + "".join(f"{title:>16}" for _, title, _ in _COLUMNS))
    for name in names:
        row = record[name]
        rows = [
            (f"{name} {OURS}", [(row[key], digits) for key, _, digits in _COLUMNS]),
            (f"{name} {PEER}", [(row.get(f"peer_{key}"), digits) for key, _, digits in _COLUMNS]),
            ("ratio", [(row.get(f"ratio_{key.removesuffix('_ms')}"), 2) for key, _, _ in _COLUMNS]),
            ("floor", [(row.get(f"floor_{key}"), 1) for key, _, _ in _COLUMNS]),
        ]
        for label, values in rows:
            cells = ("-" if value is None else f"{value:.{digits}f}" for value, digits in values)
            print_text(f"{label:24}" + "".join(f"{cell:>16}" for cell in cells))
        for line in lines(row, record["clauses"]):
            print_text(line)
        if row["throttled"]:
            print_text(f"  the machine grew {100 * row['drift']:.0f} % slower meanwhile: measure again")
        if row.get("profile"):
            for stage, parts in row["profile"].items():
                told = ", ".join(f"{part} {ms:.2f}" for part, ms in parts.items())
                print_text(f"  {stage.replace('_', ' ')}, a frame: {told}")
