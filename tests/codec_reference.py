"""The codec decoder in plain numpy, whole utterance at once, and a small one with seeded weights.

Written from the official package's modeling_qwen3_tts_tokenizer_v2.py, in float64, without any folding.
"""

from collections.abc import Mapping
from math import erf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert.codec_weights import CodecGeometry

Array = NDArray[np.float64]

GEOMETRY = CodecGeometry(
    codebooks=4, codebook_size=16, layers=2, heads=2, kv_heads=2, head_dim=8, sliding_window=5, rope_theta=100.0,
    rms_norm_eps=1e-5, upsampling_ratios=(2, 2), upsample_rates=(3, 2, 2), sample_rate_hz=24_000,
)  # fmt: skip
"""A window that a few frames leave, three blocks (of both layouts), 48 samples a frame."""


def official_config(g: CodecGeometry = GEOMETRY) -> dict[str, Any]:
    """speech_tokenizer/config.json of such a model."""
    decoder = {
        "num_quantizers": g.codebooks, "codebook_size": g.codebook_size, "num_hidden_layers": g.layers,
        "num_attention_heads": g.heads, "num_key_value_heads": g.kv_heads, "head_dim": g.head_dim,
        "hidden_size": 12, "sliding_window": g.sliding_window, "rope_theta": g.rope_theta,
        "rms_norm_eps": g.rms_norm_eps, "upsampling_ratios": list(g.upsampling_ratios),
        "upsample_rates": list(g.upsample_rates),
    }  # fmt: skip
    return {"decoder_config": decoder, "output_sample_rate": g.sample_rate_hz}


def official_tensors(g: CodecGeometry = GEOMETRY, seed: int = 1) -> dict[str, FloatArray]:
    """Seeded weights under the official names, of a size that keeps activations near one."""
    rng = np.random.default_rng(seed)
    dim, codebook, latent, hidden, ffn, channels = 6, 10, 14, 12, 20, 16
    tensors: dict[str, FloatArray] = {}

    def add(name: str, *shape: int, scale: float = 1.0, about: float = 0.0) -> None:
        tensors[name] = (about + scale * rng.standard_normal(shape)).astype(np.float32)

    def matrix(name: str, *shape: int, fan_in: int = 0, gain: float = 1.0) -> None:
        add(name, *shape, scale=gain * (fan_in or int(np.prod(shape[1:]))) ** -0.5)

    def conv(name: str, *shape: int, out: int = 0, fan_in: int = 0, gain: float = 1.0) -> None:
        matrix(f"{name}.conv.weight", *shape, fan_in=fan_in, gain=gain)
        add(f"{name}.conv.bias", out or shape[0], scale=0.1)

    def snake(name: str, n: int) -> None:
        add(f"{name}.alpha", n, scale=0.3)
        add(f"{name}.beta", n, scale=0.3)

    for part, n in (("first", 1), ("rest", g.codebooks - 1)):
        at = f"decoder.quantizer.rvq_{part}"
        matrix(f"{at}.output_proj.weight", codebook, dim, 1)
        for i in range(n):
            add(f"{at}.vq.layers.{i}._codebook.embedding_sum", g.codebook_size, dim)
            usage = np.abs(rng.standard_normal(g.codebook_size)) + 0.5
            usage[0] = 0.0  # never used: the floor acts
            tensors[f"{at}.vq.layers.{i}._codebook.cluster_usage"] = usage.astype(np.float32)
            tensors[f"{at}.vq.layers.{i}._codebook.embedding_sum"][0] *= 1e-5
    conv("decoder.pre_conv", latent, codebook, 3)
    at = "decoder.pre_transformer"
    for name, shape in (("input_proj", (hidden, latent)), ("output_proj", (latent, hidden))):
        matrix(f"{at}.{name}.weight", *shape)
        add(f"{at}.{name}.bias", shape[0], scale=0.1)
    add(f"{at}.norm.weight", hidden, scale=0.1, about=1)
    for i in range(g.layers):
        layer = f"{at}.layers.{i}"
        for norm in ("input_layernorm", "post_attention_layernorm"):
            add(f"{layer}.{norm}.weight", hidden, scale=0.1, about=1)
        for part, heads in (("q", g.heads), ("k", g.kv_heads), ("v", g.kv_heads)):
            matrix(f"{layer}.self_attn.{part}_proj.weight", heads * g.head_dim, hidden)
        matrix(f"{layer}.self_attn.o_proj.weight", hidden, g.heads * g.head_dim)
        for part, shape in (("gate", (ffn, hidden)), ("up", (ffn, hidden)), ("down", (hidden, ffn))):
            matrix(f"{layer}.mlp.{part}_proj.weight", *shape)
        for scale in ("self_attn_layer_scale", "mlp_layer_scale"):
            add(f"{layer}.{scale}.scale", hidden, scale=0.1, about=0.5)
    for i, ratio in enumerate(g.upsampling_ratios):
        at = f"decoder.upsample.{i}"
        conv(f"{at}.0", latent, latent, ratio, fan_in=latent)
        conv(f"{at}.1.dwconv", latent, 1, 7)
        add(f"{at}.1.norm.weight", latent, scale=0.1, about=1)
        add(f"{at}.1.norm.bias", latent, scale=0.1)
        matrix(f"{at}.1.pwconv1.weight", 4 * latent, latent)
        add(f"{at}.1.pwconv1.bias", 4 * latent, scale=0.1)
        matrix(f"{at}.1.pwconv2.weight", latent, 4 * latent)
        add(f"{at}.1.pwconv2.bias", latent, scale=0.1)
        add(f"{at}.1.gamma", latent, scale=0.1, about=0.5)
    conv("decoder.decoder.0", channels, latent, 7)
    for i, stride in enumerate(g.upsample_rates):
        at, out = f"decoder.decoder.{i + 1}.block", channels // 2
        snake(f"{at}.0", channels)
        conv(f"{at}.1", channels, out, 2 * stride, out=out, fan_in=2 * channels)
        for unit in (2, 3, 4):
            snake(f"{at}.{unit}.act1", out)
            conv(f"{at}.{unit}.conv1", out, out, 7, gain=0.5)
            snake(f"{at}.{unit}.act2", out)
            conv(f"{at}.{unit}.conv2", out, out, 1, gain=0.5)
        channels = out
    n = len(g.upsample_rates)
    snake(f"decoder.decoder.{n + 1}", channels)
    conv(f"decoder.decoder.{n + 2}", 1, channels, 7, gain=0.1)
    return tensors


