"""Stops a voice that does not end by itself.

The model sometimes goes on for ever: it hums, repeats a sound, or says nothing. One report has it in
0.34 % of requests. A frame is 80 ms.
"""

from collections import deque
from typing import Final

import numpy as np

from kazeia_desktop.frames import FloatArray

SILENT_FRAMES: Final = 19
"""About 1.5 s: no pause inside a clause is that long."""
SILENT_RMS: Final = 0.003
"""-50 dB: breath and pauses of a recorded voice lie below, its softest sounds above."""
LOOP_FRAMES: Final = 24
LONGEST_PERIOD: Final = 8
"""A loop: codebook 0 has repeated a pattern of up to 8 frames for 24. A held vowel changes its code sooner."""
_BASE_FRAMES: Final = 25
_FRAMES_PER_BYTE: Final = 2.5
"""French takes about 0.8 frames a letter, Chinese 3 a character (of 3 bytes): three times that."""


def frame_budget(text_bytes: int) -> int:
    """Most frames that a text of so many UTF-8 bytes may take."""
    return _BASE_FRAMES + int(_FRAMES_PER_BYTE * text_bytes)


def silent_frames(samples: FloatArray, samples_per_frame: int) -> tuple[int, bool]:
    """How many frames at the end of the sound are silent, and whether all are."""
    frames = samples[: len(samples) // samples_per_frame * samples_per_frame].reshape(-1, samples_per_frame)
    loud = np.flatnonzero(np.sqrt(np.mean(np.square(frames), axis=1)) >= SILENT_RMS)
    if not len(loud):
        return len(frames), True
    return len(frames) - 1 - int(loud[-1]), False


class LoopDetector:
    """Looks at codebook 0 as it comes."""

    def __init__(self) -> None:
        self._last: deque[int] = deque(maxlen=LOOP_FRAMES + LONGEST_PERIOD)

    def push(self, code: int) -> bool:
        """Whether the codes have begun to repeat themselves."""
        self._last.append(code)
        if len(self._last) < LOOP_FRAMES + LONGEST_PERIOD:
            return False
        codes = list(self._last)
        return any(
            codes[-LOOP_FRAMES:] == codes[-LOOP_FRAMES - period : -period] for period in range(1, LONGEST_PERIOD + 1)
        )
