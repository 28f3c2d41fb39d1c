"""Ids come from the model's own files, and what is no text is never said."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from kazeia_desktop.errors import ModelCorruptError, ModelIncompatibleError
from kazeia_desktop.stt import vocabulary
from kazeia_desktop.stt.vocabulary import Vocabulary

pytestmark = pytest.mark.unit

_SPECIAL = (
    "<|endoftext|>",
    "<|startoftranscript|>",
    "<|en|>",
    "<|fr|>",
    "<|transcribe|>",
    "<|notimestamps|>",
    "<|0.00|>",
)
_TEXT = ("B", "o", "n", "Ġ", "Ã", "©", "!")


def tokenizer(folder: Path, special: tuple[str, ...] = _SPECIAL) -> Path:
    """A byte-level vocabulary of seven texts and Whisper's special tokens."""
    made = Tokenizer(models.BPE({token: i for i, token in enumerate(_TEXT)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(token, special=True) for token in special])
    made.save(str(folder / "tokenizer.json"))
    return folder


def test_ids_are_the_models(tmp_path: Path) -> None:
    v = Vocabulary(tokenizer(tmp_path), {"suppress_ids": [6], "suppress_ids_begin": [3]}, n_vocab=14)
    assert (v.end, v.start, v.transcribe, v.no_timestamps) == (7, 8, 11, 12)
    assert v.languages == {"fr": 10, "en": 9}
    assert v.suppressed == [6, 8, 9, 10, 11, 12, 13]
    assert v.suppressed_at_begin == [3, 7]


def test_text_is_joined_from_bytes_and_specials_are_dropped(tmp_path: Path) -> None:
    v = Vocabulary(tokenizer(tmp_path), {}, 14)
    assert v.text([3, 0, 1, 2, 3, 4, 5, 6]) == "Bon é!"
    assert v.text([8, 10, 11, 12, 0, 13, 7]) == "B"
    assert v.text([0, 4]) == "B�"
    assert v.text([]) == ""


@pytest.mark.parametrize("config", [{"suppress_ids": [-1, 99, "x", None, 2.5, 6]}, {"suppress_ids": [6, 6]}])
def test_ids_of_the_config_that_are_none_are_passed_over(tmp_path: Path, config: dict[str, Any]) -> None:
    v = Vocabulary(tokenizer(tmp_path), config, 14)
    assert [i for i in v.suppressed if i < v.end] == [6]


@pytest.mark.parametrize("config", [{"suppress_ids": 5}, {"suppress_ids": None}, {"suppress_ids_begin": "abc"}])
def test_a_config_of_another_form_is_harmless(tmp_path: Path, config: dict[str, Any]) -> None:
    v = Vocabulary(tokenizer(tmp_path), config, 14)
    assert v.suppressed == [8, 9, 10, 11, 12, 13]
    assert v.suppressed_at_begin == [7]


@pytest.mark.parametrize("missing", _SPECIAL[:-1])
def test_another_models_tokenizer_is_told(tmp_path: Path, missing: str) -> None:
    folder = tokenizer(tmp_path, tuple(token for token in _SPECIAL if token != missing))
    with pytest.raises(ModelIncompatibleError, match=r"tokenizer\.json"):
        Vocabulary(folder, {}, 14)


@pytest.mark.parametrize("n_vocab", [0, 7, 12])
def test_a_tokenizer_with_more_than_the_models_vocabulary_is_told(tmp_path: Path, n_vocab: int) -> None:
    with pytest.raises(ModelIncompatibleError):
        Vocabulary(tokenizer(tmp_path), {}, n_vocab)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff\xfe\x00", json.dumps({"model": {}}).encode()])
def test_a_damaged_tokenizer_is_told_in_one_line(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "tokenizer.json").write_bytes(raw)
    with pytest.raises(ModelCorruptError) as caught:
        Vocabulary(tmp_path, {}, 14)
    assert "\n" not in str(caught.value)


def test_the_merges_are_not_read_and_nothing_else_is_lost(tmp_path: Path) -> None:
    folder = tokenizer(tmp_path)
    file = folder / "tokenizer.json"
    whole = json.loads(file.read_text())
    whole["model"]["merges"] = [["B", "o"], ["!", "n"]]  # of which one makes no token: read, it would be refused
    whole["model"]["vocab"] |= {"]": 7, "merges": 8}
    file.write_text(json.dumps(whole))
    assert Vocabulary(folder, {}, 50).text([0, 1, 2]) == "Bon"
    assert json.loads(vocabulary._without_merges(file.read_bytes())) == {
        **whole, "model": {**whole["model"], "merges": []},
    }  # fmt: skip


@pytest.mark.parametrize("raw", [b"", b"{}", b'{"model": {"merges": [], "vocab": {}}, "a": 1}', b'"merges": [', b"]}}"])
def test_another_order_is_left_as_it_is(raw: bytes) -> None:
    assert vocabulary._without_merges(raw) == raw
