"""vocab.json, merges.txt and tokenizer_config.json."""

import json
from pathlib import Path

import pytest

from kazeia_desktop.errors import ModelCorruptError, ModelMissingError
from kazeia_desktop.models.convert.tokenizer_files import read_tokenizer
from tests.fakes.micro_voice import ADDED, FIRST_ADDED, N_TEXT, write_checkpoint

pytestmark = pytest.mark.unit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "source")


def test_every_row_has_a_token_and_a_type(folder: Path) -> None:
    table = read_tokenizer(folder, N_TEXT)
    assert len(table.tokens) == len(table.types) == N_TEXT
    assert table.merges == ["Ġ a", "o n", "b on"]
    assert (table.tokens[256], table.types[256]) == ("Ġa", 1)
    assert table.tokens[FIRST_ADDED : FIRST_ADDED + 6] == list(ADDED)
    assert table.types[FIRST_ADDED] == 3
    assert (table.tokens[500], table.types[500]) == ("[PAD500]", 5)


def test_added_tokens_that_are_not_special_may_be_written_by_a_user(folder: Path) -> None:
    added = {"600": {"content": "<think>", "special": False}, "601": {"content": "<|fim|>", "special": False}}
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}), "utf-8")
    assert read_tokenizer(folder, N_TEXT).types[600:602] == [4, 3]  # what looks special is


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("vocab.json", '{"a": 700}', "key a: value is 700"),
        ("vocab.json", '{"a": 1, "b": 1}', "key b"),
        ("vocab.json", '{"a": "1"}', "key a"),
        ("vocab.json", '{"\\ud800": 1}', "UTF-8"),
        ("vocab.json", "[]", r"vocab\.json"),
        ("tokenizer_config.json", "{}", "added_tokens_decoder"),
        ("tokenizer_config.json", '{"added_tokens_decoder": {"x": {"content": "y"}}}', "added_tokens_decoder.x"),
        ("tokenizer_config.json", '{"added_tokens_decoder": {"700": {"content": "y"}}}', "700"),
        ("tokenizer_config.json", '{"added_tokens_decoder": {"²": {"content": "y"}}}', "²"),
        ("tokenizer_config.json", '{"added_tokens_decoder": {"600": {}}}', "600.content"),
        ("tokenizer_config.json", '{"added_tokens_decoder": {"1": {"content": "y"}}}', "1.content"),
        ("merges.txt", "", "n_merges is 0"),
        ("merges.txt", "a b c\n", "line 1"),
        ("merges.txt", "#version\nab\n", "line 2"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, file: str, text: str, said: str) -> None:
    (folder / file).write_text(text, "utf-8")
    with pytest.raises(ModelCorruptError, match=said):
        read_tokenizer(folder, N_TEXT)


def test_merges_in_another_encoding(folder: Path) -> None:
    (folder / "merges.txt").write_bytes(b"\xe9 a\n")
    with pytest.raises(ModelCorruptError, match="UTF-8"):
        read_tokenizer(folder, N_TEXT)


@pytest.mark.parametrize("file", ["vocab.json", "merges.txt", "tokenizer_config.json"])
def test_a_missing_file_is_named(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(ModelMissingError, match=file):
        read_tokenizer(folder, N_TEXT)
