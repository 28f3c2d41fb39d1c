"""The times of a turn, by the names that `kazeia ask` prints."""

from collections.abc import Sequence

from kazeia_desktop.pipeline.turn import Turn
from kazeia_desktop.tts.base import SpeechFigures

SPANS: dict[str, tuple[str, str]] = {
    "endpoint_ms": ("speech_end", "endpoint"),
    "stt_ms": ("stt_start", "stt_end"),
    "llm_ttft_ms": ("prompt", "first_token"),
    "first_clause_ms": ("prompt", "first_clause"),
    "tts_ttfa_ms": ("tts_start", "first_sample"),
    "first_audio_ms": ("speech_end", "first_audio"),
    "total_ms": ("speech_end", "end"),
}
"""Name -> (mark where it starts, mark where it ends).

speech_end is the last speech sample (for a typed turn: when it was sent); first_audio is the first
sample handed to the device; end is the last one played, or written to a file.
"""


VOICE_FIGURES = ("talker_ms", "code_predictor_ms", "codec_ms", "tts_rtf", "tts_retries")
"""What a voice tells of a turn: ms per frame of its stages, time / length of the sound, and clauses begun again."""


STAGE_FIGURES = ("stt_ms_per_s", "llm_token_ms")
"""What a stage tells of a turn: ms of recognising a second of speech, ms of the language model a token."""


def turn_metrics(turn: Turn) -> dict[str, float | None]:
    """Milliseconds by name, and the voice's figures; None for what did not happen or cannot be told."""
    times = {name: turn.marks.between_ms(*span) for name, span in SPANS.items()}
    figures = _of_clauses(tuple(turn.clauses))
    if figures["tts_rtf"] is None:
        figures["tts_rtf"] = _pace(tuple(turn.spoken))
    return times | figures | {name: turn.figures.get(name) for name in STAGE_FIGURES}


def _pace(spoken: Sequence[tuple[float, float]]) -> float | None:
    """Of a voice that has no figures of its own: time to make / length of the sound."""
    sound_s = sum(seconds for _, seconds in spoken)
    return round(sum(made_s for made_s, _ in spoken) / sound_s, 3) if sound_s else None


def _of_clauses(clauses: Sequence[SpeechFigures]) -> dict[str, float | None]:
    """The mean over all frames of the turn."""
    frames = sum(clause.frames for clause in clauses)
    if not frames:
        return dict.fromkeys(VOICE_FIGURES)

    def mean(values: Sequence[float]) -> float:
        return round(sum(v * c.frames for v, c in zip(values, clauses, strict=True)) / frames, 3)

    return {
        "talker_ms": mean([clause.talker_ms for clause in clauses]),
        "code_predictor_ms": mean([clause.code_predictor_ms for clause in clauses]),
        "codec_ms": mean([clause.codec_ms for clause in clauses]),
        "tts_rtf": mean([clause.rtf for clause in clauses]),
        "tts_retries": sum(clause.retries for clause in clauses),
    }
