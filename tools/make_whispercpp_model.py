"""Writes whisper.cpp's q8_0 file from Kazeia's Whisper weights, for `kazeia bench stt`.

    python tools/make_whispercpp_model.py [MODEL_DIR] [OUT.bin]

MODEL_DIR holds model.bin (CTranslate2), config.json and tokenizer.json; by default the installed whisper-base.
OUT is by default where `kazeia bench stt` looks.
Source: the file format as whisper.cpp reads it (ggml magic, hyperparameters, mel filters, vocabulary, tensors).
"""

import json
import struct
import sys
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from kazeia_desktop.cli.bench_stt import whispercpp_file
from kazeia_desktop.paths import Paths
from kazeia_desktop.stt.ctranslate2_file import WhisperWeights
from kazeia_desktop.stt.log_mel import _filters

F32, F16, Q8_0 = 0, 1, 8
FTYPE_Q8_0 = 2007  # 7: mostly q8_0; 2000: version 2 of the quantised layout
BASE_TOKENS = 50257


def q8_0(values: NDArray[np.float32]) -> bytes:
    """Blocks of 32: a float16 scale, then 32 int8."""
    blocks = values.reshape(-1, 32)
    scale = np.abs(blocks).max(axis=1, keepdims=True) / 127.0
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    packed = np.zeros(len(blocks), dtype=[("d", "<f2"), ("q", "i1", 32)])
    packed["d"] = scale[:, 0].astype(np.float16)
    packed["q"] = np.round(blocks * inverse).astype(np.int8)
    return packed.tobytes()


def write_tensor(out: BinaryIO, name: str, values: NDArray[np.float32], kind: int) -> None:
    raw = name.encode()
    out.write(struct.pack("<iii", values.ndim, len(raw), kind))
    out.write(struct.pack(f"<{values.ndim}i", *reversed(values.shape)))
    out.write(raw)
    if kind == Q8_0:
        out.write(q8_0(values))
    else:
        out.write(values.astype("<f4" if kind == F32 else "<f2").tobytes())


def bytes_of_tokens(path: Path) -> list[bytes]:
    """The byte strings of the first 50257 tokens (the byte-level BPE's own alphabet undone)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    back = {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}
    vocabulary = json.loads(path.read_text("utf-8"))["model"]["vocab"]
    ordered = sorted((i, token) for token, i in vocabulary.items() if i < BASE_TOKENS)
    return [bytes(back[c] for c in token) for _, token in ordered]


def write_linear(out: BinaryIO, name: str, weight: NDArray[np.float32], bias: NDArray[np.float32] | None) -> None:
    write_tensor(out, f"{name}.weight", weight, Q8_0)
    if bias is not None:
        write_tensor(out, f"{name}.bias", bias, F32)


def write_attention(out: BinaryIO, w: WhisperWeights, source: str, target: str, cross: bool) -> None:
    width = w.shape.width
    fused = [("linear_0", 1), ("linear_1", 2), ("linear_2", 1)] if cross else [("linear_0", 3), ("linear_1", 1)]
    weight = np.concatenate([w.get(f"{source}/{n}/weight", k * width, width) for n, k in fused])
    bias = np.concatenate([w.get(f"{source}/{n}/bias", k * width) for n, k in fused])
    for i, part in enumerate(("query", "key", "value", "out")):
        rows = slice(i * width, (i + 1) * width)
        write_linear(out, f"{target}.{part}", weight[rows], None if part == "key" else bias[rows])


def write_norm(out: BinaryIO, w: WhisperWeights, source: str, target: str) -> None:
    write_tensor(out, f"{target}.weight", w.get(f"{source}/gamma", w.shape.width), F32)
    write_tensor(out, f"{target}.bias", w.get(f"{source}/beta", w.shape.width), F32)


def write_model(model_dir: Path, target: Path) -> None:
    w = WhisperWeights(model_dir)
    s = w.shape
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        out.write(struct.pack("<I", 0x67676D6C))
        sizes = (s.n_vocab, s.n_positions, s.width, s.n_heads, s.n_layers_encoder)
        out.write(
            struct.pack(
                "<11i", *sizes, s.n_text_positions, s.width, s.n_heads, s.n_layers_decoder, s.n_mels, FTYPE_Q8_0
            )
        )
        filters = _filters(s.n_mels)
        out.write(struct.pack("<ii", *filters.shape) + filters.astype("<f4").tobytes())
        tokens = bytes_of_tokens(model_dir / "tokenizer.json")
        out.write(struct.pack("<i", len(tokens)))
        for token in tokens:
            out.write(struct.pack("<I", len(token)) + token)
        for side, n_positions in (("encoder", s.n_positions), ("decoder", s.n_text_positions)):
            positions = w.get(f"{side}/position_encodings/encodings", n_positions, s.width)
            write_tensor(out, f"{side}.positional_embedding", positions, F32)
        for name, n_in in (("conv1", s.n_mels), ("conv2", s.width)):
            write_tensor(out, f"encoder.{name}.weight", w.get(f"encoder/{name}/weight", s.width, n_in, 3), F16)
            write_tensor(out, f"encoder.{name}.bias", w.get(f"encoder/{name}/bias", s.width)[:, None], F32)
        write_norm(out, w, "encoder/layer_norm", "encoder.ln_post")
        write_tensor(
            out, "decoder.token_embedding.weight", w.get("decoder/embeddings/weight", s.n_vocab, s.width), Q8_0
        )
        write_norm(out, w, "decoder/layer_norm", "decoder.ln")
        for side, n_layers in (("encoder", s.n_layers_encoder), ("decoder", s.n_layers_decoder)):
            for i in range(n_layers):
                source, block = f"{side}/layer_{i}", f"{side}.blocks.{i}"
                write_norm(out, w, f"{source}/self_attention/layer_norm", f"{block}.attn_ln")
                write_attention(out, w, f"{source}/self_attention", f"{block}.attn", cross=False)
                if side == "decoder":
                    write_norm(out, w, f"{source}/attention/layer_norm", f"{block}.cross_attn_ln")
                    write_attention(out, w, f"{source}/attention", f"{block}.cross_attn", cross=True)
                write_norm(out, w, f"{source}/ffn/layer_norm", f"{block}.mlp_ln")
                inner = w.raw(f"{source}/ffn/linear_0/weight").shape[0]
                for layer, name, n_out, n_in in ((0, "mlp.0", inner, s.width), (1, "mlp.2", s.width, inner)):
                    weight = w.get(f"{source}/ffn/linear_{layer}/weight", n_out, n_in)
                    write_linear(out, f"{block}.{name}", weight, w.get(f"{source}/ffn/linear_{layer}/bias", n_out))


if __name__ == "__main__":
    paths = Paths.from_environment()
    arguments = [Path(argument) for argument in sys.argv[1:3]]
    model_dir = arguments[0] if arguments else paths.models_dir / "whisper-base"
    write_model(model_dir, arguments[1] if len(arguments) > 1 else whispercpp_file(paths, model_dir.name))
