"""Writes full-size random models in the layout that qwentts.cpp reads, the speed peer of `kazeia bench tts`.

    python tools/make_qwentts_models.py SOURCE [OUT] [--type q8_0|q4_0|f16]... [--seed 1]

SOURCE is a Qwen3-TTS directory in the official layout, as `kazeia models make-random` writes it: the text
vocabulary is taken from there. OUT/<type>/ gets talker.gguf (0.6B Base) and tokenizer.gguf (its codec); OUT is by
default where `kazeia bench tts` looks. Speed does not depend on the values. The end-of-speech row of the codec head
is zero: among 2,048 other rows, top-k 50 never draws it.
Source: names, shapes and keys as qwentts.cpp's loader asks for them.
"""

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kazeia_desktop.cli.tts_engines import qwentts_folder
from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf_writer import GgufWriter, Key, TensorPlan
from kazeia_desktop.formats.lazy_tensor import FloatArray
from kazeia_desktop.paths import Paths

F32, F16 = GgmlType.F32, GgmlType.F16
TYPES = {"q8_0": GgmlType.Q8_0, "q4_0": GgmlType.Q4_0, "f16": F16}
EOS_ROW = 2150
BLOCK_ROWS = 8192
WIDTH, FFN, HEAD = 1024, 3072, 128  # of the talker and of the code predictor
TEXT_ROWS, TEXT_WIDTH = 151936, 2048

TALKER_KEYS = {
    "general.name": "Qwen3-TTS-12Hz-0.6B-base",
    "qwen3-tts.tokenizer_type": "qwen3_tts_tokenizer_12hz",
    "qwen3-tts.model_size": "0b6",
    "qwen3-tts.model_type": "base",
    "qwen3-tts.num_code_groups": 16,
    "qwen3-tts.talker.embedding_length": WIDTH,
    "qwen3-tts.talker.feed_forward_length": FFN,
    "qwen3-tts.talker.block_count": 28,
    "qwen3-tts.talker.attention.head_count": 16,
    "qwen3-tts.talker.attention.head_count_kv": 8,
    "qwen3-tts.talker.attention.key_length": HEAD,
    "qwen3-tts.talker.vocab_size": 3072,
    "qwen3-tts.talker.text_vocab_size": TEXT_ROWS,
    "qwen3-tts.talker.text_hidden_size": TEXT_WIDTH,
    "qwen3-tts.talker.context_length": 32768,
    "qwen3-tts.talker.rope.freq_base": 1e6,
    "qwen3-tts.talker.attention.layer_norm_rms_epsilon": 1e-6,
    "qwen3-tts.talker.position_id_per_seconds": 13,
    "qwen3-tts.talker.rope.mrope_section": [24, 20, 20],
    "qwen3-tts.talker.mrope_interleaved": True,
    "qwen3-tts.code_pred.embedding_length": WIDTH,
    "qwen3-tts.code_pred.feed_forward_length": FFN,
    "qwen3-tts.code_pred.block_count": 5,
    "qwen3-tts.code_pred.attention.head_count": 16,
    "qwen3-tts.code_pred.attention.head_count_kv": 8,
    "qwen3-tts.code_pred.attention.key_length": HEAD,
    "qwen3-tts.code_pred.vocab_size": 2048,
    "qwen3-tts.code_pred.context_length": 65536,
    "qwen3-tts.code_pred.rope.freq_base": 1e6,
    "qwen3-tts.code_pred.attention.layer_norm_rms_epsilon": 1e-6,
    "qwen3-tts.spk_enc.embedding_length": 1024,
    "qwen3-tts.spk_enc.sample_rate": 24000,
    "qwen3-tts.codec.pad_id": 2148,
    "qwen3-tts.codec.bos_id": 2149,
    "qwen3-tts.codec.eos_id": EOS_ROW,
    "qwen3-tts.codec.think_id": 2154,
    "qwen3-tts.codec.nothink_id": 2155,
    "qwen3-tts.codec.think_bos_id": 2156,
    "qwen3-tts.codec.think_eos_id": 2157,
    "qwen3-tts.codec.language_names": ["english", "french"],
    "qwen3-tts.codec.language_ids": [2050, 2061],
    "qwen3-tts.text.im_start_id": 151644,
    "qwen3-tts.text.im_end_id": 151645,
    "qwen3-tts.text.tts_pad_id": 151671,
    "qwen3-tts.text.tts_bos_id": 151672,
    "qwen3-tts.text.tts_eos_id": 151673,
    "generation.do_sample": True,
    "generation.top_k": 50,
    "generation.top_p": 1.0,
    "generation.temperature": 0.9,
    "generation.repetition_penalty": 1.05,
    "generation.subtalker_do_sample": True,
    "generation.subtalker_top_k": 50,
    "generation.subtalker_top_p": 1.0,
    "generation.subtalker_temperature": 0.9,
    "generation.max_new_tokens": 8192,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.eos_token_id": 151643,
}
_CODEC = {
    "input_sample_rate": 24000, "output_sample_rate": 24000, "decode_upsample_rate": 1920,
    "encode_downsample_rate": 1920, "encoder_valid_num_quantizers": 16,
    "decoder.latent_dim": 1024, "decoder.codebook_dim": 512, "decoder.codebook_size": 2048,
    "decoder.decoder_dim": 1536, "decoder.hidden_size": 512, "decoder.intermediate_size": 1024,
    "decoder.head_dim": 64, "decoder.num_attention_heads": 16, "decoder.num_key_value_heads": 16,
    "decoder.num_hidden_layers": 8, "decoder.num_quantizers": 16, "decoder.num_semantic_quantizers": 1,
    "decoder.rms_norm_eps": 1e-5, "decoder.rope_theta": 1e4, "decoder.sliding_window": 72,
    "decoder.layer_scale_initial_scale": 0.01, "decoder.upsample_rates": [8, 5, 4, 3],
    "decoder.upsampling_ratios": [2, 2], "decoder.vector_quantization_hidden_dim": 512,
    "decoder.codebook_dim_internal": 256,
    "encoder.num_filters": 64, "encoder.kernel_size": 7, "encoder.last_kernel_size": 3,
    "encoder.residual_kernel_size": 3, "encoder.num_residual_layers": 1, "encoder.dilation_growth_rate": 2,
    "encoder.compress": 2, "encoder.upsampling_ratios": [8, 6, 5, 4], "encoder.hidden_size": 512,
    "encoder.intermediate_size": 2048, "encoder.head_dim": 64, "encoder.num_attention_heads": 8,
    "encoder.num_key_value_heads": 8, "encoder.num_hidden_layers": 8, "encoder.norm_eps": 1e-5,
    "encoder.rope_theta": 1e4, "encoder.layer_scale_initial_scale": 0.01, "encoder.codebook_dim": 256,
    "encoder.codebook_size": 2048, "encoder.num_quantizers": 32, "encoder.num_semantic_quantizers": 1,
    "encoder.vector_quantization_hidden_dim": 256,
}  # fmt: skip
CODEC_KEYS = {"general.name": "Qwen3-TTS-Tokenizer-12Hz"} | {f"qwen3-tts-tokenizer.{k}": v for k, v in _CODEC.items()}


