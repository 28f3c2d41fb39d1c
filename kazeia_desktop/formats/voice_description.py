"""What a Qwen3-TTS model is, whatever files it comes in: dimensions, ids, voices, sampling.

Every number has a range, so that a hostile file cannot make its reader reserve without bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

from kazeia_desktop.formats.json_fields import Fields

MODEL_TYPES: Final = ("base", "custom_voice", "voice_design")
CODEC_VOCAB: Final = 3072
"""Rows of the talker's output; llama.cpp's qwen3tts has this number in its code."""
CODEBOOKS: Final = 16
CODEBOOK: Final = 2048
"""Codebooks of a frame, and codes of each: the native code is written for these."""
MOST_TOKENS: Final = 1 << 20
TEXT_IDS: Final = ("im_start", "im_end", "assistant", "tts_pad", "tts_bos", "tts_eos")
CODEC_IDS: Final = (
    "codec_pad", "codec_bos", "codec_eos", "codec_think", "codec_nothink", "codec_think_bos", "codec_think_eos",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DecoderShape:
    """Dimensions of a stack of Qwen3 decoder layers."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    rope_theta: float
    rms_norm_eps: float


@dataclass(frozen=True, slots=True)
class TalkerShape(DecoderShape):
    """The talker; its token_embd has `text_vocab` folded text rows, then `vocab` codec rows."""

    vocab: int
    text_vocab: int
    max_positions: int


@dataclass(frozen=True, slots=True)
class CodePredictorShape(DecoderShape):
    """The code predictor: `codebooks` heads of `vocab` codes; `projection`: input_proj comes first."""

    vocab: int
    codebooks: int
    projection: bool


@dataclass(frozen=True, slots=True)
class CodecShape:
    """The codec decoder: the transformer's dimensions, and what each stage stretches its input by."""

    sample_rate_hz: int
    samples_per_frame: int
    codebooks: int
    codebook_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    sliding_window: int
    rope_theta: float
    rms_norm_eps: float
    upsampling_ratios: tuple[int, ...]
    upsample_rates: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SpeakerEncoderShape:
    """The x-vector network: `width` is the talker's hidden width."""

    sample_rate_hz: int
    width: int


@dataclass(frozen=True, slots=True)
class Sampling:
    """The checkpoint's own defaults."""

    temperature: float
    top_k: int
    top_p: float
    repetition_penalty: float = 1.0


@dataclass(frozen=True, slots=True)
class VoiceDescription:
    """A Qwen3-TTS model, whatever files it is in.

    Attributes:
        ids: of text tokens (TEXT_IDS) and codec tokens (CODEC_IDS, within the codec's own vocabulary).
        languages: language -> codec id.
        speakers: speaker -> codec id; of CustomVoice models.
        speaker_dialects: speaker -> the language whose id replaces Chinese's.
    """

    name: str
    model_type: str
    model_size: str
    talker: TalkerShape
    code_predictor: CodePredictorShape
    codec: CodecShape
    speaker_encoder: SpeakerEncoderShape | None
    ids: Mapping[str, int]
    languages: Mapping[str, int]
    speakers: Mapping[str, int]
    speaker_dialects: Mapping[str, str]
    talker_sampling: Sampling
    code_predictor_sampling: Sampling


def read_talker(fields: Fields) -> TalkerShape:
    """The manifest's talker; errors as `Fields`."""
    return TalkerShape(
        *_decoder(fields),
        vocab=fields.integer("vocab", CODEC_VOCAB, CODEC_VOCAB),
        text_vocab=fields.integer("text_vocab", 1, MOST_TOKENS),
        max_positions=fields.integer("max_positions", 1, 1 << 20),
    )


def read_code_predictor(fields: Fields, talker: TalkerShape) -> CodePredictorShape:
    """The manifest's code predictor, which must fit the talker."""
    shape = CodePredictorShape(
        *_decoder(fields),
        vocab=fields.integer("vocab", CODEBOOK, CODEBOOK),
        codebooks=fields.integer("codebooks", CODEBOOKS - 1, CODEBOOKS - 1),
        projection=fields.boolean("projection"),
    )
    if not shape.projection and shape.hidden != talker.hidden:
        raise fields.problem("projection", "false", "true")
    return shape


