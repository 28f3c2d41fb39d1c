"""Sounds of texts, from the real espeak-ng."""

import shutil
from pathlib import Path

import pytest

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.tts.phonemes import phonemes

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Bonjour, ça va ? Oui : très bien !", ",?:!"),
        ("Attends… non ; si.", "…;."),
        ("Quoi ?! Non.", "?."),
        ("Oui — non.", "—."),
        ("bonjour", ""),
    ],
)
def test_punctuation_is_kept_in_its_order(text: str, marks: str) -> None:
    said = phonemes(text, "fr")
    assert "".join(c for c in said if c in ",.;:!?…—") == marks
    assert said == " ".join(said.split())


def test_languages_differ() -> None:
    assert phonemes("table", "fr") != phonemes("table", "en")
    assert "ʒ" in phonemes("bonjour", "fr")


@pytest.mark.parametrize("text", ["", " ", "...", "?!", " , ; ", "—", "…"])
def test_signs_alone_have_no_sound(text: str) -> None:
    assert phonemes(text, "fr") == ""


@pytest.mark.parametrize(
    "text",
    [
        "l'été\nd'après",
        "a\r\nb",
        "-v en",
        "--help",
        "(en)",
        "e-mail (weekend) smartphone",
        "😀 oui, 😀",
        "\x00a",
        "x" * 5000,
    ],
)
def test_any_text_is_one_line_without_switches(text: str) -> None:
    said = phonemes(text, "fr")
    assert "\n" not in said
    assert "(en)" not in said
    assert said


def test_missing_espeak_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InferenceError, match="espeak-ng"):
        phonemes("bonjour", "fr")


def test_a_failing_espeak_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "espeak-ng"
    fake.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(fake))
    with pytest.raises(InferenceError, match="espeak-ng failed") as caught:
        phonemes("bonjour", "fr")
    assert "\n" not in str(caught.value)
