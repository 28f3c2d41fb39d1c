"""The codec decoder's weights under one set of names, whichever source they come from, and its geometry.

The names are those of llama.cpp's multimodal file (`a.gen.wav.*`), with the constants folded that the official
checkpoint keeps apart: a codebook is embedding_sum / max(cluster_usage, 1e-5), a snake's alpha is exp(alpha) and its
beta is 1 / (exp(beta) + 1e-9).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.frames import FloatArray

_USAGE_FLOOR: Final = 1e-5
_BETA_FLOOR: Final = 1e-9
DILATIONS: Final = (1, 3, 9)
"""Of the three residual units of a block; fixed in the official decoder."""
_LAYER: Final = {
    "ln1": "input_layernorm.weight",
    "attn_q": "self_attn.q_proj.weight",
    "attn_k": "self_attn.k_proj.weight",
    "attn_v": "self_attn.v_proj.weight",
    "attn_out": "self_attn.o_proj.weight",
    "ls1": "self_attn_layer_scale.scale",
    "ln2": "post_attention_layernorm.weight",
    "ffn_gate": "mlp.gate_proj.weight",
    "ffn_up": "mlp.up_proj.weight",
    "ffn_down": "mlp.down_proj.weight",
    "ls2": "mlp_layer_scale.scale",
}
_UPSAMPLE: Final = {
    "conv.weight": "0.conv.weight",
    "conv.bias": "0.conv.bias",
    "dwconv.weight": "1.dwconv.conv.weight",
    "dwconv.bias": "1.dwconv.conv.bias",
    "norm.weight": "1.norm.weight",
    "norm.bias": "1.norm.bias",
    "pw1.weight": "1.pwconv1.weight",
    "pw1.bias": "1.pwconv1.bias",
    "pw2.weight": "1.pwconv2.weight",
    "pw2.bias": "1.pwconv2.bias",
    "gamma": "1.gamma",
}


@dataclass(frozen=True, slots=True)
class CodecGeometry:
    """What the decoder's tensors do not say by themselves.

    Attributes:
        sliding_window: positions that a transformer position sees, itself among them (72).
        upsampling_ratios: of the two ConvTranspose + ConvNeXt stages (2, 2).
        upsample_rates: strides of the blocks of the convolution stack (8, 5, 4, 3).
    """

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
    sample_rate_hz: int = 24_000

    @property
    def samples_per_frame(self) -> int:
        """1,920 in the published models."""
        return int(np.prod(self.upsampling_ratios) * np.prod(self.upsample_rates))

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "CodecGeometry":
        """From `speech_tokenizer/config.json`, whole or its `decoder_config`.

        Raises:
            ModelCorruptError: a value is missing or of a wrong kind.
        """
        inner = config.get("decoder_config", config)
        try:
            heads = int(inner["num_attention_heads"])
            geometry = cls(
                codebooks=int(inner["num_quantizers"]),
                codebook_size=int(inner["codebook_size"]),
                layers=int(inner["num_hidden_layers"]),
                heads=heads,
                kv_heads=int(inner["num_key_value_heads"]),
                head_dim=int(inner.get("head_dim") or inner["hidden_size"] // heads),
                sliding_window=int(inner["sliding_window"]),
                rope_theta=float(inner["rope_theta"]),
                rms_norm_eps=float(inner["rms_norm_eps"]),
                upsampling_ratios=tuple(int(ratio) for ratio in inner["upsampling_ratios"]),
                upsample_rates=tuple(int(rate) for rate in inner["upsample_rates"]),
                sample_rate_hz=int(config.get("output_sample_rate", 24_000)),
            )
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
            raise ModelCorruptError(
                "The codec's config.json is incomplete ({reason}): fetch the model again.", reason=repr(error)
            ) from error
        geometry.check()
        return geometry

    @classmethod
    def from_shapes(
        cls,
        shapes: Mapping[str, tuple[int, ...]],
        *,
        head_dim: int = 64,
        sliding_window: int = 72,
        rope_theta: float = 10_000.0,
        rms_norm_eps: float = 1e-5,
    ) -> "CodecGeometry":
        """From the shapes of the `a.gen.wav.*` tensors, rows x columns as in numpy.

        The named values are in no tensor; their defaults are those of the published 12 Hz tokenizer's config.json.

        Raises:
            ModelCorruptError: a tensor is missing or the shapes contradict each other.
        """

        def count(pattern: str) -> int:
            found = {int(match[1]) for name in shapes if (match := re.match(pattern, name))}
            return len(found) if found == set(range(len(found))) else 0

        try:
            rest = shapes["a.gen.wav.quant.rest.codebook.weight"]
            blocks = range(count(r"a\.gen\.wav\.dac\.blk\.(\d+)\."))
            ups = range(count(r"a\.gen\.wav\.up\.blk\.(\d+)\."))
            geometry = cls(
                codebooks=1 + rest[0],
                codebook_size=rest[1],
                layers=count(r"a\.gen\.wav\.tfm\.blk\.(\d+)\."),
                heads=shapes["a.gen.wav.tfm.blk.0.attn_q.weight"][0] // head_dim,
                kv_heads=shapes["a.gen.wav.tfm.blk.0.attn_k.weight"][0] // head_dim,
                head_dim=head_dim,
                sliding_window=sliding_window,
                rope_theta=rope_theta,
                rms_norm_eps=rms_norm_eps,
                upsampling_ratios=tuple(shapes[f"a.gen.wav.up.blk.{i}.conv.weight"][2] for i in ups),
                upsample_rates=tuple(shapes[f"a.gen.wav.dac.blk.{i}.conv.weight"][2] // 2 for i in blocks),
            )
        except (KeyError, IndexError) as error:
            raise ModelCorruptError(
                "The codec's tensors are incomplete ({reason}): fetch the model again.", reason=repr(error)
            ) from error
        geometry.check()
        return geometry

    def check(self) -> None:
        """Raises:
        ModelCorruptError: a value is out of range.
        """
        counts = (
            self.codebook_size, self.layers, self.heads, self.kv_heads, self.sliding_window,
            *self.upsampling_ratios, *self.upsample_rates,
        )  # fmt: skip
        sound = (
            2 <= self.codebooks <= 256
            and all(0 < count < 1 << 20 for count in counts)
            and self.layers <= 256
            and 0 < self.head_dim <= 1024
            and self.head_dim % 2 == 0
            and self.heads % self.kv_heads == 0
            and self.upsampling_ratios
            and self.upsample_rates
            and self.samples_per_frame <= 1 << 16
            and np.isfinite(self.rope_theta)
            and self.rope_theta > 0
            and 0 < self.rms_norm_eps < 1
            and self.sample_rate_hz > 0
        )
        if not sound:
            raise ModelCorruptError(
                "The codec's config.json is incomplete ({reason}): fetch the model again.", reason=str(self)
            )


def official_codec_weights(
    get: Callable[[str], FloatArray], config: Mapping[str, Any]
) -> Iterator[tuple[str, FloatArray]]:
    """The official checkpoint's decoder under the names above, one tensor at a time.

    Args:
        get: official name ("decoder.pre_conv.conv.weight") -> float32 array.
        config: `speech_tokenizer/config.json`.
    Source: the official package's modeling_qwen3_tts_tokenizer_v2.py.
    """
    sources = official_codec_sources(get, config)
    for name in sources:
        yield name, sources[name]()


def official_codec_sources(
    get: Callable[[str], FloatArray], config: Mapping[str, Any]
) -> dict[str, Callable[[], FloatArray]]:
    """As `official_codec_weights`, but each tensor is read when its function is called."""
    geometry = CodecGeometry.from_config(config)
    table: dict[str, Callable[[], FloatArray]] = {}

    def plain(name: str, source: str) -> None:
        table[f"a.gen.wav.{name}"] = lambda: np.asarray(get(source), np.float32)

    def conv(name: str, source: str) -> None:
        plain(f"{name}.weight", f"{source}.conv.weight")
        plain(f"{name}.bias", f"{source}.conv.bias")

    def snake(name: str, source: str) -> None:
        table[f"a.gen.wav.{name}.alpha"] = lambda: np.exp(np.asarray(get(f"{source}.alpha"), np.float32))
        table[f"a.gen.wav.{name}.beta"] = lambda: np.asarray(
            1 / (np.exp(np.asarray(get(f"{source}.beta"), np.float32)) + np.float32(_BETA_FLOOR)), np.float32
        )

    def quantizer(name: str, source: str, n: int) -> None:
        def book(i: int) -> FloatArray:
            prefix = f"{source}.vq.layers.{i}._codebook"
            usage = np.maximum(get(f"{prefix}.cluster_usage"), np.float32(_USAGE_FLOOR))
            return np.asarray(get(f"{prefix}.embedding_sum") / usage[:, None], np.float32)

        table[f"a.gen.wav.quant.{name}.out_proj.weight"] = lambda: np.asarray(
            get(f"{source}.output_proj.weight")[..., 0], np.float32
        )
        table[f"a.gen.wav.quant.{name}.codebook.weight"] = lambda: (
            np.stack([book(i) for i in range(n)]) if name == "rest" else book(0)
        )

    quantizer("first", "decoder.quantizer.rvq_first", 1)
    quantizer("rest", "decoder.quantizer.rvq_rest", geometry.codebooks - 1)
    conv("pre_conv", "decoder.pre_conv")
    for part in ("weight", "bias"):
        plain(f"tfm.in_proj.{part}", f"decoder.pre_transformer.input_proj.{part}")
        plain(f"tfm.out_proj.{part}", f"decoder.pre_transformer.output_proj.{part}")
    plain("tfm.output_norm.weight", "decoder.pre_transformer.norm.weight")
    for layer in range(geometry.layers):
        for ours, theirs in _LAYER.items():
            plain(f"tfm.blk.{layer}.{ours}.weight", f"decoder.pre_transformer.layers.{layer}.{theirs}")
    for stage in range(len(geometry.upsampling_ratios)):
        for ours, theirs in _UPSAMPLE.items():
            plain(f"up.blk.{stage}.{ours}", f"decoder.upsample.{stage}.{theirs}")
    conv("dac.entry", "decoder.decoder.0")
    n_blocks = len(geometry.upsample_rates)
    for block in range(n_blocks):
        ours, theirs = f"dac.blk.{block}", f"decoder.decoder.{block + 1}.block"
        snake(f"{ours}.snake", f"{theirs}.0")
        conv(f"{ours}.conv", f"{theirs}.1")
        for unit in range(len(DILATIONS)):
            for i in (1, 2):
                snake(f"{ours}.res.{unit}.act{i}", f"{theirs}.{unit + 2}.act{i}")
                conv(f"{ours}.res.{unit}.conv{i}", f"{theirs}.{unit + 2}.conv{i}")
    snake("dac.post_snake", f"decoder.decoder.{n_blocks + 1}")
    conv("dac.post_conv", f"decoder.decoder.{n_blocks + 2}")
    return table
