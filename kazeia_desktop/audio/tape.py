"""What the loudspeaker plays: the samples of one open stream, from the voice's thread to the device's callback."""

import time
from typing import Any, Final

import numpy as np

from kazeia_desktop.frames import FloatArray

QUEUE_S: Final = 4.0
"""So much may be queued ahead; then the voice is held back."""
_METER_S: Final = 0.05
_KNEE: Final = 0.8


def soft_clip(samples: FloatArray) -> FloatArray:
    """Bends what is above 0.8 so that it stays below 1; what is softer is untouched."""
    loud = np.abs(samples)
    over = loud > _KNEE
    if not over.any():
        return samples
    room = 1.0 - _KNEE
    bent = np.sign(samples) * (_KNEE + room * np.tanh((loud - _KNEE) / room))
    soft: FloatArray = np.where(over, bent, samples).astype(np.float32)
    return soft


class Tape:
    """Written by one thread, played by the callback, without a lock.

    Counts only grow, each changed by one side. `ended`: no more is coming, so silence is no underrun.

    Args:
        gain: volume of what is played from now on; may be changed at any time.
    """

    def __init__(self, rate_hz: int, gain: float = 1.0) -> None:
        self.rate_hz = rate_hz
        self.gain = gain
        self._ring = np.zeros(int((QUEUE_S + 2) * rate_hz), np.float32)
        self.written = 0
        self.played = 0
        self.flowing = False  # set by the writer when the cushion is filled
        self.ended = False
        self.ran_dry = False  # set by the callback
        self.device_gaps = 0  # times that the device's own buffer ran empty: the callback came late
        self.called_s = 0.0  # when the callback last came
        self.first_played_s = 0.0
        self._mark = (0, 0.0)  # samples handed over before this block, when its first sample is heard

    def room(self) -> int:
        """Samples that may be written without waiting."""
        return int(QUEUE_S * self.rate_hz) - (self.written - self.played)

    def write(self, samples: FloatArray) -> None:
        """(n,) float32, n at most two seconds: `room` was asked first."""
        at = self.written % len(self._ring)
        first = min(len(samples), len(self._ring) - at)
        self._ring[at : at + first] = samples[:first]
        self._ring[: len(samples) - first] = samples[first:]
        self.written += len(samples)

    def rest(self) -> FloatArray:
        """(n,) float32: what was written and not yet handed to the device."""
        return self._ring.take(range(self.played, self.written), mode="wrap")

    def go_on_at(self, sample: int) -> None:
        """A tape that continues another one: the next sample has this number."""
        self.played = self.written = sample

    def callback(self, out: FloatArray, n_frames: int, when: Any, status: Any) -> None:  # noqa: ANN401 - C structs
        """Copies out and returns."""
        now_s = self.called_s = time.monotonic()
        if status and status.output_underflow and self.played:
            self.device_gaps += 1
        n = min(n_frames, self.written - self.played) if self.flowing or self.ended else 0
        if n:
            at = self.played % len(self._ring)
            first = min(n, len(self._ring) - at)
            mono = out[:, 0]
            mono[:first] = self._ring[at : at + first]
            mono[first:n] = self._ring[: n - first]
            if self.gain != 1.0:
                mono[:n] *= self.gain
                if self.gain > 1.0:
                    mono[:n] = soft_clip(mono[:n])
            if out.shape[1] > 1:
                out[:n, 1:] = out[:n, :1]
            self._mark = (self.played, when.outputBufferDacTime)
            if self.first_played_s == 0.0:
                self.first_played_s = now_s
            self.played += n
        out[n:] = 0.0
        if n < n_frames and self.flowing and not self.ended:
            self.flowing = False
            self.ran_dry = True

    def heard(self, stream_time_s: float) -> int:
        """Samples that have left the loudspeaker: those handed over less what the device still holds."""
        before, dac_s = self._mark
        if dac_s <= 0.0:  # the device does not tell
            return self.played
        # Before the last block's first sample is heard, those of the block before are: hence the negative count.
        return max(0, min(self.played, before + round((stream_time_s - dac_s) * self.rate_hz)))

    def rms(self, at: int) -> float:
        """Loudness of the 50 ms that end at a sample, volume included."""
        n = min(int(_METER_S * self.rate_hz), at)
        if n <= 0:
            return 0.0
        block = self._ring.take(range(at - n, at), mode="wrap")
        return min(1.0, self.gain * float(np.sqrt(np.mean(np.square(block)))))