def causal_conv(x: Array, weight: Array, bias: Array, dilation: int = 1) -> Array:
    """x: (in, n); weight: (out, in, taps). Zeros before the start."""
    taps = weight.shape[2]
    padded = np.pad(x, ((0, 0), ((taps - 1) * dilation, 0)))
    parts = [weight[:, :, t] @ padded[:, t * dilation : t * dilation + x.shape[1]] for t in range(taps)]
    return np.sum(parts, axis=0) + bias[:, None]


def depthwise(x: Array, weight: Array, bias: Array) -> Array:
    """x: (channels, n); weight: (channels, 1, taps)."""
    taps = weight.shape[2]
    padded = np.pad(x, ((0, 0), (taps - 1, 0)))
    return np.sum([weight[:, 0, t, None] * padded[:, t : t + x.shape[1]] for t in range(taps)], axis=0) + bias[:, None]


def transposed_conv(x: Array, weight: Array, bias: Array, stride: int) -> Array:
    """x: (in, n); weight: (in, out, kernel). kernel - stride is trimmed on the right."""
    n, kernel = x.shape[1], weight.shape[2]
    y = np.zeros((weight.shape[1], (n - 1) * stride + kernel if n else 0))
    for t in range(n):
        y[:, t * stride : t * stride + kernel] += np.einsum("c,cok->ok", x[:, t], weight)
    return y[:, : n * stride] + bias[:, None]


def snake(x: Array, alpha: Array, beta: Array) -> Array:
    """x: (channels, n); alpha, beta as the checkpoint has them, logarithms."""
    return x + np.sin(x * np.exp(alpha)[:, None]) ** 2 / (np.exp(beta)[:, None] + 1e-9)


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    """x: (n, width)."""
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * weight


