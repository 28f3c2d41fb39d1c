"""The code predictor in float64 numpy, written apart from the native one, and the official figures it is held to.

data/native/SET.npz holds a small official checkpoint's code predictor, all of its layers but only some codes of
each codebook, and what the official package computes from it in float32 (see tools/export_native_goldens.py):

    shape                          JSON: the keys of `Shape`
    w.NAME                         the tensor that code_predictor.gguf calls NAME, uint16: bfloat16
    hidden (n, talker_hidden)      float32, the talker's final state before each frame
    codes (n, 16)                  int16, what is fed
    logits (n, 15, vocab)          float32, teacher-forced on codes
    greedy (n, 15)                 int16, from (hidden, codes[:, 0])
    text (talker_hidden,)          float32: tts_pad's embedding
    frame_embeds (n, talker_hidden)  float32: the sum of a frame's embeddings and text

Source: Qwen3 technical report, arXiv:2505.09388 (layers); Qwen3-TTS, arXiv:2601.15621 (code predictor).
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kazeia_desktop.formats.ggml_types import GgmlType, bf16_to_f32, dequantize, quantize
from kazeia_desktop.frames import FloatArray, IntArray

SETS: Final = tuple(sorted((Path(__file__).parent / "data" / "native").glob("*.npz")))
DTYPES: Final = ("f32", "f16", "q8_0", "q4_0")
_TYPES: Final = {"f32": GgmlType.F32, "f16": GgmlType.F16, "q8_0": GgmlType.Q8_0, "q4_0": GgmlType.Q4_0}

Doubles = NDArray[np.float64]
Tensor = tuple[str, int, int, NDArray[np.uint8]]
"""Type, rows, columns, bytes; a vector has one row."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Dimensions, by their names in a model's manifest."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    rope_theta: float
    rms_norm_eps: float
    vocab: int
    codebooks: int
    talker_hidden: int
    talker_vocab: int


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """Weights and figures of one file."""

    shape: Shape
    weights: dict[str, FloatArray]
    hidden: FloatArray
    codes: IntArray
    logits: FloatArray
    greedy: IntArray
    text: FloatArray
    frame_embeds: FloatArray


def load(path: Path) -> GoldenSet:
    """Read SET.npz."""
    with np.load(path) as file:
        weights = {
            name[2:]: bf16_to_f32(file[name].tobytes()).reshape(file[name].shape)
            for name in file.files
            if name.startswith("w.")
        }
        return GoldenSet(
            Shape(**json.loads(str(file["shape"]))),
            weights,
            file["hidden"],
            file["codes"].astype(np.int32),
            file["logits"],
            file["greedy"].astype(np.int32),
            file["text"],
            file["frame_embeds"],
        )


def packed(weights: dict[str, FloatArray], dtype: str) -> dict[str, Tensor]:
    """The tensors as a model converted with `--dtype dtype` holds them."""
    return {name: _packed(name, weight, dtype) for name, weight in weights.items()}


def _packed(name: str, weight: FloatArray, dtype: str) -> Tensor:
    if weight.ndim == 1:
        return "f32", 1, len(weight), quantize(weight, GgmlType.F32)
    kind = "f16" if name.startswith("codec_embd.") and dtype != "f32" else dtype
    return kind, *weight.shape, quantize(weight, _TYPES[kind])


def unpacked(tensors: dict[str, Tensor]) -> dict[str, FloatArray]:
    """What the engine's weights are, exactly, as float32."""
    return {
        name: dequantize(data, _TYPES[kind]).reshape((rows, cols) if rows > 1 else cols)
        for name, (kind, rows, cols, data) in tensors.items()
    }


def reference_logits(shape: Shape, weights: dict[str, FloatArray], hidden: FloatArray, codes: IntArray) -> Doubles:
    """Logits of codebooks 1 to 15, teacher-forced.

    Args:
        hidden: (n, talker_hidden).
        codes: (n, 16).
    Returns:
        (n, 15, vocab) float64.
    """
    states = _decoder(shape, weights, _inputs(shape, weights, hidden, codes))
    heads = [states[:, 1 + book] @ _double(weights, f"head.{book + 1}.weight").T for book in range(shape.codebooks)]
    return np.stack(heads, axis=1)


