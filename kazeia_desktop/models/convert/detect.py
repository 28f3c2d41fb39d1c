"""Which kind of source a path is."""

from collections.abc import Sequence
from pathlib import Path

from kazeia_desktop.errors import ModelIncompatibleError, ModelMissingError
from kazeia_desktop.models.convert.llama_pair import PairSource, pair_of
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.models.convert.source import VoiceSource


def open_source(paths: Sequence[Path]) -> VoiceSource:
    """The model at `paths`: the official directory, a directory with llama.cpp's two files, or these two.

    Raises:
        ModelMissingError, ModelCorruptError, ModelIncompatibleError: naming the file and the key or tensor.
    """
    for path in paths:
        if not path.exists():
            raise ModelMissingError("There is no {path}.", path=str(path))
    if len(paths) == 1 and (paths[0] / "config.json").exists():
        return OfficialSource(paths[0])
    files = sorted(paths[0].glob("*.gguf")) if len(paths) == 1 and paths[0].is_dir() else list(paths)
    if len(files) > 1 and (pair := pair_of(files)):
        return PairSource(*pair)
    raise ModelIncompatibleError(
        "{path} is no Qwen3-TTS model: its config.json and model.safetensors, or llama.cpp's two GGUF files "
        "(talker and mmproj), were expected.",
        path=" ".join(str(path) for path in paths),
    )  # fmt: skip
