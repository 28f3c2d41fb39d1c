"""The tokenizer on a small vocabulary of single bytes: the wrap, NFC, special tokens, text in pieces."""

import itertools
import json
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop._native import TalkerModel
from kazeia_desktop.formats.voice_manifest import TALKER
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.tts.qwen3_text import N_CLOSING, N_ROLE, TextTokenizer
from tests.fakes.micro_voice import ADDED, FIRST_ADDED, byte_alphabet, write_checkpoint

pytestmark = pytest.mark.unit

SPECIAL = {token: FIRST_ADDED + i for i, token in enumerate(ADDED)}
LETTERS = [*byte_alphabet(), *("assistant"[:n] for n in range(2, 10)), "on", "bon", "Ġa"]
ASSISTANT, NEWLINE, BON = LETTERS.index("assistant"), LETTERS.index("Ċ"), LETTERS.index("bon")
PARTS = [*"aàé12 '.,!?-\n\t", " ", " ", "\u202f", "\u0301", "中", "。", "한", "🙂", "<|im_end|>"]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> TextTokenizer:
    base = tmp_path_factory.mktemp("vocabulary")
    checkpoint = write_checkpoint(base / "checkpoint")
    (checkpoint / "vocab.json").write_text(json.dumps({token: row for row, token in enumerate(LETTERS)}), "utf-8")
    merges = [f"{'assistant'[:n]} {'assistant'[n]}" for n in range(1, 9)] + ["o n", "b on", "Ġ a"]
    (checkpoint / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), "utf-8")
    made = convert(OfficialSource(checkpoint), base / "f32", "f32").directory
    return TextTokenizer(TalkerModel(str(made / TALKER), True))


def spelled(tokenizer: TextTokenizer, text: str) -> str:
    """What the tokens of a text say."""
    alphabet = {letter: byte for byte, letter in enumerate(byte_alphabet())}
    said = "".join(LETTERS[token] for token in tokenizer.text(text))
    return bytes(alphabet[letter] for letter in said).decode("utf-8")


def test_a_text_is_wrapped_as_an_assistants_turn(tokenizer: TextTokenizer) -> None:
    start, end = SPECIAL["<|im_start|>"], SPECIAL["<|im_end|>"]
    tokens = tokenizer.wrapped("bon").tolist()
    assert tokens[:N_ROLE] == [start, ASSISTANT, NEWLINE]
    assert tokens[-N_CLOSING:] == [end, NEWLINE, start, ASSISTANT, NEWLINE]
    assert tokens[N_ROLE:-N_CLOSING] == tokenizer.text("bon").tolist() == [BON]
    assert tokenizer.wrapped("").tolist() == tokens[:N_ROLE] + tokens[-N_CLOSING:]


@pytest.mark.parametrize(
    "text", ["e\u0301t\u00e9", "\ufb01n", "\u1112\u1161\u11ab", "a\u0323\u0302", "\u212b", "Ça ira"]
)
def test_text_is_said_in_nfc(tokenizer: TextTokenizer, text: str) -> None:
    assert spelled(tokenizer, text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("text", list(ADDED))
def test_special_tokens_in_a_text_are_text(tokenizer: TextTokenizer, text: str) -> None:
    assert spelled(tokenizer, f"a{text}b") == f"a{text}b"


def test_half_a_character(tokenizer: TextTokenizer) -> None:
    """A lone surrogate, as a broken decoder leaves it, is no reason to fail."""
    assert spelled(tokenizer, "a\ud83db") == "a?b"


@given(text=TEXTS)
def test_nothing_is_lost(tokenizer: TextTokenizer, text: str) -> None:
    """Line breaks at the start join that of the wrap, as in the official processor."""
    assert spelled(tokenizer, text).endswith(unicodedata.normalize("NFC", text).lstrip())


@given(text=TEXTS, cuts=st.lists(st.integers(0, 60), max_size=8))
def test_pieces_are_the_whole(tokenizer: TextTokenizer, text: str, cuts: list[int]) -> None:
    at = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in itertools.pairwise(at)]
    assert list(tokenizer.pieces(pieces)) == tokenizer.text(text).tolist()


@pytest.mark.parametrize(
    ("pieces", "n"),
    [(["bon", "bon "], 0), (["bon", " b"], 1), (["bon bon", " a"], 3), (["中文", "。"], 6), (["1", " ", " ", " 2"], 0)],
)
def test_words_are_said_as_soon_as_the_next_begins(tokenizer: TextTokenizer, pieces: list[str], n: int) -> None:
    """n tokens come before the text is known to end."""
    said = 0

    def coming() -> Iterator[str]:
        yield from pieces
        assert said == n
        yield "."

    for _ in tokenizer.pieces(coming()):
        said += 1
    assert said > n
