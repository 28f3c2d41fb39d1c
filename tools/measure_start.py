"""How long it takes from the start of the process to the first picture of the window, before any model.

    xvfb-run -a .venv/bin/python tools/measure_start.py [--runs 5] [--imports]

The window is Kazeia's own with an engine that never comes; what is timed is Python, Qt, our modules and the drawing.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHILD = """
import sys, time
from kazeia_desktop import app
begun = float(sys.argv[1])
from PySide6.QtCore import QTimer
class Timed(app.MainWindow):
    drawn = False
    def paintEvent(self, event):
        super().paintEvent(event)
        if not self.drawn:
            self.drawn = True
            QTimer.singleShot(0, self.tell)  # after the widgets within
    def tell(self):
        modules = [m for m in ("onnxruntime", "llama_cpp", "sounddevice", "numpy", "tokenizers") if m in sys.modules]
        took_ms, used_ms = 1000 * (time.time() - begun), 1000 * time.process_time()
        sys.stdout.write(f"{took_ms:.0f} {used_ms:.0f} {','.join(modules) or '-'}\\n")
        sys.stdout.flush()
        __import__("os")._exit(0)
    def start(self):
        pass
app.MainWindow = Timed
sys.argv[1:] = []
sys.exit(app.main())
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--imports", action="store_true", help="the slowest imports, by python -X importtime")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "KAZEIA_HOME": home}
        if options.imports:
            ran = run(["-X", "importtime"], environment)
            rows = [line.removeprefix("import time:").split("|") for line in ran.stderr.splitlines() if "|" in line]
            slow = sorted(
                (int(own), int(whole), name.strip()) for own, whole, name in rows[1:] if own.strip().isdigit()
            )
            for own, whole, name in slow[:-21:-1]:
                sys.stdout.write(f"{own / 1000:7.1f} ms itself {whole / 1000:7.1f} ms with its own  {name}\n")
            return 0
        times, used = [], []
        for _ in range(options.runs):
            ms, cpu_ms, modules = run([], environment).stdout.split()
            times.append(int(ms))
            used.append(int(cpu_ms))
        sys.stdout.write(
            f"first picture after {statistics.median(times):.0f} ms (median of {len(times)}; {min(times)} to "
            f"{max(times)}), of which the processor worked {statistics.median(used):.0f} ms; "
            f"heavy modules loaded by then: {modules}\n"
        )
    return 0


def run(options: list[str], environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *options, "-c", CHILD, repr(time.time())]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT, timeout=60)


if __name__ == "__main__":
    sys.exit(main())
