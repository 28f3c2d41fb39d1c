"""A Qwen3-TTS checkpoint in the official layout, small enough to be made for a test: 700 text tokens, widths of 64."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf_writer import GgufWriter, Key, TensorPlan
from kazeia_desktop.formats.safetensors import Checkpoint
from kazeia_desktop.formats.safetensors_writer import write_safetensors
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert import random_config
from kazeia_desktop.models.convert.codec_weights import official_codec_weights
from kazeia_desktop.models.convert.random_model import random_blocks
from kazeia_desktop.models.convert.speaker_graph import mmproj_name

N_TEXT = 700
ADDED = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>")
FIRST_ADDED = 600
IDS = {
    "im_start_token_id": 601, "im_end_token_id": 602, "assistant_token_id": 258,
    "tts_pad_token_id": 603, "tts_bos_token_id": 604, "tts_eos_token_id": 605,
}  # fmt: skip


def byte_alphabet() -> list[str]:
    """GPT-2's printable stand-ins of the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, spare = [], 256
    for byte in range(256):
        letters.append(chr(byte) if byte in plain else chr(spare))
        spare += byte not in plain
    return letters


def write_checkpoint(
    directory: Path,
    *,
    seed: int = 1,
    kind: str = "base",
    projection: bool = False,
    change: Callable[[dict[str, Any], dict[str, FloatArray]], None] | None = None,
    shards: int = 1,
) -> Path:
    """Write a checkpoint into the new `directory`.

    Args:
        kind: tts_model_type.
        projection: talker and code predictor of different widths.
        change: alters config.json's content and the main tensors before they are written.
        shards: files of the main weights.
    """
    config, shapes = _config(kind, projection), random_config.main_shapes("tiny")
    if projection:
        shapes = _wider(shapes)
    shapes["talker.model.text_embedding.weight"] = (N_TEXT, 16)
    if kind != "base":
        shapes = {name: shape for name, shape in shapes.items() if not name.startswith("speaker_encoder.")}
    tensors = {name: _draw(name, shape, seed) for name, shape in shapes.items()}
    if change is not None:
        change(config, tensors)
    codec = directory / "speech_tokenizer"
    codec.mkdir(parents=True)
    _write_json(directory / "config.json", config)
    _write_json(directory / "generation_config.json", {**random_config.generation_config(), "temperature": 0.8})
    _write_json(codec / "config.json", random_config.codec_config("tiny"))
    _write_tokenizer(directory)
    if shards == 1:
        write_safetensors(directory / "model.safetensors", tensors, "BF16")
    else:
        _write_shards(directory, tensors, shards)
    decoder = {name: _draw(name, shape, seed) for name, shape in random_config.codec_shapes("tiny").items()}
    for leaf in ("weight", "bias"):
        decoder[f"decoder.decoder.6.conv.{leaf}"] *= 0.0015
    write_safetensors(codec / "model.safetensors", decoder)
    return directory


