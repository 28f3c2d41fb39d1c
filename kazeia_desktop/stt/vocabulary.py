"""Whisper's tokens: text of ids, and the ids that have a meaning of their own."""

import re
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer

from kazeia_desktop.errors import ModelCorruptError, ModelIncompatibleError

LANGUAGES: Final = ("fr", "en")
_MERGES: Final = re.compile(rb'"merges"\s*:\s*\[')
_AFTER_MERGES: Final = re.compile(rb"\]\s*\}\s*\}\s*\Z")


class Vocabulary:
    """Special ids and the way back to text, read from the model's files.

    Raises:
        ModelCorruptError, ModelIncompatibleError: tokenizer.json is damaged or of another model.
    """

    def __init__(self, model_dir: Path, config: dict[str, Any], n_vocab: int) -> None:
        path = model_dir / "tokenizer.json"
        try:
            self._tokenizer = Tokenizer.from_buffer(_without_merges(path.read_bytes()))
        except Exception as error:  # tokenizers raises bare Exception
            raise ModelCorruptError(
                "The model file {file} is damaged ({what}): run `kazeia models get {name}`.",
                file=str(path),
                what=str(error).splitlines()[0][:80],
                name=model_dir.name,
            ) from error
        self._path = path
        self.end = self._id("<|endoftext|>")
        self.start = self._id("<|startoftranscript|>")
        self.transcribe = self._id("<|transcribe|>")
        self.no_timestamps = self._id("<|notimestamps|>")
        self.languages = {language: self._id(f"<|{language}|>") for language in LANGUAGES}
        special = (self.end, self.start, self.transcribe, self.no_timestamps, *self.languages.values())
        if max(special) >= n_vocab:
            raise self._foreign()
        # What is not text is never said: everything from <|endoftext|> on but the end itself.
        self.suppressed = sorted({*_ids(config, "suppress_ids", n_vocab), *range(self.end + 1, n_vocab)})
        self.suppressed_at_begin = sorted({*_ids(config, "suppress_ids_begin", n_vocab), self.end})

    def _id(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise self._foreign()
        return int(found)

    def _foreign(self) -> ModelIncompatibleError:
        return ModelIncompatibleError(
            "The tokenizer {file} is not the one of this multilingual Whisper model.", file=str(self._path)
        )

    def text(self, ids: list[int]) -> str:
        """The text of ids below <|endoftext|>; others are dropped."""
        return str(self._tokenizer.decode([i for i in ids if i < self.end], skip_special_tokens=True)).strip()


def _without_merges(raw: bytes) -> bytes:
    """A tokenizer.json without what only the way from text to ids needs, where it comes last, as in Whisper's files.

    The library reads it while no other thread may run: all of it takes 60 ms, this two thirds of that.
    """
    begin, end = _MERGES.search(raw), _AFTER_MERGES.search(raw)
    return raw if begin is None or end is None else raw[: begin.end()] + raw[end.start() :]


def _ids(config: dict[str, Any], key: str, n_vocab: int) -> list[int]:
    """The token ids of a list in config.json; whatever is none is passed over."""
    found = config.get(key)
    return [i for i in found if type(i) is int and 0 <= i < n_vocab] if isinstance(found, list) else []
