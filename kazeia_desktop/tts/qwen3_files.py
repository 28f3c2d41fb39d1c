"""Opens a converted model directory: everything is checked before native code reads it.

llama.cpp asserts, and so ends the process, on some files that are well formed but make no sense. So each of the
two GGUF files is compared with what the manifest implies (`formats/voice_layout.py`): the same keys with the same
types and values, the same tensors with the same types and shapes, and nothing besides.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop._native import CodePredictorModel, NativeTalkerModel, TalkerError, TalkerModel
from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.gguf_writer import Key, Scalar, TensorPlan
from kazeia_desktop.formats.problems import key_problem, missing_key, missing_tensor, tensor_problem
from kazeia_desktop.formats.voice_description import DecoderShape, VoiceDescription
from kazeia_desktop.formats.voice_layout import (
    TOKEN_EMBD,
    TOKEN_TYPES,
    TokenTable,
    code_predictor_keys,
    code_predictor_plan,
    talker_keys,
    talker_plan,
)
from kazeia_desktop.formats.voice_manifest import (
    CODE_PREDICTOR,
    CODEC,
    FILE,
    SPEAKER_ENCODER,
    TALKER,
    FileRecord,
    VoiceManifest,
)
from kazeia_desktop.tts.codec import CodecDecoder
from kazeia_desktop.tts.codec_file import LARGE_WEIGHT, strange_weight
from kazeia_desktop.tts.packed_weights import TYPES, PackedWeights, Tensor

_TABLES: Final = "codec_embd."
"""Begins the names of the code predictor's embedding tables: of them a frame takes some rows."""
_BLOCK: Final = 32
"""Widths are whole blocks of this many values: the native kernels are written for them."""
_MOST_FRAMES: Final = 8
"""Of one run of the codec: its rings have so many places to spare."""
_TOKENS: Final = "tokenizer.ggml.tokens"
_TOKEN_TYPES: Final = "tokenizer.ggml.token_type"
_MERGES: Final = "tokenizer.ggml.merges"
_SECTIONS: Final = "qwen3tts.rope.dimension_sections"
_ROLES: Final = {"im_start": "<|im_start|>", "im_end": "<|im_end|>"}
"""Ids of the manifest -> the tokens that they must be: the prompt is built of both."""
_Arrays = Mapping[str, list[str] | list[int]]
"""Of the metadata, read already."""


def load_talker(
    model_dir: Path, manifest: VoiceManifest, native: bool
) -> tuple[GgufFile, TalkerModel, NativeTalkerModel | None]:
    """The talker's file, llama.cpp's model of it, and ours.

    Args:
        native: the weights are for our kernels, and llama.cpp has the vocabulary only; otherwise llama.cpp has both.
    Raises:
        ModelError: naming file and tensor or key.
    """
    file = check_talker(model_dir, manifest)
    talker = manifest.description.talker
    try:
        if not native:
            return file, TalkerModel(str(file.path)), None
        with ThreadPoolExecutor(1, "vocabulary") as other:
            llama = other.submit(TalkerModel, str(file.path), vocab_only=True)
            tensors = _tensors(file, manifest.files[TALKER], [name for name in file.tensors if name != TOKEN_EMBD])
            return file, llama.result(), NativeTalkerModel(_numbers(talker), talker.vocab, tensors)
    except (TalkerError, ValueError) as error:
        raise _damaged(file.path, str(error)) from error


def _tensors(file: GgufFile, record: FileRecord, names: Iterable[str]) -> dict[str, Tensor]:
    """As native code takes them: vectors and embedding tables as they are in the file, other matrices packed."""
    as_they_are, matrices = {}, []
    for name in names:
        info = file.info(name)
        if len(info.shape) == 2 and not name.startswith(_TABLES):
            matrices.append(name)
        else:
            rows = info.shape[0] if len(info.shape) == 2 else 1
            as_they_are[name] = (TYPES[info.type], rows, info.shape[-1], file.raw(name), False)
    return as_they_are | PackedWeights(file, record, matrices).load()


def _numbers(shape: DecoderShape) -> dict[str, float]:
    names = ("hidden", "layers", "heads", "kv_heads", "head_dim", "ffn", "rope_theta", "rms_norm_eps")
    return {name: getattr(shape, name) for name in names}


def check_talker(model_dir: Path, manifest: VoiceManifest) -> GgufFile:
    """The talker's file, which llama.cpp may open now.

    Raises:
        ModelError: naming file and tensor or key.
    """
    told = manifest.description
    _check_widths(model_dir / FILE, "talker", told.talker)
    file = GgufFile(model_dir / TALKER)
    _check_tensors(file, talker_plan(told.talker, manifest.dtype))
    sections = _read_sections(file, told.talker.head_dim)
    tokens = TokenTable(file.texts(_TOKENS), file.integers(_TOKEN_TYPES), file.texts(_MERGES))
    _check_tokens(file, told, tokens)
    n_rows = told.talker.text_vocab
    text = TokenTable(tokens.tokens[:n_rows], tokens.types[:n_rows], tokens.merges)
    # A vocabulary takes a tenth of a second to read: once.
    read: _Arrays = {_TOKENS: tokens.tokens, _TOKEN_TYPES: tokens.types, _MERGES: tokens.merges}
    _check_keys(file, talker_keys(told, text, sections, manifest.dtype), read)
    return file


