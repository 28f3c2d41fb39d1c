"""What was heard of a reply, and what is our own voice coming back."""

import pytest

from kazeia_desktop.audio.base import Heard
from kazeia_desktop.pipeline.heard import heard_text, is_echo

pytestmark = pytest.mark.unit

CLAUSES = {0: "Bonjour à vous.", 1: "Il fait très beau aujourd'hui."}


@pytest.mark.parametrize(
    ("heard", "text"),
    [
        ((), ""),
        ((Heard(0, 0, 24000, True),), ""),
        ((Heard(0, 24000, 24000, True),), "Bonjour à vous."),
        ((Heard(0, 12000, 24000, True),), "Bonjour…"),
        ((Heard(0, 100, 24000, True),), ""),
        ((Heard(0, 24000, 24000, True), Heard(1, 20000, 48000, True)), "Bonjour à vous. Il fait…"),
        # The clause is still being made: 29 characters are guessed to last 1.93 s, of which 1 s was played.
        ((Heard(0, 24000, 24000, True), Heard(1, 24000, 24000, False)), "Bonjour à vous. Il fait…"),
        ((Heard(7, 24000, 24000, True),), ""),
    ],
)
def test_heard_text(heard: tuple[Heard, ...], text: str) -> None:
    assert heard_text(CLAUSES, heard, 24_000) == text


@pytest.mark.parametrize(
    ("transcript", "spoken", "echo"),
    [
        ("Il fait très beau aujourd'hui", "Bonjour à vous. Il fait très beau aujourd'hui.", True),
        ("il fait tres beau", "Il fait très beau aujourd'hui.", True),
        ("Oui", "Oui.", False),
        ("Quel temps fera-t-il demain ?", "Il fait très beau aujourd'hui.", False),
        ("et demain, il fait quoi ?", "Il fait très beau aujourd'hui.", False),
        ("", "Il fait beau.", False),
        ("Il fait très beau", "", False),
    ],
)
def test_is_echo(transcript: str, spoken: str, echo: bool) -> None:
    assert is_echo(transcript, spoken) is echo
