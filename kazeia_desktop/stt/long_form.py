"""Recordings of any length, in bounded memory: windows of at most 30 s, cut at pauses."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from kazeia_desktop.frames import CAPTURE_RATE_HZ, FloatArray, Segment, Transcript
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.stt.whisper import WINDOW_S, WhisperRecognizer, longest_pause

_WINDOW: Final = int(WINDOW_S * CAPTURE_RATE_HZ)
_SILENCE: Final = 10 ** (-50 / 20)
"""Peak below which a window holds no speech; Whisper invents words in silence."""


def transcribe_long(
    recognizer: WhisperRecognizer, blocks: Iterable[FloatArray], cancel: CancelToken
) -> Iterator[Transcript]:
    """Recognise a recording window by window.

    Args:
        blocks: (n,) float32 mono at 16 kHz, of any lengths.
    Yields:
        one transcript a window, its segment's times counted from the recording's start; windows without
        speech give an empty text.
    Raises:
        Cancelled, AudioFormatError, InferenceError: as `WhisperRecognizer.transcribe`.
    """
    held = np.zeros(0, np.float32)
    start = 0
    for block in blocks:
        held = np.concatenate([held, block])
        while len(held) > _WINDOW:
            at = longest_pause(held[:_WINDOW], (0.5, 1.0))
            yield _window(recognizer, held[:at], start, cancel)
            held, start = held[at:], start + at
    if len(held):
        yield _window(recognizer, held, start, cancel)


def _window(recognizer: WhisperRecognizer, samples: FloatArray, start: int, cancel: CancelToken) -> Transcript:
    cancel.raise_if_set()
    begin_s, end_s = start / CAPTURE_RATE_HZ, (start + len(samples)) / CAPTURE_RATE_HZ
    if float(np.abs(samples).max()) < _SILENCE:
        return Transcript(0, "", "fr", (Segment(begin_s, end_s, ""),))
    found = recognizer.transcribe(samples, 0, cancel)
    segment = Segment(begin_s, end_s, found.text)
    return Transcript(
        0, found.text, found.language, (segment,), found.encoder_ms, found.decoder_ms_per_token, found.n_tokens
    )