def load_code_predictor(model_dir: Path, manifest: VoiceManifest) -> CodePredictorModel:
    """The code predictor, packed for this processor.

    Raises:
        ModelError: naming file and tensor or key.
    """
    file = check_code_predictor(model_dir, manifest)
    talker, shape = manifest.description.talker, manifest.description.code_predictor
    numbers = _numbers(shape) | {"codebooks": shape.codebooks, "vocab": shape.vocab}
    try:
        return CodePredictorModel(
            numbers, talker.hidden, talker.vocab, _tensors(file, manifest.files[CODE_PREDICTOR], file.tensors)
        )
    except ValueError as error:
        raise _damaged(file.path, str(error)) from error


def check_code_predictor(model_dir: Path, manifest: VoiceManifest) -> GgufFile:
    """The code predictor's file, whose buffers native code may read now.

    Raises:
        ModelError: naming file and tensor or key.
    """
    told = manifest.description
    _check_widths(model_dir / FILE, "code_predictor", told.code_predictor)
    file = GgufFile(model_dir / CODE_PREDICTOR)
    _check_tensors(file, code_predictor_plan(told.code_predictor, told.talker, manifest.dtype))
    _check_keys(file, code_predictor_keys(told, manifest.dtype), {})
    return file


def load_codec(model_dir: Path, manifest: VoiceManifest, threads: int) -> CodecDecoder:
    """The codec, as the manifest tells it.

    Raises:
        ModelError: naming file and weight, node or key.
    """
    codec, told = CodecDecoder.load(model_dir, threads), manifest.description.codec
    for name in ("sample_rate_hz", "samples_per_frame", "codebooks", "codebook_size"):
        if getattr(codec, name) != getattr(told, name):
            raise key_problem(codec.file, name, "value", getattr(codec, name), getattr(told, name))
    if codec.max_frames > _MOST_FRAMES:
        raise key_problem(codec.file, "max_frames", "value", codec.max_frames, f"1..{_MOST_FRAMES}")
    return codec


def first_not_finite(model_dir: Path, manifest: VoiceManifest) -> ModelCorruptError | None:
    """The tensor that holds a value which is no number, or a number that no trained weight is; None for a sound model.

    For a model whose figures were not finite: looking at every value before would double the time to load.

    Raises:
        ModelError: a file cannot be read any more.
    """
    largest, strange = LARGE_WEIGHT, None
    for file in (check_talker(model_dir, manifest), check_code_predictor(model_dir, manifest)):
        for name in file.tensors:
            for block in file.tensor(name).blocks():
                found = float(np.abs(block).max())
                if not np.isfinite(found):
                    return _not_finite(file, name)
                if found > largest:
                    largest = found
                    strange = tensor_problem(file.path, name, "value", f"{found:g}", f"< {LARGE_WEIGHT:g}")
    graphs = [CODEC[0], *([SPEAKER_ENCODER[0]] if manifest.description.speaker_encoder else [])]
    return strange or next(filter(None, (strange_weight(model_dir / graph) for graph in graphs)), None)


def _check_widths(manifest: Path, part: str, shape: DecoderShape) -> None:
    for name in ("hidden", "head_dim", "ffn"):
        if getattr(shape, name) % _BLOCK:
            raise key_problem(manifest, f"{part}.{name}", "value", getattr(shape, name), f"k*{_BLOCK}")


def _check_tensors(file: GgufFile, plan: Sequence[TensorPlan]) -> None:
    """Exactly the planned tensors; the vectors among them, which are small, hold numbers."""
    for planned in plan:
        if planned.name not in file.tensors:
            raise missing_tensor(file.path, planned.name, list(planned.shape))
        found = file.info(planned.name)
        if found.shape != planned.shape:
            raise tensor_problem(file.path, planned.name, "shape", list(found.shape), list(planned.shape))
        if found.type != planned.type:
            raise tensor_problem(file.path, planned.name, "type", found.type, int(planned.type))
        if len(found.shape) == 1 and not np.isfinite(file.tensor(planned.name).array()).all():
            raise _not_finite(file, planned.name)
    if len(file.tensors) != len(plan):
        unknown = next(iter(set(file.tensors) - {planned.name for planned in plan}))
        raise tensor_problem(file.path, unknown, "count", 1, 0)


