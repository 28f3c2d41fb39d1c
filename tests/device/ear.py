"""What the sound server's devices deliver, and when."""

import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import numpy as np

from kazeia_desktop.frames import FloatArray

LOUD: Final = 0.02
"""Of full scale: more than a resampler's ripple, less than the softest speech."""


class Ear:
    """What a source of the sound server delivers, at 16 kHz, with the time at which it was heard.

    Args:
        device: spk.monitor is the loudspeaker, mic_in.monitor the microphone.
    """

    def __init__(self, environment: Mapping[str, str], device: str) -> None:
        command = ["parec", "--raw", "--latency-msec=10", f"--device={device}", "--format=s16le", "--rate=16000"]
        self._process = subprocess.Popen(
            [*command, "--channels=1"], env=dict(environment), stdout=subprocess.PIPE, bufsize=0
        )
        self._pieces: list[tuple[float, FloatArray]] = []  # when it ended
        self._reader = threading.Thread(target=self._read, name=f"ear {device}")
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        held = b""
        while raw := self._process.stdout.read(4096):
            held += raw
            whole = len(held) // 2 * 2
            samples = (np.frombuffer(held[:whole], "<i2") / 32768).astype(np.float32)
            held = held[whole:]
            self._pieces.append((time.monotonic(), samples))

    def between(self, begin_s: float, end_s: float) -> FloatArray:
        """(n,) float32 at 16 kHz."""
        kept = [samples for at_s, samples in self._pieces if begin_s < at_s <= end_s]
        return np.concatenate(kept) if kept else np.zeros(0, np.float32)

    def loud_s(self, begin_s: float, end_s: float) -> list[float]:
        """When something was heard, to a few milliseconds."""
        return [at_s for at_s, x in self._pieces if begin_s < at_s <= end_s and len(x) and np.abs(x).max() > LOUD]

    def loud_samples_s(self, after_s: float) -> list[float]:
        """When each sample that was heard was played."""
        times: list[float] = []
        for arrived_s, samples in self._pieces:
            begin_s = arrived_s - len(samples) / 16_000
            times += [begin_s + i / 16_000 for i in np.flatnonzero(np.abs(samples) > LOUD)]
        return [at_s for at_s in times if at_s > after_s]

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=10)
        self._reader.join(5)
        if self._process.stdout is not None:
            self._process.stdout.close()


@contextmanager
def ear_at(environment: Mapping[str, str], device: str) -> Iterator[Ear]:
    """An ear for a `with` block."""
    ear = Ear(environment, device)
    try:
        yield ear
    finally:
        ear.stop()
