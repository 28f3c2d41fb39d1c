"""How one text is spoken, and what was measured while it was."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kazeia_desktop.formats.voice_description import Sampling
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.tts.qwen3_generator import Stop, Times

TALKER_SAMPLING = Sampling(0.9, 50, 1.0, 1.05)
CODE_PREDICTOR_SAMPLING = Sampling(0.9, 50, 1.0)


@dataclass(frozen=True, slots=True)
class SpeechOptions:
    """One utterance's choices.

    Attributes:
        language: the model's name of it ("french"), a tag ("fr"), or "auto".
        text_mode: "streamed": speech starts on the first token, and the text may still be growing; the official
            default for Base models. "whole": the text comes before the first sound.
        seed: None: a random one.
        stream_frames: codec frames decoded at a time once the sound runs, more where more wait already; 0: all at
            the end.
        penalty_window: how many of the last frames the talker's repetition penalty sees; 0: all.
        max_frames: exactly so many at most, and no guard against endless speech; None: bounded by the text.
        ramp: frames of the first calls of the codec, none more than stream_frames: one is dear, but the first sound
            waits for nothing more.
    """

    language: str = "french"
    text_mode: str = "streamed"
    seed: int | None = None
    stream_frames: int = 4
    talker: Sampling = TALKER_SAMPLING
    code_predictor: Sampling = CODE_PREDICTOR_SAMPLING
    penalty_window: int = 0
    max_frames: int | None = None
    ramp: tuple[int, ...] = (1, 2, 4)


PARTS: Final = ("compute", "heads", "sampling", "host", "waiting")
"""What a stage's time went into."""


@dataclass(slots=True)
class SpeechStats:
    """What one utterance took. Milliseconds; those of a stage are per frame.

    Attributes:
        stop: why it ended: "eos", "budget", "silence", "loop" or "cancel".
        elapsed_s: from the call to the last sound, without the time that the caller kept a piece.
        retries: 1 if it had to be begun again with another seed.
        profile: stage -> part -> ms per frame. Parts: compute (layers; of the codec its whole graph), heads, sampling,
            host (Python, and copies), waiting (of the talker for room, of the codec for frames). llama.cpp's talker
            has its head in compute.
        codes: (frames, 16) int32.
    """

    frames: int = 0
    chunks: int = 0
    seed: int = 0
    stop: Stop = "eos"
    retries: int = 0
    elapsed_s: float = 0.0
    ttfa_ms: float | None = None
    talker_ms: float = 0.0
    code_predictor_ms: float = 0.0
    codec_ms: float = 0.0
    prefill_ms: float = 0.0
    profile: dict[str, dict[str, float]] = field(default_factory=dict)
    codes: IntArray = field(default_factory=lambda: np.zeros((0, 16), np.int32))


def account(stats: SpeechStats, times: Times, stop: Stop, codes: Sequence[IntArray], codec_s: float) -> None:
    """Fill in what the generator and the codec took for `codes`, (16,) each."""
    stats.frames, stats.stop = len(codes), stop
    stats.codes = np.stack(codes) if codes else stats.codes
    per_frame = 1000 / max(stats.frames, 1)
    stats.prefill_ms = times.prefill * 1000
    stats.talker_ms = (times.talker + times.talker_sampling) * per_frame
    stats.code_predictor_ms = times.code_predictor * per_frame
    stats.codec_ms = codec_s * per_frame
    predicted = times.layers + times.heads + times.code_predictor_sampling
    known = times.prefill + times.talker + times.talker_sampling + times.code_predictor + times.waiting
    seconds = {
        "talker": (
            times.talker - times.talker_head, times.talker_head, times.talker_sampling, times.total - known,
            times.waiting,
        ),
        "code_predictor": (
            times.layers, times.heads, times.code_predictor_sampling, times.code_predictor - predicted, 0.0,
        ),
        "codec": (codec_s, 0.0, 0.0, 0.0, stats.elapsed_s - codec_s),
    }  # fmt: skip
    stats.profile = {
        stage: {part: max(value, 0.0) * per_frame for part, value in zip(PARTS, parts, strict=True)}
        for stage, parts in seconds.items()
    }


Voice = FloatArray | str | None
"""An x-vector, the name of one of the model's own speakers, or none."""
