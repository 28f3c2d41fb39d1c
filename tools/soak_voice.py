"""Speaks hundreds of utterances with Kazeia's own voice, stops most of them at random, and watches what stays.

Usage: python tools/soak_voice.py [--model DIR] [--utterances 200] [--most-frames 200] [--seed N]
Texts, lengths (short ones more often), languages, voices, modes, chunk sizes and numbers of threads are random; an
utterance is spoken to its end, cancelled (from the thread that listens or from another one, before it begins or in its
middle), or left. After each, a known one with a fixed seed must sound as it did at first. Without --model, on one of
some megabytes. Prints one JSON object; exits 1 when memory, threads or open files grew, an utterance hung, or anything
of one was heard in the next.
"""

import argparse
import contextlib
import faulthandler
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).parent.parent))

from kazeia_desktop.frames import FloatArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.qwen3 import Qwen3Tts
from kazeia_desktop.tts.qwen3_options import SpeechOptions, Voice
from tests.voice_trial import small_models

SLOPE_BYTES = 100_000
"""Of memory for each utterance, from the first quarter's end on: until then caches and arenas fill."""
TOLERANCE = 1e-4
HANG_S = 900  # of one utterance; on a busy machine two threads that wait for each other take minutes
TEXT = "Bonsoir, comment tu te sens ce soir ? Je suis encore en phase de développement, mais je t'écoute."
ENDS = ("whole", "cancelled by the listener", "cancelled from outside", "cancelled before", "left", "forgotten")


@dataclass
class Reference:
    """An utterance that is spoken again and again; the same whatever `stream_frames` is."""

    text: str
    voice: Voice
    options: SpeechOptions
    sound: FloatArray


@dataclass
class Soak:
    """What was seen so far."""

    ends: Counter[str] = field(default_factory=Counter)
    rss: list[int] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    frames: int = 0
    worst: float = 0.0


def speak(tts: Qwen3Tts, text: str, voice: Voice, options: SpeechOptions) -> FloatArray:
    """All sound of an utterance."""
    frames = list(tts.synthesize(text, voice, options, CancelToken()))
    return np.concatenate([frame.samples for frame in frames])


def references(tts: Qwen3Tts) -> list[Reference]:
    """Of several kinds, from an engine that has spoken nothing else."""
    found = []
    for index, (text, mode) in enumerate((("Oui.", "whole"), (TEXT, "streamed"), (TEXT, "whole"))):
        voice = None if index == 0 else x_vector(tts, index)
        options = SpeechOptions("auto", mode, seed=index, stream_frames=4, max_frames=3 + 4 * index)
        found.append(Reference(text, voice, options, speak(tts, text, voice, options)))
    return found


def warm_up(tts: Qwen3Tts, most_frames: int) -> None:
    """Fill what is kept: a position's state when it is first reached, ONNX Runtime's arena with each size."""
    speak(tts, 3 * TEXT, None, SpeechOptions("auto", seed=0, stream_frames=0, max_frames=most_frames))
    stream = tts.codec_stream()
    for n in (*range(1, 9), 8, *range(1, 9)):  # each from both of a stream's states
        stream.push(np.zeros((n, 16), np.int32))


def x_vector(tts: Qwen3Tts, seed: int) -> Voice:
    """Some voice: of the model's own, if it has any, or a random x-vector."""
    told = tts.manifest.description
    if told.speakers:
        return sorted(told.speakers)[seed % len(told.speakers)]
    vector: FloatArray = np.random.default_rng(seed).standard_normal(told.talker.hidden, dtype=np.float32)
    return vector * np.float32(0.05)


def pieces(text: str, chance: random.Random) -> Iterator[str]:
    """The text as a language model would give it."""
    at = 0
    while at < len(text):
        step = chance.randint(1, 12)
        yield text[at : at + step]
        at += step


