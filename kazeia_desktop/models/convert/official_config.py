"""config.json and generation_config.json of the official checkpoint, checked and put into our words.

Source of the defaults: the official package's configuration classes, which fill in what a file leaves out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.formats.json_fields import Fields
from kazeia_desktop.formats.problems import one_line
from kazeia_desktop.formats.voice_description import (
    CODEBOOKS,
    MODEL_TYPES,
    SpeakerEncoderShape,
    VoiceDescription,
    read_code_predictor,
    read_codec,
    read_codec_ids,
    read_dialects,
    read_names,
    read_sampling,
    read_talker,
    read_text_ids,
)

ARCHITECTURE: Final = "qwen3_tts"
TOKENIZER: Final = "qwen3_tts_tokenizer_12hz"
SECTIONS: Final = (24, 20, 20)
SAMPLING: Final = {
    "temperature": 0.9, "top_k": 50, "top_p": 1.0, "repetition_penalty": 1.05,
    "subtalker_temperature": 0.9, "subtalker_top_k": 50, "subtalker_top_p": 1.0,
}  # fmt: skip
"""The published generation_config.json."""
SPEAKER_ENCODER: Final[Mapping[str, object]] = {
    "mel_dim": 128, "enc_dim": 1024, "enc_channels": [512, 512, 512, 512, 1536], "enc_kernel_sizes": [5, 3, 3, 3, 1],
    "enc_dilations": [1, 2, 3, 4, 1], "enc_attention_channels": 128, "enc_res2net_scale": 8, "enc_se_channels": 128,
    "sample_rate": 24000,
}  # fmt: skip
_DECODER: Final = {
    "hidden": "hidden_size", "layers": "num_hidden_layers", "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads", "ffn": "intermediate_size", "vocab": "vocab_size",
}  # fmt: skip
_TEXT_IDS: Final = {
    "im_start": "im_start_token_id", "im_end": "im_end_token_id", "assistant": "assistant_token_id",
    "tts_pad": "tts_pad_token_id", "tts_bos": "tts_bos_token_id", "tts_eos": "tts_eos_token_id",
}  # fmt: skip
_TEXT_ID_DEFAULTS: Final = {
    "im_start_token_id": 151644, "im_end_token_id": 151645, "assistant_token_id": 77091,
    "tts_pad_token_id": 151671, "tts_bos_token_id": 151672, "tts_eos_token_id": 151673,
}  # fmt: skip
_CODEC_IDS: Final = {
    "codec_pad": "codec_pad_id", "codec_bos": "codec_bos_id", "codec_eos": "codec_eos_token_id",
    "codec_think": "codec_think_id", "codec_nothink": "codec_nothink_id",
    "codec_think_bos": "codec_think_bos_id", "codec_think_eos": "codec_think_eos_id",
}  # fmt: skip
_CODEC: Final = {
    "layers": "num_hidden_layers", "heads": "num_attention_heads", "kv_heads": "num_key_value_heads",
    "codebooks": "num_quantizers",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OfficialConfig:
    """What the configuration files say.

    Attributes:
        text_hidden: width of the text embedding, before it is projected.
        codec: `decoder_config` of speech_tokenizer/config.json.
        speaker_encoder: with the official defaults.
    """

    description: VoiceDescription
    rope_sections: tuple[int, ...]
    text_hidden: int
    codec: Mapping[str, object]
    speaker_encoder: Mapping[str, object]


def read_config(directory: Path, codec_directory: Path) -> OfficialConfig:
    """Raises:
    ModelMissingError, ModelCorruptError: naming the file and the key.
    ModelIncompatibleError: another kind of model.
    """
    root = Fields.read(directory / "config.json")
    _same(root, "model_type", ARCHITECTURE)
    _same(root, "tokenizer_type", TOKENIZER, TOKENIZER)
    talker_fields = root.table("talker_config")
    predictor_fields = talker_fields.table("code_predictor_config")
    _same(predictor_fields, "num_code_groups", CODEBOOKS)
    for fields in (talker_fields, predictor_fields):
        _same(fields, "hidden_act", "silu", "silu")
        _same(fields, "attention_bias", False, False)
        _same(fields, "use_sliding_window", False, False)
    _same(talker_fields, "num_code_groups", CODEBOOKS)
    talker = read_talker(
        talker_fields.renamed(
            {**_DECODER, "text_vocab": "text_vocab_size", "max_positions": "max_position_embeddings"},
            {"head_dim": 128, "max_position_embeddings": 32768, "text_vocab_size": 151936},
        )
    )
    width = predictor_fields.integer("hidden_size", 1, 16384)
    predictor = read_code_predictor(
        predictor_fields.renamed(
            _DECODER, {"head_dim": 128, "codebooks": CODEBOOKS - 1, "projection": width != talker.hidden}
        ),
        talker,
    )
    codec = Fields.read(codec_directory / "config.json")
    decoder = codec.table("decoder_config")
    _same(decoder, "hidden_act", "silu", "silu")
    _same(decoder, "attention_bias", False, False)
    for key in ("codebook_dim", "latent_dim", "decoder_dim", "hidden_size", "intermediate_size"):
        decoder.integer(key, 1, 32768)
    rates = {
        "sample_rate_hz": codec.integer("output_sample_rate", 1, 10**6, 24000),
        "samples_per_frame": codec.integer("decode_upsample_rate", 1, 10**6, 1920),
    }
    kind = root.choice("tts_model_type", MODEL_TYPES)
    encoder: Mapping[str, object] = {}
    if kind == "base":
        given = root.table("speaker_encoder_config", {})
        encoder = {**SPEAKER_ENCODER, **{key: given.value(key) for key in given}}
        if encoder["enc_dim"] != talker.hidden:
            raise given.problem("enc_dim", encoder["enc_dim"], talker.hidden)
        if encoder["sample_rate"] != 24000:
            raise given.problem("sample_rate", encoder["sample_rate"], 24000)
    named = talker_fields.renamed({}, {"codec_language_id": {}, "spk_id": {}, "spk_is_dialect": {}})
    languages, speakers = (
        read_names(named.table("codec_language_id"), talker),
        read_names(named.table("spk_id"), talker),
    )
    dialects = named.table("spk_is_dialect")
    spoken = Fields(dialects.path, {name: dialects.value(name) for name in dialects if dialects.value(name)})
    size = root.text("tts_model_size", "", longest=16)
    sampling = _sampling(directory / "generation_config.json")
    shape = read_codec(decoder.renamed(_CODEC, {**rates, "head_dim": 64}))
    description = VoiceDescription(
        name=model_name(size, kind),
        model_type=kind,
        model_size=size,
        talker=talker,
        code_predictor=predictor,
        codec=shape,
        speaker_encoder=SpeakerEncoderShape(24000, talker.hidden) if encoder else None,
        ids=read_text_ids(root.renamed(_TEXT_IDS, _TEXT_ID_DEFAULTS), talker)
        | read_codec_ids(talker_fields.renamed(_CODEC_IDS), talker),
        languages=languages,
        speakers=speakers,
        speaker_dialects=read_dialects(spoken, languages, speakers),
        talker_sampling=read_sampling(sampling, penalty=True),
        code_predictor_sampling=read_sampling(
            sampling.renamed({key: f"subtalker_{key}" for key in ("temperature", "top_k", "top_p")}), penalty=False
        ),
    )
    return OfficialConfig(
        description,
        _sections(talker_fields, talker.head_dim),
        talker_fields.integer("text_hidden_size", 1, 16384, 2048),
        {"head_dim": shape.head_dim, **{key: decoder.value(key) for key in decoder}},
        encoder,
    )


def model_name(size: str, kind: str) -> str:
    """As the models are published: "Qwen3-TTS-12Hz-0.6B-Base" of "0b6" and "base"."""
    told = {"0b6": "0.6B", "1b7": "1.7B"}.get(size, size or "?")
    return f"Qwen3-TTS-12Hz-{told}-{''.join(part.capitalize() for part in kind.split('_'))}"


def _same(fields: Fields, key: str, expected: object, default: object = None) -> None:
    found = fields.value(key) if default is None else fields.value(key, default)
    if found != expected or type(found) is not type(expected):
        raise ModelIncompatibleError(
            "The model {path} has {key} {found}: only {expected} can be converted.",
            path=str(fields.path), key=key, found=one_line(found), expected=expected,
        )  # fmt: skip


def _sections(fields: Fields, head_dim: int) -> tuple[int, ...]:
    scaling = fields.renamed({}, {"rope_scaling": {}}).table("rope_scaling")
    sections = scaling.integers("mrope_section", 0, head_dim, count=3, default=list(SECTIONS))
    if sum(sections) != head_dim // 2:
        raise scaling.problem("mrope_section", list(sections), f"sum {head_dim // 2}")
    return sections


def _sampling(path: Path) -> Fields:
    fields = Fields.read(path) if path.exists() else Fields(path, {})
    return fields.renamed({}, SAMPLING)
