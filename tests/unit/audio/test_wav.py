"""WAV files of every common form are read exactly; damaged ones end in one plain line."""

import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kazeia_desktop.audio.wav import WavInfo, read_blocks, read_wav, wav_info, write_wav
from kazeia_desktop.errors import AudioFormatError
from kazeia_desktop.frames import FloatArray

pytestmark = pytest.mark.unit

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
_GUID_TAIL = bytes.fromhex("000000001000800000aa00389b71")


def chunk(name: bytes, body: bytes, length: int | None = None) -> bytes:
    return name + struct.pack("<I", len(body) if length is None else length) + body + b"\0" * (len(body) % 2)


def form(code: int, n_channels: int, rate_hz: int, bits: int, extensible: bool = False) -> bytes:
    frame = n_channels * bits // 8
    base = struct.pack(
        "<HHIIHH",
        EXTENSIBLE if extensible else code,
        n_channels,
        rate_hz,
        rate_hz * frame % 2**32,
        frame % 2**16,
        bits,
    )
    if not extensible:
        return chunk(b"fmt ", base)
    return chunk(b"fmt ", base + struct.pack("<HHIH", 22, bits, 0, code) + _GUID_TAIL)


def riff(*chunks: bytes, magic: bytes = b"RIFF") -> bytes:
    body = b"WAVE" + b"".join(chunks)
    return magic + struct.pack("<I", len(body)) + body


