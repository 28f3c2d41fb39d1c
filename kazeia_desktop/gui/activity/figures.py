"""What the turns took, in the middle and at worst; and how that is exported. No Qt."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from kazeia_desktop.gui.activity.process_load import Sample
from kazeia_desktop.gui.activity.record import TurnFigures

STAGES: Final = (
    "endpoint_ms", "stt_ms", "llm_ttft_ms", "first_clause_ms", "tts_ttfa_ms", "first_audio_ms", "total_ms",
)  # fmt: skip
"""Times of a turn in the order in which they pass; see `pipeline.metrics.SPANS`."""
VOICE: Final = ("tts_rtf", "talker_ms", "code_predictor_ms", "codec_ms")
"""What a voice tells of itself: its real-time factor, and ms per frame of its stages."""
LAST: Final = 50
"""Turns that count: what the app does now, not what it did this morning."""
FORMAT: Final = "kazeia-activity"
VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Spread:
    """p50, p95: of `n` turns in which it happened."""

    p50: float
    p95: float
    n: int


def percentile(values: Sequence[float], share: float) -> float:
    """Interpolated between the two nearest of `values` (not empty, any order); share in [0, 1].

    Source: R. J. Hyndman and Y. Fan, Sample Quantiles in Statistical Packages (1996), definition 7.
    """
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def spread(turns: Iterable[TurnFigures], name: str) -> Spread | None:
    """Of the figure `name` in the last `LAST` turns; None where no turn has it."""
    values = [value for turn in list(turns)[-LAST:] if (value := turn.metrics.get(name)) is not None]
    return Spread(percentile(values, 0.5), percentile(values, 0.95), len(values)) if values else None


def exported(turns: Sequence[TurnFigures], samples: Sequence[Sample], version: str) -> bytes:
    """The JSON file of the activity page; its fields are described in docs/activity.md.

    version: of Kazeia.
    """
    spreads = {name: spread(turns, name) for name in (*STAGES, *VOICE)}
    tree: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "kazeia": version,
        "counted_turns": min(LAST, len(turns)),
        "stages": {
            name: None if found is None else {"p50": round(found.p50, 3), "p95": round(found.p95, 3), "n": found.n}
            for name, found in spreads.items()
        },
        "turns": [
            {
                "number": turn.number,
                "ended": _utc(turn.at_s),
                "kind": "typed" if turn.typed else "spoken",
                "outcome": turn.reason,
                "metrics": dict(turn.metrics),
            }
            for turn in turns
        ],
        "load": [
            {"at": _utc(sample.at_s), "cpu_percent": sample.cpu_percent, "memory_bytes": sample.memory_bytes}
            for sample in samples
        ],
    }
    return json.dumps(tree, indent=1).encode() + b"\n"


def _utc(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="seconds")
