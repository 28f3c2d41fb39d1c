"""What the open window takes while nobody speaks: percent of one core, by thread, on real models and a sound server.

    xvfb-run -a .venv/bin/python tools/measure_idle.py [--seconds 20] [--page activity]

Needs pulseaudio and the starter models. The microphone first hears silence, then a quiet room (noise at -55 dB), then a
loud fan (-35 dB).
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kazeia_desktop.audio.wav import write_wav  # noqa: E402
from kazeia_desktop.paths import Paths  # noqa: E402
from tests.device.virtual_audio import VirtualAudio, virtual_audio  # noqa: E402

SETTLE_S = 8.0
"""After the start the voice may still find out how fast it is."""
ROOMS = (("silence", None), ("a quiet room, -55 dB", -55.0), ("a fan, -35 dB", -35.0))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--settle", type=float, default=SETTLE_S)
    parser.add_argument("--page", default="")
    options = parser.parse_args()
    models = Paths.from_environment().models_dir
    with virtual_audio() as audio, tempfile.TemporaryDirectory() as home:
        (Path(home) / "data").mkdir()
        (Path(home) / "data" / "models").symlink_to(models)
        environment = {**audio.environment, "KAZEIA_HOME": home}
        driver = [sys.executable, "-c", DRIVER, options.page]
        with subprocess.Popen(driver, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True) as window:
            try:
                assert window.stdout is not None
                for line in window.stdout:
                    if json.loads(line)["state"] == "listening":
                        break
                sys.stdout.write(f"process {window.pid}\n")
                sys.stdout.flush()
                time.sleep(options.settle)
                for name, level_db in ROOMS:
                    noise = None
                    if level_db is not None:
                        file = Path(home) / "noise.wav"
                        samples = np.random.default_rng(0).normal(0, 10 ** (level_db / 20), 48_000 * 60)
                        write_wav(file, samples.astype(np.float32), 48_000)
                        noise = play(audio, file)
                        time.sleep(1)
                    measure(window.pid, options.seconds, name)
                    if noise is not None:
                        noise.kill()
                        noise.wait()
            finally:
                window.terminate()
    return 0


DRIVER = """
import json, sys
from kazeia_desktop import app
page = sys.argv[1]
class Told(app.MainWindow):
    def __init__(self, bridge, *rest):
        super().__init__(bridge, *rest)
        bridge.state_changed.connect(self.tell)
        if page:
            self.show_page(page)
    def tell(self, state):
        sys.stdout.write(json.dumps({"state": str(state)}) + "\\n")
        sys.stdout.flush()
app.MainWindow = Told
sys.exit(app.main())
"""


def play(audio: VirtualAudio, file: Path) -> "subprocess.Popen[bytes]":
    """In large pieces: with small ones the sound server would wake everybody who listens a hundred times a second."""
    return subprocess.Popen(
        ["paplay", "--latency-msec=1000", "--device=mic_in", str(file)], env=dict(audio.environment)
    )


def measure(pid: int, seconds: float, name: str) -> None:
    """Prints what the process took meanwhile, thread by thread."""
    before, begun = threads(pid), time.monotonic()
    time.sleep(seconds)
    after, took = threads(pid), time.monotonic() - begun
    used = {key: after[key] - before.get(key, 0.0) for key in after}
    total = 100 * sum(used.values()) / took
    parts = sorted(((100 * s / took, thread[0]) for thread, s in used.items()), reverse=True)
    told = ", ".join(f"{thread} {percent:.2f}" for percent, thread in parts if percent >= 0.05)
    sys.stdout.write(f"{name}: {total:.2f} % of a core ({told or 'every thread under 0.05'})\n")
    sys.stdout.flush()


def threads(pid: int) -> dict[tuple[str, int], float]:
    """Seconds of core time by (name, number) of a thread; from /proc, in nanoseconds where the kernel counts so."""
    found = {}
    for task in (Path("/proc") / str(pid) / "task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            found[name, int(task.name)] = int((task / "schedstat").read_text().split()[0]) / 1e9
        except (OSError, ValueError):
            continue
    return found


if __name__ == "__main__":
    sys.exit(main())