def reference_greedy(shape: Shape, weights: dict[str, FloatArray], hidden: FloatArray, code0: IntArray) -> IntArray:
    """(n, 15) int32: the largest logit's code, fed to the next codebook. hidden: (n, talker_hidden); code0: (n,)."""
    codes = np.zeros((len(code0), shape.codebooks + 1), np.int32)
    codes[:, 0] = code0
    for book in range(shape.codebooks):
        codes[:, book + 1] = reference_logits(shape, weights, hidden, codes)[:, book].argmax(axis=1)
    return codes[:, 1:]


def _inputs(shape: Shape, weights: dict[str, FloatArray], hidden: FloatArray, codes: IntArray) -> Doubles:
    """(n, 16, hidden): the talker's state, then codebooks 0 to 14; the last codebook is not fed."""
    embedded = [_double(weights, f"codec_embd.{book}.weight")[codes[:, book]] for book in range(shape.codebooks)]
    inputs = np.stack([hidden.astype(np.float64), *embedded], axis=1)
    if "input_proj.weight" in weights:
        return inputs @ _double(weights, "input_proj.weight").T + _double(weights, "input_proj.bias")
    return inputs


def _decoder(shape: Shape, weights: dict[str, FloatArray], x: Doubles) -> Doubles:
    """All positions at once, without a cache: (n, positions, hidden) to final-normed states of the same shape."""
    n, length, _ = x.shape
    eps = shape.rms_norm_eps
    causal = np.triu(np.full((length, length), -np.inf), 1)
    for layer in range(shape.layers):

        def weight(name: str, layer: int = layer) -> Doubles:
            return _double(weights, f"blk.{layer}.{name}.weight")

        def heads(y: Doubles, name: str, n_heads: int) -> Doubles:
            split = (y @ weight(name).T).reshape(n, length, n_heads, shape.head_dim)
            return split.transpose(0, 2, 1, 3)

        y = _rms_norm(x, weight("attn_norm"), eps)
        q = _rotate(_rms_norm(heads(y, "attn_q", shape.heads), weight("attn_q_norm"), eps), shape.rope_theta)
        k = _rotate(_rms_norm(heads(y, "attn_k", shape.kv_heads), weight("attn_k_norm"), eps), shape.rope_theta)
        v = heads(y, "attn_v", shape.kv_heads)
        group = shape.heads // shape.kv_heads
        scores = q @ k.repeat(group, axis=1).transpose(0, 1, 3, 2) / np.sqrt(shape.head_dim) + causal
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        attended = (shares @ v.repeat(group, axis=1)).transpose(0, 2, 1, 3).reshape(n, length, -1)
        x = x + attended @ weight("attn_output").T
        y = _rms_norm(x, weight("ffn_norm"), eps)
        gate = y @ weight("ffn_gate").T
        x = x + (gate / (1.0 + np.exp(-gate)) * (y @ weight("ffn_up").T)) @ weight("ffn_down").T
    return _rms_norm(x, _double(weights, "output_norm.weight"), eps)


def _double(weights: dict[str, FloatArray], name: str) -> Doubles:
    return weights[name].astype(np.float64)


def _rms_norm(x: Doubles, weight: Doubles, eps: float) -> Doubles:
    normed: Doubles = x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + eps) * weight
    return normed


def _rotate(x: Doubles, theta: float) -> Doubles:
    """Position p turns the pair (i, i + d / 2) of its head by p / theta^(2i / d), as a complex factor."""
    half = x.shape[-1] // 2
    turns = np.arange(x.shape[-2])[:, None] * theta ** (-np.arange(half) / half)
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * turns)
    return np.concatenate([turned.real, turned.imag], axis=-1)
