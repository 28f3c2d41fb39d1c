"""The ends of a run of the voice: silence cut, a click prevented, the pause that its last sign asks for."""

from typing import Final

import numpy as np

from kazeia_desktop.frames import FloatArray

SILENCE: Final = 0.003
"""Of full scale. Kokoro pads 0.33-0.40 s before and 0.02-0.40 s behind speech, below this throughout."""
_KEPT_BEFORE_S: Final = 0.03
_KEPT_AFTER_S: Final = 0.06
_FADE_S: Final = 0.005
_SENTENCE_S: Final = 0.25
_PAUSE_S: Final = {",": 0.08, ";": 0.15, ":": 0.15, "—": 0.12, "…": 0.35}


def pause_after(piece: str, ends_clause: bool) -> float:
    """Seconds of silence behind a piece of phonemes, by its last sign; none between words of one clause."""
    last = piece.rstrip()[-1:]
    if last in _PAUSE_S:
        return _PAUSE_S[last]
    return _SENTENCE_S if last in {".", "!", "?"} or ends_clause else 0.0


def shaped(sound: FloatArray, rate_hz: int, pause_s: float) -> FloatArray:
    """The sound without the model's padding, faded in and out over 5 ms, then the pause.

    Args:
        sound: (n,) float32.
    Returns:
        (m,) float32; empty when all of it is silence.
    """
    loud = np.flatnonzero(np.abs(sound) > SILENCE)
    if not len(loud):
        return np.zeros(0, np.float32)
    begin = max(0, int(loud[0]) - int(_KEPT_BEFORE_S * rate_hz))
    end = min(len(sound), int(loud[-1]) + 1 + int(_KEPT_AFTER_S * rate_hz))
    out = np.zeros(end - begin + int(pause_s * rate_hz), np.float32)
    voiced = out[: end - begin]
    voiced[:] = sound[begin:end]
    n = min(int(_FADE_S * rate_hz), len(voiced) // 2)
    ramp = np.linspace(0.0, 1.0, n, dtype=np.float32)
    voiced[:n] *= ramp
    voiced[len(voiced) - n :] *= ramp[::-1]
    return out
