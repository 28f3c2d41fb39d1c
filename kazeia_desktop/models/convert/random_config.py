"""config.json files and tensor shapes of the published Qwen3-TTS sizes, and of two tiny ones for tests.

Source: the published checkpoints' config.json; shapes by the official package's modules.
"""

from collections.abc import Iterator
from typing import Any, Final

from kazeia_desktop.formats.voice_description import CODEBOOK, CODEBOOKS, CODEC_VOCAB, DecoderShape
from kazeia_desktop.models.convert.layout import layer_shapes
from kazeia_desktop.models.convert.official import official_layer_name
from kazeia_desktop.models.convert.official_codec import official_codec_shapes
from kazeia_desktop.models.convert.official_config import SAMPLING

TEXT_VOCAB: Final = 151936
SIZES: Final[dict[str, dict[str, Any]]] = {
    "tiny": {
        "name": "0b6", "hidden": 64, "ffn": 128, "layers": 2, "heads": 2, "kv": 1, "text": 16,
        "cp_hidden": 64, "cp_ffn": 128, "cp_layers": 2, "cp_heads": 2, "cp_kv": 1,
        "latent": 64, "codebook": 32, "decoder": 64, "tfm": 32, "tfm_ffn": 64, "tfm_heads": 2, "tfm_layers": 2,
        "spk": [64, 64, 64, 64, 192], "spk_attention": 16, "spk_se": 16,
    },
    "tiny-projection": {  # of two widths, as 1.7b, and other counts of heads and layers
        "name": "1b7", "hidden": 96, "ffn": 160, "layers": 3, "heads": 2, "kv": 2, "text": 16,
        "cp_hidden": 64, "cp_ffn": 96, "cp_layers": 2, "cp_heads": 2, "cp_kv": 1,
        "latent": 96, "codebook": 64, "decoder": 96, "tfm": 64, "tfm_ffn": 96, "tfm_heads": 3, "tfm_layers": 3,
        "spk": [64, 64, 64, 64, 192], "spk_attention": 16, "spk_se": 16,
    },
    "0.6b": {
        "name": "0b6", "hidden": 1024, "ffn": 3072, "layers": 28, "heads": 16, "kv": 8, "text": 2048,
        "cp_hidden": 1024, "cp_ffn": 3072, "cp_layers": 5, "cp_heads": 16, "cp_kv": 8,
        "latent": 1024, "codebook": 512, "decoder": 1536, "tfm": 512, "tfm_ffn": 1024, "tfm_heads": 16,
        "tfm_layers": 8, "spk": [512, 512, 512, 512, 1536], "spk_attention": 128, "spk_se": 128,
    },
    "1.7b": {
        "name": "1b7", "hidden": 2048, "ffn": 6144, "layers": 28, "heads": 16, "kv": 8, "text": 2048,
        "cp_hidden": 1024, "cp_ffn": 3072, "cp_layers": 5, "cp_heads": 16, "cp_kv": 8,
        "latent": 1024, "codebook": 512, "decoder": 1536, "tfm": 512, "tfm_ffn": 1024, "tfm_heads": 16,
        "tfm_layers": 8, "spk": [512, 512, 512, 512, 1536], "spk_attention": 128, "spk_se": 128,
    },
}  # fmt: skip
LANGUAGES: Final = {
    "chinese": 2055, "english": 2050, "german": 2053, "italian": 2070, "portuguese": 2071, "spanish": 2054,
    "japanese": 2058, "korean": 2064, "french": 2061, "russian": 2069,
}  # fmt: skip
HEAD_DIM: Final = 128
CODEC_HEAD_DIM: Final = 64
_MEL_BINS: Final = 128
_RES2NET: Final = 8


def main_config(size: str) -> dict[str, object]:
    """config.json."""
    d = SIZES[size]
    shared = {
        "num_code_groups": CODEBOOKS, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "hidden_act": "silu",
        "head_dim": HEAD_DIM, "attention_bias": False, "use_sliding_window": False,
    }  # fmt: skip
    predictor = {
        **shared, "hidden_size": d["cp_hidden"], "intermediate_size": d["cp_ffn"],
        "num_hidden_layers": d["cp_layers"], "num_attention_heads": d["cp_heads"],
        "num_key_value_heads": d["cp_kv"], "vocab_size": CODEBOOK, "max_position_embeddings": 65536,
        "layer_types": ["full_attention"] * d["cp_layers"],
    }  # fmt: skip
    talker = {
        **shared, "hidden_size": d["hidden"], "intermediate_size": d["ffn"], "num_hidden_layers": d["layers"],
        "num_attention_heads": d["heads"], "num_key_value_heads": d["kv"], "vocab_size": CODEC_VOCAB,
        "max_position_embeddings": 32768, "text_hidden_size": d["text"], "text_vocab_size": TEXT_VOCAB,
        "position_id_per_seconds": 13,
        "rope_scaling": {
            "interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default", "type": "default"
        },
        "codec_bos_id": 2149, "codec_eos_token_id": 2150, "codec_think_id": 2154, "codec_nothink_id": 2155,
        "codec_pad_id": 2148, "codec_think_bos_id": 2156, "codec_think_eos_id": 2157,
        "codec_language_id": LANGUAGES, "spk_id": {}, "spk_is_dialect": {}, "code_predictor_config": predictor,
    }  # fmt: skip
    return {
        "architectures": ["Qwen3TTSForConditionalGeneration"], "model_type": "qwen3_tts",
        "tokenizer_type": "qwen3_tts_tokenizer_12hz", "tts_model_size": d["name"], "tts_model_type": "base",
        "assistant_token_id": 77091, "im_start_token_id": 151644, "im_end_token_id": 151645,
        "tts_pad_token_id": 151671, "tts_bos_token_id": 151672, "tts_eos_token_id": 151673,
        "talker_config": talker,
        "speaker_encoder_config": {
            "enc_dim": d["hidden"], "sample_rate": 24000, "enc_channels": d["spk"],
            "enc_attention_channels": d["spk_attention"], "enc_se_channels": d["spk_se"],
        },
    }  # fmt: skip


