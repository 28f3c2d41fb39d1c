"""A tiny speaker encoder: seeded weights, the network written plainly in numpy, and a model directory that holds it."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kazeia_desktop.formats.voice_description import (
    CodecShape,
    CodePredictorShape,
    Sampling,
    SpeakerEncoderShape,
    TalkerShape,
    VoiceDescription,
)
from kazeia_desktop.formats.voice_manifest import (
    CODE_PREDICTOR,
    CODEC,
    FILE,
    SPEAKER_ENCODER,
    TALKER,
    FileRecord,
    VoiceManifest,
)
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert.speaker_graph import write_speaker_graph

Weights = dict[str, FloatArray]
N_MELS: Final = 128
CHANNELS: Final = 16
ATTENTION: Final = 6
GATE: Final = 5


def make_weights(
    seed: int,
    width: int = 24,
    kernels: tuple[int, ...] = (5, 3, 3, 3, 1),
    scale: int = 8,
) -> Weights:
    """Random weights under the official names."""
    rng = np.random.default_rng(seed)
    n_blocks = len(kernels) - 2
    mixed, size = CHANNELS * n_blocks, CHANNELS // scale
    shapes: dict[str, tuple[int, int, int]] = {
        "blocks.0.conv": (CHANNELS, N_MELS, kernels[0]),
        "mfa.conv": (mixed, mixed, kernels[-1]),
        "asp.tdnn.conv": (ATTENTION, 3 * mixed, 1),
        "asp.conv": (mixed, ATTENTION, 1),
        "fc": (width, 2 * mixed, 1),
    }
    for i in range(1, n_blocks + 1):
        shapes[f"blocks.{i}.tdnn1.conv"] = shapes[f"blocks.{i}.tdnn2.conv"] = (CHANNELS, CHANNELS, 1)
        shapes[f"blocks.{i}.se_block.conv1"] = (GATE, CHANNELS, 1)
        shapes[f"blocks.{i}.se_block.conv2"] = (CHANNELS, GATE, 1)
        for j in range(scale - 1):
            shapes[f"blocks.{i}.res2net_block.blocks.{j}.conv"] = (size, size, kernels[i])
    weights = {}
    for name, shape in shapes.items():
        spread = 1.5 / np.sqrt(shape[1] * shape[2])
        weights[f"speaker_encoder.{name}.weight"] = (rng.standard_normal(shape) * spread).astype(np.float32)
        weights[f"speaker_encoder.{name}.bias"] = (rng.standard_normal(shape[0]) * 0.1).astype(np.float32)
    return weights


def x_vector(
    mel: FloatArray,
    weights: Mapping[str, FloatArray],
    dilations: tuple[int, ...] = (1, 2, 3, 4, 1),
    scale: int = 8,
) -> NDArray[np.float64]:
    """What the network gives, in float64, one output sample after the other."""

    def conv(x: NDArray[np.float64], name: str, dilation: int = 1) -> NDArray[np.float64]:
        weight = weights[f"speaker_encoder.{name}.weight"].astype(np.float64)
        bias = weights[f"speaker_encoder.{name}.bias"].astype(np.float64)
        reach = dilation * (weight.shape[2] - 1)
        padded = np.pad(x, [(0, 0), (reach // 2, reach - reach // 2)], mode="reflect")
        out = np.empty((weight.shape[0], x.shape[1]))
        for t in range(x.shape[1]):
            out[:, t] = bias + np.tensordot(weight, padded[:, t : t + reach + 1 : dilation], axes=([1, 2], [0, 1]))
        return out

    def relu(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.maximum(x, 0.0)

    x = relu(conv(mel.T.astype(np.float64), "blocks.0.conv", dilations[0]))
    blocks = []
    for i in range(1, len(dilations) - 1):
        entered = x
        x = relu(conv(x, f"blocks.{i}.tdnn1.conv"))
        parts = np.split(x, scale)
        for j in range(1, scale):
            entering = parts[j] + parts[j - 1] if j > 1 else parts[j]
            parts[j] = relu(conv(entering, f"blocks.{i}.res2net_block.blocks.{j - 1}.conv", dilations[i]))
        x = relu(conv(np.concatenate(parts), f"blocks.{i}.tdnn2.conv"))
        gate = relu(conv(x.mean(axis=1, keepdims=True), f"blocks.{i}.se_block.conv1"))
        gate = conv(gate, f"blocks.{i}.se_block.conv2")
        x = x / (1 + np.exp(-gate)) + entered
        blocks.append(x)
    x = relu(conv(np.concatenate(blocks), "mfa.conv", dilations[-1]))
    mean, deviation = x.mean(axis=1, keepdims=True), np.sqrt(np.maximum(x.var(axis=1, keepdims=True), 1e-12))
    stacked = np.concatenate([x, np.broadcast_to(mean, x.shape), np.broadcast_to(deviation, x.shape)])
    scores = conv(np.tanh(relu(conv(stacked, "asp.tdnn.conv"))), "asp.conv")
    attention = np.exp(scores - scores.max(axis=1, keepdims=True))
    attention /= attention.sum(axis=1, keepdims=True)
    mean = (attention * x).sum(axis=1, keepdims=True)
    deviation = np.sqrt(np.maximum((attention * (x - mean) ** 2).sum(axis=1, keepdims=True), 1e-12))
    return conv(np.concatenate([mean, deviation]), "fc")[:, 0]


def voice_like(seconds: float, rate_hz: int = 24_000, seed: int = 0) -> FloatArray:
    """(n,) float32: a buzz that moves, in noise, as loud as speech."""
    t = np.arange(round(seconds * rate_hz)) / rate_hz
    pitch = 2 * np.pi * (120 * t - 1.1 * np.cos(2 * np.pi * 3 * t))
    buzz = sum(np.sin(k * pitch) / k for k in range(1, 12))
    noise = np.random.default_rng(seed).standard_normal(len(t))
    return (0.12 * buzz * (0.6 + 0.4 * np.sin(2 * np.pi * 2 * t)) + 0.01 * noise).astype(np.float32)


def write_model(folder: Path, name: str = "tiny", width: int = 24, seed: int = 1, speaker: bool = True) -> Weights:
    """A converted model as far as voices are concerned: its other files hold no weights. Returns the encoder's."""
    folder.mkdir(parents=True)
    weights = make_weights(seed, width)
    if speaker:
        write_speaker_graph(folder / SPEAKER_ENCODER[0], weights.__getitem__, {})
    for file in (TALKER, CODE_PREDICTOR, *CODEC):
        (folder / file).write_bytes(b"no weights")
    described = VoiceDescription(
        name=name,
        model_type="base" if speaker else "custom_voice",
        model_size="0b6",
        talker=TalkerShape(width, 1, 1, 1, 8, 32, 1e6, 1e-6, 3072, 151_936, 32_768),
        code_predictor=CodePredictorShape(width, 1, 1, 1, 8, 32, 1e6, 1e-6, 2048, 15, False),
        codec=CodecShape(24_000, 1920, 16, 2048, 1, 1, 1, 8, 72, 1e4, 1e-5, (2, 2), (8, 5, 4, 3)),
        speaker_encoder=SpeakerEncoderShape(24_000, width) if speaker else None,
        ids={
            "im_start": 151644, "im_end": 151645, "assistant": 77091,
            "tts_pad": 151671, "tts_bos": 151672, "tts_eos": 151673,
            "codec_pad": 2148, "codec_bos": 2149, "codec_eos": 2150, "codec_think": 2154, "codec_nothink": 2155,
            "codec_think_bos": 2156, "codec_think_eos": 2157,
        },
        languages={"french": 2061},
        speakers={} if speaker else {"vivian": 3065},
        speaker_dialects={},
        talker_sampling=Sampling(0.9, 50, 1.0, 1.05),
        code_predictor_sampling=Sampling(0.9, 50, 1.0),
    )  # fmt: skip
    files = {
        file.name: FileRecord(file.stat().st_size, hashlib.sha256(file.read_bytes()).hexdigest())
        for file in sorted(folder.iterdir())
    }
    (folder / FILE).write_text(VoiceManifest(described, "f32", files).to_json(), "utf-8")
    return weights
