"""What the last turns took, in one line a section: the settings' effect as measured, not as promised."""

import statistics
from collections import deque
from collections.abc import Mapping
from typing import Final

from kazeia_desktop.gui.words import Words
from kazeia_desktop.settings.schema import Apply, Settings, Shown, section_type, shown_of

_TURNS: Final = 8
_SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "vad": ("endpoint_ms",),
    "stt": ("stt_ms_per_s",),
    "llm": ("llm_ttft_ms", "llm_token_ms"),
    "tts": ("tts_ttfa_ms", "tts_rtf", "talker_ms", "code_predictor_ms", "codec_ms"),
}
"""Section -> the figures of a turn that its settings change."""
_FASTER: Final = ("threads", "text_mode", "voice", "stream_frames")
"""Besides what loads anew, settings whose name holds one of these change the figures."""


class StageHints:
    """The figures of the last turns, by section."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[float]] = {
            name: deque(maxlen=_TURNS) for names in _SECTIONS.values() for name in names
        }

    def add(self, metrics: Mapping[str, float | None]) -> None:
        """A turn has ended; what it did not do is left out."""
        for name, kept in self._seen.items():
            value = metrics.get(name)
            if value is not None:
                kept.append(value)

    def forget_all(self) -> None:
        """Other models."""
        for kept in self._seen.values():
            kept.clear()

    def forget_changed(self, old: Settings, new: Settings) -> None:
        """Forget what a changed setting makes untrue."""
        for section, names in _SECTIONS.items():
            before, after = getattr(old, section), getattr(new, section)
            fields = section_type(section).model_fields
            changed = [name for name in fields if getattr(before, name) != getattr(after, name)]
            if any(section == "vad" or _changes_speed(name, shown_of(fields[name])) for name in changed):
                for name in names:
                    self._seen[name].clear()

    def told(self, section: str, words: Words) -> str:
        """The line of a section; "" where nothing was measured."""
        median = {name: statistics.median(kept) for name, kept in self._seen.items() if kept}
        tr = words.tr
        match section:
            case "vad" if "endpoint_ms" in median:
                return tr("Last turns: answered {time} after the last word.", time=words.seconds(median["endpoint_ms"]))
            case "stt" if "stt_ms_per_s" in median:
                per_s = median["stt_ms_per_s"]
                said = tr("Last turns: {ms} ms for a second of speech", ms=_rounded(per_s))
                return f"{said}, {_real_time(per_s / 1000, words)}."
            case "llm":
                return _of_model(median, words)
            case "tts":
                return _of_voice(median, words)
        return ""


def _changes_speed(name: str, shown: Shown) -> bool:
    return shown.apply is Apply.RELOAD or any(part in name for part in _FASTER)


def _of_model(median: Mapping[str, float], words: Words) -> str:
    tr = words.tr
    parts = []
    if "llm_ttft_ms" in median:
        parts.append(tr("first word after {time}", time=words.seconds(median["llm_ttft_ms"])))
    if "llm_token_ms" in median:
        ms = median["llm_token_ms"]
        parts.append(tr("{ms} ms per token ({rate} a second)", ms=_rounded(ms), rate=_rounded(1000 / max(ms, 0.001))))
    return tr("Last turns: {figures}.", figures=", ".join(parts)) if parts else ""


def _of_voice(median: Mapping[str, float], words: Words) -> str:
    tr = words.tr
    parts = []
    for name, title in (
        ("talker_ms", tr("talker {ms} ms")),
        ("code_predictor_ms", tr("code predictor {ms} ms")),
        ("codec_ms", tr("codec {ms} ms")),
    ):
        if name in median:
            parts.append(title.format(ms=words.locale.toString(median[name], "f", 1)))
    if parts:
        parts[-1] = tr("{last} per frame of 80 ms", last=parts[-1])
    if "tts_ttfa_ms" in median:
        parts.append(tr("first sound in {time}", time=words.seconds(median["tts_ttfa_ms"])))
    if "tts_rtf" in median:
        rtf = median["tts_rtf"]
        told = tr("{ms} ms for a second of sound", ms=_rounded(1000 * rtf))
        parts += [told, _real_time(rtf, words)]
    return tr("Last turns: {figures}.", figures=", ".join(parts)) if parts else ""


def _real_time(rtf: float, words: Words) -> str:
    return words.tr("real time") if rtf <= 1 else words.tr("slower than real time")


def _rounded(value: float) -> int | float:
    return round(value) if value >= 10 else round(value, 1)
