"""Turns every setting at random while Kazeia is talked to, on the real light models, and watches that it goes on.

Usage: python tools/soak_knobs.py [--minutes 10] [--seed N] [--question WAV]
Settings, conversations and alarms of the run are in a folder of their own. Prints one JSON object; exits 1 when a turn
was not answered, something failed that nobody can be told plainly, or a thread was left at the end.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kazeia_desktop import log  # noqa: E402
from kazeia_desktop.audio.resampler import resample  # noqa: E402
from kazeia_desktop.audio.wav import read_wav  # noqa: E402
from kazeia_desktop.audio.wav_sink import WavSink  # noqa: E402
from kazeia_desktop.cli.bench_turn import SAMPLE_QUESTION  # noqa: E402
from kazeia_desktop.frames import CAPTURE_RATE_HZ  # noqa: E402
from kazeia_desktop.paths import Paths  # noqa: E402
from kazeia_desktop.pipeline.builder import build  # noqa: E402
from kazeia_desktop.settings.schema import Settings  # noqa: E402
from kazeia_desktop.settings.store import Value, with_value  # noqa: E402
from tests.knobs import Ear, Knobs, Outcome, soak  # noqa: E402
from tools.soak import Questioner  # noqa: E402

SMALL_MODEL = "smollm2-135m"
SAFE: dict[str, Value] = {
    "llm.model": SMALL_MODEL, "llm.threads": 1, "llm.n_ctx": 1024, "llm.max_reply_tokens": 16, "tts.engine": "kokoro",
    "stt.threads": 1,
}  # fmt: skip
"""With these a turn is answered soon on any machine."""
FIXED: dict[str, tuple[Value, ...]] = {
    # Models and devices that are there, and one that is not.
    "llm.model": (SMALL_MODEL, SMALL_MODEL, "nowhere.gguf"),
    "stt.model": ("whisper-base", "whisper-base", "nothing"),
    "tts.model": ("", "nobody"),
    "tts.voice": ("", "ff_siwis", "espeak-ng", "nobody"),
    "audio.input_device": ("", "nowhere"),
    "audio.output_device": ("", "nowhere"),
    # What llama.cpp and the memory of a small machine bear; threads that wait spin.
    "llm.n_ctx": (512, 1024, 4096),
    "llm.batch": (32, 512, 2048),
    "llm.ubatch": (16, 128, 512),
    "llm.max_reply_tokens": (16, 40),
    "llm.thinking": (False,),
    "llm.threads": (1, 2),
    "llm.prefill_threads": (0, 1, 2),
    "stt.threads": (1, 2),
    "tts.threads": (1, 2, 4),
    "llm.checkpoint_mb": (0, 512),
    "backends.library": ("",),  # another one needs a restart
    "backends.flags": ("", "GGML_VK_VISIBLE_DEVICES=0"),
}
PAUSE_S = 0.6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(2), "big"))
    parser.add_argument("--question", type=Path, default=SAMPLE_QUESTION)
    options = parser.parse_args()
    log.set_up(None)
    outcome, ear = run(60 * options.minutes, options.seed, options.question, Paths.from_environment().models_dir)
    report = {
        "seed": options.seed,
        "changes": outcome.changes,
        "settings_turned": len(outcome.turned),
        "answers_checked": outcome.checks,
        "turns": dict(ear.ended),
        "told": dict(ear.told),
        "longest_apply_s": round(outcome.longest_apply_s, 2),
        "close_s": round(outcome.close_s, 2),
        "faults": ear.faults,
        "not_answered": outcome.hung,
        "threads_left": outcome.left,
        "good": outcome.good(ear),
    }
    sys.stdout.write(json.dumps(report, ensure_ascii=False) + "\n")
    return 0 if report["good"] else 1


def run(seconds: float, seed: int, question: Path, models_dir: Path) -> tuple[Outcome, Ear]:
    """Build a conversation on the models in `models_dir` and turn its knobs."""
    before = frozenset(threading.enumerate())
    ear = Ear()
    settings = Settings()
    for key, value in SAFE.items():
        settings = with_value(settings, key, value)
    with _apart(models_dir) as paths:
        sound, rate_hz = read_wav(question)
        source = Questioner(resample(sound, rate_hz, CAPTURE_RATE_HZ))
        conversation = build(settings, paths, ear, source, WavSink(None))
        ask: Callable[[], None] = source.ask
        return soak(conversation, ear, Knobs(random.Random(seed), FIXED), seconds, settings, PAUSE_S, ask, before), ear


@contextmanager
def _apart(models_dir: Path) -> Iterator[Paths]:
    """The models, and everything else in a folder that is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="kazeia-knobs-") as folder:
        home = Path(folder)
        (home / "data").mkdir()
        (home / "data" / "models").symlink_to(models_dir, target_is_directory=True)
        yield Paths(home / "config", home / "data", home / "cache", home / "logs")


if __name__ == "__main__":
    sys.exit(main())
