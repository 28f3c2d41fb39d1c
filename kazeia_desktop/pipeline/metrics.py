"""The times of a turn, by the names that `kazeia ask` prints."""

from kazeia_desktop.pipeline.turn import TurnMarks

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


def turn_metrics(marks: TurnMarks) -> dict[str, float | None]:
    """Milliseconds by name; None for what did not happen in this turn."""
    return {name: marks.between_ms(*span) for name, span in SPANS.items()}
