"""A conversation as a file for people (Markdown) or for programs (JSON)."""

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from kazeia_desktop.memory.conversations import Summary
from kazeia_desktop.memory.said import DONE, USER, Said

_NAMES: Final[Mapping[str, tuple[str, str]]] = {"fr": ("Vous", "Kazeia"), "en": ("You", "Kazeia")}
_ENDED: Final[Mapping[str, Mapping[str, str]]] = {
    "fr": {"interrupted": "interrompu", "error": "échec"},
    "en": {"interrupted": "interrupted", "error": "failed"},
}
_TOOK: Final[Mapping[str, Mapping[str, str]]] = {
    "fr": {
        "endpoint_ms": "écoute {s} s",
        "stt_ms": "reconnaissance {s} s",
        "llm_ttft_ms": "premier mot {s} s",
        "first_audio_ms": "premier son {s} s",
        "total_ms": "tour entier {s} s",
    },
    "en": {
        "endpoint_ms": "listening {s} s",
        "stt_ms": "recognised {s} s",
        "llm_ttft_ms": "first word {s} s",
        "first_audio_ms": "first sound {s} s",
        "total_ms": "whole turn {s} s",
    },
}
_SIGNS: Final = re.compile(r"([\\`*_\[\]<>#|~])")
_LINE_START: Final = re.compile(r"^(\s*)([-+=]|\d+[.)])", re.MULTILINE)


def as_markdown(summary: Summary, said: Sequence[Said], language: str) -> str:
    """The conversation for reading; what was said is text, never markup. Under it, small: when, and what it took."""
    user, kazeia = _NAMES[language]
    lines = [f"# {_plain(summary.title or '…')}", "", f"*{_when(summary.begun_s):%Y-%m-%d %H:%M}*", ""]
    for message in said:
        lines += [f"**{user if message.role == USER else kazeia}:** {_plain(message.text)}", ""]
        lines += [f"*{_about(message, language)}*", ""]
    return "\n".join(lines)


def _about(message: Said, language: str) -> str:
    """The time of day, how the turn ended where that is to be told, and what it took."""
    told = [f"{_when(message.said_s):%H:%M}"]
    if message.ended != DONE:
        told.append(_ENDED[language].get(message.ended, message.ended))
    for name, words in _TOOK[language].items():
        if name in message.metrics:
            seconds = f"{message.metrics[name] / 1000:.1f}"
            told.append(words.format(s=seconds.replace(".", ",") if language == "fr" else seconds))
    return " · ".join(told)


def as_json(summary: Summary, said: Sequence[Said]) -> str:
    """The conversation for programs; times as ISO 8601 with the zone."""
    return json.dumps(record(summary, said), ensure_ascii=False, indent=2) + "\n"


def record(summary: Summary, said: Sequence[Said] | None = None) -> dict[str, object]:
    """What JSON says of a conversation; with what was said in it, where that is given."""
    found: dict[str, object] = {
        "id": summary.id,
        "title": summary.title,
        "language": summary.language,
        "begun": _when(summary.begun_s).isoformat(timespec="seconds"),
        "changed": _when(summary.changed_s).isoformat(timespec="seconds"),
        "n_messages": summary.n_messages,
    }
    if said is not None:
        found["messages"] = [_message(one) for one in said]
    return found


def _message(one: Said) -> dict[str, object]:
    """ended: how the turn ended; of a question, other than "done": it was not answered. metrics: as in `kazeia ask`."""
    told: dict[str, object] = {
        "role": one.role,
        "text": one.text,
        "time": _when(one.said_s).isoformat(timespec="seconds"),
        "ended": one.ended,
    }
    if one.metrics:
        told["metrics"] = dict(one.metrics)
    return told


def _when(seconds: float) -> datetime.datetime:
    try:
        return datetime.datetime.fromtimestamp(seconds).astimezone()
    except (OverflowError, OSError, ValueError):  # the file is anybody's to edit, and clocks are set wrongly
        return datetime.datetime.fromtimestamp(0).astimezone()


def _plain(text: str) -> str:
    """Text whose signs Markdown does not read; line ends stay as paragraphs."""
    text = _LINE_START.sub(r"\1\\\2", _SIGNS.sub(r"\\\1", text))
    return "\n\n".join(line.strip() for line in text.splitlines() if line.strip())
