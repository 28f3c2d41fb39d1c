"""A recording heard as if through a microphone."""

import threading
import time
from pathlib import Path

import numpy as np

from kazeia_desktop.audio.resampler import resample
from kazeia_desktop.audio.wav import read_wav
from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, CAPTURE_RATE_HZ, AudioFrame, FloatArray
from kazeia_desktop.settings.schema import AudioSettings

_FRAME_S = CAPTURE_FRAME_SAMPLES / CAPTURE_RATE_HZ


class WavSource:
    """FrameSource over (n,) float32 mono samples at rate_hz, followed by silence, then the end.

    Args:
        realtime: hand out a frame every 32 ms, as a microphone does; else as fast as they are read.
        trailing_silence_s: silence after the sound, long enough for the end of speech to be noticed.
    """

    def __init__(self, samples: FloatArray, rate_hz: int, realtime: bool, trailing_silence_s: float) -> None:
        mono = resample(samples, rate_hz, CAPTURE_RATE_HZ)
        n = len(mono) + int(trailing_silence_s * CAPTURE_RATE_HZ)
        self._samples = np.zeros(-(-n // CAPTURE_FRAME_SAMPLES) * CAPTURE_FRAME_SAMPLES, np.float32)
        self._samples[: len(mono)] = mono
        self._realtime = realtime
        self._at = 0
        self._began_s: float | None = None
        self._stopped = threading.Event()

    @classmethod
    def from_file(cls, path: Path, realtime: bool, trailing_silence_s: float) -> "WavSource":
        """A whole file; see `read_wav` for what it raises."""
        samples, rate_hz = read_wav(path)
        return cls(samples, rate_hz, realtime, trailing_silence_s)

    def start(self) -> None:
        """Nothing to open: time runs from the first `read`, when somebody listens."""

    def apply(self, settings: AudioSettings) -> None:
        """A file has no device."""

    def read(self, timeout_s: float) -> AudioFrame | None:
        """The next 32 ms, when they are due. EOFError at the end or after `stop`."""
        if self._stopped.is_set() or self._at >= len(self._samples):
            raise EOFError
        now = time.monotonic()
        if self._began_s is None:
            self._began_s = now
        due_s = self._began_s + (self._at // CAPTURE_FRAME_SAMPLES + 1) * _FRAME_S
        if self._realtime and due_s > now:
            if due_s - now > timeout_s:
                self._stopped.wait(timeout_s)
                return None
            if self._stopped.wait(due_s - now):
                raise EOFError
        samples = self._samples[self._at : self._at + CAPTURE_FRAME_SAMPLES]
        self._at += CAPTURE_FRAME_SAMPLES
        return AudioFrame(samples, due_s if self._realtime else time.monotonic())

    def stop(self) -> None:
        self._stopped.set()
