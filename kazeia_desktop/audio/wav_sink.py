"""A loudspeaker that is a file: everything counts as heard as soon as it is written."""

import threading
import time
from pathlib import Path

import numpy as np

from kazeia_desktop.audio.base import Heard
from kazeia_desktop.audio.wav import write_wav
from kazeia_desktop.frames import FloatArray, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import AudioSettings


class WavSink:
    """SpeechSink that keeps the last turn's sound and writes it to `path` (if any) on `stop`."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._turn_id = 0
        self._rate_hz = 0
        self._sound: dict[int, list[FloatArray]] = {}  # clause -> its frames
        self._complete: set[int] = set()
        self._ended = False
        self._first_s: float | None = None
        self.rms = 0.0

    def start(self) -> None:
        """Nothing to open; the file is written at the end."""

    def apply(self, settings: AudioSettings) -> None:
        """A file has no volume."""

    def write(self, frame: SpeechFrame, cancel: CancelToken) -> None:
        """Keep a frame; a new turn's first one replaces what the turn before said."""
        with self._lock:
            if cancel.is_set():
                return
            if frame.turn_id != self._turn_id:
                self._turn_id, self._ended, self._first_s = frame.turn_id, False, None
                self._sound, self._complete = {}, set()
            self._rate_hz = frame.sample_rate_hz
            self._sound.setdefault(frame.clause_index, []).append(frame.samples)
            if len(frame.samples) and self._first_s is None:
                self._first_s = time.monotonic()
            if frame.end_of_clause:
                self._complete.add(frame.clause_index)
            self._ended = self._ended or frame.end_of_turn

    def all_played(self, turn_id: int) -> bool:
        return turn_id == self._turn_id and self._ended

    def wait_played(self, turn_id: int, cancel: CancelToken) -> None:
        """Returns at once: what was written is heard."""

    def flush(self) -> None:
        """What was written stays: it was heard."""

    def heard(self, turn_id: int) -> tuple[Heard, ...]:
        with self._lock:
            if turn_id != self._turn_id:
                return ()
            counts = [(index, sum(map(len, frames))) for index, frames in sorted(self._sound.items())]
            return tuple(Heard(index, n, n, index in self._complete) for index, n in counts)

    def first_sample_time(self, turn_id: int) -> float | None:
        return self._first_s if turn_id == self._turn_id else None

    @property
    def sound(self) -> FloatArray:
        """(n,) float32: all that the last turn said."""
        with self._lock:
            parts = [part for _, frames in sorted(self._sound.items()) for part in frames]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    @property
    def seconds(self) -> float:
        """How long the last turn spoke."""
        return len(self.sound) / self._rate_hz if self._rate_hz else 0.0

    def stop(self) -> None:
        """Write the file.

        Raises:
            AudioFormatError: it cannot be written.
        """
        path, self._path = self._path, None
        if path is not None and self._rate_hz:
            write_wav(path, self.sound, self._rate_hz)