def encoded(values: FloatArray, code: int, bits: int) -> bytes:
    """(n, channels) in [-1, 1] as the samples of a file."""
    if code == FLOAT:
        return values.astype("<f4" if bits == 32 else "<f8").tobytes()
    whole = np.clip(np.round(values.astype(np.float64) * 2 ** (bits - 1)), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if bits == 8:
        return (whole + 128).astype(np.uint8).tobytes()
    if bits == 24:
        return whole.astype("<i4").reshape(-1, 1).view(np.uint8)[:, :3].tobytes()
    return whole.astype(f"<i{bits // 8}").tobytes()


def save(folder: Path, raw: bytes) -> Path:
    path = folder / "son été.wav"
    path.write_bytes(raw)
    return path


def refused(path: Path) -> str:
    with pytest.raises(AudioFormatError) as caught:
        read_wav(path)
    told = str(caught.value)
    assert "\n" not in told
    assert str(path) in told
    assert "{" not in told
    return told


FORMS = [(PCM, 8), (PCM, 16), (PCM, 24), (PCM, 32), (FLOAT, 32), (FLOAT, 64)]


@pytest.mark.parametrize("extensible", [False, True])
@pytest.mark.parametrize(("code", "bits"), FORMS)
@pytest.mark.parametrize(("n_channels", "rate_hz"), [(1, 8_000), (2, 44_100), (6, 48_000), (8, 192_000)])
def test_every_form_is_read_as_mono(
    tmp_path: Path, extensible: bool, code: int, bits: int, n_channels: int, rate_hz: int
) -> None:
    values = np.random.default_rng(bits).uniform(-1, 1, (1001, n_channels)).astype(np.float32)
    raw = riff(form(code, n_channels, rate_hz, bits, extensible), chunk(b"data", encoded(values, code, bits)))
    path = save(tmp_path, raw)
    samples, found_hz = read_wav(path)
    assert found_hz == rate_hz
    assert (samples.dtype, samples.shape) == (np.float32, (1001,))
    step = 0.0 if code == FLOAT else 2.0 ** (1 - bits)
    np.testing.assert_allclose(samples, values.mean(axis=1), atol=step + 3e-7)
    info = wav_info(path)
    assert (info.n_channels, info.sample_bytes, info.is_float, info.n_frames) == (
        n_channels,
        bits // 8,
        code == FLOAT,
        1001,
    )
    assert info.duration_s == pytest.approx(1001 / rate_hz)


@pytest.mark.parametrize(
    ("bits", "raw", "expected"),
    [
        (8, b"\x00\x80\xff", [-1.0, 0.0, 127 / 128]),
        (16, b"\x00\x80\x00\x00\xff\x7f", [-1.0, 0.0, 32767 / 32768]),
        (24, b"\x00\x00\x80\x00\x00\x00\xff\xff\x7f", [-1.0, 0.0, 1 - 2**-23]),
        (32, b"\x00\x00\x00\x80\x00\x00\x00\x00\x00\x00\x00\x40", [-1.0, 0.0, 0.5]),
    ],
)
def test_full_scale_is_one(tmp_path: Path, bits: int, raw: bytes, expected: list[float]) -> None:
    samples, _ = read_wav(save(tmp_path, riff(form(PCM, 1, 16_000, bits), chunk(b"data", raw))))
    np.testing.assert_array_equal(samples, np.array(expected, np.float32))


def test_floats_beyond_full_scale_are_clipped(tmp_path: Path) -> None:
    raw = np.array([3.0, -3.0, 0.25, 3e38], "<f4").tobytes()
    samples, _ = read_wav(save(tmp_path, riff(form(FLOAT, 1, 16_000, 32), chunk(b"data", raw))))
    np.testing.assert_array_equal(samples, np.array([1.0, -1.0, 0.25, 1.0], np.float32))


def test_other_chunks_are_passed_over(tmp_path: Path) -> None:
    sound = chunk(b"data", struct.pack("<3h", 1, 2, 3))
    raw = riff(chunk(b"JUNK", b"x" * 27), form(PCM, 1, 16_000, 16), chunk(b"LIST", b"odd"), sound, chunk(b"id3 ", b"y"))
    samples, _ = read_wav(save(tmp_path, raw))
    np.testing.assert_array_equal(samples * 32768, [1, 2, 3])


@pytest.mark.parametrize("length", [0, 0xFFFFFFFF])
def test_a_streamed_file_without_its_length_is_read_to_the_end(tmp_path: Path, length: int) -> None:
    raw = riff(form(PCM, 1, 16_000, 16), chunk(b"data", struct.pack("<3h", 1, 2, 3), length))
    samples, _ = read_wav(save(tmp_path, raw))
    np.testing.assert_array_equal(samples * 32768, [1, 2, 3])


def test_a_file_of_more_than_four_gigabytes_says_its_length_elsewhere(tmp_path: Path) -> None:
    sound = struct.pack("<3h", 1, 2, 3)
    ds64 = chunk(b"ds64", struct.pack("<QQQI", 100, len(sound), 3, 0))
    data = chunk(b"data", sound, 0xFFFFFFFF)
    raw = riff(ds64, form(PCM, 1, 16_000, 16), data, chunk(b"LIST", b"info"), magic=b"RF64")
    samples, _ = read_wav(save(tmp_path, raw))
    np.testing.assert_array_equal(samples * 32768, [1, 2, 3])


def test_half_a_frame_at_the_end_is_left_out(tmp_path: Path) -> None:
    raw = riff(form(PCM, 2, 16_000, 16), chunk(b"data", struct.pack("<5h", 1, 3, 5, 7, 9)))
    samples, _ = read_wav(save(tmp_path, raw))
    np.testing.assert_array_equal(samples * 32768, [2, 6])


@pytest.mark.parametrize("block_frames", [1, 7, 500, 501, 4096])
def test_blocks_join_to_the_whole(tmp_path: Path, block_frames: int) -> None:
    values = np.random.default_rng(2).uniform(-1, 1, (501, 2)).astype(np.float32)
    path = save(tmp_path, riff(form(PCM, 2, 44_100, 24), chunk(b"data", encoded(values, PCM, 24))))
    blocks = list(read_blocks(path, block_frames))
    assert all(0 < len(block) <= block_frames for block in blocks)
    np.testing.assert_array_equal(np.concatenate(blocks), read_wav(path)[0])


def test_a_long_file_is_read_in_bounded_memory(tmp_path: Path) -> None:
    path, n = tmp_path / "long.wav", 48_000 * 3 * 3600
    with path.open("wb") as file:
        file.write(riff(form(PCM, 1, 48_000, 16), chunk(b"data", b"", 2 * n)))
        file.truncate(file.tell() + 2 * n)  # three hours of silence that take no room
    info = wav_info(path)
    assert info.duration_s == 3 * 3600
    tracemalloc.start()
    try:
        blocks = read_blocks(path)
        read = sum(len(next(blocks)) for _ in range(20))
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert read == 20 * 65_536
    assert held < 8_000_000


def _one(code: int = PCM, n_channels: int = 1, rate_hz: int = 16_000, bits: int = 16, n: int = 64) -> bytes:
    return riff(form(code, n_channels, rate_hz, bits), chunk(b"data", b"\0" * n))


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "is empty"),
        (b"RIFF", "not a WAV"),
        (b"ID3\x04" + b"\0" * 500, "not a WAV"),
        (b"OggS" + b"\0" * 500, "not a WAV"),
        (b"Bonjour, ceci n'est pas un son." * 20, "not a WAV"),
        (riff(), "no sound"),
        (riff(chunk(b"data", b"\0" * 64)), "no sound"),
        (riff(form(PCM, 1, 16_000, 16)), "no sound"),
        (riff(chunk(b"fmt ", b"\1\0\1\0"), chunk(b"data", b"\0" * 64)), "no sound"),
        (_one(n=0), "no sound"),
        (_one(n=1), "no sound"),
        (_one(n_channels=0), "0 channels"),
        (_one(n_channels=60_000), "60000 channels"),
        (_one(rate_hz=0), "0 samples a second"),
        (_one(rate_hz=1), "1 samples a second"),
        (_one(rate_hz=4_000_000_000), "4000000000 samples a second"),
        (_one(bits=0), "0 bits"),
        (_one(bits=12), "12 bits"),
        (_one(code=FLOAT, bits=16), "16 bits"),
        (_one(code=2, bits=4), "code 2"),
        (_one(code=0x55, bits=16), "code 85"),
        (_one()[:-10], "cut off"),
    ],
)
def test_what_is_no_sound_is_told_in_one_line(tmp_path: Path, raw: bytes, told: str) -> None:
    assert told in refused(save(tmp_path, raw))


