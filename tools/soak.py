"""Talks to Kazeia for a long time and watches what it holds: memory, threads, open files.

Usage: python tools/soak.py [--minutes 60] [--question WAV]
The same spoken question again and again through one conversation on the real models; every third turn is
interrupted while it is answered. Prints one JSON object; exits 1 when something grew, or a turn went wrong.
"""

import argparse
import json
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil

from kazeia_desktop import log
from kazeia_desktop.audio.resampler import resample
from kazeia_desktop.audio.wav import read_wav
from kazeia_desktop.audio.wav_sink import WavSink
from kazeia_desktop.cli.bench_turn import SAMPLE_QUESTION
from kazeia_desktop.cli.output import EVENTS_KEPT, emitter, load_settings
from kazeia_desktop.events import Event, Failed, ReplyDelta, State, StateChanged, TurnEnded
from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, CAPTURE_RATE_HZ, AudioFrame, FloatArray
from kazeia_desktop.pipeline.builder import build
from kazeia_desktop.pipeline.conversation import Conversation
from kazeia_desktop.runtime.channel import Channel
from kazeia_desktop.settings.schema import AudioSettings

INTERRUPT_EVERY = 3
WARM_UP_TURNS = 5  # caches and arenas fill; what grows after that is a leak
ALLOWED_GROWTH_BYTES = 64_000_000
TURN_TIMEOUT_S = 180.0
_FRAME_S = CAPTURE_FRAME_SAMPLES / CAPTURE_RATE_HZ


class Questioner:
    """FrameSource: silence, and the question each time `ask` is called."""

    def __init__(self, question: FloatArray) -> None:
        whole = -(-len(question) // CAPTURE_FRAME_SAMPLES) * CAPTURE_FRAME_SAMPLES
        self._question = np.zeros(whole, np.float32)
        self._question[: len(question)] = question
        self._at = whole
        self._due_s = 0.0
        self._stopped = threading.Event()

    def ask(self) -> None:
        self._at = 0

    def start(self) -> None:
        self._due_s = time.monotonic()

    def apply(self, settings: AudioSettings) -> None:
        """No device."""

    def read(self, timeout_s: float) -> AudioFrame | None:
        wait_s = self._due_s + _FRAME_S - time.monotonic()
        if self._stopped.wait(min(max(wait_s, 0.0), timeout_s)):
            raise EOFError
        if wait_s > timeout_s:
            return None
        self._due_s += _FRAME_S
        samples = self._question[self._at : self._at + CAPTURE_FRAME_SAMPLES]
        if len(samples) == 0:
            return AudioFrame(np.zeros(CAPTURE_FRAME_SAMPLES, np.float32), self._due_s)
        self._at += CAPTURE_FRAME_SAMPLES
        return AudioFrame(samples, self._due_s)

    def stop(self) -> None:
        self._stopped.set()


def wait_until_listening(events: Channel[Event]) -> None:
    while True:
        match events.get(timeout_s=TURN_TIMEOUT_S):
            case StateChanged(State.LISTENING):
                return
            case Failed(template, values, _, _):
                sys.exit(template.format(**values))
            case _:
                pass


def one_turn(conversation: Conversation, events: Channel[Event], interrupt: bool) -> str:
    """Wait for the end of the turn that was asked; returns its reason."""
    while True:
        match events.get(timeout_s=TURN_TIMEOUT_S):
            case ReplyDelta() if interrupt:
                conversation.interrupt()
                interrupt = False
            case TurnEnded(_, _, reason):
                return reason
            case _:
                pass


def soak(minutes: float, question: Path) -> dict[str, object]:
    """Run, and report what was held after the warm-up and at the end."""
    sound, rate_hz = read_wav(question)
    source = Questioner(resample(sound, rate_hz, CAPTURE_RATE_HZ))
    paths, settings = load_settings()
    events: Channel[Event] = Channel(EVENTS_KEPT)
    conversation = build(settings, paths, emitter(events), source, WavSink(None))
    me = psutil.Process()
    reasons: dict[str, int] = {}
    held: list[tuple[int, int, int]] = []
    end_s = time.monotonic() + 60 * minutes
    try:
        conversation.start()
        wait_until_listening(events)
        while time.monotonic() < end_s or len(held) <= WARM_UP_TURNS:
            source.ask()
            reason = one_turn(conversation, events, interrupt=len(held) % INTERRUPT_EVERY == INTERRUPT_EVERY - 1)
            reasons[reason] = reasons.get(reason, 0) + 1
            held.append((me.memory_info().rss, me.num_threads(), me.num_fds()))
            sys.stderr.write(f"turn {len(held)}: {reason}, {held[-1][0] / 1e6:.0f} MB, {held[-1][1]} threads\n")
    finally:
        conversation.close()
    warm, last = held[WARM_UP_TURNS - 1], held[-1]
    good = (
        set(reasons) <= {"done", "interrupted"}
        and last[0] - warm[0] < ALLOWED_GROWTH_BYTES
        and last[1] <= warm[1]
        and last[2] <= warm[2] + 2
    )
    return {
        "turns": len(held),
        "reasons": reasons,
        "rss_bytes": {"warm": warm[0], "last": last[0], "max": max(row[0] for row in held)},
        "threads": {"warm": warm[1], "last": last[1]},
        "open_files": {"warm": warm[2], "last": last[2]},
        "good": good,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--question", type=Path, default=SAMPLE_QUESTION)
    options = parser.parse_args()
    log.set_up(None)
    report = soak(options.minutes, options.question)
    sys.stdout.write(json.dumps(report) + "\n")
    return 0 if report["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
