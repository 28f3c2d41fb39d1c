"""A loudspeaker that is a file."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kazeia_desktop.audio.base import Heard
from kazeia_desktop.audio.wav import write_wav
from kazeia_desktop.frames import FloatArray, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import AudioSettings

_WAIT_S = 0.02


class WavSink:
    """SpeechSink that keeps the last turn's sound and writes it to `path` (if any) on `stop`.

    Args:
        realtime: sound counts as heard when a loudspeaker would have played it, and a `flush` cuts off what
            was not; else as soon as it is written.
        clock: seconds, as time.monotonic.
    """

    def __init__(self, path: Path | None, realtime: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._realtime = realtime
        self._clock = clock
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._turn_id = 0
        self._rate_hz = 0
        self._sound: dict[int, list[FloatArray]] = {}  # clause -> its frames
        self._complete: set[int] = set()
        self._ended = False
        self._first_s: float | None = None
        self._play_end_s = 0.0  # when a loudspeaker is through with what was written
        self._silent_samples = 0  # not yet heard when the turn was flushed

    def start(self) -> None:
        """Nothing to open; the file is written at the end."""

    def apply(self, settings: AudioSettings) -> None:
        """A file has no volume."""

    def write(self, frame: SpeechFrame, cancel: CancelToken) -> None:
        """Keep a frame; a new turn's first one replaces what the turn before said."""
        with self._lock:
            if cancel.is_set():
                return
            now_s = self._clock()
            if frame.turn_id != self._turn_id:
                self._turn_id, self._ended, self._first_s = frame.turn_id, False, None
                self._sound, self._complete, self._silent_samples = {}, set(), 0
            self._rate_hz = frame.sample_rate_hz
            self._sound.setdefault(frame.clause_index, []).append(frame.samples)
            if len(frame.samples):
                self._first_s = now_s if self._first_s is None else self._first_s
                self._play_end_s = max(self._play_end_s, now_s) + len(frame.samples) / frame.sample_rate_hz
            if frame.end_of_clause:
                self._complete.add(frame.clause_index)
            self._ended = self._ended or frame.end_of_turn

    def all_played(self, turn_id: int) -> bool:
        """See SpeechSink."""
        return turn_id == self._turn_id and self._ended and self._ahead_samples() == 0

    def wait_played(self, turn_id: int, cancel: CancelToken) -> None:
        """See SpeechSink."""
        while not self._stopped.is_set() and not self.all_played(turn_id) and not cancel.wait(_WAIT_S):
            pass

    def flush(self) -> None:
        """What was heard stays in the file."""
        with self._lock:
            self._silent_samples += self._ahead_samples()
            self._play_end_s = 0.0

    def heard(self, turn_id: int) -> tuple[Heard, ...]:
        """See SpeechSink."""
        with self._lock:
            if turn_id != self._turn_id:
                return ()
            counts = [(index, sum(map(len, frames))) for index, frames in sorted(self._sound.items())]
            left = sum(n for _, n in counts) - self._silent_samples - self._ahead_samples()
            parts = []
            for index, n in counts:
                parts.append(Heard(index, min(n, left), n, index in self._complete))
                left -= min(n, left)
            return tuple(parts)

    def first_sample_time(self, turn_id: int) -> float | None:
        """See SpeechSink."""
        return self._first_s if turn_id == self._turn_id else None

    @property
    def rms(self) -> float:
        """See SpeechSink; of all that the last turn said, as a file is not listened to."""
        sound = self.sound
        return float(np.sqrt(np.mean(np.square(sound)))) if len(sound) and self._ahead_samples() else 0.0

    @property
    def sound(self) -> FloatArray:
        """(n,) float32: all that was heard of the last turn, or will be."""
        with self._lock:
            parts = [part for _, frames in sorted(self._sound.items()) for part in frames]
            n_silent = self._silent_samples
        whole = np.concatenate(parts) if parts else np.zeros(0, np.float32)
        return whole[: len(whole) - n_silent]

    @property
    def seconds(self) -> float:
        """How long the last turn spoke."""
        return len(self.sound) / self._rate_hz if self._rate_hz else 0.0

    def stop(self) -> None:
        """Write the file.

        Raises:
            AudioFormatError: it cannot be written.
        """
        self._stopped.set()
        path, self._path = self._path, None
        if path is not None and self._rate_hz:
            write_wav(path, self.sound, self._rate_hz)

    def _ahead_samples(self) -> int:
        """Samples that were written and not yet heard."""
        if not self._realtime:
            return 0
        return max(0, round((self._play_end_s - self._clock()) * self._rate_hz))
