"""Whisper's input: a log-mel spectrogram."""

import functools
from typing import Final

import numpy as np

from kazeia_desktop.errors import AudioFormatError
from kazeia_desktop.frames import CAPTURE_RATE_HZ, FloatArray

N_FFT: Final = 400  # 25 ms
HOP: Final = 160  # 10 ms
_TOP_HZ: Final = 8000.0
_LINEAR_HZ: Final = 200.0 / 3  # Slaney's scale: linear below 1 kHz ...
_LOG_FROM_HZ: Final = 1000.0
_LOG_STEP: Final = np.log(6.4) / 27.0  # ... then 27 steps for a factor of 6.4


def log_mel(pcm: FloatArray, n_mels: int = 80) -> FloatArray:
    """Log-mel spectrogram of one window.

    Args:
        pcm: (n_samples,) float32 mono in [-1, 1] at 16 kHz, at least 201 samples.
        n_mels: 80, or 128 for large-v3 and turbo.
    Returns:
        (n_mels, n_frames) float32; n_frames = n_samples // 160.
    Raises:
        AudioFormatError: pcm is not one-dimensional float32, or too short.
    Source: Whisper, arXiv:2212.04356, section 2.2; mel filters as librosa's Slaney scale.
    """
    if pcm.ndim != 1 or pcm.dtype != np.float32 or len(pcm) <= N_FFT // 2:
        raise AudioFormatError("A window of sound must be one-dimensional float32 of more than 200 samples.")
    padded = np.pad(pcm, N_FFT // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, N_FFT)[::HOP][: len(pcm) // HOP]
    spectrum = np.fft.rfft(frames * _window(), axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    mel = _filters(n_mels) @ power.T
    log = np.log10(np.maximum(mel, 1e-10))
    log = np.maximum(log, log.max() - 8.0)
    scaled: FloatArray = ((log + 4.0) / 4.0).astype(np.float32)
    return scaled


@functools.cache
def _window() -> FloatArray:
    """The periodic Hann window."""
    return np.hanning(N_FFT + 1)[:-1].astype(np.float32)


@functools.cache
def _filters(n_mels: int) -> FloatArray:
    """(n_mels, 201) triangles of equal area on Slaney's mel scale."""
    top = _LOG_FROM_HZ / _LINEAR_HZ + np.log(_TOP_HZ / _LOG_FROM_HZ) / _LOG_STEP
    mels = np.linspace(0.0, top, n_mels + 2)
    edge = _LOG_FROM_HZ / _LINEAR_HZ
    hz = np.where(mels < edge, mels * _LINEAR_HZ, _LOG_FROM_HZ * np.exp(_LOG_STEP * (mels - edge)))
    bins = np.fft.rfftfreq(N_FFT, 1 / CAPTURE_RATE_HZ)
    ramps = hz[:, None] - bins[None, :]
    widths = np.diff(hz)
    rising = -ramps[:-2] / widths[:-1, None]
    falling = ramps[2:] / widths[1:, None]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    filters: FloatArray = (triangles * (2.0 / (hz[2:] - hz[:-2]))[:, None]).astype(np.float32)
    return filters
