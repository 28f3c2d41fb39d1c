"""A conversation as a file for people (Markdown) or for programs (JSON)."""

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from kazeia_desktop.memory.conversations import USER, Said, Summary

_NAMES: Final[Mapping[str, tuple[str, str]]] = {"fr": ("Vous", "Kazeia"), "en": ("You", "Kazeia")}
_SIGNS: Final = re.compile(r"([\\`*_\[\]<>#|~])")
_LINE_START: Final = re.compile(r"^(\s*)([-+=]|\d+[.)])", re.MULTILINE)


def as_markdown(summary: Summary, said: Sequence[Said], language: str) -> str:
    """The conversation for reading; what was said is text, never markup."""
    user, kazeia = _NAMES[language]
    lines = [f"# {_plain(summary.title or '…')}", "", f"*{_when(summary.begun_s):%Y-%m-%d %H:%M}*", ""]
    for message in said:
        lines += [f"**{user if message.role == USER else kazeia}:** {_plain(message.text)}", ""]
    return "\n".join(lines)


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
        found["messages"] = [
            {"role": one.role, "text": one.text, "time": _when(one.said_s).isoformat(timespec="seconds")}
            for one in said
        ]
    return found


def _when(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds).astimezone()


def _plain(text: str) -> str:
    """Text whose signs Markdown does not read; line ends stay as paragraphs."""
    text = _LINE_START.sub(r"\1\\\2", _SIGNS.sub(r"\\\1", text))
    return "\n\n".join(line.strip() for line in text.splitlines() if line.strip())
