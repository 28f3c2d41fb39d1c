"""Which tensors the two GGUF files of a converted model hold, with their shapes, types and keys.

The converter writes exactly this, and the engine opens nothing else: what is changed here changes the manifest's
version.

Source: llama.cpp's qwen3tts (conversion/qwen3tts.py for the keys, src/models/qwen3vl.cpp for the tensors).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf_writer import Key, TensorPlan
from kazeia_desktop.formats.voice_description import (
    CodePredictorShape,
    DecoderShape,
    TalkerShape,
    VoiceDescription,
)

TOKEN_EMBD: Final = "token_embd.weight"
OUTPUT: Final = "output.weight"
OUTPUT_NORM: Final = "output_norm.weight"
CODE_PREDICTOR_ARCHITECTURE: Final = "kazeia-code-predictor"
_MATRIX: Final = {"f32": GgmlType.F32, "f16": GgmlType.F16, "q8_0": GgmlType.Q8_0, "q4_0": GgmlType.Q4_0}
_FILE_TYPE: Final = {"f32": 0, "f16": 1, "q8_0": 7, "q4_0": 2}  # llama_ftype
_QUANTIZATION_VERSION: Final = 2  # GGML_QNT_VERSION
_SUPPRESSED: Final = 1024
"""The last codec rows are no sounds: of them only the end may be drawn."""
_CONTROL: Final = 3
TOKEN_TYPES: Final = (1, _CONTROL, 4, 5)
"""llama_token_type: normal, control, user-defined, unused."""
_PAD_TOKEN: Final = "<|endoftext|>"


@dataclass(frozen=True, slots=True)
class TokenTable:
    """The text tokenizer: a byte-level BPE.

    Attributes:
        tokens: one per row of the text embedding.
        types: llama.cpp's token types.
        merges: "left right" in order of rank.
    """

    tokens: list[str]
    types: list[int]
    merges: list[str]


def layer_shapes(shape: DecoderShape, layer: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """GGUF name and shape of every tensor of one decoder layer."""
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    for name, size in (
        ("attn_norm", (shape.hidden,)),
        ("attn_q", (queries, shape.hidden)),
        ("attn_k", (keys, shape.hidden)),
        ("attn_v", (keys, shape.hidden)),
        ("attn_q_norm", (shape.head_dim,)),
        ("attn_k_norm", (shape.head_dim,)),
        ("attn_output", (shape.hidden, queries)),
        ("ffn_norm", (shape.hidden,)),
        ("ffn_gate", (shape.ffn, shape.hidden)),
        ("ffn_up", (shape.ffn, shape.hidden)),
        ("ffn_down", (shape.hidden, shape.ffn)),
    ):
        yield f"blk.{layer}.{name}.weight", size


def talker_shapes(shape: TalkerShape) -> dict[str, tuple[int, ...]]:
    """GGUF name -> shape of every tensor of talker.gguf."""
    table: dict[str, tuple[int, ...]] = {TOKEN_EMBD: (shape.text_vocab + shape.vocab, shape.hidden)}
    for layer in range(shape.layers):
        table.update(layer_shapes(shape, layer))
    return table | {OUTPUT_NORM: (shape.hidden,), OUTPUT: (shape.vocab, shape.hidden)}


def code_predictor_shapes(shape: CodePredictorShape, talker: TalkerShape) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every tensor of code_predictor.gguf."""
    table: dict[str, tuple[int, ...]] = {}
    if shape.projection:
        table |= {"input_proj.weight": (shape.hidden, talker.hidden), "input_proj.bias": (shape.hidden,)}
    for layer in range(shape.layers):
        table.update(layer_shapes(shape, layer))
    table[OUTPUT_NORM] = (shape.hidden,)
    for book in range(1, shape.codebooks + 1):
        table[f"head.{book}.weight"] = (shape.vocab, shape.hidden)
    for book in range(shape.codebooks + 1):
        table[f"codec_embd.{book}.weight"] = (shape.vocab if book else talker.vocab, talker.hidden)
    return table


def talker_plan(shape: TalkerShape, dtype: str) -> list[TensorPlan]:
    """The tensors of talker.gguf in order."""
    return [TensorPlan(name, size, _talker_type(name, size, dtype)) for name, size in talker_shapes(shape).items()]


def code_predictor_plan(shape: CodePredictorShape, talker: TalkerShape, dtype: str) -> list[TensorPlan]:
    """The tensors of code_predictor.gguf in order."""
    return [
        TensorPlan(name, size, _embedding_type(dtype) if "embd" in name else _type(size, dtype))
        for name, size in code_predictor_shapes(shape, talker).items()
    ]


