"""What travels along the path of a turn: one small vocabulary, no behaviour.

Every item of a turn carries the turn's id; whoever receives an item of a cancelled turn drops it.
Audio is float32 in [-1, 1], mono. Times are `time.monotonic()` seconds.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]

CAPTURE_RATE_HZ: Final = 16_000
"""Rate of everything between the microphone and Whisper."""

CAPTURE_FRAME_SAMPLES: Final = 512
"""One AudioFrame: 32 ms, the only length that Silero VAD takes at 16 kHz."""


@dataclass(frozen=True, slots=True, eq=False)
class AudioFrame:
    """32 ms of microphone. samples: (512,) float32 at 16 kHz; time_s: when its last sample arrived."""

    samples: FloatArray
    time_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Utterance:
    """What was said between two silences.

    samples: (n,) float32 at 16 kHz, pre-roll and hangover included.
    speech_end_s: when the last speech sample arrived; ended_s: when the end was decided.
    """

    turn_id: int
    samples: FloatArray
    speech_end_s: float
    ended_s: float


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a transcript; seconds from the start of the sound."""

    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """The words of one utterance. language: "fr" or "en". text may be empty: nothing was understood.

    encoder_ms and decoder_ms_per_token are what the recogniser measured; n_tokens counts decoder steps.
    """

    turn_id: int
    text: str
    language: str
    segments: tuple[Segment, ...] = ()
    encoder_ms: float = 0.0
    decoder_ms_per_token: float = 0.0
    n_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Some characters of the reply, reasoning already removed. `last`: the reply ends here."""

    turn_id: int
    text: str
    last: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of the reply that is spoken in one breath.

    text: as displayed; spoken: as said ("3,14" becomes "trois virgule quatorze"), may be empty.
    `last`: no clause of this turn follows (text and spoken may then both be empty).
    """

    turn_id: int
    index: int
    text: str
    spoken: str
    last: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SpeechFrame:
    """Some sound of one clause. samples: (n,) float32 at sample_rate_hz.

    end_of_clause: the clause's last frame (it may hold no samples); end_of_turn: the turn's last.
    """

    turn_id: int
    clause_index: int
    samples: FloatArray
    sample_rate_hz: int
    end_of_clause: bool = False
    end_of_turn: bool = False