def read_codec(fields: Fields) -> CodecShape:
    """The manifest's codec."""
    heads, kv_heads, head_dim = _heads(fields)
    shape = CodecShape(
        sample_rate_hz=fields.integer("sample_rate_hz", 24000, 24000),
        samples_per_frame=fields.integer("samples_per_frame", 1920, 1920),
        codebooks=fields.integer("codebooks", CODEBOOKS, CODEBOOKS),
        codebook_size=fields.integer("codebook_size", CODEBOOK, CODEBOOK),
        layers=fields.integer("layers", 1, 64),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        sliding_window=fields.integer("sliding_window", 1, 1024),
        rope_theta=fields.number("rope_theta", 1, 1e9),
        rms_norm_eps=fields.number("rms_norm_eps", 1e-12, 0.01),
        upsampling_ratios=fields.integers("upsampling_ratios", 1, 16),
        upsample_rates=fields.integers("upsample_rates", 1, 16),
    )
    stretch = prod(shape.upsample_rates) * prod(shape.upsampling_ratios)
    if stretch != shape.samples_per_frame:
        raise fields.problem("upsample_rates", stretch, shape.samples_per_frame)
    return shape


def read_speaker_encoder(fields: Fields, talker: TalkerShape) -> SpeakerEncoderShape:
    """The manifest's speaker encoder, of the talker's width."""
    return SpeakerEncoderShape(
        sample_rate_hz=fields.integer("sample_rate_hz", 24000, 24000),
        width=fields.integer("width", talker.hidden, talker.hidden),
    )


def read_sampling(fields: Fields, penalty: bool) -> Sampling:
    """One model's sampling; `penalty`: with a repetition penalty."""
    return Sampling(
        temperature=fields.number("temperature", 0.0, 10.0),
        top_k=fields.integer("top_k", 0, CODEC_VOCAB),
        top_p=fields.number("top_p", 0.0, 1.0),
        repetition_penalty=fields.number("repetition_penalty", 0.1, 10.0) if penalty else 1.0,
    )


def read_text_ids(fields: Fields, talker: TalkerShape) -> dict[str, int]:
    """TEXT_IDS, each a row of the text embedding."""
    return {name: fields.integer(name, 0, talker.text_vocab - 1) for name in TEXT_IDS}


def read_codec_ids(fields: Fields, talker: TalkerShape) -> dict[str, int]:
    """CODEC_IDS, each a row of the codec embedding."""
    return {name: fields.integer(name, 0, talker.vocab - 1) for name in CODEC_IDS}


def read_names(fields: Fields, talker: TalkerShape) -> dict[str, int]:
    """Languages or speakers: name -> codec id."""
    for name in fields:
        if not 1 <= len(name) <= 64 or not name.isprintable():
            raise fields.problem(name, name, "1..64")
    return {name: fields.integer(name, 0, talker.vocab - 1) for name in fields}


def read_dialects(fields: Fields, languages: Mapping[str, int], speakers: Mapping[str, int]) -> dict[str, str]:
    """speaker -> language, both known."""
    for name in fields:
        if name not in speakers:
            raise fields.problem(name, name, "in speakers")
    return {name: fields.choice(name, tuple(languages)) for name in fields}


def _decoder(fields: Fields) -> tuple[int, int, int, int, int, int, float, float]:
    heads, kv_heads, head_dim = _heads(fields)
    return (
        fields.integer("hidden", 1, 16384),
        fields.integer("layers", 1, 256),
        heads,
        kv_heads,
        head_dim,
        fields.integer("ffn", 1, 65536),
        fields.number("rope_theta", 1, 1e9),
        fields.number("rms_norm_eps", 1e-12, 0.01),
    )


def _heads(fields: Fields) -> tuple[int, int, int]:
    heads = fields.integer("heads", 1, 256)
    kv_heads = fields.integer("kv_heads", 1, heads)
    if heads % kv_heads:
        raise fields.problem("kv_heads", kv_heads, f"{heads}/k")
    head_dim = fields.integer("head_dim", 2, 512)
    if head_dim % 2:
        raise fields.problem("head_dim", head_dim, "k*2")
    return heads, kv_heads, head_dim