def _talker_type(name: str, size: tuple[int, ...], dtype: str) -> GgmlType:
    if name == TOKEN_EMBD:
        return _embedding_type(dtype)
    if name == OUTPUT and dtype == "q4_0":
        return GgmlType.Q8_0  # which codes are drawn depends on it most, and it is small
    return _type(size, dtype)


def _type(size: tuple[int, ...], dtype: str) -> GgmlType:
    return _MATRIX[dtype] if len(size) > 1 else GgmlType.F32


def _embedding_type(dtype: str) -> GgmlType:
    return GgmlType.F32 if dtype == "f32" else GgmlType.F16


def talker_keys(description: VoiceDescription, tokens: TokenTable, sections: tuple[int, ...], dtype: str) -> list[Key]:
    """The metadata of talker.gguf; the vocabulary is the text tokens, then the codec's."""
    shape, ids = description.talker, description.ids
    n_tokens, end = shape.text_vocab + shape.vocab, shape.text_vocab + ids["codec_eos"]
    codec = codec_token_names(description)
    keys = [
        Key("general.architecture", "string", "qwen3tts"),
        Key("general.type", "string", "model"),
        Key("general.name", "string", description.name),
        Key("general.file_type", "u32", _FILE_TYPE[dtype]),
        Key("general.quantization_version", "u32", _QUANTIZATION_VERSION),
        *_decoder_keys("qwen3tts", shape),
        Key("qwen3tts.context_length", "u32", shape.max_positions),
        Key("qwen3tts.vocab_size", "u32", n_tokens),
        Key("qwen3tts.rope.dimension_sections", "i32", (*sections, 0)),
        Key("tokenizer.ggml.model", "string", "gpt2"),
        Key("tokenizer.ggml.pre", "string", "qwen2"),
        Key("tokenizer.ggml.tokens", "string", [*tokens.tokens, *codec]),
        Key("tokenizer.ggml.token_type", "i32", [*tokens.types, *([_CONTROL] * len(codec))]),
        Key("tokenizer.ggml.merges", "string", tokens.merges),
        Key("tokenizer.ggml.eos_token_id", "u32", end),
        Key("tokenizer.ggml.add_bos_token", "bool", False),
        Key("tokenizer.ggml.add_eos_token", "bool", False),
        Key(
            "tokenizer.ggml.suppress_tokens", "i32",
            [token for token in range(n_tokens - _SUPPRESSED, n_tokens) if token != end],
        ),
    ]  # fmt: skip
    if _PAD_TOKEN in tokens.tokens:
        keys.append(Key("tokenizer.ggml.padding_token_id", "u32", tokens.tokens.index(_PAD_TOKEN)))
    return keys


def code_predictor_keys(description: VoiceDescription, dtype: str) -> list[Key]:
    """The metadata of code_predictor.gguf."""
    return [
        Key("general.architecture", "string", CODE_PREDICTOR_ARCHITECTURE),
        Key("general.name", "string", description.name),
        Key("general.file_type", "u32", _FILE_TYPE[dtype]),
        Key("general.quantization_version", "u32", _QUANTIZATION_VERSION),
        *_decoder_keys(CODE_PREDICTOR_ARCHITECTURE, description.code_predictor),
    ]


def _decoder_keys(prefix: str, shape: DecoderShape) -> list[Key]:
    return [
        Key(f"{prefix}.block_count", "u32", shape.layers),
        Key(f"{prefix}.embedding_length", "u32", shape.hidden),
        Key(f"{prefix}.feed_forward_length", "u32", shape.ffn),
        Key(f"{prefix}.attention.head_count", "u32", shape.heads),
        Key(f"{prefix}.attention.head_count_kv", "u32", shape.kv_heads),
        Key(f"{prefix}.attention.key_length", "u32", shape.head_dim),
        Key(f"{prefix}.attention.value_length", "u32", shape.head_dim),
        Key(f"{prefix}.attention.layer_norm_rms_epsilon", "f32", shape.rms_norm_eps),
        Key(f"{prefix}.rope.freq_base", "f32", shape.rope_theta),
    ]


def codec_token_names(description: VoiceDescription) -> list[str]:
    """Names of the codec's rows, as llama.cpp's converter gives them."""
    names = [f"<|codec_{i}|>" for i in range(description.talker.vocab)]
    for key, row in description.ids.items():
        if key.startswith("codec_"):
            names[row] = "<|codec_eos_token|>" if key == "codec_eos" else f"<|{key}|>"
    for language, row in description.languages.items():
        names[row] = f"<|codec_language_{language}|>"
    for speaker, row in description.speakers.items():
        names[row] = f"<|spk_{speaker}|>"
    return names
