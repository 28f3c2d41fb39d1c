"""`manifest.json` of a converted Qwen3-TTS model: everything its engine needs besides the weights.

The converter writes it, the engine reads it. It is as untrusted as the other files: every value has a type
and a range, and the files it names must have the sizes it says.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.formats.json_fields import Fields
from kazeia_desktop.formats.problems import header_problem, unreadable
from kazeia_desktop.formats.voice_description import (
    MODEL_TYPES,
    VoiceDescription,
    read_code_predictor,
    read_codec,
    read_codec_ids,
    read_dialects,
    read_names,
    read_sampling,
    read_speaker_encoder,
    read_talker,
    read_text_ids,
)

FILE: Final = "manifest.json"
FORMAT: Final = "kazeia-qwen3-tts"
VERSION: Final = 1
DTYPES: Final = ("f32", "f16", "q8_0", "q4_0")
TALKER: Final = "talker.gguf"
CODE_PREDICTOR: Final = "code_predictor.gguf"
CODEC: Final = ("codec.onnx", "codec.onnx.data")
SPEAKER_ENCODER: Final = ("speaker_encoder.onnx", "speaker_encoder.onnx.data")


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file of the directory."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class VoiceManifest:
    """A converted model."""

    description: VoiceDescription
    dtype: str
    files: Mapping[str, FileRecord]

    def to_json(self) -> str:
        """The manifest's text."""
        told = self.description
        sampling = asdict(told.code_predictor_sampling)
        del sampling["repetition_penalty"]
        record: dict[str, object] = {
            "format": FORMAT,
            "version": VERSION,
            "name": told.name,
            "model_type": told.model_type,
            "model_size": told.model_size,
            "dtype": self.dtype,
            "talker": asdict(told.talker),
            "code_predictor": asdict(told.code_predictor),
            "codec": asdict(told.codec),
            "speaker_encoder": asdict(told.speaker_encoder) if told.speaker_encoder else None,
            "ids": dict(told.ids),
            "languages": dict(told.languages),
            "speakers": dict(told.speakers),
            "speaker_dialects": dict(told.speaker_dialects),
            "sampling": {"talker": asdict(told.talker_sampling), "code_predictor": sampling},
            "files": {name: asdict(file) for name, file in self.files.items()},
        }
        return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def load_manifest(directory: Path, verify: bool = False) -> VoiceManifest:
    """Read and check `directory`'s manifest, and that its files are there with the right sizes.

    Args:
        verify: also hash the files.
    Raises:
        ModelMissingError: the manifest or a file is not there.
        ModelCorruptError: a value is missing or impossible (the key is named), or a file has another size or hash.
        ModelIncompatibleError: written by another version.
    """
    fields = Fields.read(directory / FILE)
    fields.choice("format", (FORMAT,))
    version = fields.integer("version", 1, 10**6)
    if version != VERSION:
        raise ModelIncompatibleError(
            "The model {path} was converted for another version of Kazeia (format {found}, expected {expected}): "
            "run `kazeia models convert` again.",
            path=str(directory), found=version, expected=VERSION,
        )  # fmt: skip
    talker = read_talker(fields.table("talker"))
    encoder = fields.value("speaker_encoder")
    languages = read_names(fields.table("languages"), talker)
    speakers = read_names(fields.table("speakers"), talker)
    sampling = fields.table("sampling")
    description = VoiceDescription(
        name=fields.text("name"),
        model_type=fields.choice("model_type", MODEL_TYPES),
        model_size=fields.text("model_size"),
        talker=talker,
        code_predictor=read_code_predictor(fields.table("code_predictor"), talker),
        codec=read_codec(fields.table("codec")),
        speaker_encoder=None if encoder is None else read_speaker_encoder(fields.table("speaker_encoder"), talker),
        ids=read_text_ids(fields.table("ids"), talker) | read_codec_ids(fields.table("ids"), talker),
        languages=languages,
        speakers=speakers,
        speaker_dialects=read_dialects(fields.table("speaker_dialects"), languages, speakers),
        talker_sampling=read_sampling(sampling.table("talker"), penalty=True),
        code_predictor_sampling=read_sampling(sampling.table("code_predictor"), penalty=False),
    )
    dtype, files = fields.choice("dtype", DTYPES), fields.table("files")
    names = file_names(description)
    for name in files:
        if name not in names:
            raise files.problem(name, name, ", ".join(names))
    manifest = VoiceManifest(description, dtype, {name: _file(files.table(name)) for name in names})
    for name, record in manifest.files.items():
        _check(directory / name, record, verify)
    return manifest


def file_names(description: VoiceDescription) -> tuple[str, ...]:
    """The files beside the manifest that such a model has."""
    return (TALKER, CODE_PREDICTOR, *CODEC, *(SPEAKER_ENCODER if description.speaker_encoder else ()))


def sha256_of(path: Path) -> str:
    """Raises:
    ModelMissingError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error


def _file(fields: Fields) -> FileRecord:
    sha256 = fields.text("sha256")
    if len(sha256) != 64 or set(sha256) - set("0123456789abcdef"):
        raise fields.problem("sha256", sha256, "64 * 0..f")
    return FileRecord(fields.integer("bytes", 1, 1 << 40), sha256)


def _check(path: Path, record: FileRecord, verify: bool) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise unreadable(path, error) from error
    if size != record.bytes:
        raise header_problem(path, "size", size, record.bytes)
    if verify and (found := sha256_of(path)) != record.sha256:
        raise header_problem(path, "sha256", found, record.sha256)
