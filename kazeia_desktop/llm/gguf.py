"""A first look at a model's file, before llama.cpp opens it."""

import struct
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import ModelCorruptError, ModelIncompatibleError, ModelMissingError

_MAGIC: Final = b"GGUF"
_HEADER: Final = struct.Struct("<4sIQQ")  # magic, version, tensors, keys: ggml's docs/gguf.md
_VERSIONS: Final = (2, 3)
_MOST: Final = 100_000
"""Tensors or keys. The largest models have some thousands; llama.cpp would try to reserve for any number."""


def check_header(path: Path) -> None:
    """Whether the file begins as a GGUF that llama.cpp may open.

    Raises:
        ModelMissingError, ModelCorruptError, ModelIncompatibleError: one line, with the value found.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER.size)
    except FileNotFoundError:
        raise ModelMissingError("There is no model file {file}.", file=str(path)) from None
    except OSError as error:
        raise ModelMissingError(
            "The model file {file} cannot be read ({reason}).", file=str(path), reason=error.strerror or str(error)
        ) from error
    if len(head) < _HEADER.size or head[:4] != _MAGIC:
        raise ModelCorruptError("The model file {file} is not a GGUF file.", file=str(path))
    _, version, n_tensors, n_keys = _HEADER.unpack(head)
    if version not in _VERSIONS:
        raise ModelIncompatibleError(
            "The model file {file} is GGUF version {version}; 2 and 3 can be read.", file=str(path), version=version
        )
    if not 1 <= n_tensors <= _MOST or not 1 <= n_keys <= _MOST:
        raise ModelCorruptError("The model file {file} is damaged (its header).", file=str(path))