def one_utterance(tts: Qwen3Tts, most_frames: int, chance: random.Random) -> str:
    """Speak, and stop somehow; returns how it ended."""
    mode, end = chance.choice(("whole", "streamed")), chance.choice(ENDS)
    text = TEXT[: chance.randint(1, len(TEXT))] * chance.randint(1, 3)
    max_frames: int | None = round(most_frames ** chance.random())
    if chance.random() < 0.1:  # with the guard against endless speech
        text, max_frames = text[: max(1, most_frames // 25)], None
    options = SpeechOptions(
        chance.choice(("auto", *tts.manifest.description.languages)), mode, chance.choice((None, 1, 2)),
        chance.choice((0, 1, 2, 4, 8)), max_frames=max_frames,
    )  # fmt: skip
    voice = chance.choice((None, x_vector(tts, chance.randrange(1000))))
    given = pieces(text, chance) if mode == "streamed" else text
    cancel = CancelToken()
    sounds = tts.synthesize(given, voice, options, cancel)
    n_chunks = chance.randint(0, 6)
    if end == "cancelled before":
        cancel.set()
    outside = threading.Timer(chance.random() * 0.02 * (max_frames or 50), cancel.set)
    if end == "cancelled from outside":
        outside.start()
    for index, _ in enumerate(sounds):
        if index >= n_chunks and end == "cancelled by the listener":
            cancel.set()
        if index >= n_chunks and end in ("left", "forgotten"):
            break
    if end == "left":
        sounds.close()  # type: ignore[attr-defined]
    del sounds  # what was forgotten ends here
    outside.cancel()
    if outside.ident is not None:
        outside.join()
    return end


def check(tts: Qwen3Tts, reference: Reference, seen: Soak, after: str, stream_frames: int) -> None:
    """Speak a known utterance."""
    told = reference.options
    options = SpeechOptions(told.language, told.text_mode, told.seed, stream_frames, max_frames=told.max_frames)
    sound = speak(tts, reference.text, reference.voice, options)
    if sound.shape != reference.sound.shape:
        seen.stale.append(f"after {after}: {len(sound)} samples, expected {len(reference.sound)}")
        return
    difference = float(np.abs(sound - reference.sound).max())
    seen.worst = max(seen.worst, difference)
    if difference > TOLERANCE:
        seen.stale.append(f"after {after}: another sound, by {difference:.2g}")


def settled(count: Callable[[], int], expected: int) -> int:
    """The system may still count a thread for a moment after it was joined."""
    for _ in range(100):
        if count() <= expected:
            break
        time.sleep(0.01)
    return count()


def soak(model: Path, utterances: int, most_frames: int, seed: int, threads: int = 2) -> dict[str, object]:
    """Run, and report."""
    chance, seen, me = random.Random(seed), Soak(), psutil.Process()
    tts = Qwen3Tts.load(model, threads)
    known = references(tts)
    warm_up(tts, most_frames)
    began, first_threads, first_files = time.monotonic(), me.num_threads(), me.num_fds()
    for index in range(utterances):
        faulthandler.dump_traceback_later(HANG_S, exit=True)
        if chance.random() < 0.05:
            tts.set_threads(chance.randint(1, threads), chance.randint(1, threads))
        end = one_utterance(tts, most_frames, chance)
        seen.ends[end] += 1
        seen.frames += tts.stats.frames
        check(tts, chance.choice(known), seen, end, chance.choice((0, 1, 2, 4, 8)))
        left = [thread.name for thread in threading.enumerate() if thread.name == "tts-generator"]
        if left:
            seen.stale.append(f"after {end}: {left} still there")
        seen.rss.append(me.memory_info().rss)
        if index % 20 == 19:
            sys.stderr.write(f"{index + 1}: {seen.rss[-1] / 1e6:.1f} MB, {me.num_threads()} threads\n")
    faulthandler.cancel_dump_traceback_later()
    tts.set_threads(threads, threads)
    last_threads, last_files = settled(me.num_threads, first_threads), me.num_fds()
    warm = utterances // 4
    slope = float(np.polyfit(np.arange(utterances - warm), seen.rss[warm:], 1)[0])
    good = not seen.stale and slope < SLOPE_BYTES and last_threads <= first_threads and last_files <= first_files
    return {
        "utterances": utterances,
        "frames": seen.frames,
        "ends": dict(seen.ends),
        "rss_mb": {"first": seen.rss[0] / 1e6, "warm": seen.rss[warm] / 1e6, "last": seen.rss[-1] / 1e6},
        "rss_slope_mb_per_utterance": slope / 1e6,
        "threads": {"first": first_threads, "last": last_threads},
        "open_files": {"first": first_files, "last": last_files},
        "largest_difference": seen.worst,
        "stale": seen.stale[:20],
        "seconds": round(time.monotonic() - began, 1),
        "good": good,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="a directory of `kazeia models convert`")
    parser.add_argument("--utterances", type=int, default=200)
    parser.add_argument("--most-frames", type=int, default=200, help="of one utterance")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        model = options.model
        if model is None:
            model = next(small_models(Path(stack.enter_context(tempfile.TemporaryDirectory()))))
        report = soak(model, options.utterances, options.most_frames, options.seed, options.threads)
    sys.stdout.write(json.dumps(report) + "\n")
    return 0 if report["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
