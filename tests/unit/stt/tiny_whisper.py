"""A Whisper of a few thousand random weights, and the same in numpy: what the exported graphs must compute."""

import math
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tests.unit.stt.test_ctranslate2_file import packed, write

Array = NDArray[Any]
WIDTH, HEADS, MELS, INNER, VOCAB, LAYERS = 32, 2, 8, 48, 61, 2
TEXT_POSITIONS: Final = 220


def tiny_tensors(seed: int = 1) -> dict[str, Array]:
    """Every tensor of a model.bin, float16."""
    random = np.random.default_rng(seed)

    def some(*shape: int) -> Array:
        return (random.standard_normal(shape) / math.sqrt(shape[-1])).astype(np.float16)

    held: dict[str, Array] = {
        "encoder/num_heads": np.array([HEADS], np.int16),
        "decoder/activation": np.array([3], np.int8),
        "encoder/position_encodings/encodings": some(1500, WIDTH),
        "decoder/position_encodings/encodings": some(TEXT_POSITIONS, WIDTH),
        "decoder/embeddings/weight": some(VOCAB, WIDTH),
    }
    for name, n_in in (("conv1", MELS), ("conv2", WIDTH)):
        held[f"encoder/{name}/weight"] = some(WIDTH, n_in, 3)
        held[f"encoder/{name}/bias"] = some(WIDTH)

    def linear(name: str, n_out: int, n_in: int) -> None:
        held[f"{name}/weight"], held[f"{name}/bias"] = some(n_out, n_in), some(n_out)

    def norm(name: str) -> None:
        held[f"{name}/gamma"], held[f"{name}/beta"] = 1 + some(WIDTH), some(WIDTH)

    for side in ("encoder", "decoder"):
        norm(f"{side}/layer_norm")
        for i in range(LAYERS):
            layer = f"{side}/layer_{i}"
            norm(f"{layer}/self_attention/layer_norm")
            linear(f"{layer}/self_attention/linear_0", 3 * WIDTH, WIDTH)
            linear(f"{layer}/self_attention/linear_1", WIDTH, WIDTH)
            if side == "decoder":
                norm(f"{layer}/attention/layer_norm")
                for part, n in ((0, 1), (1, 2), (2, 1)):
                    linear(f"{layer}/attention/linear_{part}", n * WIDTH, WIDTH)
            norm(f"{layer}/ffn/layer_norm")
            linear(f"{layer}/ffn/linear_0", INNER, WIDTH)
            linear(f"{layer}/ffn/linear_1", WIDTH, INNER)
    return held


def tiny_model(folder: Path, seed: int = 1) -> Path:
    """A model directory without a tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    return write(folder, packed(tiny_tensors(seed)))


class NumpyWhisper:
    """Encoder and decoder of `tiny_tensors` in float64, written for reading."""

    def __init__(self, seed: int = 1) -> None:
        self._w = {name: value.astype(np.float64) for name, value in tiny_tensors(seed).items()}

    def encode(self, mel: Array) -> Array:
        """(n_mels, 2 n) -> (n, width)."""
        x = _gelu(self._conv(mel, "conv1", 1))
        x = _gelu(self._conv(x, "conv2", 2)).T
        x = x + self._w["encoder/position_encodings/encodings"][: len(x)]
        for i in range(LAYERS):
            layer = f"encoder/layer_{i}"
            x = x + self._self_attention(x, layer, causal=False)
            x = x + self._feed_forward(x, layer)
        return self._norm(x, "encoder/layer_norm")

    def logits(self, tokens: list[int], heard: Array) -> Array:
        """(vocab,) of the last token, everything computed anew."""
        x = self._w["decoder/embeddings/weight"][tokens]
        x = x + self._w["decoder/position_encodings/encodings"][: len(x)]
        for i in range(LAYERS):
            layer = f"decoder/layer_{i}"
            x = x + self._self_attention(x, layer, causal=True)
            q = self._linear(self._norm(x, f"{layer}/attention/layer_norm"), f"{layer}/attention/linear_0")
            k, v = np.split(self._linear(heard, f"{layer}/attention/linear_1"), 2, axis=1)
            x = x + self._linear(_attend(q, k, v, causal=False), f"{layer}/attention/linear_2")
            x = x + self._feed_forward(x, layer)
        last: Array = self._norm(x, "decoder/layer_norm")[-1] @ self._w["decoder/embeddings/weight"].T
        return last

    def _conv(self, x: Array, name: str, stride: int) -> Array:
        weight, bias = self._w[f"encoder/{name}/weight"], self._w[f"encoder/{name}/bias"]
        padded = np.pad(x, ((0, 0), (1, 1)))
        columns = [np.tensordot(weight, padded[:, t : t + 3], 2) + bias for t in range(0, x.shape[1], stride)]
        return np.stack(columns, axis=1)

    def _linear(self, x: Array, name: str) -> Array:
        return x @ self._w[f"{name}/weight"].T + self._w[f"{name}/bias"]

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        return scaled * self._w[f"{name}/gamma"] + self._w[f"{name}/beta"]

    def _self_attention(self, x: Array, layer: str, causal: bool) -> Array:
        normed = self._norm(x, f"{layer}/self_attention/layer_norm")
        q, k, v = np.split(self._linear(normed, f"{layer}/self_attention/linear_0"), 3, axis=1)
        return self._linear(_attend(q, k, v, causal), f"{layer}/self_attention/linear_1")

    def _feed_forward(self, x: Array, layer: str) -> Array:
        up = self._linear(self._norm(x, f"{layer}/ffn/layer_norm"), f"{layer}/ffn/linear_0")
        return self._linear(_gelu(up), f"{layer}/ffn/linear_1")


def _gelu(x: Array) -> Array:
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def _attend(q: Array, k: Array, v: Array, causal: bool) -> Array:
    mixed = []
    for qh, kh, vh in zip(*(np.split(part, HEADS, axis=1) for part in (q, k, v)), strict=True):
        scores = qh @ kh.T / math.sqrt(WIDTH // HEADS)
        if causal:
            scores = np.where(np.tri(len(qh), len(kh), dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        mixed.append(weights / weights.sum(axis=1, keepdims=True) @ vh)
    return np.concatenate(mixed, axis=1)