def rotate(x: Array, theta: float) -> Array:
    """x: (n, heads, head_dim); position i is row i."""
    half = x.shape[2] // 2
    angles = np.arange(len(x))[:, None] * theta ** (-np.arange(half) / half)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def attention(q: Array, k: Array, v: Array, window: int) -> Array:
    """q: (n, heads, d); k, v: (n, kv_heads, d). A position sees itself and the window - 1 before it."""
    n, heads, d = q.shape
    k, v = (np.repeat(part, heads // part.shape[1], axis=1) for part in (k, v))
    scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(d)
    gap = np.arange(n)[:, None] - np.arange(n)
    scores = np.where((gap >= 0) & (gap < window), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hij,jhd->ihd", weights / weights.sum(-1, keepdims=True), v)


def decode(codes: NDArray[Any], raw: Mapping[str, FloatArray], g: CodecGeometry = GEOMETRY) -> Array:
    """codes: (n, codebooks). Returns (n * samples_per_frame,)."""
    t = {name: value.astype(np.float64) for name, value in raw.items()}
    x = np.zeros((t["decoder.pre_conv.conv.weight"].shape[1], len(codes)))
    for part, books in (("first", range(1)), ("rest", range(1, g.codebooks))):
        at = f"decoder.quantizer.rvq_{part}"
        total = np.zeros((len(codes), t[f"{at}.output_proj.weight"].shape[1]))
        for i, book in enumerate(books):
            entry = f"{at}.vq.layers.{i}._codebook"
            usage = np.maximum(t[f"{entry}.cluster_usage"], 1e-5)
            total += (t[f"{entry}.embedding_sum"] / usage[:, None])[codes[:, book]]
        x = x + t[f"{at}.output_proj.weight"][..., 0] @ total.T
    x = _conv(x, t, "decoder.pre_conv")
    x = _transformer(x.T, t, g).T
    for i, ratio in enumerate(g.upsampling_ratios):
        x = _upsample(x, t, f"decoder.upsample.{i}", ratio)
    x = _conv(x, t, "decoder.decoder.0")
    for i, stride in enumerate(g.upsample_rates):
        at = f"decoder.decoder.{i + 1}.block"
        x = snake(x, t[f"{at}.0.alpha"], t[f"{at}.0.beta"])
        x = transposed_conv(x, t[f"{at}.1.conv.weight"], t[f"{at}.1.conv.bias"], stride)
        for unit, dilation in ((2, 1), (3, 3), (4, 9)):
            at_unit = f"{at}.{unit}"
            y = snake(x, t[f"{at_unit}.act1.alpha"], t[f"{at_unit}.act1.beta"])
            y = _conv(y, t, f"{at_unit}.conv1", dilation)
            y = snake(y, t[f"{at_unit}.act2.alpha"], t[f"{at_unit}.act2.beta"])
            x = x + _conv(y, t, f"{at_unit}.conv2")
    n = len(g.upsample_rates)
    x = snake(x, t[f"decoder.decoder.{n + 1}.alpha"], t[f"decoder.decoder.{n + 1}.beta"])
    return np.clip(_conv(x, t, f"decoder.decoder.{n + 2}")[0], -1, 1)


def _conv(x: Array, t: Mapping[str, Array], name: str, dilation: int = 1) -> Array:
    return causal_conv(x, t[f"{name}.conv.weight"], t[f"{name}.conv.bias"], dilation)


def _transformer(x: Array, t: Mapping[str, Array], g: CodecGeometry) -> Array:
    at = "decoder.pre_transformer"
    x = x @ t[f"{at}.input_proj.weight"].T + t[f"{at}.input_proj.bias"]
    for i in range(g.layers):
        layer = f"{at}.layers.{i}"
        y = rms_norm(x, t[f"{layer}.input_layernorm.weight"], g.rms_norm_eps)
        heads = {"q": g.heads, "k": g.kv_heads, "v": g.kv_heads}
        q, k, v = (
            (y @ t[f"{layer}.self_attn.{part}_proj.weight"].T).reshape(len(x), n, g.head_dim)
            for part, n in heads.items()
        )
        y = attention(rotate(q, g.rope_theta), rotate(k, g.rope_theta), v, g.sliding_window)
        y = y.reshape(len(x), -1) @ t[f"{layer}.self_attn.o_proj.weight"].T
        x = x + y * t[f"{layer}.self_attn_layer_scale.scale"]
        y = rms_norm(x, t[f"{layer}.post_attention_layernorm.weight"], g.rms_norm_eps)
        gate = y @ t[f"{layer}.mlp.gate_proj.weight"].T
        y = gate / (1 + np.exp(-gate)) * (y @ t[f"{layer}.mlp.up_proj.weight"].T)
        x = x + y @ t[f"{layer}.mlp.down_proj.weight"].T * t[f"{layer}.mlp_layer_scale.scale"]
    x = rms_norm(x, t[f"{at}.norm.weight"], g.rms_norm_eps)
    return x @ t[f"{at}.output_proj.weight"].T + t[f"{at}.output_proj.bias"]


def _upsample(x: Array, t: Mapping[str, Array], at: str, ratio: int) -> Array:
    x = transposed_conv(x, t[f"{at}.0.conv.weight"], t[f"{at}.0.conv.bias"], ratio)
    y = depthwise(x, t[f"{at}.1.dwconv.conv.weight"], t[f"{at}.1.dwconv.conv.bias"]).T
    y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-6)
    y = y * t[f"{at}.1.norm.weight"] + t[f"{at}.1.norm.bias"]
    y = y @ t[f"{at}.1.pwconv1.weight"].T + t[f"{at}.1.pwconv1.bias"]
    y = y * 0.5 * (1 + np.vectorize(erf)(y / np.sqrt(2)))
    y = y @ t[f"{at}.1.pwconv2.weight"].T + t[f"{at}.1.pwconv2.bias"]
    return x + (y * t[f"{at}.1.gamma"]).T
