"""The official Hugging Face directory: config.json, model.safetensors (whole or in shards), speech_tokenizer/."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from kazeia_desktop.formats.lazy_tensor import LazyTensor
from kazeia_desktop.formats.safetensors import Checkpoint
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert.codec_weights import CodecGeometry, official_codec_sources
from kazeia_desktop.models.convert.finite import check_finite, finite, joined
from kazeia_desktop.models.convert.layout import OUTPUT, OUTPUT_NORM, TOKEN_EMBD, code_predictor_shapes, talker_shapes
from kazeia_desktop.models.convert.official_codec import official_codec_shapes
from kazeia_desktop.models.convert.official_config import read_config
from kazeia_desktop.models.convert.tokenizer_files import read_tokenizer

CODEC_DIRECTORY: Final = "speech_tokenizer"
_LAYER: Final = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
_PREDICTOR: Final = "talker.code_predictor"


class OfficialSource:
    """See `source.VoiceSource`."""

    def __init__(self, directory: Path) -> None:
        """Raises:
        ModelMissingError, ModelCorruptError, ModelIncompatibleError: naming the file and the key or tensor.
        """
        config = read_config(directory, directory / CODEC_DIRECTORY)
        self.description, self.rope_sections = config.description, config.rope_sections
        shape = self.description.talker
        self.tokens = read_tokenizer(directory, shape.text_vocab)
        weights = Checkpoint(directory)
        tensors: dict[str, LazyTensor] = {}
        for name, size in talker_shapes(shape).items():
            if name != TOKEN_EMBD:
                tensors[name] = weights.tensor(_talker_name(name), size)
        text = _folded_text(weights, config.text_hidden, shape.hidden, shape.text_vocab)
        codec = weights.tensor("talker.model.codec_embedding.weight", (shape.vocab, shape.hidden))
        tensors[TOKEN_EMBD] = joined(text, codec)
        self.talker: Mapping[str, LazyTensor] = tensors
        self.code_predictor: Mapping[str, LazyTensor] = {
            name: weights.tensor(_predictor_name(name), size)
            for name, size in code_predictor_shapes(self.description.code_predictor, shape).items()
        }
        decoder = Checkpoint(directory / CODEC_DIRECTORY)
        shapes = official_codec_shapes(config.codec)
        for name, size in shapes.items():
            if not name.endswith(".input_proj.weight") or "quantizer" not in name:  # that is the encoder's
                decoder.tensor(name, size)
        self.codec: Mapping[str, Callable[[], FloatArray]] = official_codec_sources(
            lambda name: finite(decoder.tensor(name)), config.codec
        )
        self.codec_file = decoder.path
        self.codec_geometry = CodecGeometry.from_config(config.codec)
        self.speaker_encoder_config: Mapping[str, Any] = config.speaker_encoder
        self.speaker_encoder: Mapping[str, LazyTensor] = (
            {name: weights.tensor(name) for name in weights.names() if name.startswith("speaker_encoder.")}
            if config.speaker_encoder
            else {}
        )


def official_layer_name(prefix: str, name: str) -> str:
    _, layer, part, leaf = name.split(".")
    return f"{prefix}.layers.{layer}.{_LAYER[part]}.{leaf}"


def _talker_name(name: str) -> str:
    if name.startswith("blk."):
        return official_layer_name("talker.model", name)
    return {OUTPUT: "talker.codec_head.weight", OUTPUT_NORM: "talker.model.norm.weight"}[name]


def _predictor_name(name: str) -> str:
    kind, number, *rest = name.split(".")
    if kind == "blk":
        return official_layer_name(f"{_PREDICTOR}.model", name)
    if kind == "head":
        return f"{_PREDICTOR}.lm_head.{int(number) - 1}.{rest[0]}"
    if kind == "codec_embd":
        if number == "0":
            return "talker.model.codec_embedding.weight"
        return f"{_PREDICTOR}.model.codec_embedding.{int(number) - 1}.{rest[0]}"
    if kind == "input_proj":
        return f"{_PREDICTOR}.small_to_mtp_projection.{number}"
    return f"{_PREDICTOR}.model.norm.weight"


def _folded_text(weights: Checkpoint, width: int, hidden: int, n_rows: int) -> LazyTensor:
    """The text embedding after its projection: linear, SiLU, linear. What the talker adds is never the raw rows."""
    table = weights.tensor("talker.model.text_embedding.weight", (n_rows, width))
    prefix = "talker.text_projection.linear_fc"
    sizes = {"1.weight": (width, width), "1.bias": (width,), "2.weight": (hidden, width), "2.bias": (hidden,)}
    projection = [weights.tensor(prefix + leaf, size) for leaf, size in sizes.items()]
    parts: list[FloatArray] = []

    def read(start: int, stop: int) -> FloatArray:
        if not parts:
            parts.extend(finite(part) for part in projection)
        w1, b1, w2, b2 = parts
        inner = check_finite(table.rows(start, stop), table) @ w1.T + b1
        with np.errstate(over="ignore"):  # exp of a large negative: the quotient is then exactly -0
            inner /= 1 + np.exp(-inner)
        return np.asarray(inner @ w2.T + b2, np.float32)

    return LazyTensor(table.file, table.name, (n_rows, hidden), read)
