"""A look at the whole header of a model's file, before llama.cpp opens it."""

from pathlib import Path

from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.problems import header_problem


def check_header(path: Path) -> None:
    """Whether llama.cpp may open the file: keys and tensors are sound, and its end is there. No weight is read.

    Raises:
        ModelMissingError, ModelCorruptError, ModelIncompatibleError: one line, with the key or tensor and the value.
    """
    if not GgufFile(path).tensors:
        raise header_problem(path, "n_tensors", 0, ">= 1")
