"""Checkpoints that several modules read; nobody changes them."""

from pathlib import Path

import pytest

from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from tests.fakes.micro_voice import write_checkpoint


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An official Base checkpoint."""
    return write_checkpoint(tmp_path_factory.mktemp("micro") / "base")


@pytest.fixture(scope="session")
def projected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One whose code predictor is narrower than its talker."""
    return write_checkpoint(tmp_path_factory.mktemp("micro") / "projected", projection=True, seed=2)


@pytest.fixture(scope="session")
def converted(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`checkpoint`, converted in f32."""
    return convert(OfficialSource(checkpoint), tmp_path_factory.mktemp("micro") / "f32", "f32").directory
