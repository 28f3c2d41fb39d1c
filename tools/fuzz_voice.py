"""Alters a converted voice model in thousands of ways, one at a time, and opens each: refused, or spoken with.

Usage: python tools/fuzz_voice.py [--model DIR] [--count N] [--only PREFIX] [--seed N] [--sanitize]
Sizes and hashes in the manifest always fit, so that only checks of the content can help. Each trial runs in a process
of its own kind, whose crash, hang or swelling is counted. Without --model, on two models of some megabytes. Prints one
JSON object; exits 1 when anything came of a file but a plain refusal that names it, or finite sound.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.sanitized import build
from tests.voice_trial import GOOD, ROOT, Report, small_models, try_some


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="a directory of `kazeia models convert`, which stays as it is")
    parser.add_argument("--count", type=int, help="alterations of each model; default: all, about 14,000")
    parser.add_argument("--only", default="", help='alterations whose names begin like this: "talker.gguf: tensor"')
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sanitize", action="store_true", help="on the extension with ASan and UBSan, built first")
    options = parser.parse_args()
    extension = build(ROOT) if options.sanitize else None
    report, began = Report(), time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        for model in [options.model.absolute()] if options.model else small_models(Path(directory)):
            try_some(model, options.count, options.seed, options.only, report, extension)
            sys.stderr.write(f"{model.name}: {dict(report.counts)}\n")
    good = sum(n for outcome, n in report.counts.items() if outcome.split()[0] in GOOD)
    told = {
        "files": report.counts.total(),
        "outcomes": dict(sorted(report.counts.items())),
        "slowest_s": round(report.slowest_s, 2),
        "peak_rss_mb": round(report.peak_bytes / 1e6),
        "seconds": round(time.monotonic() - began),
        "problems": report.problems[:100],
        "good": good == report.counts.total(),
    }
    sys.stdout.write(json.dumps(told, ensure_ascii=False) + "\n")
    return 0 if told["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
