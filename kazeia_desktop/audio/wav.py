"""WAV files (also RF64, of more than 4 GB): any common sample format in, in bounded memory; 16-bit out.

Python's `wave` module reads neither float nor 24-bit extensible files, so the container is read here.
A file is untrusted: every size is checked against the file's own length.
"""

import struct
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from kazeia_desktop.errors import AudioFormatError
from kazeia_desktop.frames import FloatArray

_PCM: Final = 1
_FLOAT: Final = 3
_EXTENSIBLE: Final = 0xFFFE
_MAX_CHANNELS: Final = 32
_BLOCK_FRAMES: Final = 65_536
_STREAM_SIZE: Final = 0xFFFFFFFF  # written by programs that stream and do not know the length


@dataclass(frozen=True, slots=True)
class WavInfo:
    """The form of a WAV file. sample_bytes: 1, 2, 3, 4 or 8; is_float: IEEE float samples."""

    rate_hz: int
    n_channels: int
    sample_bytes: int
    is_float: bool
    data_offset: int
    n_frames: int

    @property
    def duration_s(self) -> float:
        return self.n_frames / self.rate_hz


def wav_info(path: Path) -> WavInfo:
    """The form of a file, its header checked.

    Raises:
        AudioFormatError: missing, unreadable, empty, not a WAV, or of an unknown form.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            return _parse(file, size, path)
    except FileNotFoundError:
        raise AudioFormatError("There is no file {path}.", path=str(path)) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise AudioFormatError("{path} cannot be read ({reason}).", path=str(path), reason=reason) from error


def read_wav(path: Path) -> tuple[FloatArray, int]:
    """A whole file as mono.

    Returns:
        ((n,) float32 in [-1, 1], rate in Hz). Channels are averaged; what is beyond full scale is clipped.
    Raises:
        AudioFormatError: see wav_info; also a sample that is not a number.
    """
    info = wav_info(path)
    blocks = list(read_blocks(path))
    return (np.concatenate(blocks) if blocks else np.zeros(0, np.float32)), info.rate_hz


def read_blocks(path: Path, block_frames: int = _BLOCK_FRAMES) -> Iterator[FloatArray]:
    """The file in mono blocks of at most `block_frames` samples, whatever its length.

    Raises:
        AudioFormatError: see wav_info; also a sample that is not a number, or a file that shrinks.
    """
    info = wav_info(path)
    frame_bytes = info.sample_bytes * info.n_channels
    try:
        with path.open("rb") as file:
            file.seek(info.data_offset)
            left = info.n_frames
            while left:
                raw = file.read(min(left, block_frames) * frame_bytes)
                n = len(raw) // frame_bytes
                if n == 0:
                    raise AudioFormatError(
                        "{path} ends before its sound does: it is cut off, copy it again.", path=str(path)
                    )
                left -= n
                yield _mono(raw[: n * frame_bytes], info, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise AudioFormatError("{path} cannot be read ({reason}).", path=str(path), reason=reason) from error


def write_wav(path: Path, samples: FloatArray, rate_hz: int) -> None:
    """Write (n,) float32 mono as 16-bit; what is beyond [-1, 1] is clipped.

    Raises:
        AudioFormatError: the file cannot be written.
    """
    # 32768 as the reader divides by: a 16-bit file that is read and written again keeps its samples.
    pcm = np.clip(np.round(np.nan_to_num(samples) * 32768.0), -32768, 32767).astype("<i2")
    try:
        with path.open("wb") as file, wave.open(file, "wb") as wav:
            wav.setnchannels(1)
            wav.setsampwidth(2)
            wav.setframerate(rate_hz)
            wav.writeframes(pcm.tobytes())
    except OSError as error:
        reason = error.strerror or str(error)
        raise AudioFormatError(
            "{path} cannot be written ({reason}): choose another place.", path=str(path), reason=reason
        ) from error


def _parse(file: BinaryIO, size: int, path: Path) -> WavInfo:
    if size == 0:
        raise AudioFormatError("{path} is empty.", path=str(path))
    head = file.read(12)
    if len(head) < 12 or head[:4] not in (b"RIFF", b"RF64") or head[8:] != b"WAVE":
        raise AudioFormatError("{path} is not a WAV file: convert it to WAV first.", path=str(path))
    form: tuple[int, int, int, int] | None = None
    long_length: int | None = None  # of the sound, where 32 bits do not hold it
    at = 12
    while at + 8 <= size:
        file.seek(at)
        name, length = struct.unpack("<4sI", file.read(8))
        at += 8
        if name == b"ds64" and length >= 16:
            long_length = struct.unpack("<Q", file.read(16)[8:].ljust(8, b"\0"))[0]
        elif name == b"fmt ":
            form = _parse_form(file.read(min(length, 64)), path)
        elif name == b"data":
            if form is None:
                break
            if length == _STREAM_SIZE and long_length:
                length = long_length
            return _with_data(form, at, length, size, path)
        at += length + (length & 1)
    raise AudioFormatError("{path} holds no sound: its WAV header is broken.", path=str(path))


def _parse_form(chunk: bytes, path: Path) -> tuple[int, int, int, int]:
    """(format, channels, rate, bits) of a fmt chunk."""
    if len(chunk) < 16:
        raise AudioFormatError("{path} holds no sound: its WAV header is broken.", path=str(path))
    code, n_channels, rate_hz, _, _, bits = struct.unpack("<HHIIHH", chunk[:16])
    if code == _EXTENSIBLE and len(chunk) >= 26:
        code = struct.unpack("<H", chunk[24:26])[0]  # the subformat's first two bytes
    return code, n_channels, rate_hz, bits


def _with_data(form: tuple[int, int, int, int], offset: int, length: int, size: int, path: Path) -> WavInfo:
    code, n_channels, rate_hz, bits = form
    known = (code == _PCM and bits in (8, 16, 24, 32)) or (code == _FLOAT and bits in (32, 64))
    if not known:
        raise AudioFormatError(
            "{path} has samples of a form that Kazeia does not read (code {code}, {bits} bits): save it as 16-bit PCM.",
            path=str(path),
            code=code,
            bits=bits,
        )
    if not 1 <= n_channels <= _MAX_CHANNELS:
        raise AudioFormatError(
            "{path} says it has {n} channels: save it in mono or stereo.", path=str(path), n=n_channels
        )
    if not 4_000 <= rate_hz <= 384_000:
        raise AudioFormatError(
            "{path} says it has {rate_hz} samples a second: save it at 16000 or 48000.", path=str(path), rate_hz=rate_hz
        )
    there = size - offset
    if length in (0, _STREAM_SIZE):
        length = there
    elif length > there:
        raise AudioFormatError("{path} ends before its sound does: it is cut off, copy it again.", path=str(path))
    n_frames = length // (n_channels * bits // 8)
    if n_frames == 0:
        raise AudioFormatError("{path} holds no sound.", path=str(path))
    return WavInfo(rate_hz, n_channels, bits // 8, code == _FLOAT, offset, n_frames)


def _mono(raw: bytes, info: WavInfo, path: Path) -> FloatArray:
    if info.is_float:
        with np.errstate(over="ignore"):  # a double too great for float32 becomes infinite, and is told
            values = np.frombuffer(raw, "<f4" if info.sample_bytes == 4 else "<f8").astype(np.float32)
        if not np.isfinite(values).all():
            raise AudioFormatError("{path} holds samples that are not numbers: it is damaged.", path=str(path))
    elif info.sample_bytes == 1:
        values = (np.frombuffer(raw, np.uint8).astype(np.float32) - 128.0) / 128.0
    elif info.sample_bytes == 3:
        bytes3 = np.frombuffer(raw, np.uint8).reshape(-1, 3).astype(np.int32)
        whole = (bytes3[:, 0] << 8) | (bytes3[:, 1] << 16) | (bytes3[:, 2] << 24)
        values = (whole.astype(np.float64) / 2**31).astype(np.float32)
    else:
        integers = np.frombuffer(raw, "<i2" if info.sample_bytes == 2 else "<i4")
        values = (integers.astype(np.float64) / 2.0 ** (8 * info.sample_bytes - 1)).astype(np.float32)
    mono = values.reshape(-1, info.n_channels).mean(axis=1, dtype=np.float32)
    clipped: FloatArray = np.clip(mono, -1.0, 1.0)
    return clipped