def matrix(name: str, rows: int, width: int, kind: GgmlType) -> TensorPlan:
    return TensorPlan(f"{name}.weight", (rows, width), kind)


def biased(name: str, shape: tuple[int, ...], kind: GgmlType) -> list[TensorPlan]:
    """Weight and bias of a layer whose outputs are the first axis of `shape`."""
    return [TensorPlan(f"{name}.weight", shape, kind), TensorPlan(f"{name}.bias", (shape[0],), F32)]


def vectors(prefix: str, names: str, size: int) -> list[TensorPlan]:
    return [TensorPlan(f"{prefix}.{name}", (size,), F32) for name in names.split()]


def decoder_layer(name: str, kind: GgmlType) -> list[TensorPlan]:
    """One Qwen3 layer: 16 query heads, 8 of keys and values, norms of heads before the rotation."""
    return [
        *vectors(name, "attn_norm.weight ffn_norm.weight", WIDTH),
        *vectors(name, "attn_q_norm.weight attn_k_norm.weight", HEAD),
        matrix(f"{name}.attn_q", 2048, WIDTH, kind),
        matrix(f"{name}.attn_k", 1024, WIDTH, kind),
        matrix(f"{name}.attn_v", 1024, WIDTH, kind),
        matrix(f"{name}.attn_output", WIDTH, 2048, kind),
        matrix(f"{name}.ffn_gate", FFN, WIDTH, kind),
        matrix(f"{name}.ffn_up", FFN, WIDTH, kind),
        matrix(f"{name}.ffn_down", WIDTH, FFN, kind),
    ]


def speaker_encoder() -> list[TensorPlan]:
    """ECAPA-TDNN: never asked here, but part of the file."""
    plan = biased("spk_enc.conv0", (512, 128, 5), F32)
    for block in (1, 2, 3):
        name = f"spk_enc.blk.{block}"
        for part in range(7):
            plan += biased(f"{name}.res2net.{part}", (64, 64, 3), F32)
        plan += biased(f"{name}.se.conv1", (128, 512, 1), F32) + biased(f"{name}.se.conv2", (512, 128, 1), F32)
        plan += biased(f"{name}.tdnn1", (512, 512, 1), F32) + biased(f"{name}.tdnn2", (512, 512, 1), F32)
    plan += biased("spk_enc.mfa", (1536, 1536, 1), F32) + biased("spk_enc.fc", (1024, 3072, 1), F32)
    return plan + biased("spk_enc.asp.tdnn", (128, 4608, 1), F32) + biased("spk_enc.asp.conv", (1536, 128, 1), F32)


