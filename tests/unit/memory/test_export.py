"""A conversation leaves Kazeia as Markdown or JSON."""

import json

import pytest

from kazeia_desktop.memory.conversations import Said, Summary
from kazeia_desktop.memory.export import as_json, as_markdown

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