def write_pair(directory: Path, checkpoint: Path, talker: Path, kind: GgmlType = GgmlType.F32) -> Path:
    """The mmproj beside a copy of `talker`, as llama.cpp's conversion/qwen3tts.py names and stacks the tensors."""
    config = json.loads((checkpoint / "config.json").read_text("utf-8"))
    main, decoder = Checkpoint(checkpoint), Checkpoint(checkpoint / "speech_tokenizer")
    predictor, prefix = config["talker_config"]["code_predictor_config"], "talker.code_predictor"

    def stack(name: str) -> FloatArray:
        return np.stack([main.tensor(f"{prefix}.{name}.{i}.weight").array() for i in range(15)])

    found: dict[str, FloatArray] = {
        "a.gen.code.out_embd.weight": main.tensor("talker.model.codec_embedding.weight").array(),
        "a.gen.code.embd.weight": stack("model.codec_embedding"),
        "a.gen.code.head.weight": stack("lm_head"),
        "a.gen.code.output_norm.weight": main.tensor(f"{prefix}.model.norm.weight").array(),
    }
    renamed = {
        "input_layernorm": "ln1", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
        "self_attn.o_proj": "attn_out", "post_attention_layernorm": "ln2", "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    }  # fmt: skip
    for name in main.names():
        if name.startswith(f"{prefix}.model.layers."):
            layer, _, rest = name.removeprefix(f"{prefix}.model.layers.").partition(".")
            part = renamed[rest.removesuffix(".weight")]
            found[f"a.gen.code.blk.{layer}.{part}.weight"] = main.tensor(name).array()
        elif "small_to_mtp_projection" in name:
            found[f"a.gen.code.proj_in.{name.rsplit('.', 1)[1]}"] = main.tensor(name).array()
        elif name.startswith("speaker_encoder."):
            found[mmproj_name(name)] = main.tensor(name).array()
    codec = json.loads((checkpoint / "speech_tokenizer" / "config.json").read_text("utf-8"))
    for name, array in official_codec_weights(lambda name: decoder.tensor(name).array(), codec):
        found[f"{name}.weight" if name.startswith("a.gen.wav.quant.") else name] = array
    keys = [
        Key("general.architecture", "string", "clip"),
        Key("general.type", "string", "mmproj"),
        Key("clip.gen.audio.projector_type", "string", "qwen3tts_gen"),
        Key("clip.gen.audio.projection_dim", "u32", config["talker_config"]["hidden_size"]),
        Key("clip.gen.audio.embedding_length", "u32", predictor["hidden_size"]),
        Key("clip.gen.audio.feed_forward_length", "u32", predictor["intermediate_size"]),
        Key("clip.gen.audio.block_count", "u32", predictor["num_hidden_layers"]),
        Key("clip.gen.audio.attention.head_count", "u32", predictor["num_attention_heads"]),
        Key("clip.gen.audio.attention.head_count_kv", "u32", predictor["num_key_value_heads"]),
        Key("clip.gen.audio.attention.layer_norm_epsilon", "f32", predictor["rms_norm_eps"]),
    ]
    directory.mkdir()
    (directory / "talker.gguf").write_bytes(talker.read_bytes())
    plans = [TensorPlan(name, array.shape, _stored(name, array, kind)) for name, array in found.items()]
    with GgufWriter(directory / "mmproj.gguf", keys, plans) as writer:
        for array in found.values():
            writer.append(array)
        writer.finish()
    return directory


def _stored(name: str, array: FloatArray, kind: GgmlType) -> GgmlType:
    """As conversion/base.py chooses: rows that are no whole blocks, and convolutions, fall back to F16."""
    if array.ndim < 2 or not name.endswith(".weight"):
        return GgmlType.F32
    if array.ndim == 3 and not name.startswith("a.gen.code.") and kind != GgmlType.F32:
        return GgmlType.F16
    return kind if array.shape[-1] % 32 == 0 else GgmlType.F32 if kind == GgmlType.F32 else GgmlType.F16


def _config(kind: str, projection: bool) -> dict[str, Any]:
    config: dict[str, Any] = dict(random_config.main_config("tiny")) | IDS | {"tts_model_type": kind}
    talker = config["talker_config"]
    talker["text_vocab_size"] = N_TEXT
    if projection:
        talker["hidden_size"] = config["speaker_encoder_config"]["enc_dim"] = 96
    if kind == "custom_voice":
        talker["spk_id"] = {"vivian": 3065, "dylan": 2878}
        talker["spk_is_dialect"] = {"vivian": False, "dylan": "beijing_dialect"}
        talker["codec_language_id"] = {**talker["codec_language_id"], "beijing_dialect": 2074}
    if kind != "base":
        del config["speaker_encoder_config"]
    return config


def _wider(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The talker 96 wide instead of 64."""
    table = {}
    for name, shape in shapes.items():
        inner = name.startswith(("talker.code_predictor.model.layers.", "talker.code_predictor.lm_head."))
        if name == "talker.code_predictor.model.norm.weight" or inner:
            table[name] = shape
        elif name.startswith("talker.") and "mlp" not in name and "linear_fc1" not in name:
            table[name] = tuple(96 if size == 64 else size for size in shape)
        elif name.startswith("talker."):
            table[name] = tuple(96 if size == 64 else size for size in shape) if "mlp" in name else shape
        else:
            table[name] = shape
    table["speaker_encoder.fc.weight"] = (96, *shapes["speaker_encoder.fc.weight"][1:])
    table["speaker_encoder.fc.bias"] = (96,)
    table["talker.code_predictor.small_to_mtp_projection.weight"] = (64, 96)
    table["talker.code_predictor.small_to_mtp_projection.bias"] = (64,)
    return table


def _draw(name: str, shape: tuple[int, ...], seed: int) -> FloatArray:
    return np.concatenate(list(random_blocks(name, shape, seed))).reshape(shape)


def _write_shards(directory: Path, tensors: Mapping[str, FloatArray], shards: int) -> None:
    names, placed = list(tensors), {}
    for index in range(shards):
        file = f"model-{index + 1:05d}-of-{shards:05d}.safetensors"
        part = names[index::shards]
        write_safetensors(directory / file, {name: tensors[name] for name in part}, "BF16")
        placed |= dict.fromkeys(part, file)
    _write_json(directory / "model.safetensors.index.json", {"metadata": {}, "weight_map": placed})


def _write_tokenizer(directory: Path) -> None:
    tokens = [*byte_alphabet(), "Ġa", "on", "assistant", "bon"]
    _write_json(directory / "vocab.json", {token: row for row, token in enumerate(tokens)})
    (directory / "merges.txt").write_text("#version: 0.2\nĠ a\no n\nb on\n", "utf-8")
    added = {str(FIRST_ADDED + i): {"content": token, "special": True} for i, token in enumerate(ADDED)}
    _write_json(directory / "tokenizer_config.json", {"added_tokens_decoder": added})


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
