"""The note of facts is read when it changes, bounded, and never a crash."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.errors import StorageError
from kazeia_desktop.memory.facts import LIMIT, FactsNote

pytestmark = pytest.mark.unit


def test_without_a_file_there_are_no_facts(tmp_path: Path) -> None:
    note = FactsNote(tmp_path / "facts.md")
    assert note.text() == "" and note.problem is None


def test_an_edited_file_is_read_again(tmp_path: Path) -> None:
    note = FactsNote(tmp_path / "config" / "facts.md")
    note.write("Je m'appelle Zoé.\n")
    assert note.text() == "Je m'appelle Zoé."
    note.path.write_bytes("\ufeffJ'habite à Brest.\r\nJ'ai un chat.  \r\n".encode())
    assert note.text() == "J'habite à Brest.\nJ'ai un chat."
    note.path.unlink()
    assert note.text() == ""


def test_a_long_file_is_cut_at_a_line(tmp_path: Path) -> None:
    note = FactsNote(tmp_path / "facts.md")
    note.path.write_text("un fait de plus\n" * 1000, "utf-8")
    text = note.text()
    assert len(text) <= LIMIT and text.endswith("un fait de plus") and note.problem is not None
    with pytest.raises(StorageError, match="at most 2000"):
        note.write("x" * (LIMIT + 1))
    note.path.write_text("x" * 10_000, "utf-8")
    assert len(note.text()) == LIMIT


def test_a_place_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    note = FactsNote(tmp_path)
    assert note.text() == "" and note.problem is not None and "\n" not in str(note.problem)
    with pytest.raises(StorageError, match="cannot be used"):
        note.write("x")
    assert list(tmp_path.iterdir()) == []


@given(st.binary(max_size=6000))
def test_any_bytes_are_a_note(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    note = FactsNote(tmp_path_factory.mktemp("facts") / "facts.md")
    note.path.write_bytes(raw)
    assert len(note.text()) <= LIMIT and "\0" not in note.text()
