"""FLAC files, also damaged ones and those that do not tell their length."""

import builtins
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from kazeia_desktop.audio.flac import flac_info, is_flac, read_flac_blocks
from kazeia_desktop.errors import AudioFormatError
from kazeia_desktop.frames import FloatArray

pytestmark = pytest.mark.unit


def noise(n: int, n_channels: int = 1) -> FloatArray:
    return (0.3 * np.random.default_rng(n).standard_normal((n, n_channels))).clip(-1, 1).astype(np.float32)


def write(path: Path, samples: FloatArray, rate_hz: int = 48_000, subtype: str = "PCM_16") -> Path:
    soundfile.write(str(path), samples, rate_hz, format="FLAC", subtype=subtype)
    return path


def read(path: Path) -> FloatArray:
    return np.concatenate(list(read_flac_blocks(path)))


def without_length(path: Path) -> Path:
    """As ffmpeg writes to a pipe: the 36-bit sample count of STREAMINFO is 0."""
    raw = bytearray(path.read_bytes())
    raw[21] &= 0xF0
    raw[22:26] = bytes(4)
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize(("subtype", "step"), [("PCM_S8", 2**-7), ("PCM_16", 2**-15), ("PCM_24", 2**-23)])
@pytest.mark.parametrize("n_channels", [1, 2, 6])
def test_every_form(subtype: str, step: float, n_channels: int, tmp_path: Path) -> None:
    samples = noise(1000, n_channels)
    path = write(tmp_path / "été.flac", samples, 44_100, subtype)
    assert is_flac(path) and flac_info(path) == (44_100, 1000)
    found = read(path)
    assert found.dtype == np.float32 and found.shape == (1000,)
    np.testing.assert_allclose(found, samples.mean(axis=1), atol=step)


@pytest.mark.parametrize("n", [1, 65_535, 65_536, 65_537, 140_000])
@pytest.mark.parametrize("told", [True, False])
def test_every_length(n: int, told: bool, tmp_path: Path) -> None:
    path = write(tmp_path / "a.flac", noise(n), 8_000)
    if not told:
        without_length(path)
    assert flac_info(path) == (8_000, n if told else None)
    blocks = list(read_flac_blocks(path))
    assert sum(len(block) for block in blocks) == n and max(len(block) for block in blocks) <= 65_536
    np.testing.assert_allclose(np.concatenate(blocks), noise(n)[:, 0], atol=2**-15)


def test_a_tag_in_front(tmp_path: Path) -> None:
    path = write(tmp_path / "a.flac", noise(5000))
    path.write_bytes(b"ID3\x04\0\0\0\0\0\x0a" + bytes(10) + path.read_bytes())
    assert is_flac(path) and len(read(path)) == 5000


def test_is_flac(tmp_path: Path) -> None:
    for name, content in (("a.flac", b"RIFF"), ("b.flac", b""), ("c.mp3", b"ID3\x04"), ("d", b"OggS")):
        (tmp_path / name).write_bytes(content)
        assert not is_flac(tmp_path / name)
    assert not is_flac(tmp_path) and not is_flac(tmp_path / "none")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.98])
@pytest.mark.parametrize("told", [True, False])
def test_a_file_that_is_cut_off(share: float, told: bool, tmp_path: Path) -> None:
    path = write(tmp_path / "a.flac", noise(48_000))
    if not told:
        without_length(path)
    raw = path.read_bytes()
    path.write_bytes(raw[: max(4, int(len(raw) * share))])
    try:
        found = read(path)
    except AudioFormatError as error:
        assert str(path) in str(error) and "\n" not in str(error)
    else:
        assert not told and 0 < len(found) < 48_000, "a part was taken for the whole"


def test_other_content_behind_the_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.flac"
    path.write_bytes(b"fLaC" + bytes(5000))
    for use in (flac_info, read):
        with pytest.raises(AudioFormatError, match="FLAC"):
            use(path)
    soundfile.write(str(path), noise(500), 8_000, format="OGG")
    with pytest.raises(AudioFormatError, match="OGG"):
        flac_info(path)


def test_without_libsndfile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.flac", noise(500))
    real = builtins.__import__

    def refuse(name: str, *rest: object) -> object:
        if name == "soundfile":
            raise OSError("sndfile library not found")
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(AudioFormatError, match="convert it to WAV"):
        flac_info(path)


@settings(max_examples=150, deadline=None)
@given(where=st.integers(4, 3000), to=st.integers(0, 255))
def test_any_byte(where: int, to: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = write(tmp_path_factory.mktemp("flac") / "a.flac", noise(2000))
    raw = bytearray(path.read_bytes())
    raw[where % len(raw)] = to
    path.write_bytes(raw)
    try:
        flac_info(path)
        for block in read_flac_blocks(path):
            assert block.ndim == 1 and np.isfinite(block).all()
    except AudioFormatError as error:
        assert "\n" not in str(error)
