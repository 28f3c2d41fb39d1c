"""`kazeia bench stt`: our Whisper beside faster-whisper int8 and whisper.cpp q8_0, on open French clips.

Each engine runs in a process of its own, in turn, several rounds: the machine's noise meets all alike.
A peer that is not installed (`pip install kazeia-desktop[peers]`), or whose file is missing, is null.
"""

import argparse
import importlib.util
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from kazeia_desktop.cli.json_child import json_of
from kazeia_desktop.cli.open_clips import write_clips
from kazeia_desktop.cli.output import Subparsers, load_settings, print_json, print_text
from kazeia_desktop.cli.word_errors import word_error_rate
from kazeia_desktop.paths import Paths

SHORT_S: Final = 4.5
_ROUNDS: Final = 3
ENGINES: Final = {
    "kazeia": "kazeia_desktop",
    "faster-whisper int8": "faster_whisper",
    "whisper.cpp q8_0": "pywhispercpp",
}
"""Name -> the module that must be there."""


def register(kinds: Subparsers) -> None:
    """Add `bench stt`."""
    parser = kinds.add_parser(
        "stt",
        help="time speech recognition beside its peers",
        description="Our Whisper, faster-whisper and whisper.cpp on open French clips of up to 4.5 s, and word errors.",
    )
    parser.add_argument("--clips", type=Path, metavar="MANIFEST.json", help="other clips, in 16 kHz mono WAV")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, metavar="N")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.set_defaults(run=run)


def whispercpp_file(paths: Paths, model: str) -> Path:
    """Where tools/make_whispercpp_model.py puts whisper.cpp's file."""
    return paths.cache_dir / f"{model}-q8_0.bin"


def run(options: argparse.Namespace) -> int:
    """All engines, `--rounds` rounds; medians a clip, then sums over the clips."""
    paths, settings = load_settings()
    model_dir = paths.models_dir / settings.stt.model
    with tempfile.TemporaryDirectory(prefix="kazeia-clips-") as folder:
        if options.clips:
            base, clips = options.clips.parent, json.loads(options.clips.read_text("utf-8"))
        else:
            base, clips = Path(folder), write_clips(Path(folder))
        job = {
            "clips": [str(base / clip["file"]) for clip in clips],
            "language": "fr",
            "threads": settings.stt.threads,
            "model_dir": str(model_dir),
            "whispercpp": str(whispercpp_file(paths, settings.stt.model)),
            "precision": settings.stt.precision,
        }
        rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in ENGINES if _there(name, job)}
        for _ in range(options.rounds):
            for name in rounds:
                rounds[name].append(_run(name, job))
    texts = [clip["text"] for clip in clips]
    figures = {name: _summary(rounds.get(name), texts) for name in ENGINES}
    peers = [f["short_total_ms"] for name, f in figures.items() if name != "kazeia" and f is not None]
    ours = figures["kazeia"]
    assert ours is not None
    record = {
        "clips": len(clips),
        "rounds": options.rounds,
        "threads": settings.stt.threads,
        "engines": figures,
        "ratio_to_better_peer": round(ours["short_total_ms"] / min(peers), 3) if peers else None,
    }
    if options.json:
        print_json(record)
    else:
        _print(record)
    return 0


def _there(name: str, job: dict[str, Any]) -> bool:
    if importlib.util.find_spec(ENGINES[name]) is None:
        return False
    if name.startswith("whisper.cpp") and not Path(job["whispercpp"]).is_file():
        sys.stderr.write("whisper.cpp's file is missing: run `python tools/make_whispercpp_model.py` first.\n")
        return False
    return True


def _run(name: str, job: dict[str, Any]) -> dict[str, Any]:
    return json_of(name, ["kazeia_desktop.cli.stt_engines", name], json.dumps(job))


def _summary(rounds: list[dict[str, Any]] | None, texts: list[str]) -> dict[str, Any] | None:
    if not rounds:
        return None
    seconds = rounds[0]["seconds"]
    medians = [statistics.median(r["ms"][i] for r in rounds) for i in range(len(seconds))]
    short = [ms for ms, s in zip(medians, seconds, strict=True) if s <= SHORT_S]
    return {
        "short_clips": len(short),
        "short_total_ms": round(sum(short), 1),
        "short_median_ms": round(statistics.median(short), 1),
        "all_total_ms": round(sum(medians), 1),
        "word_errors_pct": round(100 * word_error_rate(texts, rounds[0]["texts"]), 1),
        **{
            key: statistics.median(r[key] for r in rounds)
            for key in ("encoder_ms", "decoder_ms_per_token")
            if key in rounds[0]
        },
    }


def _print(record: dict[str, Any]) -> None:
    print_text(f"{'':22}{'clips <= 4.5 s':>16}{'median':>10}{'all':>10}{'word errors':>13}")
    for name, f in record["engines"].items():
        if f is None:
            print_text(f"{name:22}{'-':>16}")
            continue
        total, median, all_ms = f["short_total_ms"], f["short_median_ms"], f["all_total_ms"]
        print_text(f"{name:22}{total:13.0f} ms{median:7.0f} ms{all_ms:7.0f} ms{f['word_errors_pct']:11.1f} %")
    if record["ratio_to_better_peer"] is not None:
        print_text(f"ratio to the better peer: {record['ratio_to_better_peer']}")
