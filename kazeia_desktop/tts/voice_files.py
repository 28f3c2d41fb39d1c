"""The files of an added voice: what is known of it, its recording, its x-vectors. They are read as untrusted."""

import json
import wave
from pathlib import Path
from typing import Final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.frames import FloatArray

RATE_HZ: Final = 24_000
LONGEST_NAME: Final = 40
LONGEST_CONSENT: Final = 2_000
RECORD: Final = "voice.json"
CLIP: Final = "clip.wav"
LARGEST_RECORD: Final = 1_000_000
_LARGEST_CLIP: Final = 60 * RATE_HZ * 2 + 1024
_WIDEST: Final = 65_536


class Consent(BaseModel):
    """Who agreed, when and how: `text` as it was given, and when it was noted."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")
    text: str = Field(min_length=1, max_length=LONGEST_CONSENT)
    noted: str = Field(max_length=40)


class XVector(BaseModel):
    """An x-vector on file: by which model (`fingerprint`: of its encoder), how wide, where."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")
    model: str = Field(min_length=1, max_length=200)
    width: int = Field(ge=1, le=_WIDEST)
    fingerprint: str = Field(default="", max_length=64)
    file: str = Field(pattern=r"^xvector-[A-Za-z0-9._-]{1,100}\.npy$")


class AddedVoice(BaseModel):
    """A voice as voice.json has it. created: ISO 8601, UTC; source: name of the file that the clip came from."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")
    version: int = Field(default=1, ge=1, le=1)
    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    created: str = Field(max_length=40)
    consent: Consent
    source: str = Field(max_length=300)
    clip_seconds: float = Field(gt=0, le=60)
    xvectors: list[XVector] = Field(max_length=100)


def printable(text: str) -> str:
    """Without control characters, so that it is shown as it is."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def to_json(voice: AddedVoice) -> str:
    """The text of voice.json."""
    return json.dumps(voice.model_dump(), indent=1, ensure_ascii=False) + "\n"


def damaged(file: Path, reason: object) -> ModelCorruptError:
    """The error of a voice one of whose files cannot be used."""
    return ModelCorruptError(
        "The voice {name!r} is damaged ({file}: {reason}): remove it with `kazeia voices remove` and add it again.",
        name=file.parent.name,
        file=str(file),
        reason=reason,
    )


def read_bytes(file: Path, largest: int) -> bytes:
    """A file of at most `largest` bytes. Raises ModelCorruptError."""
    try:
        if (size := file.stat().st_size) > largest:
            raise damaged(file, f"{size} > {largest}")
        return file.read_bytes()
    except OSError as error:
        raise damaged(file, error.strerror or str(error)) from error


def read_record(folder: Path) -> AddedVoice:
    """voice.json of a voice's folder. Raises ModelCorruptError."""
    file = folder / RECORD
    try:
        voice = AddedVoice.model_validate_json(read_bytes(file, LARGEST_RECORD))
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
        raise damaged(file, printable(where)[:80] or "JSON") from error
    if voice.name != folder.name:
        raise damaged(file, f"name {printable(voice.name)}")
    return voice


def read_clip(folder: Path, voice: AddedVoice) -> FloatArray:
    """(n,) float32 at 24 kHz: the recording. Raises ModelCorruptError."""
    file = folder / CLIP
    read_bytes(file, _LARGEST_CLIP)
    try:
        with wave.open(str(file), "rb") as wav:
            form = (wav.getnchannels(), wav.getsampwidth(), wav.getframerate())
            raw = wav.readframes(wav.getnframes())
    except (wave.Error, EOFError, OSError, RuntimeError) as error:  # RuntimeError: a chunk beyond the end
        raise damaged(file, str(error) or type(error).__name__) from error
    if form != (1, 2, RATE_HZ) or len(raw) != 2 * round(voice.clip_seconds * RATE_HZ):
        raise damaged(file, f"{form}, {len(raw)}")
    return as_float(np.frombuffer(raw, "<i2"))


def read_vector(folder: Path, vector: XVector) -> FloatArray:
    """(width,) float32. Raises ModelCorruptError."""
    file = folder / vector.file
    raw = read_bytes(file, 4 * _WIDEST + 1024)
    head, body = raw[: -4 * vector.width], raw[-4 * vector.width :]
    # The header is compared, not evaluated.
    if not head.startswith(b"\x93NUMPY") or b"'descr': '<f4'" not in head or b"(%d,)" % vector.width not in head:
        raise damaged(file, f"({vector.width},) float32")
    values = np.frombuffer(body, "<f4").astype(np.float32)
    if not np.isfinite(values).all():
        raise damaged(file, "nan")
    return values


def as_float(pcm: "np.ndarray[tuple[int, ...], np.dtype[np.int16]]") -> FloatArray:
    """(n,) float32 in [-1, 1) of 16-bit samples."""
    return pcm.astype(np.float32) / np.float32(32768.0)