def _check_keys(file: GgufFile, expected: Sequence[Key], read: _Arrays) -> None:
    for key in expected:
        if key.name not in file:
            raise missing_key(file.path, key.name)
        is_array = isinstance(key.value, Sequence) and not isinstance(key.value, str)
        kind = f"array of {key.kind}" if is_array else key.kind
        if file.kind(key.name) != kind:
            raise key_problem(file.path, key.name, "type", file.kind(key.name), kind)
        for name, found, wanted in _differences(file, key, read):
            raise key_problem(file.path, name, "value", found, wanted)
    for name in sorted(set(file) - {key.name for key in expected}):
        raise key_problem(file.path, name, "count", 1, 0)


def _differences(file: GgufFile, key: Key, read: _Arrays) -> Iterator[tuple[str, object, object]]:
    """(key, value found, value expected) wherever these are two."""
    if isinstance(key.value, Sequence) and not isinstance(key.value, str):
        found = read.get(key.name) or file.integers(key.name)
        if len(found) != len(key.value):
            yield f"{key.name}[]", len(found), len(key.value)
        elif found != list(key.value):
            for index, (one, wanted) in enumerate(zip(found, key.value, strict=True)):
                if one != wanted:
                    yield f"{key.name}[{index}]", one, wanted
    elif (value := _scalar(file, key)) != (float(np.float32(key.value)) if key.kind == "f32" else key.value):
        yield key.name, value, key.value


def _scalar(file: GgufFile, key: Key) -> Scalar:
    match key.kind:
        case "string":
            return file.text(key.name)
        case "bool":
            return file.boolean(key.name)
        case "f32":
            return file.number(key.name, -np.inf, np.inf)
        case _:
            return file.integer(key.name, -(1 << 31), (1 << 32) - 1)


def _read_sections(file: GgufFile, head_dim: int) -> tuple[int, ...]:
    """M-RoPE's split of half a head: time, height, width. No other file says it."""
    sections = file.integers(_SECTIONS)
    if len(sections) != 4 or min(sections) < 0 or sections[3] or sum(sections) != head_dim // 2:
        raise key_problem(file.path, _SECTIONS, "value", sections, f"[a, b, c, 0], a + b + c = {head_dim // 2}")
    return tuple(sections[:3])


def _check_tokens(file: GgufFile, told: VoiceDescription, table: TokenTable) -> None:
    """The text tokenizer: one different token for each row, among them all bytes, and merges of two parts."""
    n_rows = told.talker.text_vocab
    tokens, types, merges = table.tokens, table.types, table.merges
    for name, found in ((_TOKENS, len(tokens)), (_TOKEN_TYPES, len(types))):
        if found != n_rows + told.talker.vocab:
            raise key_problem(file.path, name, "length", found, n_rows + told.talker.vocab)
    rows = dict(zip(tokens, range(len(tokens)), strict=True))
    if "" in rows or len(rows) != len(tokens):
        raise _repeated_token(file, tokens)
    for letter in _byte_letters():
        if rows.get(letter, n_rows) >= n_rows:
            raise key_problem(file.path, _TOKENS, "value", "-", letter)
    for name, token in _ROLES.items():
        if tokens[told.ids[name]] != token:
            raise key_problem(file.path, f"{_TOKENS}[{told.ids[name]}]", "value", tokens[told.ids[name]], token)
    if set(types) - set(TOKEN_TYPES):
        row, kind = next((row, kind) for row, kind in enumerate(types) if kind not in TOKEN_TYPES)
        raise key_problem(file.path, f"{_TOKEN_TYPES}[{row}]", "value", kind, ", ".join(map(str, TOKEN_TYPES)))
    for index, merge in enumerate(merges):
        if merge.count(" ") != 1 or merge[0] == " " or merge[-1] == " ":
            raise key_problem(file.path, f"{_MERGES}[{index}]", "value", repr(merge), "a b")


def _repeated_token(file: GgufFile, tokens: list[str]) -> ModelCorruptError:
    """For the first token that is empty, or there before."""
    rows: dict[str, int] = {}
    for row, token in enumerate(tokens):
        if not token:
            return key_problem(file.path, f"{_TOKENS}[{row}]", "value", repr(token), "1...")
        if rows.setdefault(token, row) != row:
            return key_problem(file.path, f"{_TOKENS}[{row}]", "value", token, f"!= {_TOKENS}[{rows[token]}]")
    raise AssertionError("no token is empty or repeated")


def _byte_letters() -> Iterator[str]:
    """The 256 letters that stand for bytes in a byte-level BPE: printable Latin-1 for itself, others from 256 on."""
    spare = 256
    for byte in range(256):
        if 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174:
            yield chr(byte)
        else:
            yield chr(spare)
            spare += 1


def _not_finite(file: GgufFile, name: str) -> ModelCorruptError:
    return tensor_problem(file.path, name, "value", "not finite", "finite")


def _damaged(path: Path, reason: str) -> ModelCorruptError:
    return ModelCorruptError(
        "The model file {file} is damaged ({reason}): run `kazeia models convert` again.", file=str(path), reason=reason
    )
