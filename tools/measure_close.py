"""How long the process is still there after it was asked to end, in every state, on real models and a sound server.

xvfb-run -a .venv/bin/python tools/measure_close.py [--busy 2] [--way quit] [--only WORD]
"""

import argparse
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kazeia_desktop.paths import Paths  # noqa: E402
from tests.device.ending import WAYS, busy, end, prepare  # noqa: E402
from tests.device.ending_driver import STATES  # noqa: E402
from tests.device.virtual_audio import virtual_audio  # noqa: E402

SAID = Path("/usr/share/asterisk/sounds/fr_CA_f_June/vm-intro.wav")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--busy", type=int, default=0, help="processes that only compute, beside it")
    parser.add_argument("--way", choices=WAYS, default="terminate")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    models = Paths.from_environment().models_dir
    with (
        virtual_audio() as audio,
        tempfile.TemporaryDirectory() as folder,
        busy(options.busy) if options.busy else nullcontext(),
    ):
        prepare(Path(folder), models)
        for state in STATES:
            if options.only in state:
                ended = end(state, options.way, Path(folder), audio, SAID)
                left = f", children left: {ended.left}" if ended.left else ""
                sys.stdout.write(f"{ended.seconds:5.2f} s  {state}, exit code {ended.code}{left}\n")
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
