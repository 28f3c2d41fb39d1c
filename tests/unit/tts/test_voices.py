"""Voice files are checked before they are used."""

from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.errors import KazeiaError, ModelCorruptError
from kazeia_desktop.tts.voices import STYLE_WIDTH, STYLES, load_phoneme_ids, load_style

pytestmark = pytest.mark.unit


def test_a_sound_style_is_read(tmp_path: Path) -> None:
    table = np.random.default_rng(1).uniform(-1, 1, STYLES * STYLE_WIDTH).astype(np.float32)
    table.tofile(tmp_path / "léa.bin")
    style = load_style(tmp_path, "léa")
    assert style.shape == (STYLES, STYLE_WIDTH)
    assert style[3, 4] == table[3 * STYLE_WIDTH + 4]


@pytest.mark.parametrize("name", ["nobody", "", "../secret", "/etc/passwd", "a\x00b"])
def test_a_voice_that_is_not_there_names_those_that_are(tmp_path: Path, name: str) -> None:
    (tmp_path / "ff_siwis.bin").write_bytes(b"")
    with pytest.raises(KazeiaError, match="ff_siwis"):
        load_style(tmp_path, name)


@pytest.mark.parametrize("size", [0, 1, 3, STYLES * STYLE_WIDTH * 4 - 4, STYLES * STYLE_WIDTH * 4 + 4])
def test_a_cut_style_is_told(tmp_path: Path, size: int) -> None:
    (tmp_path / "x.bin").write_bytes(bytes(size))
    with pytest.raises(ModelCorruptError, match=r"x\.bin"):
        load_style(tmp_path, "x")


def test_a_style_that_is_not_finite_is_told(tmp_path: Path) -> None:
    np.full(STYLES * STYLE_WIDTH, np.nan, np.float32).tofile(tmp_path / "x.bin")
    with pytest.raises(ModelCorruptError, match=r"x\.bin"):
        load_style(tmp_path, "x")


@pytest.mark.parametrize("raw", [None, b"", b"[]", b"{", b'{"a": "b"}', b'{"a": null}', b"\xff"])
def test_a_damaged_phoneme_table_is_told(tmp_path: Path, raw: bytes | None) -> None:
    if raw is not None:
        (tmp_path / "kokoro_vocab.json").write_bytes(raw)
    with pytest.raises(ModelCorruptError, match="kokoro_vocab"):
        load_phoneme_ids(tmp_path)
