"""The tokens of a loaded model."""

from typing import Any

# isort: off
from kazeia_desktop._native import _core
import llama_cpp

# isort: on


class Vocabulary:
    """Text to tokens and back. `handle` is llama.cpp's; valid as long as the model is loaded.

    Attributes:
        n_tokens: how many there are.
    """

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - a C pointer
        self.handle: Any = llama_cpp.llama_model_get_vocab(model)
        self.n_tokens = int(llama_cpp.llama_vocab_n_tokens(self.handle))

    @property
    def bos(self) -> int:
        """The token that begins a text; -1 for none."""
        return int(llama_cpp.llama_vocab_bos(self.handle))

    @property
    def eos(self) -> int:
        """The token that ends a text; -1 for none."""
        return int(llama_cpp.llama_vocab_eos(self.handle))

    @property
    def adds_bos(self) -> bool:
        """Whether every prompt begins with `bos`."""
        return bool(llama_cpp.llama_vocab_get_add_bos(self.handle))

    def is_end(self, token: int) -> bool:
        """Whether the model says with it that it has finished."""
        return _core.is_end(self.handle, token)

    def tokenize(self, text: str, special: bool) -> list[int]:
        """Tokens of `text`. special: names of control tokens become them; else they stay text."""
        raw = text.encode("utf-8", "replace")
        size = len(raw) + 8
        while True:
            buffer = (llama_cpp.llama_token * size)()
            n = llama_cpp.llama_tokenize(self.handle, raw, len(raw), buffer, size, False, special)
            if n >= 0:
                return list(buffer[:n])
            size = -n

    def piece(self, token: int, special: bool = False) -> bytes:
        """A token's bytes, maybe part of a character. special: also the name of a control token."""
        return _core.token_piece(self.handle, token, special)

    def text(self, token: int) -> str:
        """A token as a template writes it, control tokens included; "" for one that there is not."""
        return self.piece(token, special=True).decode("utf-8", "replace") if token >= 0 else ""
