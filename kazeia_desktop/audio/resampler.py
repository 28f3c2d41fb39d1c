"""Sample-rate conversion of mono sound, streamed or whole."""

from typing import Final

import numpy as np

from kazeia_desktop import _native
from kazeia_desktop.errors import AudioFormatError
from kazeia_desktop.frames import FloatArray

LOWEST_RATE_HZ: Final = 4_000
HIGHEST_RATE_HZ: Final = 384_000


class Resampler:
    """A stream from one rate to another. Any chunking gives the same samples. One thread at a time.

    Raises:
        AudioFormatError: a rate outside 4-384 kHz, or a ratio that no device uses.
    Source: polyphase Kaiser-windowed sinc; native/include/kazeia/resampler.h.
    """

    def __init__(self, in_hz: int, out_hz: int) -> None:
        for rate_hz in (in_hz, out_hz):
            if not LOWEST_RATE_HZ <= rate_hz <= HIGHEST_RATE_HZ:
                raise AudioFormatError(
                    "A sample rate of {rate_hz} Hz cannot be used: give {lowest} to {highest} Hz.",
                    rate_hz=rate_hz,
                    lowest=LOWEST_RATE_HZ,
                    highest=HIGHEST_RATE_HZ,
                )
        try:
            self._native = _native.Resampler(in_hz, out_hz)
        except ValueError as error:
            raise AudioFormatError(
                "Sound at {in_hz} Hz cannot be converted to {out_hz} Hz: use a common rate such as 48000 Hz.",
                in_hz=in_hz,
                out_hz=out_hz,
            ) from error

    def push(self, samples: FloatArray) -> FloatArray:
        """The output that more samples make certain.

        Args:
            samples: (n,) float32 mono; n may be 0. inf and NaN spoil only the output within the filter's reach.
        Returns:
            (m,) float32.
        Raises:
            AudioFormatError: not one-dimensional float32.
        """
        _check(samples)
        return self._native.push(samples)

    def flush(self) -> FloatArray:
        """What is left at the end of the sound; the resampler is then as new."""
        return self._native.flush()

    def reset(self) -> None:
        """Forget the sound."""
        self._native.reset()


def resample(samples: FloatArray, in_hz: int, out_hz: int) -> FloatArray:
    """A whole sound at another rate.

    Args:
        samples: (n,) float32 mono at in_hz.
    Returns:
        (ceil(n * out_hz / in_hz),) float32; output i stands at time i / out_hz.
    Raises:
        AudioFormatError: a rate that cannot be used, or not one-dimensional float32.
    """
    _check(samples)
    if in_hz == out_hz:
        return samples
    resampler = Resampler(in_hz, out_hz)
    return np.concatenate([resampler.push(samples), resampler.flush()])


def _check(samples: FloatArray) -> None:
    if samples.ndim != 1 or samples.dtype != np.float32:
        raise AudioFormatError(
            "Sound to convert must be one row of float32 samples, not {dtype} of shape {shape}.",
            dtype=str(samples.dtype),
            shape=str(samples.shape),
        )
