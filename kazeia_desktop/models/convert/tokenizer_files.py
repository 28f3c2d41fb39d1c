"""The official tokenizer's three files as the table that llama.cpp wants."""

from pathlib import Path
from typing import Final

from kazeia_desktop.formats.json_fields import Fields
from kazeia_desktop.formats.problems import header_problem, key_problem, unreadable
from kazeia_desktop.models.convert.layout import TokenTable

_NORMAL: Final = 1  # llama_token_type
_CONTROL: Final = 3
_USER_DEFINED: Final = 4
_UNUSED: Final = 5
_MOST_MERGES: Final = 1 << 20


def read_tokenizer(directory: Path, n_rows: int) -> TokenTable:
    """vocab.json, merges.txt and tokenizer_config.json of a Qwen2 tokenizer.

    Args:
        n_rows: of the text embedding; rows without a token get an unused one, as llama.cpp's converter does.
    Raises:
        ModelMissingError, ModelCorruptError: naming the file and the key.
    """
    tokens: list[str | None] = [None] * n_rows
    types = [_UNUSED] * n_rows
    vocabulary = Fields.read(directory / "vocab.json")
    for token in vocabulary:
        row = vocabulary.integer(token, 0, n_rows - 1)
        if tokens[row] is not None:
            raise vocabulary.problem(token, row, f"!= {tokens[row]}")
        tokens[row], types[row] = _writable(vocabulary, token), _NORMAL
    _add(Fields.read(directory / "tokenizer_config.json"), tokens, types)
    names = [f"[PAD{row}]" if token is None else token for row, token in enumerate(tokens)]
    return TokenTable(names, types, _read_merges(directory / "merges.txt"))


def _add(config: Fields, tokens: list[str | None], types: list[int]) -> None:
    added = config.table("added_tokens_decoder")
    for key in added:
        row = int(key) if key.isascii() and key.isdigit() and len(key) < 10 else -1
        if not 0 <= row < len(tokens):
            raise added.problem(key, key, f"0..{len(tokens) - 1}")
        entry = added.table(key)
        content = entry.text("content")
        if tokens[row] not in (None, content):
            raise entry.problem("content", content, tokens[row])
        # llama.cpp's converter: what looks special is, whatever the file says.
        special = entry.boolean("special", False) or (content.startswith("<|") and content.endswith("|>"))
        tokens[row], types[row] = content, _CONTROL if special else _USER_DEFINED


def _writable(fields: Fields, token: str) -> str:
    try:
        token.encode("utf-8")
    except UnicodeEncodeError:
        raise key_problem(fields.path, repr(token), "key", repr(token), "UTF-8") from None
    return token


def _read_merges(path: Path) -> list[str]:
    try:
        lines = path.read_text("utf-8").split("\n")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError:
        raise header_problem(path, "text", "?", "UTF-8") from None
    merges = []
    for number, line in enumerate(lines, 1):
        line = line.removesuffix("\r")
        if not line or (number == 1 and line.startswith("#")):
            continue
        left, space, right = line.partition(" ")
        if not left or not space or not right or " " in right:
            raise key_problem(path, f"line {number}", "value", line, "a b")
        merges.append(line)
    if not 1 <= len(merges) <= _MOST_MERGES:
        raise header_problem(path, "n_merges", len(merges), f"1..{_MOST_MERGES}")
    return merges
