"""A stretch of microphone at full quality, for a voice or for a test of the device: not the conversation's path."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from kazeia_desktop.audio import devices, portaudio
from kazeia_desktop.audio.resampler import Resampler
from kazeia_desktop.audio.ring_buffer import RingBuffer
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.runtime.cancel import CancelToken

RATE_HZ: Final = 24_000
"""What a voice is made of; the conversation's 16 kHz would lose the upper half of it."""
_LATENCY_S: Final = 0.03
_RING_S: Final = 4.0
_PERIOD_S: Final = 0.05
_NOTHING_S: Final = 3.0
"""A device that delivers nothing for so long is dead; a Bluetooth headset needs as much to wake up."""
_FULL_SCALE: Final = 0.9995


@dataclass(frozen=True, slots=True)
class Heard:
    """What came since the last report. seconds: recorded so far; rms, peak: of full scale; clipped: at full scale."""

    device: str
    seconds: float
    rms: float
    peak: float
    clipped: bool


def record(
    device: str,
    longest_s: float,
    finish: CancelToken,
    cancel: CancelToken,
    report: Callable[[Heard], None],
    keep: bool = True,
    clock: Callable[[], float] = time.monotonic,
) -> FloatArray:
    """Listen until `finish` is set or `longest_s` are there; reports 20 times a second.

    Args:
        device: as `devices.find`; "" is the system's.
        keep: False: only report.
        clock: seconds.
    Returns:
        (n,) float32 mono at 24 kHz in [-1, 1], without numbers that are none; empty without `keep`.
    Raises:
        AudioDeviceError: the device is not there, refuses, or delivers nothing.
        Cancelled: `cancel` was set.
    """
    rings: list[RingBuffer] = []

    def callback_for(rate_hz: int) -> devices.Callback:
        rings.append(RingBuffer(int(_RING_S * rate_hz)))
        ring = rings[-1]

        def write(data: FloatArray, n_frames: int, when: object, status: object) -> None:
            ring.write(data[:, 0] if data.shape[1] == 1 else data.mean(axis=1))

        return write

    opened = devices.open_stream("input", device, RATE_HZ, _LATENCY_S, callback_for)
    devices.start_stream("input", opened)
    resampler = None if opened.rate_hz == RATE_HZ else Resampler(opened.rate_hz, RATE_HZ)
    name, kept, n, arrived_s = opened.device.name, [np.zeros(0, np.float32)], 0, clock()
    longest = math.inf if math.isinf(longest_s) else round(longest_s * RATE_HZ)
    try:
        while not finish.is_set() and n < longest:
            cancel.wait(_PERIOD_S)
            cancel.raise_if_set()
            came = rings[-1].available()
            raw = rings[-1].read(came) if came else None
            if raw is None:
                if clock() - arrived_s > _NOTHING_S:
                    raise AudioDeviceError(
                        "The microphone {name} delivers nothing: plug it in again, or choose another.", name=name
                    )
                continue
            arrived_s = clock()
            sound = np.clip(np.nan_to_num(raw, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)
            peak = float(np.abs(sound).max())
            rms = float(np.sqrt(np.mean(np.square(sound))))
            if resampler is not None:
                sound = resampler.push(sound)
            n += len(sound)
            if keep:
                kept.append(sound)
            report(Heard(name, n / RATE_HZ, rms, peak, peak >= _FULL_SCALE))
    finally:
        portaudio.close(opened.stream, abort=True)
    samples = np.concatenate(kept)
    return np.clip(samples if math.isinf(longest) else samples[: int(longest)], -1.0, 1.0)
