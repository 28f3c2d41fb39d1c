"""The shapes of the official codec decoder's tensors, as its config.json has them."""

from collections.abc import Mapping
from typing import Any

from kazeia_desktop.models.convert.codec_weights import DILATIONS


def official_codec_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Official name -> shape of every tensor of the decoder.

    Args:
        config: `decoder_config` of speech_tokenizer/config.json.
    Source: the official package's modeling_qwen3_tts_tokenizer_v2.py.
    """
    book, latent, width, ffn = (
        config[key] for key in ("codebook_dim", "latent_dim", "hidden_size", "intermediate_size")
    )
    n_books, codes = config["num_quantizers"], config["codebook_size"]
    rates, ratios = config["upsample_rates"], config["upsampling_ratios"]
    inner = book // 2
    table: dict[str, tuple[int, ...]] = {}

    def conv(name: str, n_out: int, n_in: int, kernel: int, transposed: bool = False) -> None:
        table[f"decoder.{name}.weight"] = (n_in, n_out, kernel) if transposed else (n_out, n_in, kernel)
        table[f"decoder.{name}.bias"] = (n_out,)

    def snake(name: str, n: int) -> None:
        table[f"decoder.{name}.alpha"] = table[f"decoder.{name}.beta"] = (n,)

    for kind, n in (("first", 1), ("rest", n_books - 1)):
        table[f"decoder.quantizer.rvq_{kind}.input_proj.weight"] = (inner, book, 1)
        table[f"decoder.quantizer.rvq_{kind}.output_proj.weight"] = (book, inner, 1)
        for i in range(n):
            prefix = f"decoder.quantizer.rvq_{kind}.vq.layers.{i}._codebook"
            table[f"{prefix}.cluster_usage"], table[f"{prefix}.embedding_sum"] = (codes,), (codes, inner)
    conv("pre_conv.conv", latent, book, 3)
    for name, n_out, n_in in (("input_proj", width, latent), ("output_proj", latent, width)):
        table[f"decoder.pre_transformer.{name}.weight"] = (n_out, n_in)
        table[f"decoder.pre_transformer.{name}.bias"] = (n_out,)
    table["decoder.pre_transformer.norm.weight"] = (width,)
    heads, kv_heads = (config[f"num_{part}_heads"] * config["head_dim"] for part in ("attention", "key_value"))
    for layer in range(config["num_hidden_layers"]):
        prefix = f"decoder.pre_transformer.layers.{layer}"
        for part in ("input_layernorm.weight", "post_attention_layernorm.weight"):
            table[f"{prefix}.{part}"] = (width,)
        for part in ("self_attn_layer_scale.scale", "mlp_layer_scale.scale"):
            table[f"{prefix}.{part}"] = (width,)
        for part, n in (("q", heads), ("k", kv_heads), ("v", kv_heads)):
            table[f"{prefix}.self_attn.{part}_proj.weight"] = (n, width)
        table[f"{prefix}.self_attn.o_proj.weight"] = (width, heads)
        table[f"{prefix}.mlp.gate_proj.weight"] = table[f"{prefix}.mlp.up_proj.weight"] = (ffn, width)
        table[f"{prefix}.mlp.down_proj.weight"] = (width, ffn)
    for stage, ratio in enumerate(ratios):
        conv(f"upsample.{stage}.0.conv", latent, latent, ratio, transposed=True)
        conv(f"upsample.{stage}.1.dwconv.conv", latent, 1, 7)
        table[f"decoder.upsample.{stage}.1.norm.weight"] = (latent,)
        table[f"decoder.upsample.{stage}.1.norm.bias"] = (latent,)
        for part, n_out, n_in in (("pwconv1", 4 * latent, latent), ("pwconv2", latent, 4 * latent)):
            table[f"decoder.upsample.{stage}.1.{part}.weight"] = (n_out, n_in)
            table[f"decoder.upsample.{stage}.1.{part}.bias"] = (n_out,)
        table[f"decoder.upsample.{stage}.1.gamma"] = (latent,)
    channels = config["decoder_dim"]
    conv("decoder.0.conv", channels, latent, 7)
    for block, rate in enumerate(rates, 1):
        snake(f"decoder.{block}.block.0", channels)
        conv(f"decoder.{block}.block.1.conv", channels // 2, channels, 2 * rate, transposed=True)
        channels //= 2
        for unit in range(len(DILATIONS)):
            for i, kernel in ((1, 7), (2, 1)):
                snake(f"decoder.{block}.block.{unit + 2}.act{i}", channels)
                conv(f"decoder.{block}.block.{unit + 2}.conv{i}.conv", channels, channels, kernel)
    snake(f"decoder.{len(rates) + 1}", channels)
    conv(f"decoder.{len(rates) + 2}.conv", 1, channels, 7)
    return table