def codec_config(size: str) -> dict[str, Any]:
    """speech_tokenizer/config.json; without the encoder, which this project never runs."""
    d = SIZES[size]
    return {
        "architectures": ["Qwen3TTSTokenizerV2Model"], "model_type": "qwen3_tts_tokenizer_12hz",
        "encoder_valid_num_quantizers": CODEBOOKS, "input_sample_rate": 24000, "output_sample_rate": 24000,
        "decode_upsample_rate": 1920, "encode_downsample_rate": 1920,
        "decoder_config": {
            "attention_bias": False, "attention_dropout": 0.0, "latent_dim": d["latent"],
            "codebook_dim": d["codebook"], "codebook_size": CODEBOOK, "decoder_dim": d["decoder"],
            "hidden_act": "silu", "hidden_size": d["tfm"], "intermediate_size": d["tfm_ffn"],
            "layer_scale_initial_scale": 0.01, "max_position_embeddings": 8000, "head_dim": CODEC_HEAD_DIM,
            "num_attention_heads": d["tfm_heads"], "num_hidden_layers": d["tfm_layers"],
            "num_key_value_heads": d["tfm_heads"], "num_quantizers": CODEBOOKS, "num_semantic_quantizers": 1,
            "rms_norm_eps": 1e-5, "rope_theta": 10000, "semantic_codebook_size": 4096, "sliding_window": 72,
            "upsample_rates": [8, 5, 4, 3], "upsampling_ratios": [2, 2],
            "vector_quantization_hidden_dimension": d["codebook"],
        },
    }  # fmt: skip


def generation_config() -> dict[str, object]:
    """generation_config.json."""
    return {"do_sample": True, "subtalker_dosample": True, "max_new_tokens": 8192, **SAMPLING}


def main_shapes(size: str) -> dict[str, tuple[int, ...]]:
    """Tensor -> shape of model.safetensors."""
    d = SIZES[size]
    hidden, width, cp = d["hidden"], d["text"], d["cp_hidden"]
    table: dict[str, tuple[int, ...]] = {
        "talker.model.text_embedding.weight": (TEXT_VOCAB, width),
        "talker.text_projection.linear_fc1.weight": (width, width),
        "talker.text_projection.linear_fc1.bias": (width,),
        "talker.text_projection.linear_fc2.weight": (hidden, width),
        "talker.text_projection.linear_fc2.bias": (hidden,),
        "talker.model.codec_embedding.weight": (CODEC_VOCAB, hidden),
        "talker.model.norm.weight": (hidden,),
        "talker.codec_head.weight": (CODEC_VOCAB, hidden),
        "talker.code_predictor.model.norm.weight": (cp,),
    }
    if cp != hidden:
        table["talker.code_predictor.small_to_mtp_projection.weight"] = (cp, hidden)
        table["talker.code_predictor.small_to_mtp_projection.bias"] = (cp,)
    for prefix, p in (("talker.model", ""), ("talker.code_predictor.model", "cp_")):
        shape = DecoderShape(
            d[f"{p}hidden"], d[f"{p}layers"], d[f"{p}heads"], d[f"{p}kv"], HEAD_DIM, d[f"{p}ffn"], 1e6, 1e-6
        )
        for layer in range(shape.layers):
            table |= {official_layer_name(prefix, name): s for name, s in layer_shapes(shape, layer)}
    for book in range(CODEBOOKS - 1):
        table[f"talker.code_predictor.model.codec_embedding.{book}.weight"] = (CODEBOOK, hidden)
        table[f"talker.code_predictor.lm_head.{book}.weight"] = (CODEBOOK, cp)
    for name, (n_out, n_in, kernel) in _speaker_shapes(size):
        table[f"speaker_encoder.{name}.weight"] = (n_out, n_in, kernel)
        table[f"speaker_encoder.{name}.bias"] = (n_out,)
    return table


def _speaker_shapes(size: str) -> Iterator[tuple[str, tuple[int, int, int]]]:
    d = SIZES[size]
    first, *inner, last = d["spk"]
    yield "blocks.0.conv", (first, _MEL_BINS, 5)
    before = first
    for block, width in enumerate(inner, 1):
        part = width // _RES2NET
        yield f"blocks.{block}.tdnn1.conv", (width, before, 1)
        for i in range(_RES2NET - 1):
            yield f"blocks.{block}.res2net_block.blocks.{i}.conv", (part, part, 3)
        yield f"blocks.{block}.tdnn2.conv", (width, width, 1)
        yield f"blocks.{block}.se_block.conv1", (d["spk_se"], width, 1)
        yield f"blocks.{block}.se_block.conv2", (width, d["spk_se"], 1)
        before = width
    yield "mfa.conv", (last, sum(inner), 1)
    yield "asp.tdnn.conv", (d["spk_attention"], 3 * last, 1)
    yield "asp.conv", (last, d["spk_attention"], 1)
    yield "fc", (d["hidden"], 2 * last, 1)


def codec_shapes(size: str) -> dict[str, tuple[int, ...]]:
    """Tensor -> shape of speech_tokenizer/model.safetensors: the decoder."""
    return official_codec_shapes(codec_config(size)["decoder_config"])
