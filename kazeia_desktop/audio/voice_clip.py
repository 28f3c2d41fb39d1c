"""A file that is to become a voice: read, judged, at 24 kHz."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop.audio.flac import flac_info, is_flac, read_flac_blocks
from kazeia_desktop.audio.resampler import resample
from kazeia_desktop.audio.wav import read_blocks, wav_info
from kazeia_desktop.errors import AudioFormatError
from kazeia_desktop.frames import FloatArray

RATE_HZ: Final = 24_000
SHORTEST_S: Final = 3.0
LONGEST_S: Final = 30.0
_SILENT: Final = 10 ** (-60 / 20)
"""Of full scale; below it there is nothing but the noise of an open input."""
_SPEECH: Final = 10 ** (-50 / 20)
"""RMS of 20 ms: speech that is understood over a microphone's own noise."""
_LEAST_SPEECH_S: Final = 1.5
_FULL_SCALE: Final = 0.9995
_CLIPPED_RUN: Final = 2
"""Samples in a row at full scale: one alone is a loud peak."""
_MOST_CLIPPED: Final = 0.001
_QUIET: Final = 10 ** (-38 / 20)
"""RMS of the louder part of the speech: softer is understood, but little is left of a soft consonant."""
_LEAST_OVER_NOISE: Final = 10 ** (20 / 20)
"""How far speech stands above the pauses; a quiet room gives 30 to 50 dB."""


class Flaw(StrEnum):
    """What is wrong with a recording that is to become a voice."""

    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    SILENT = "silent"
    LITTLE_SPEECH = "little_speech"
    CLIPPED = "clipped"
    QUIET = "quiet"
    NOISY = "noisy"


WARNINGS: Final = (Flaw.QUIET, Flaw.NOISY)
"""Flaws with which a recording may still be kept."""


def read_clip(path: Path) -> FloatArray:
    """The speech in a WAV or FLAC file of any rate and channels, good enough to become a voice.

    Returns:
        (n,) float32 mono at 24 kHz, 3 to 30 s.
    Raises:
        AudioFormatError: missing, of another kind, damaged, too short or long, silent, too quiet or clipped.
    """
    if path.exists() and not path.is_file():
        raise AudioFormatError("{path} is no file: give a recording as WAV or FLAC.", path=str(path))
    if is_flac(path):
        rate_hz, n_samples = flac_info(path)
        if n_samples is not None:
            _check_length(path, n_samples / rate_hz)
        blocks = read_flac_blocks(path)
    else:
        _refuse_other_kinds(path)
        info = wav_info(path)
        _check_length(path, info.duration_s)
        rate_hz, blocks = info.rate_hz, read_blocks(path)
    samples = _bounded(path, blocks, rate_hz)
    _judge(path, samples, rate_hz)
    return resample(samples, rate_hz, RATE_HZ)


def _refuse_other_kinds(path: Path) -> None:
    """What is no WAV is told with both kinds that fit; what is missing or empty, by the reader of WAV."""
    try:
        with path.open("rb") as file:
            head = file.read(12)
    except OSError:
        return
    if head and (head[:4] not in (b"RIFF", b"RF64") or head[8:] != b"WAVE"):
        raise AudioFormatError("{path} is neither WAV nor FLAC: convert it to one of them.", path=str(path))


def _bounded(path: Path, blocks: Iterator[FloatArray], rate_hz: int) -> FloatArray:
    """All of it; of a FLAC that did not tell its length, no more is kept than could be used."""
    kept: list[FloatArray] = []
    n = 0
    for block in blocks:
        n += len(block)
        if n <= (LONGEST_S + 1) * rate_hz + len(block):
            kept.append(block)
    _check_length(path, n / rate_hz)
    return np.concatenate(kept)


def _check_length(path: Path, seconds: float) -> None:
    if round(seconds, 1) > LONGEST_S:
        raise AudioFormatError(
            "{path} lasts {seconds:.1f} s: cut it to 3 to 30 s of one person's speech.",
            path=str(path),
            seconds=seconds,
        )
    if round(seconds, 1) < SHORTEST_S:
        raise AudioFormatError(
            "{path} lasts only {seconds:.1f} s: a voice takes 3 to 30 s of speech.", path=str(path), seconds=seconds
        )


def flaws_of(samples: FloatArray, rate_hz: int) -> tuple[Flaw, ...]:
    """What is wrong with a recording, the worst first; empty when it is good.

    Args:
        samples: (n,) float32 mono in [-1, 1].
    """
    found: list[Flaw] = []
    seconds = round(len(samples) / rate_hz, 1)
    if seconds < SHORTEST_S:
        found.append(Flaw.TOO_SHORT)
    if seconds > LONGEST_S:
        found.append(Flaw.TOO_LONG)
    frames = _frame_rms(samples, rate_hz)
    if not len(frames) or float(np.abs(_without_offset(samples)).max()) < _SILENT:
        return (*found, Flaw.SILENT)
    if _clipped_share(samples) > _MOST_CLIPPED:
        found.append(Flaw.CLIPPED)
    if _speech_s(frames) < min(_LEAST_SPEECH_S, seconds / 2):
        return (*found, Flaw.LITTLE_SPEECH)
    loud, pause = float(np.quantile(frames, 0.9)), float(np.quantile(frames, 0.05))
    if loud < _QUIET:
        found.append(Flaw.QUIET)
    if loud < _LEAST_OVER_NOISE * pause:
        found.append(Flaw.NOISY)
    return tuple(found)


def _without_offset(samples: FloatArray) -> FloatArray:
    """A constant offset is silent."""
    level: FloatArray = samples - np.float32(samples.mean(dtype=np.float64))
    return level


def _frame_rms(samples: FloatArray, rate_hz: int) -> FloatArray:
    """(n,) float32: of every 20 ms."""
    window = rate_hz // 50
    level = _without_offset(samples) if len(samples) else samples
    frames = level[: len(level) // window * window].reshape(-1, window)
    rms: FloatArray = np.sqrt(np.mean(np.square(frames), axis=1), dtype=np.float32)
    return rms


def _speech_s(frames: FloatArray) -> float:
    return float(np.count_nonzero(frames > _SPEECH)) / 50


def _judge(path: Path, samples: FloatArray, rate_hz: int) -> None:
    if float(np.abs(_without_offset(samples)).max()) < _SILENT:
        raise AudioFormatError("{path} is silent: check the microphone and record it again.", path=str(path))
    clipped = _clipped_share(samples)
    if clipped > _MOST_CLIPPED:
        raise AudioFormatError(
            "{path} is clipped: {percent:.1f} % of it is at full scale. Record it again, less loud.",
            path=str(path),
            percent=100 * clipped,
        )
    loud_s = _speech_s(_frame_rms(samples, rate_hz))
    if loud_s < _LEAST_SPEECH_S:
        raise AudioFormatError(
            "{path} has only {seconds:.1f} s that are loud enough for speech: record it again, closer to the "
            "microphone.",
            path=str(path),
            seconds=loud_s,
        )


def _clipped_share(samples: FloatArray) -> float:
    """Share of the samples that are at full scale together with their neighbours."""
    full = np.concatenate([[False], np.abs(samples) >= _FULL_SCALE, [False]])
    edges = np.flatnonzero(full[1:] != full[:-1])
    runs = edges[1::2] - edges[::2]
    return float(runs[runs >= _CLIPPED_RUN].sum()) / len(samples)
