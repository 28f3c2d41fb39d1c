"""A Qwen3-TTS checkpoint of random weights in the official layout: speed and plumbing do not depend on values.

The weights are scaled so that activations stay of order one through every stage, as a trained model's do.
"""

import json
import re
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod, sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.lazy_tensor import BLOCK_VALUES
from kazeia_desktop.formats.safetensors_writer import SafetensorsWriter
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert.official import CODEC_DIRECTORY
from kazeia_desktop.models.convert.random_config import (
    codec_config,
    codec_shapes,
    generation_config,
    main_config,
    main_shapes,
)
from kazeia_desktop.models.convert.staging import Meter, staged
from kazeia_desktop.models.fetch import ProgressCallback
from kazeia_desktop.runtime.cancel import CancelToken

END_OF_SPEECH: Final = 2150
_PLAIN_TOKENS: Final = 151643
"""Of Qwen2's vocabulary, before the added ones."""
_LAST_CONV: Final = 1.5e-3
"""The last convolution's gain, for which audio has an RMS of about 0.1: measured with several seeds."""
_FILE_BYTES: Final = 10_000_000  # tokenizer and headers
_ADDED: Final = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
    "<|audio_start|>",
    "<|audio_end|>",
    "<tts_pad>",
    "<tts_text_bos>",
    "<tts_text_eod>",
    "<tts_text_bos_single>",
    "<|audio_pad|>",
]
_NOT_SPECIAL: Final = {
    "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>",
    "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """What `make_random` wrote."""

    directory: Path
    bytes: int
    seconds: float


def make_random(
    target: Path, size: str, seed: int, vocabulary: Path, report: ProgressCallback | None = None,
    cancel: CancelToken | None = None,
) -> Made:  # fmt: skip
    """Write the directory `target`.

    Args:
        size: "0.6b", "1.7b" (2.0 and 4.2 GB) or "tiny".
        seed: the same seed gives the same bytes.
        vocabulary: a GGUF with Qwen2's tokenizer.
    Raises:
        ModelError: the vocabulary is another one, or `target` cannot be written.
        Cancelled: nothing is left behind.
    """
    began, cancel = time.monotonic(), cancel or CancelToken()
    tokens, merges = _read_vocabulary(vocabulary)
    main, codec = main_shapes(size), codec_shapes(size)
    total = 2 * sum(map(prod, main.values())) + 4 * sum(map(prod, codec.values()))
    meter = Meter(target.name, total, report)
    with staged(target, total + _FILE_BYTES) as directory:
        (directory / CODEC_DIRECTORY).mkdir()
        _write_json(directory / "config.json", main_config(size))
        _write_json(directory / "generation_config.json", generation_config())
        _write_json(directory / CODEC_DIRECTORY / "config.json", codec_config(size))
        _write_tokenizer(directory, tokens, merges)
        _write_weights(directory / "model.safetensors", main, "BF16", seed, meter, cancel)
        _write_weights(directory / CODEC_DIRECTORY / "model.safetensors", codec, "F32", seed + 1, meter, cancel)
        n_bytes = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    return Made(target.absolute(), n_bytes, time.monotonic() - began)


def _write_weights(
    path: Path, shapes: Mapping[str, tuple[int, ...]], dtype: str, seed: int, meter: Meter, cancel: CancelToken
) -> None:
    meter.file = path.name
    with SafetensorsWriter(path, shapes, dtype) as writer:
        for name, shape in shapes.items():
            for block in random_blocks(name, shape, seed):
                cancel.raise_if_set()
                meter.add(writer.append(block))


def random_blocks(name: str, shape: tuple[int, ...], seed: int) -> Iterator[FloatArray]:
    """The tensor's values in order, flat. Each tensor has a generator of its own: others do not move it."""
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    offset, scale, magnitude = _distribution(name, shape)
    if name.startswith("decoder.decoder.6.conv."):
        scale *= _LAST_CONV
    left = prod(shape)
    done = 0
    while left:
        n = min(left, BLOCK_VALUES)
        block = random.standard_normal(n, dtype=np.float32)
        if magnitude:
            np.abs(block, out=block)
        block *= np.float32(scale)
        if offset:
            block += np.float32(offset)
        if name == "talker.codec_head.weight":  # of 2,048 other rows, top-k 50 never draws it
            width = shape[1]
            start, stop = (max(0, min(n, row * width - done)) for row in (END_OF_SPEECH, END_OF_SPEECH + 1))
            block[start:stop] = 0
        yield block
        left -= n
        done += n


def _distribution(name: str, shape: tuple[int, ...]) -> tuple[float, float, bool]:
    """Mean, deviation, and whether the draw's magnitude is taken."""
    leaf = name.rsplit(".", 1)[-1]
    if leaf in ("alpha", "beta"):
        return 0.0, 0.3, False
    if leaf == "cluster_usage":
        return 0.5, 1.0, True
    if leaf == "embedding_sum":
        return 0.0, 0.5, False
    if leaf in ("scale", "gamma"):
        return 0.3, 0.05, False
    if leaf == "bias":
        return 0.0, 0.02, False
    if len(shape) == 1:  # norms
        return 1.0, 0.1, False
    if "embedding" in name:
        return 0.0, 0.3, False
    # A ConvTranspose1d has its inputs first, and two of its kernel's steps meet at each sample.
    transposed = len(shape) == 3 and re.search(r"block\.1\.conv\.weight|upsample\.\d\.0\.conv\.weight", name)
    fan_in = shape[0] * 2 if transposed else prod(shape[1:])
    return 0.0, 1 / sqrt(fan_in), False


def _read_vocabulary(path: Path) -> tuple[list[str], list[str]]:
    file = GgufFile(path)
    tokens, merges = file.texts("tokenizer.ggml.tokens"), file.texts("tokenizer.ggml.merges")
    if len(tokens) < _PLAIN_TOKENS + 3 or tokens[_PLAIN_TOKENS : _PLAIN_TOKENS + 3] != list(_ADDED[:3]):
        raise ModelIncompatibleError("{file} has another vocabulary than Qwen2's.", file=str(path))
    return tokens[:_PLAIN_TOKENS], merges


def _write_tokenizer(directory: Path, tokens: list[str], merges: list[str]) -> None:
    _write_json(directory / "vocab.json", {token: row for row, token in enumerate(tokens)}, indent=None)
    (directory / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", "utf-8", newline="\n")
    added = {
        str(_PLAIN_TOKENS + i): {
            "content": token, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False,
            "special": token not in _NOT_SPECIAL,
        }
        for i, token in enumerate(_ADDED)
    }  # fmt: skip
    _write_json(
        directory / "tokenizer_config.json",
        {
            "add_bos_token": False, "add_prefix_space": False, "added_tokens_decoder": added, "bos_token": None,
            "clean_up_tokenization_spaces": False, "eos_token": "<|im_end|>", "errors": "replace",
            "model_max_length": 131072, "pad_token": "<|endoftext|>", "split_special_tokens": False,
            "tokenizer_class": "Qwen2Tokenizer", "unk_token": None,
        },
    )  # fmt: skip


def _write_json(path: Path, value: Mapping[str, Any], indent: int | None = 1) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=indent) + "\n", "utf-8")
