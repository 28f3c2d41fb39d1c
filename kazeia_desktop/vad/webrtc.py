"""The gate: WebRTC's detector, nearly free and generous."""

from typing import Final

import numpy as np

from kazeia_desktop.frames import CAPTURE_RATE_HZ, FloatArray
from kazeia_desktop.vad.base import SpeechGate
from kazeia_desktop.vad.noise_gate import NoiseGate

_PIECE: Final = CAPTURE_RATE_HZ // 100  # 10 ms, the shortest frame that WebRTC takes
_MODE: Final = 1  # 0..3; higher closes earlier. At 1 it misses nothing, and Silero decides.


class AlwaysOpenGate:
    """Where webrtcvad has no wheel (Windows on ARM) Silero decides alone."""

    def is_open(self, samples: FloatArray) -> bool:
        """Always."""
        return True


class WebRtcGate:
    """SpeechGate: open when any 10 ms piece of the frame may be speech.

    Source: the voice activity detector of WebRTC, package webrtcvad-wheels.
    """

    def __init__(self) -> None:
        import webrtcvad

        self._vad = webrtcvad.Vad(_MODE)

    def is_open(self, samples: FloatArray) -> bool:
        """samples: (512,) float32 at 16 kHz; the last 2 ms are not looked at."""
        pcm = (np.clip(samples, -1.0, 1.0) * 32767).astype("<i2")
        return any(
            self._vad.is_speech(pcm[at : at + _PIECE].tobytes(), CAPTURE_RATE_HZ)
            for at in range(0, len(pcm) - _PIECE + 1, _PIECE)
        )


def make_gate() -> NoiseGate:
    """The gate that this platform has."""
    inner: SpeechGate
    try:
        inner = WebRtcGate()
    except ImportError:
        inner = AlwaysOpenGate()
    return NoiseGate(inner)
