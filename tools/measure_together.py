"""Measures voice and language model alone and at once: what each loses while both work on the same cores.

    .venv/bin/python tools/measure_together.py --voice DIR --llm FILE.gguf [--threads 2] [--json]

Both work as in a conversation: the voice takes cores, the language model uses what is left.
"""

import argparse
import json
import statistics
import sys
import threading
import time
from pathlib import Path

from kazeia_desktop.frames import Clause
from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.core_share import CoreShare
from kazeia_desktop.settings.schema import LlmSettings, TtsSettings
from kazeia_desktop.tts.qwen3_voice import Qwen3Voice
from kazeia_desktop.tts.voice_store import VoiceStore

CLAUSE = "Je peux chercher une recette, lire vos messages ou raconter une histoire aux enfants."
STORY = "Raconte une longue histoire de marins et de tempêtes."


def speak(voice: Qwen3Voice, clauses: int) -> list[float]:
    """Milliseconds a frame of each clause."""
    found = []
    for index in range(clauses):
        for _ in voice.synthesize(Clause(1, index, CLAUSE, CLAUSE, last=False), CancelToken()):
            pass
        stats = voice.stats
        found.append(stats.elapsed_s * 1000 / max(1, stats.frames))
    return found


def write(model: LlamaModel, stop: threading.Event, seconds: float) -> list[float]:
    """Milliseconds of each token, until `stop` or so many seconds."""
    end, found, cancel = time.perf_counter() + seconds, [], CancelToken()
    while not stop.is_set() and time.perf_counter() < end:
        model.prefill(model.tokenize(STORY, special=False), cancel)
        last = time.perf_counter()
        for _ in model.generate(200, cancel):
            now = time.perf_counter()
            found.append((now - last) * 1000)
            last = now
            if stop.is_set() or now > end:
                break
    return found


def measure(voice_dir: Path, gguf: Path, threads: int, clauses: int) -> dict[str, float]:
    """The medians, and how much longer each takes beside the other."""
    share = CoreShare(threads)
    settings = TtsSettings(
        talker_threads=threads, code_predictor_threads=threads, codec_threads=threads, seed=1, language="fr"
    )
    voice = Qwen3Voice(voice_dir, VoiceStore.of(Paths.from_environment()), settings, share)
    model = LlamaModel(gguf, LlmSettings(threads=threads), share)
    never, stop = threading.Event(), threading.Event()
    try:
        speak(voice, 1)
        write(model, never, 1.0)
        frame_ms = statistics.median(speak(voice, clauses))
        token_ms = statistics.median(write(model, never, 4.0))
        tokens: list[float] = []
        writer = threading.Thread(target=lambda: tokens.extend(write(model, stop, 600.0)), name="language-model")
        writer.start()
        both_frame_ms = statistics.median(speak(voice, clauses))
        stop.set()
        writer.join()
    finally:
        model.close()
        voice.close()
    both_token_ms = statistics.median(tokens)
    return {
        "frame_ms": round(frame_ms, 1),
        "token_ms": round(token_ms, 1),
        "both_frame_ms": round(both_frame_ms, 1),
        "both_token_ms": round(both_token_ms, 1),
        "frame_ratio": round(both_frame_ms / frame_ms, 2),
        "token_ratio": round(both_token_ms / token_ms, 2),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--voice", type=Path, required=True, metavar="DIR", help="written by `kazeia models convert`")
    parser.add_argument("--llm", type=Path, required=True, metavar="FILE", help="a GGUF file")
    parser.add_argument("--threads", type=int, default=2, help="of each, and the cores there are")
    parser.add_argument("--clauses", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.voice, options.llm, options.threads, options.clauses)
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")
    else:
        sys.stdout.write(
            f"voice: {found['frame_ms']} ms a frame alone, {found['both_frame_ms']} beside the language model"
            f" (x{found['frame_ratio']})\nlanguage model: {found['token_ms']} ms a token alone,"
            f" {found['both_token_ms']} beside the voice (x{found['token_ratio']})\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