def talker_plan(kind: GgmlType) -> list[TensorPlan]:
    """All 478 tensors of talker.gguf, matrices in `kind`."""
    plan = speaker_encoder()
    for group in range(15):
        plan.append(matrix(f"code_pred.lm_head.{group}", 2048, WIDTH, kind))
        plan.append(matrix(f"code_pred.codec_embd.{group}", 2048, WIDTH, kind))
    for layer in range(5):
        plan += decoder_layer(f"code_pred.blk.{layer}", kind)
    plan += vectors("code_pred", "output_norm.weight", WIDTH)
    plan += [matrix(f"talker.{name}", 3072, WIDTH, kind) for name in ("codec_head", "codec_embd")]
    for layer in range(28):
        plan += decoder_layer(f"talker.blk.{layer}", kind)
    plan += vectors("talker", "output_norm.weight", WIDTH)
    plan.append(matrix("talker.text_embd", TEXT_ROWS, TEXT_WIDTH, kind))
    plan += biased("talker.text_proj.fc1", (TEXT_WIDTH, TEXT_WIDTH), kind)
    return plan + biased("talker.text_proj.fc2", (WIDTH, TEXT_WIDTH), kind)


def codec_layers(side: str, count: int, ffn: int, heads: int, kind: GgmlType) -> list[TensorPlan]:
    """Transformer layers of the codec (width 512): of the decoder gated and without norm biases."""
    plan = []
    for layer in range(count):
        name = f"{side}.blk.{layer}"
        gated = side.startswith("tok_dec")
        plan += vectors(name, "attn_norm.weight ffn_norm.weight attn_scale ffn_scale", 512)
        plan += [] if gated else vectors(name, "attn_norm.bias ffn_norm.bias", 512)
        plan += [matrix(f"{name}.attn_{part}", heads * 64, 512, kind) for part in "qkv"]
        plan += [matrix(f"{name}.ffn_{part}", ffn, 512, kind) for part in (("gate", "up") if gated else ("up",))]
        plan += [matrix(f"{name}.attn_output", 512, heads * 64, kind), matrix(f"{name}.ffn_down", 512, ffn, kind)]
    return plan


