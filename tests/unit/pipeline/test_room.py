"""Whether another voice fits into memory beside the one that speaks."""

from pathlib import Path
from typing import cast

import pytest

from kazeia_desktop.models.store import ModelStore
from kazeia_desktop.paths import Paths
from kazeia_desktop.pipeline import builder
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import with_value

pytestmark = pytest.mark.unit

LIGHT = with_value(Settings(), "tts.engine", "kokoro")
OWN = with_value(Settings(), "tts.engine", "qwen3")


class Store:
    def __init__(self, file: Path) -> None:
        self.file = file

    def require_weights(self, name: str) -> Path:
        return self.file


@pytest.mark.parametrize(
    ("settings", "free", "fits"),
    [
        (LIGHT, 301_600_000, True),
        (LIGHT, 301_400_000, False),
        (LIGHT, None, True),
        (OWN, 303_100_000, True),
        (OWN, 302_900_000, False),
        (OWN, None, False),
        (with_value(Settings(), "tts.engine", "system"), 0, True),
    ],
)
def test_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings, free: int | None, fits: bool
) -> None:
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_bytes(b"\0" * 1_000_000)
    monkeypatch.setattr(builder, "available_bytes", lambda: free)
    monkeypatch.setattr(builder, "own_voice_dir", lambda paths, changed: tmp_path)
    paths = Paths(tmp_path, tmp_path, tmp_path, tmp_path)
    store = cast(ModelStore, Store(tmp_path / "a.bin"))
    assert builder.room_for_two(settings, store, paths) is fits


def test_a_file_that_is_gone_has_no_room(tmp_path: Path) -> None:
    paths = Paths(tmp_path, tmp_path, tmp_path, tmp_path)
    assert not builder.room_for_two(LIGHT, cast(ModelStore, Store(tmp_path / "gone")), paths)
