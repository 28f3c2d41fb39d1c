"""A look at the whole header of a model's file, before llama.cpp opens it."""

from pathlib import Path
from typing import Final

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.problems import header_problem

_MOST_LAYERS: Final = 512  # llama.cpp's own limit, which it asserts
_EPSILONS: Final = ("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon", "attention.group_norm_epsilon")
_COUNTS: Final = {"block_count": _MOST_LAYERS, "context_length": 2**31 - 1, "embedding_length": 2**24}
_NO_WEIGHTS: Final = range(24, 29)  # ggml's i8, i16, i32, i64, f64
_F32: Final = 0


def check_header(path: Path) -> None:
    """Whether llama.cpp may open the file: keys and tensors are sound, and its end is there. No weight is read.

    Also what llama.cpp asserts for every architecture instead of telling it.

    Raises:
        ModelMissingError, ModelCorruptError, ModelIncompatibleError: one line, with the key or tensor and the value.
    """
    file = GgufFile(path)
    if not file.tensors:
        raise header_problem(path, "n_tensors", 0, ">= 1")
    architecture = file.text("general.architecture")
    for name, most in _COUNTS.items():
        if (key := f"{architecture}.{name}") in file:
            file.integer(key, 1, most)
    for name in _EPSILONS:
        if (key := f"{architecture}.{name}") in file:
            file.number(key, 0.0, 1.0)
    for name, tensor in file.tensors.items():
        if tensor.type in _NO_WEIGHTS or (len(tensor.shape) < 2 and tensor.type != _F32):
            raise ModelIncompatibleError(
                "The model file {file} has the tensor {tensor} in type {type}, which llama.cpp does not compute.",
                file=str(path),
                tensor=name,
                type=tensor.type,
            )