def codec_plan(kind: GgmlType = GgmlType.Q8_0) -> list[TensorPlan]:
    """All 398 tensors of tokenizer.gguf: convolutions float16, its transformers' matrices in `kind`."""
    plan = biased("tok_dec.pre_conv", (1024, 512, 3), F16)
    plan += biased("tok_dec.pre_tfm.input_proj", (512, 1024), kind)
    plan += codec_layers("tok_dec.pre_tfm", 8, 1024, 16, kind)
    plan += [*vectors("tok_dec.pre_tfm", "norm.weight", 512), *biased("tok_dec.pre_tfm.output_proj", (1024, 512), kind)]
    for block in range(2):
        name = f"tok_dec.upsample.{block}"
        plan += biased(f"{name}.conv", (1024, 1024, 2), F16) + biased(f"{name}.dwconv", (1024, 1, 7), F16)
        plan += biased(f"{name}.pwconv1", (4096, 1024), kind) + biased(f"{name}.pwconv2", (1024, 4096), kind)
        plan += vectors(name, "gamma norm.weight norm.bias", 1024)
    plan += biased("tok_dec.dec.0.conv", (1536, 1024, 7), F16)
    for block, (stride, width) in enumerate(((8, 768), (5, 384), (4, 192), (3, 96)), 1):
        name = f"tok_dec.dec.{block}"
        plan += vectors(name, "snake.alpha snake.beta", 2 * width)
        plan.append(TensorPlan(f"{name}.conv_t.weight", (2 * width, width, 2 * stride), F16))
        plan += vectors(name, "conv_t.bias", width)
        for unit in range(3):
            plan += vectors(f"{name}.res.{unit}", "act1.alpha act1.beta act2.alpha act2.beta", width)
            plan += biased(f"{name}.res.{unit}.conv1", (width, width, 7), F16)
            plan += biased(f"{name}.res.{unit}.conv2", (width, width, 1), F16)
    plan += vectors("tok_dec.dec.5", "snake.alpha snake.beta", 96) + biased("tok_dec.dec.6.conv", (1, 96, 7), F16)
    plan += biased("tok_enc.conv.0", (64, 1, 7), F16)
    for layer, width, kernel in ((1, 64, 8), (4, 128, 10), (7, 256, 12), (10, 512, 16)):
        plan += biased(f"tok_enc.res.{layer}.blk.1", (width // 2, width, 3), F16)
        plan += biased(f"tok_enc.res.{layer}.blk.3", (width, width // 2, 1), F16)
        plan += biased(f"tok_enc.conv.{layer + 2}", (2 * width, width, kernel), F16)
    plan += biased("tok_enc.conv.14", (512, 1024, 3), F16)
    plan += codec_layers("tok_enc", 8, 2048, 8, kind)
    plan.append(matrix_3d("tok_enc.downsample", 512, 512, 4, F16))
    for side, first, rest in (("tok_dec", "vq_first", "vq_rest"), ("tok_enc", "vq_semantic", "vq_acoustic")):
        for name, count in ((f"{side}.{first}", 1), (f"{side}.{rest}", 15)):
            plan += [TensorPlan(f"{name}.{i}.codebook", (2048, 256), F32) for i in range(count)]
            plan.append(matrix_3d(f"{name}.output_proj", 512, 256, 1, F32))
            plan += [matrix_3d(f"{name}.input_proj", 256, 512, 1, F32)] if side == "tok_enc" else []
    return plan


def matrix_3d(name: str, rows: int, width: int, kernel: int, kind: GgmlType) -> TensorPlan:
    return TensorPlan(f"{name}.weight", (rows, width, kernel), kind)


def random_blocks(rng: np.random.Generator, tensor: TensorPlan) -> Iterator[FloatArray]:
    """Rows whose products keep the size of their input; vectors of scales around one."""
    std = 1.0 / math.sqrt(math.prod(tensor.shape[1:])) if len(tensor.shape) > 1 else 0.05
    for start in range(0, tensor.shape[0], BLOCK_ROWS):
        rows = min(BLOCK_ROWS, tensor.shape[0] - start)
        values = rng.standard_normal((rows, *tensor.shape[1:]), dtype=np.float32) * np.float32(std)
        if len(tensor.shape) == 1 and not tensor.name.endswith("bias"):
            values += 1.0
        if tensor.name == "talker.codec_head.weight":
            values[EOS_ROW - start] = 0.0
        yield values


def write_model(path: Path, architecture: str, keys: dict[str, Any], plan: list[TensorPlan], seed: int) -> None:
    """One GGUF file with random tensors; a file that is there is replaced."""
    path.unlink(missing_ok=True)
    rng = np.random.default_rng(seed)
    with GgufWriter(path, [key_of("general.architecture", architecture), *map(key_of, keys, keys.values())], plan) as w:
        for tensor in plan:
            for block in random_blocks(rng, tensor):
                w.append(block)
        w.finish()


def key_of(name: str, value: Any) -> Key:  # noqa: ANN401 - JSON-like
    """The file's type for a Python value: unsigned unless in an array, as the loader reads them."""
    first = value[0] if isinstance(value, list) else value
    kind = {bool: "bool", str: "string", float: "f32"}.get(type(first)) or ("i32" if isinstance(value, list) else "u32")
    return Key(name, kind, value)


def vocabulary_keys(source: Path) -> dict[str, Any]:
    """Tokens, their kinds (1 normal, 3 control) and merges, from the official tokenizer's files."""
    vocabulary = json.loads((source / "vocab.json").read_text("utf-8"))
    config = json.loads((source / "tokenizer_config.json").read_text("utf-8"))
    added = sorted((int(number), token["content"]) for number, token in config["added_tokens_decoder"].items())
    tokens = sorted(vocabulary, key=vocabulary.__getitem__) + [content for _, content in added]
    merges = [line for line in (source / "merges.txt").read_text("utf-8").splitlines() if line[:8] != "#version"]
    return {
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * len(vocabulary) + [3] * len(added),
        "tokenizer.ggml.merges": [line for line in merges if line],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path, nargs="?", default=qwentts_folder(Paths.from_environment()))
    parser.add_argument("--type", choices=list(TYPES), action="append", help="default: q8_0")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    vocabulary = vocabulary_keys(options.source)
    for kind in options.type or ["q8_0"]:
        folder = options.out / kind
        folder.mkdir(parents=True, exist_ok=True)
        plan = talker_plan(TYPES[kind])
        write_model(folder / "talker.gguf", "qwen3-tts", TALKER_KEYS | vocabulary, plan, options.seed)
        write_model(folder / "tokenizer.gguf", "qwen3-tts-tokenizer", CODEC_KEYS, codec_plan(), options.seed + 1)
        print(folder)  # noqa: T201 - a script's result


if __name__ == "__main__":
    main()
