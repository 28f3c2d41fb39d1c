"""Two hundred utterances, most of them stopped at random: nothing stays, and nothing of one is heard in the next.

On a model of some megabytes, in a process of its own, whose memory is its own. The full form, on a real one:
`python tools/soak_voice.py --model DIR`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.golden

TOOL = Path(__file__).parents[2] / "tools" / "soak_voice.py"


def test_two_hundred_utterances_leave_nothing_behind() -> None:
    done = subprocess.run(
        [sys.executable, str(TOOL), "--utterances", "200", "--most-frames", "150"],
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr[-3000:]
    report = json.loads(done.stdout)
    assert report["stale"] == []
    assert report["rss_slope_mb_per_utterance"] < 0.1
    assert report["threads"]["last"] <= report["threads"]["first"]
    assert report["open_files"]["last"] <= report["open_files"]["first"]
    assert report["frames"] > 500  # most were stopped, but not before they began
    assert len(report["ends"]) == 6
    assert report["good"]
