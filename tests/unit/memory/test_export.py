"""A conversation leaves Kazeia as Markdown or JSON."""

import json

import pytest

from kazeia_desktop.memory.conversations import Summary
from kazeia_desktop.memory.export import as_json, as_markdown
from kazeia_desktop.memory.said import Said

pytestmark = pytest.mark.unit

SUMMARY = Summary(3, "Les *étoiles*", "fr", 1_700_000_000.0, 1_700_000_100.0, 2)
SAID = [
    Said("user", "Qu'est-ce qu'une étoile ?\n# 1", 1_700_000_000.0),
    Said("assistant", "- Un <b>soleil</b>.", 1_700_000_100.0),
]


def test_markdown_shows_what_was_said_as_text() -> None:
    text = as_markdown(SUMMARY, SAID, "fr")
    assert text.startswith("# Les \\*étoiles\\*\n")
    assert "**Vous:** Qu'est-ce qu'une étoile ?\n\n\\# 1\n" in text
    assert "**Kazeia:** \\- Un \\<b\\>soleil\\</b\\>.\n" in text
    assert "**You:**" in as_markdown(SUMMARY, SAID, "en")


def test_json_holds_everything() -> None:
    told = json.loads(as_json(SUMMARY, SAID))
    assert told["id"] == 3 and told["title"] == "Les *étoiles*" and "étoile" in as_json(SUMMARY, SAID)
    assert [m["role"] for m in told["messages"]] == ["user", "assistant"]
    assert told["messages"][1]["text"] == "- Un <b>soleil</b>." and "T" in told["messages"][0]["time"]


def test_how_turns_ended_and_what_they_took_goes_along() -> None:
    took = {"stt_ms": 300.0, "first_audio_ms": 1234.0, "talker_ms": 30.0}
    said = [
        Said("user", "Un", 1_700_000_000.0, ended="interrupted"),
        Said("user", "Deux", 1_700_000_000.0),
        Said("assistant", "Oui…", 1_700_000_000.0, ended="interrupted", metrics=took),
    ]
    lines = [line for line in as_markdown(SUMMARY, said, "fr").splitlines() if line]
    at = lines[lines.index("**Vous:** Deux") + 1].strip("*")
    assert lines[3] == f"*{at} · interrompu*" and ":" in at
    assert lines[-1] == f"*{at} · interrompu · reconnaissance 0,3 s · premier son 1,2 s*"
    assert "interrupted · recognised 0.3 s · first sound 1.2 s" in as_markdown(SUMMARY, said, "en")
    messages = json.loads(as_json(SUMMARY, said))["messages"]
    assert [m["ended"] for m in messages] == ["interrupted", "done", "interrupted"]
    assert messages[2]["metrics"] == took and "metrics" not in messages[0]
