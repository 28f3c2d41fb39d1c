"""Opens a converted model directory: everything is checked before native code reads it."""

from pathlib import Path

from kazeia_desktop._native import CodePredictorModel, TalkerError, TalkerModel
from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.voice_manifest import CODE_PREDICTOR, TALKER, VoiceManifest

_TYPES: dict[int, str] = {GgmlType.F32: "f32", GgmlType.F16: "f16", GgmlType.Q8_0: "q8_0", GgmlType.Q4_0: "q4_0"}


def load_talker(model_dir: Path, manifest: VoiceManifest) -> tuple[GgufFile, TalkerModel]:
    """The talker's file, and llama.cpp's model of it.

    Raises:
        ModelError: naming file and tensor or key.
    """
    path = model_dir / TALKER
    file = GgufFile(path)
    try:
        return file, TalkerModel(str(path))
    except TalkerError as error:
        raise _damaged(path, str(error)) from error


def load_code_predictor(model_dir: Path, manifest: VoiceManifest) -> CodePredictorModel:
    """The code predictor, packed for this processor.

    Raises:
        ModelError: naming file and tensor.
    """
    path = model_dir / CODE_PREDICTOR
    file = GgufFile(path)
    talker, shape = manifest.description.talker, manifest.description.code_predictor
    tensors = {}
    for name, info in file.tensors.items():
        kind = _TYPES.get(info.type)
        if kind is None or not 1 <= len(info.shape) <= 2:
            raise _damaged(path, f"tensor {name}: type {info.type}, shape {list(info.shape)}")
        rows = info.shape[0] if len(info.shape) == 2 else 1
        tensors[name] = (kind, rows, info.shape[-1], file.raw(name))
    numbers = {
        "hidden": shape.hidden, "layers": shape.layers, "heads": shape.heads, "kv_heads": shape.kv_heads,
        "head_dim": shape.head_dim, "ffn": shape.ffn, "rope_theta": shape.rope_theta,
        "rms_norm_eps": shape.rms_norm_eps, "codebooks": shape.codebooks, "vocab": shape.vocab,
    }  # fmt: skip
    try:
        return CodePredictorModel(numbers, talker.hidden, talker.vocab, tensors)
    except ValueError as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, reason: str) -> ModelCorruptError:
    return ModelCorruptError(
        "The model file {file} is damaged ({reason}): run `kazeia models convert` again.", file=str(path), reason=reason
    )
