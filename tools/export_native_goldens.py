"""Data for the native voice's golden tests.

    python tools/export_native_goldens.py reduce REFERENCE_DIR...
    python tools/export_native_goldens.py flat DIR

`reduce` writes tests/golden/data/native/NAME.npz from a directory with checkpoint/ (an official Qwen3-TTS checkpoint)
and golden.npz (what the official package computes from it). Of each codebook it keeps the codes that the figures
use, and those with the largest logits: the decoder's weights and all figures stay the official ones.

`flat` writes what the C++ tests read: for each set and weight type a directory with index.txt and data.bin. Lines of
the index are "shape KEY VALUE" and "array NAME TYPE ROWS COLS OFFSET". Quantised weights come with the logits that
a float64 implementation computes from their exact values.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Final

import numpy as np

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from kazeia_desktop.formats.ggml_types import f32_to_bf16  # noqa: E402
from kazeia_desktop.formats.safetensors import Checkpoint  # noqa: E402
from kazeia_desktop.frames import FloatArray, IntArray  # noqa: E402
from tests.golden.code_predictor_reference import (  # noqa: E402
    DTYPES,
    SETS,
    GoldenSet,
    Shape,
    Tensor,
    load,
    packed,
    reference_greedy,
    reference_logits,
    unpacked,
)

TARGET: Final = ROOT / "tests/golden/data/native"
KEPT: Final = 64
"""Codes of each codebook."""
LAYER: Final = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def official_weights(checkpoint: Path, layers: int) -> dict[str, FloatArray]:
    """The code predictor's tensors under their names in code_predictor.gguf, float32, whole."""
    source = Checkpoint(checkpoint)
    prefix = "talker.code_predictor."
    names = {
        f"blk.{i}.{ours}.weight": f"{prefix}model.layers.{i}.{theirs}.weight"
        for i in range(layers)
        for theirs, ours in LAYER.items()
    }
    names |= {"output_norm.weight": f"{prefix}model.norm.weight"}
    names |= {"codec_embd.0.weight": "talker.model.codec_embedding.weight"}
    for i in range(15):
        names[f"codec_embd.{i + 1}.weight"] = f"{prefix}model.codec_embedding.{i}.weight"
        names[f"head.{i + 1}.weight"] = f"{prefix}lm_head.{i}.weight"
    if f"{prefix}small_to_mtp_projection.weight" in source:
        for leaf in ("weight", "bias"):
            names[f"input_proj.{leaf}"] = f"{prefix}small_to_mtp_projection.{leaf}"
    return {ours: source.tensor(theirs).array() for ours, theirs in names.items()}


def kept_codes(codes: IntArray, greedy: IntArray, logits: FloatArray) -> list[IntArray]:
    """For each codebook the sorted codes that stay: those used, then those with the largest logits anywhere."""
    used = np.unique(codes[:, 0])
    kept = [np.sort(np.concatenate([used, np.setdiff1d(np.arange(2048), used)])[:KEPT])]
    for book in range(logits.shape[1]):
        used = np.unique(np.concatenate([codes[:, book + 1], greedy[:, book]]))
        rivals = [code for code in np.argsort(-logits[:, book].max(axis=0), kind="stable") if code not in used]
        kept.append(np.sort(np.concatenate([used, rivals])[:KEPT]))
    return kept


def reduce(reference: Path) -> None:
    """Write the small set of one reference directory."""
    talker = json.loads((reference / "checkpoint/config.json").read_text("utf-8"))["talker_config"]
    config = talker["code_predictor_config"]
    weights = official_weights(reference / "checkpoint", config["num_hidden_layers"])
    with np.load(reference / "golden.npz") as golden:
        codes, greedy = golden["forced_codes"], golden["code_predictor_greedy"]
        logits = golden["code_predictor_logits"]
        hidden, text, frames = golden["talker_hidden"][:-1], golden["tts_pad_embed"], golden["frame_embeds"]
    kept = kept_codes(codes, greedy, logits)
    for book, rows in enumerate(kept):
        weights[f"codec_embd.{book}.weight"] = weights[f"codec_embd.{book}.weight"][rows]
        if book:
            weights[f"head.{book}.weight"] = weights[f"head.{book}.weight"][rows]
    shape = Shape(
        hidden=config["hidden_size"],
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        kv_heads=config["num_key_value_heads"],
        head_dim=config["head_dim"],
        ffn=config["intermediate_size"],
        rope_theta=config["rope_theta"],
        rms_norm_eps=config["rms_norm_eps"],
        vocab=KEPT,
        codebooks=15,
        talker_hidden=talker["hidden_size"],
        talker_vocab=KEPT,
    )

    def index(book: int, values: IntArray) -> IntArray:
        return np.array([np.flatnonzero(kept[book] == value)[0] for value in values], np.int16)

    TARGET.mkdir(parents=True, exist_ok=True)
    arrays = {
        "shape": np.array(json.dumps({name: getattr(shape, name) for name in Shape.__slots__})),
        "hidden": hidden,
        "codes": np.stack([index(book, codes[:, book]) for book in range(16)], axis=1),
        "logits": np.stack([logits[:, book, kept[book + 1]] for book in range(15)], axis=1),
        "greedy": np.stack([index(book + 1, greedy[:, book]) for book in range(15)], axis=1),
        "text": text,
        "frame_embeds": frames,
    }
    arrays |= {f"w.{name}": f32_to_bf16(weight) for name, weight in weights.items()}
    np.savez_compressed(TARGET / f"{reference.name}.npz", allow_pickle=False, **arrays)


def write_flat(folder: Path, golden: GoldenSet, dtype: str) -> None:
    """One set with weights of one type."""
    tensors = packed(golden.weights, dtype)
    exact = unpacked(tensors)
    shape = golden.shape
    logits = golden.logits
    greedy = golden.greedy
    if dtype != "f32":
        logits = reference_logits(shape, exact, golden.hidden, golden.codes).astype(np.float32)
        greedy = reference_greedy(shape, exact, golden.hidden, golden.codes[:, 0])
    arrays: dict[str, Tensor] = {f"w.{name}": tensor for name, tensor in tensors.items()}
    for name, values, kind in (
        ("hidden", golden.hidden, "f32"),
        ("codes", golden.codes, "i32"),
        ("logits", logits.reshape(len(logits), -1), "f32"),
        ("greedy", greedy, "i32"),
        ("text", golden.text[None], "f32"),
        ("frame_embeds", golden.frame_embeds, "f32"),
    ):
        flat = np.ascontiguousarray(values, np.int32 if kind == "i32" else np.float32)
        arrays[name] = (kind, *flat.shape, flat.view(np.uint8).reshape(-1))
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"shape {name} {getattr(shape, name)}" for name in Shape.__slots__]
    offset = 0
    with (folder / "data.bin").open("wb") as out:
        for name, (kind, rows, cols, data) in arrays.items():
            lines.append(f"array {name} {kind} {rows} {cols} {offset}")
            out.write(data.tobytes())
            offset += data.nbytes
    (folder / "index.txt").write_text("\n".join(lines) + "\n", "utf-8")


def main() -> None:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("reduce").add_argument("references", type=Path, nargs="+")
    commands.add_parser("flat").add_argument("directory", type=Path)
    options = parser.parse_args()
    if options.command == "reduce":
        for reference in options.references:
            reduce(reference)
    else:
        for file in SETS:
            for dtype in DTYPES:
                write_flat(options.directory / f"{file.stem}-{dtype}", load(file), dtype)


if __name__ == "__main__":
    main()
