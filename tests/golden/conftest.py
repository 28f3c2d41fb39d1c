"""The tiny Qwen3-TTS models of the golden tests: made once, when a test first asks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from tests.golden.qwen3_sets import GoldenSet, write_checkpoint
from tests.realmodels import require_model

CheckpointOf = Callable[[GoldenSet], Path]
ModelOf = Callable[[GoldenSet, str], Path]


@pytest.fixture(scope="session")
def checkpoint_of(tmp_path_factory: pytest.TempPathFactory) -> CheckpointOf:
    """A set's checkpoint in the official layout."""
    root = tmp_path_factory.mktemp("qwen3tts")

    def make(golden: GoldenSet) -> Path:
        directory = root / golden.name
        if not directory.exists():
            write_checkpoint(golden, directory, next(require_model("qwen2.5-coder-0.5b").glob("*.gguf")))
        return directory

    return make


@pytest.fixture(scope="session")
def model_of(checkpoint_of: CheckpointOf, tmp_path_factory: pytest.TempPathFactory) -> ModelOf:
    """A set, converted with a dtype."""
    root = tmp_path_factory.mktemp("converted")

    def make(golden: GoldenSet, dtype: str) -> Path:
        directory = root / f"{golden.name}-{dtype}"
        if not directory.exists():
            convert(OfficialSource(checkpoint_of(golden)), directory, dtype)
        return directory

    return make
