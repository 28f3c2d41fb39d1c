"""The gate before the gate: closed while all that is heard is what was always heard, as of a fan.

In a fan's noise WebRTC's detector stays open, and the scorer is asked for every frame. But such a noise does not
change, and whoever begins to speak changes it: in some band of the spectrum, at once, by more than chance does.
"""

import math
from typing import Final

import numpy as np

from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, FloatArray
from kazeia_desktop.vad.base import SpeechGate

_EDGES: Final = (3, 8, 16, 32, 48, 64, 80, 96, 128, 192, 257)
"""Bins of 31.25 Hz, from 94 Hz on: the edges of the bands; voices are between 250 and 3000 Hz."""
_DOF: Final = 0.66
"""Independent values a bin: the window joins neighbours."""
_ABOVE: Final = 11.0
"""Deviations of a band's energy above its floor that chance does not make: one frame in a thousand has them."""
_BELOW: Final = 0.15
"""Of the floor: that little is no chance either, the noise has ended and the floor is not yet known. Of bands that are
wide enough.
"""
_WIDE: Final = 16
_SMOOTH: Final = 0.1
_NOTHING: Final = np.float32(1e-12)
"""Far below the noise of any microphone."""
_BLOCK: Final = 32  # frames, a second
_BLOCKS: Final = 4
"""The floor is the lowest smoothed level of so many blocks: in no sentence is there no gap, and an utterance ends by a
pause, so that speech never becomes the floor of what follows it.
"""


class NoiseGate:
    """SpeechGate. While it does not know the noise yet, and whenever that changes, it leaves the decision to `inner`.

    Args:
        inner: asked only about frames that differ from the noise.
    """

    def __init__(self, inner: SpeechGate) -> None:
        self._inner = inner
        self._window = np.hanning(CAPTURE_FRAME_SAMPLES + 1)[:-1].astype(np.float32)
        self._at = 2 * np.array(_EDGES[:-1])
        bins = np.diff(_EDGES)
        self._above = np.log(1 + _ABOVE / np.sqrt(_DOF * bins)).astype(np.float32)
        n = len(bins)
        self._below = np.where(bins >= _WIDE, -np.log(_BELOW), np.inf).astype(np.float32)
        self._floor = np.zeros(n, np.float32)
        self._smooth = np.zeros(n, np.float32)
        self._lowest = np.full(n, np.inf, np.float32)  # of this block
        self._blocks = np.zeros((_BLOCKS, n), np.float32)
        self._low = np.zeros(n, np.float32)
        self._high = np.zeros(n, np.float32)
        self._n_frames = 0

    def is_open(self, samples: FloatArray) -> bool:
        """samples: (512,) float32 at 16 kHz, the frame that follows the last one."""
        return self.is_new(samples) and self._inner.is_open(samples)

    def is_new(self, samples: FloatArray) -> bool:
        """Whether the frame differs from the noise of the last seconds; learns from it."""
        if len(samples) != CAPTURE_FRAME_SAMPLES or not math.isfinite(np.dot(samples, samples)):
            return True
        spectrum = np.fft.rfft(samples * self._window).astype(np.complex64, copy=False)
        parts = spectrum.view(np.float32)
        level = np.log(np.add.reduceat(np.square(parts, out=parts), self._at) + _NOTHING)
        same = (level <= self._high) & (level >= self._low)
        new = not same.all() or self._n_frames < _BLOCK * _BLOCKS
        self._learn(level)
        return bool(new)

    def _learn(self, level: FloatArray) -> None:
        """level: of each band, the logarithm of its energy; so that a gap between two loud words is seen at once."""
        if self._n_frames == 0:
            self._smooth[:] = level
        self._smooth += np.float32(_SMOOTH) * (level - self._smooth)
        np.minimum(self._lowest, self._smooth, out=self._lowest)
        self._n_frames += 1
        if self._n_frames % _BLOCK == 0:
            self._blocks[self._n_frames // _BLOCK % _BLOCKS] = self._lowest
            self._lowest[:] = self._smooth
            self._tell_floor(self._blocks.min(axis=0))
        elif (self._smooth < self._floor).any():  # downwards at once
            self._tell_floor(np.minimum(self._floor, self._smooth))

    def _tell_floor(self, floor: FloatArray) -> None:
        self._floor = floor
        self._high = floor + self._above
        self._low = floor - self._below
