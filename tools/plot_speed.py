"""Draws docs/performance.svg from what `kazeia bench tts --json` wrote.

.venv/bin/python -m pip install -c constraints.txt -e .[plots]
.venv/bin/python tools/plot_speed.py [benchmarks/baselines/tts.json] [docs/performance.svg]
"""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

STAGES = (
    ("talker", "talker_ms", "#4c72b0"),
    ("code predictor", "code_predictor_ms", "#dd8452"),
    ("codec", "codec_ms", "#55a868"),
)
OURS, PEER = "Kazeia", "qwentts.cpp"


def weight_types(record: dict[str, Any]) -> list[str]:
    """The names under which the record has figures of a model."""
    return [name for name, row in record.items() if isinstance(row, dict) and "rtf" in row]


def draw_stages(axes: Axes, record: dict[str, Any], names: list[str]) -> None:
    """Milliseconds of each stage a frame, theirs beside ours, and what the machine cannot go below."""
    labels = []
    for index, name in enumerate(names):
        for row, prefix in ((2 * index, ""), (2 * index + 1, "peer_")):
            left = 0.0
            for title, key, colour in STAGES:
                value = record[name].get(prefix + key)
                if value is None:
                    continue
                axes.barh(row, value, left=left, color=colour, label=title if (index, prefix) == (0, "") else None)
                if prefix == "":
                    floor = record[name]["floor_" + key]
                    axes.plot([left + floor] * 2, [row - 0.4, row + 0.4], color="black", linewidth=1.5)
                left += value
            labels.append(f"{OURS if prefix == '' else PEER} {name}")
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.axvline(80, color="grey", linestyle=":", linewidth=1)
    axes.set_xlabel("ms of work a frame; black: the machine's floor; dotted: a frame's 80 ms")
    axes.legend(frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))


def draw_pairs(axes: Axes, record: dict[str, Any], names: list[str], key: str, title: str) -> None:
    """One figure of both engines, and their ratio."""
    for index, name in enumerate(names):
        mine, its = record[name][key], record[name][f"peer_{key}"]
        axes.bar(index - 0.2, mine, 0.4, color="#4c72b0", label=OURS if index == 0 else None)
        if its is not None:
            axes.bar(index + 0.2, its, 0.4, color="#c44e52", label=PEER if index == 0 else None)
            axes.text(index, max(mine, its), f"{mine / its:.2f}", ha="center", va="bottom")
    axes.set_xticks(range(len(names)), names)
    axes.set_title(title)
    axes.margins(y=0.3)
    axes.legend(frameon=False, ncols=2, loc="upper left")


def main() -> int:
    """Read, draw, write."""
    source = Path(sys.argv[1] if len(sys.argv) > 1 else "benchmarks/baselines/tts.json")
    target = Path(sys.argv[2] if len(sys.argv) > 2 else "docs/performance.svg")
    record = json.loads(source.read_text("utf-8"))
    names = weight_types(record)
    if not names:
        sys.stderr.write(f"{source}: no figures of a model; write it with `kazeia bench tts --json`\n")
        return 2
    mpl.rcParams.update({"svg.hashsalt": "kazeia", "font.size": 9})
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    rows = figure.subplot_mosaic([["stages", "stages"], ["rtf", "first"]])
    draw_stages(rows["stages"], record, names)
    draw_pairs(rows["rtf"], record, names, "rtf", "seconds to make a second of speech")
    draw_pairs(rows["first"], record, names, "ttfa_ms", "first audio, ms")
    figure.suptitle(f"{record['frames']} frames, {record['threads']} threads, median of {record['rounds']}")
    figure.savefig(target, metadata={"Date": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
