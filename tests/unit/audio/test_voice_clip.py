"""What a recording must be to become a voice."""

import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile

from kazeia_desktop.audio.voice_clip import WARNINGS, Flaw, flaws_of, read_clip
from kazeia_desktop.audio.wav import write_wav
from kazeia_desktop.errors import AudioFormatError
from kazeia_desktop.frames import FloatArray
from tests.fakes.speaker_network import voice_like

pytestmark = pytest.mark.unit


def refused(path: Path) -> str:
    with pytest.raises(AudioFormatError) as told:
        read_clip(path)
    message = str(told.value)
    assert str(path) in message and "\n" not in message and "\n" not in told.value.told_in("fr")
    return message


def wav(path: Path, samples: FloatArray, rate_hz: int = 24_000) -> Path:
    write_wav(path, samples, rate_hz)
    return path


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000, 96_000, 192_000])
@pytest.mark.parametrize("kind", ["WAV", "FLAC"])
@pytest.mark.parametrize("n_channels", [1, 2])
def test_any_rate_kind_and_channels(rate_hz: int, kind: str, n_channels: int, tmp_path: Path) -> None:
    path = tmp_path / "Ma voix é.x"
    samples = voice_like(3.5, rate_hz)
    soundfile.write(str(path), np.repeat(samples[:, None], n_channels, 1), rate_hz, format=kind)
    found = read_clip(path)
    assert found.dtype == np.float32 and abs(len(found) - 84_000) <= 2
    low = slice(2_000, 80_000)
    expected = voice_like(3.5)
    # the noise differs, the buzz is the same
    assert np.corrcoef(found[low], expected[low])[0, 1] > 0.97


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_any_form_of_wav(subtype: str, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(str(path), voice_like(3.0), 24_000, subtype=subtype)
    np.testing.assert_allclose(read_clip(path), voice_like(3.0), atol=2**-7 if subtype == "PCM_U8" else 2**-14)


@pytest.mark.parametrize(("seconds", "fits"), [(2.9, False), (2.96, True), (3.0, True), (30.0, True), (30.2, False)])
@pytest.mark.parametrize("kind", ["WAV", "FLAC"])
def test_three_to_thirty_seconds(seconds: float, fits: bool, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    soundfile.write(str(path), voice_like(seconds, 16_000), 16_000, format=kind)
    if fits:
        assert len(read_clip(path)) == round(seconds * 24_000)
    else:
        assert f"{seconds:.1f} s" in refused(path)


def test_several_minutes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    samples = np.tile(voice_like(5.0, 8_000), 60)
    for kind in ("WAV", "FLAC"):
        soundfile.write(str(path), samples, 8_000, format=kind)
        assert "300.0 s: cut it" in refused(path)
    raw = bytearray(path.read_bytes())
    raw[21] &= 0xF0
    raw[22:26] = bytes(4)  # as written to a pipe: the header does not tell the length
    path.write_bytes(raw)
    assert "300.0 s: cut it" in refused(path)


def test_hours_that_the_header_tells_are_not_read(tmp_path: Path) -> None:
    path = wav(tmp_path / "a.wav", np.zeros(0, np.float32))
    with path.open("r+b") as file:
        file.write(b"RIFF" + struct.pack("<I", 1_000_000_036))
        file.seek(40)
        file.write(struct.pack("<I", 1_000_000_000))
        file.truncate(1_000_000_044)  # a hole: takes no space
    assert "20833.3 s" in refused(path)


@pytest.mark.parametrize("level", [0.0, 0.0005])
@pytest.mark.parametrize("offset", [0.0, 0.2])
def test_silence(level: float, offset: float, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).uniform(-level, level, 96_000)
    assert "silent" in refused(wav(tmp_path / "a.wav", (noise + offset).astype(np.float32)))


def test_too_quiet(tmp_path: Path) -> None:
    assert "0.0 s that are loud enough" in refused(wav(tmp_path / "a.wav", 0.01 * voice_like(5.0)))


def test_too_little_speech(tmp_path: Path) -> None:
    samples = np.concatenate([voice_like(1.2), np.zeros(200_000, np.float32)])
    assert "1.2 s that are loud enough" in refused(wav(tmp_path / "a.wav", samples))
    samples = np.concatenate([voice_like(1.6), np.zeros(200_000, np.float32)])
    assert len(read_clip(wav(tmp_path / "b.wav", samples))) == len(samples)


@pytest.mark.parametrize("gain", [8.0, 30.0])
def test_clipped(gain: float, tmp_path: Path) -> None:
    samples = np.clip(gain * voice_like(4.0), -1, 1)
    share = 100 * float(np.mean(np.abs(samples) >= 1))
    told = refused(wav(tmp_path / "a.wav", samples))
    assert "clipped" in told
    assert float(told.split(": ")[1].split(" %")[0]) == pytest.approx(share, abs=0.2 + share / 10)


def test_loud_but_not_clipped(tmp_path: Path) -> None:
    samples = voice_like(4.0)
    samples /= np.abs(samples).max()
    assert len(read_clip(wav(tmp_path / "a.wav", samples))) == 96_000
    samples[1000] = samples[5000] = 1.0
    assert len(read_clip(wav(tmp_path / "b.wav", samples))) == 96_000


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_samples_that_are_no_numbers(value: float, tmp_path: Path) -> None:
    samples = voice_like(4.0)
    samples[5] = value
    soundfile.write(str(tmp_path / "a.wav"), samples, 24_000, subtype="FLOAT")
    assert "not numbers" in refused(tmp_path / "a.wav")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "empty"),
        (b"hello", "neither WAV nor FLAC"),
        (b"ID3\x04" + bytes(500), "neither WAV nor FLAC"),
        (b"OggS" + bytes(500), "neither WAV nor FLAC"),
        (b"RIFF\x24\0\0\0AVI " + bytes(500), "neither WAV nor FLAC"),
        (b"RIFF\x24\0\0\0WAVE", "header"),
        (b"fLaC" + bytes(500), "FLAC"),
    ],
)
def test_other_content(content: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(content)
    assert told in refused(tmp_path / "a.wav")


def test_no_file(tmp_path: Path) -> None:
    assert "no file" in refused(tmp_path / "none.flac")
    assert "no file" in refused(tmp_path)


def spoken(seconds: float, noise: float = 0.001, gain: float = 1.0) -> FloatArray:
    """Speech with a pause in every second, in noise."""
    sound = voice_like(seconds) * gain
    at = np.arange(len(sound))
    sound[at % 24_000 > 18_000] = 0.0
    hiss = np.random.default_rng(1).standard_normal(len(sound)).astype(np.float32)
    return (sound + noise * hiss).astype(np.float32)


@pytest.mark.parametrize(
    ("samples", "flaws"),
    [
        (spoken(8.0), ()),
        (spoken(2.0), (Flaw.TOO_SHORT,)),
        (spoken(31.0), (Flaw.TOO_LONG,)),
        (np.zeros(5 * 24_000, np.float32), (Flaw.SILENT,)),
        (np.zeros(0, np.float32), (Flaw.TOO_SHORT, Flaw.SILENT)),
        (np.full(5 * 24_000, 0.3, np.float32), (Flaw.SILENT,)),
        (spoken(5.0, noise=0.0002, gain=0.005), (Flaw.LITTLE_SPEECH,)),
        (spoken(5.0, noise=0.0001, gain=0.04), (Flaw.QUIET,)),
        (spoken(5.0, noise=0.05), (Flaw.NOISY,)),
        (np.clip(spoken(5.0) * 8, -1, 1), (Flaw.CLIPPED,)),
    ],
)
def test_what_is_wrong_is_named(samples: FloatArray, flaws: tuple[Flaw, ...]) -> None:
    assert flaws_of(samples, 24_000) == flaws


def test_a_noisy_or_quiet_recording_may_be_kept() -> None:
    assert set(WARNINGS) == {Flaw.NOISY, Flaw.QUIET}