def test_a_missing_file_and_a_folder_are_told(tmp_path: Path) -> None:
    assert "no file" in refused(tmp_path / "nulle part.wav")
    assert "cannot be read" in refused(tmp_path)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("bits", [32, 64])
def test_a_sample_that_is_no_number_is_told(tmp_path: Path, bad: float, bits: int) -> None:
    values = np.zeros((200_000, 1))
    values[150_000] = bad
    raw = riff(form(FLOAT, 1, 16_000, bits), chunk(b"data", encoded(values, FLOAT, bits)))
    assert "not numbers" in refused(save(tmp_path, raw))


def test_doubles_that_float32_cannot_hold_are_told(tmp_path: Path) -> None:
    raw = riff(form(FLOAT, 1, 16_000, 64), chunk(b"data", np.array([0.0, 1e300], "<f8").tobytes()))
    assert "not numbers" in refused(save(tmp_path, raw))


def test_a_file_that_shrinks_while_it_is_read_is_told(tmp_path: Path) -> None:
    path = save(tmp_path, _one(n=400_000))
    blocks = read_blocks(path, 1000)
    next(blocks)
    with path.open("r+b") as file:
        file.truncate(20_000)
    with pytest.raises(AudioFormatError, match="cut off"):
        list(blocks)


_SOUND = riff(form(PCM, 2, 16_000, 16, extensible=True), chunk(b"LIST", b"abc"), chunk(b"data", b"\1\2" * 40))


@given(spot=st.integers(0, 90), value=st.integers(0, 255))
@settings(max_examples=400, deadline=None)
def test_a_changed_byte_is_told_or_harmless(tmp_path_factory: pytest.TempPathFactory, spot: int, value: int) -> None:
    raw = bytearray(_SOUND)
    raw[spot] = value
    path = save(tmp_path_factory.getbasetemp(), bytes(raw))
    try:
        samples, rate_hz = read_wav(path)
    except AudioFormatError as error:
        assert "\n" not in str(error)
    else:
        assert 0 < len(samples) <= len(raw)
        assert np.isfinite(samples).all()
        assert 4_000 <= rate_hz <= 384_000


@given(raw=st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_foreign_bytes_are_told(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    refused(save(tmp_path_factory.getbasetemp(), raw))


@pytest.mark.parametrize("rate_hz", [8_000, 24_000, 48_000])
def test_what_is_written_is_read_again(tmp_path: Path, rate_hz: int) -> None:
    samples = np.linspace(-1, 1, 999, dtype=np.float32)
    path = tmp_path / "réponse.wav"
    write_wav(path, samples, rate_hz)
    again, found_hz = read_wav(path)
    assert found_hz == rate_hz
    np.testing.assert_allclose(again, samples, atol=1 / 32767)
    assert wav_info(path) == WavInfo(rate_hz, 1, 2, False, 44, 999)


def test_the_writer_clips_and_writes_no_noise_for_what_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "x.wav"
    write_wav(path, np.array([2.0, -2.0, np.nan, 0.5], np.float32), 24_000)
    np.testing.assert_allclose(read_wav(path)[0], [1.0, -1.0, 0.0, 0.5], atol=1e-4)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(AudioFormatError, match="cannot be written"):
        write_wav(tmp_path / "nowhere" / "x.wav", np.zeros(10, np.float32), 24_000)
