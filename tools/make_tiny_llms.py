"""Writes tiny language models with seeded random weights, one of each kind of memory that llama.cpp has.

    python tools/make_tiny_llms.py DIR [NAME...]

They say nothing sensible, but each is loaded and run by llama.cpp's own code of its architecture: what a model
of some gigabytes keeps, forgets and gives back can be tested in milliseconds. The same bytes on every machine.
Their vocabulary is the 256 bytes, the signs of ChatML, and a few merges learnt from TEXT.

Source: tensors and keys as llama.cpp's src/models/<architecture>.cpp asks for them; tokenizer as its
llama-vocab.cpp reads it (byte-level BPE).
"""

import itertools
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf_writer import GgufWriter, Key, TensorPlan

WIDTH: Final = 64
N_LAYERS: Final = 4
N_FF: Final = 96
N_HEADS: Final = 4
N_KV_HEADS: Final = 2
HEAD: Final = 16
STATE: Final = 16  # of a recurrent head
N_MERGES: Final = 120
N_TRAINED: Final = 8192  # tokens of context that the models say they were trained for
SPECIAL: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

TEXT: Final = (
    "Le chat dort sur le tapis rouge et rêve d'une mer calme. Bonjour, comment t'appelles-tu ? Je m'appelle Kazeia, "
    "je réponds à voix haute, en une phrase courte. Quelle heure est-il ? Il est trois heures et demie. "
    "The cat sleeps on the red carpet and dreams of a quiet sea. What time is it? It is half past three. Thank you."
)

CHATML: Final = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)

Tensors = list[tuple[str, tuple[int, ...]]]
Keys = list[Key]


def byte_signs() -> list[str]:
    """The printable character that stands for each byte in a byte-level vocabulary."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    signs = {byte: chr(byte) for byte in printable}
    others = (byte for byte in range(256) if byte not in signs)
    signs |= {byte: chr(256 + i) for i, byte in enumerate(others)}
    return [signs[byte] for byte in range(256)]


def learn_merges(text: str, count: int) -> list[tuple[str, str]]:
    """The pairs that stand together most often, merged one after the other; words keep the space before them."""
    signs = byte_signs()
    words = Counter(tuple(signs[byte] for byte in f" {word}".encode()) for word in text.split())
    merges: list[tuple[str, str]] = []
    while len(merges) < count:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, n in words.items():
            for pair in itertools.pairwise(word):
                pairs[pair] += n
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        merged: Counter[tuple[str, ...]] = Counter()
        for word, n in words.items():
            joined, i = [], 0
            while i < len(word):
                step = 2 if word[i : i + 2] == best else 1
                joined.append("".join(word[i : i + step]))
                i += step
            merged[tuple(joined)] += n
        words = merged
    return merges


def tokenizer_keys(template: str | None) -> tuple[Keys, int]:
    """Keys of the vocabulary, and its size."""
    merges = learn_merges(TEXT, N_MERGES)
    tokens = [*byte_signs(), *dict.fromkeys(a + b for a, b in merges), *SPECIAL]
    kinds = [1] * (len(tokens) - len(SPECIAL)) + [3] * len(SPECIAL)  # normal, control
    keys = [
        Key("tokenizer.ggml.model", "string", "gpt2"),
        Key("tokenizer.ggml.pre", "string", "qwen2"),
        Key("tokenizer.ggml.tokens", "string", tokens),
        Key("tokenizer.ggml.token_type", "i32", kinds),
        Key("tokenizer.ggml.merges", "string", [f"{a} {b}" for a, b in merges]),
        Key("tokenizer.ggml.eos_token_id", "u32", tokens.index("<|im_end|>")),
        Key("tokenizer.ggml.padding_token_id", "u32", tokens.index("<|endoftext|>")),
        Key("tokenizer.ggml.add_bos_token", "bool", False),
    ]
    if template is not None:
        keys.append(Key("tokenizer.chat_template", "string", template))
    return keys, len(tokens)


def _attention(i: int, q_width: int) -> Tensors:
    """Of layer i; q_width: rows of the query's projection."""
    kv = N_KV_HEADS * HEAD
    return [
        (f"blk.{i}.attn_q.weight", (q_width, WIDTH)),
        (f"blk.{i}.attn_k.weight", (kv, WIDTH)),
        (f"blk.{i}.attn_v.weight", (kv, WIDTH)),
        (f"blk.{i}.attn_output.weight", (WIDTH, N_HEADS * HEAD)),
        (f"blk.{i}.attn_q_norm.weight", (HEAD,)),
        (f"blk.{i}.attn_k_norm.weight", (HEAD,)),
    ]


def _feed_forward(i: int) -> Tensors:
    return [
        (f"blk.{i}.ffn_gate.weight", (N_FF, WIDTH)),
        (f"blk.{i}.ffn_up.weight", (N_FF, WIDTH)),
        (f"blk.{i}.ffn_down.weight", (WIDTH, N_FF)),
    ]


def _experts(i: int, n: int = 4, width: int = 32) -> Tensors:
    return [
        (f"blk.{i}.ffn_gate_inp.weight", (n, WIDTH)),
        (f"blk.{i}.ffn_gate_exps.weight", (n, width, WIDTH)),
        (f"blk.{i}.ffn_up_exps.weight", (n, width, WIDTH)),
        (f"blk.{i}.ffn_down_exps.weight", (n, WIDTH, width)),
        (f"blk.{i}.ffn_gate_inp_shexp.weight", (WIDTH,)),
        (f"blk.{i}.ffn_gate_shexp.weight", (width, WIDTH)),
        (f"blk.{i}.ffn_up_shexp.weight", (width, WIDTH)),
        (f"blk.{i}.ffn_down_shexp.weight", (WIDTH, width)),
    ]


def _delta_net(i: int, joined: bool) -> Tensors:
    """A gated delta net with 2 key heads and 4 value heads; joined: beta and alpha in one tensor (qwen3next)."""
    n_k, n_v = 2, 4
    keys, values = n_k * STATE, n_v * STATE
    tensors = [
        (f"blk.{i}.attn_qkv.weight", (2 * keys + values, WIDTH)),
        (f"blk.{i}.attn_gate.weight", (values, WIDTH)),
        (f"blk.{i}.ssm_conv1d.weight", (2 * keys + values, 4)),
        (f"blk.{i}.ssm_dt.bias", (n_v,)),
        (f"blk.{i}.ssm_a", (n_v,)),
        (f"blk.{i}.ssm_norm.weight", (STATE,)),
        (f"blk.{i}.ssm_out.weight", (WIDTH, values)),
    ]
    if joined:
        return [*tensors, (f"blk.{i}.ssm_ba.weight", (2 * n_v, WIDTH))]
    return [*tensors, (f"blk.{i}.ssm_beta.weight", (n_v, WIDTH)), (f"blk.{i}.ssm_alpha.weight", (n_v, WIDTH))]


def _norm(i: int, *names: str) -> Tensors:
    return [(f"blk.{i}.{name}.weight", (WIDTH,)) for name in names]


def _common(architecture: str) -> Keys:
    return [
        Key("general.architecture", "string", architecture),
        Key("general.name", "string", f"tiny random {architecture}"),
        Key(f"{architecture}.block_count", "u32", N_LAYERS),
        Key(f"{architecture}.context_length", "u32", N_TRAINED),
        Key(f"{architecture}.embedding_length", "u32", WIDTH),
        Key(f"{architecture}.feed_forward_length", "u32", 0 if architecture == "mamba2" else N_FF),
        Key(f"{architecture}.attention.layer_norm_rms_epsilon", "f32", 1e-6),
    ]


def _heads(architecture: str) -> Keys:
    return [
        Key(f"{architecture}.attention.head_count", "u32", N_HEADS),
        Key(f"{architecture}.attention.head_count_kv", "u32", N_KV_HEADS),
        Key(f"{architecture}.attention.key_length", "u32", HEAD),
        Key(f"{architecture}.attention.value_length", "u32", HEAD),
        Key(f"{architecture}.rope.freq_base", "f32", 10000.0),
    ]


def _ssm(architecture: str, inner: int, rank: int, groups: int) -> Keys:
    sizes = {"conv_kernel": 4, "inner_size": inner, "state_size": STATE, "time_step_rank": rank, "group_count": groups}
    return [Key(f"{architecture}.ssm.{name}", "u32", size) for name, size in sizes.items()]


def qwen3() -> tuple[Keys, Tensors]:
    """Dense: rolls back to any token."""
    tensors: Tensors = []
    for i in range(N_LAYERS):
        tensors += _norm(i, "attn_norm", "ffn_norm") + _attention(i, N_HEADS * HEAD) + _feed_forward(i)
    return [*_common("qwen3"), *_heads("qwen3")], [*tensors, ("output_norm.weight", (WIDTH,))]


def qwen35() -> tuple[Keys, Tensors]:
    """Hybrid: three layers of gated delta nets, one of attention."""
    tensors: Tensors = []
    for i in range(N_LAYERS):
        tensors += _norm(i, "attn_norm", "post_attention_norm") + _feed_forward(i)
        tensors += _attention(i, 2 * N_HEADS * HEAD) if i % 4 == 3 else _delta_net(i, joined=False)
    keys = [*_common("qwen35"), *_heads("qwen35"), *_ssm("qwen35", 4 * STATE, 4, 2)]
    keys += [
        Key("qwen35.rope.dimension_count", "u32", 8),
        Key("qwen35.rope.dimension_sections", "i32", [2, 1, 1, 0]),
        Key("qwen35.full_attention_interval", "u32", 4),
    ]
    return keys, [*tensors, ("output_norm.weight", (WIDTH,))]


def qwen3next() -> tuple[Keys, Tensors]:
    """Hybrid with experts."""
    tensors: Tensors = []
    for i in range(N_LAYERS):
        tensors += _norm(i, "attn_norm", "post_attention_norm") + _experts(i)
        tensors += _attention(i, 2 * N_HEADS * HEAD) if i % 4 == 3 else _delta_net(i, joined=True)
    keys = [*_common("qwen3next"), *_heads("qwen3next"), *_ssm("qwen3next", 4 * STATE, 4, 2)]
    numbers = {
        "expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 32,
        "expert_shared_feed_forward_length": 32, "rope.dimension_count": 8, "full_attention_interval": 4,
    }  # fmt: skip
    keys += [Key(f"qwen3next.{name}", "u32", number) for name, number in numbers.items()]
    return keys, [*tensors, ("output_norm.weight", (WIDTH,))]


def lfm2() -> tuple[Keys, Tensors]:
    """Hybrid: short convolutions and attention."""
    tensors: Tensors = []
    for i in range(N_LAYERS):
        tensors += _norm(i, "attn_norm", "ffn_norm") + _feed_forward(i)
        if i % 2:
            tensors += _attention(i, WIDTH)
        else:
            tensors += [
                (f"blk.{i}.shortconv.conv.weight", (WIDTH, 3)),
                (f"blk.{i}.shortconv.in_proj.weight", (3 * WIDTH, WIDTH)),
                (f"blk.{i}.shortconv.out_proj.weight", (WIDTH, WIDTH)),
            ]
    keys = [key for key in [*_common("lfm2"), *_heads("lfm2")] if not key.name.endswith("head_count_kv")]
    keys += [
        Key("lfm2.attention.head_count_kv", "i32", [N_KV_HEADS * (i % 2) for i in range(N_LAYERS)]),
        Key("lfm2.shortconv.l_cache", "u32", 3),
    ]
    return keys, [*tensors, ("token_embd_norm.weight", (WIDTH,))]


def mamba2() -> tuple[Keys, Tensors]:
    """Recurrent: nothing but a state."""
    inner, heads, groups = 2 * WIDTH, 8, 2
    conv = inner + 2 * groups * STATE
    tensors: Tensors = []
    for i in range(N_LAYERS):
        tensors += _norm(i, "attn_norm")
        tensors += [
            (f"blk.{i}.ssm_in.weight", (inner + conv + heads, WIDTH)),
            (f"blk.{i}.ssm_conv1d.weight", (conv, 4)),
            (f"blk.{i}.ssm_conv1d.bias", (conv,)),
            (f"blk.{i}.ssm_dt.bias", (heads,)),
            (f"blk.{i}.ssm_a", (heads, 1)),
            (f"blk.{i}.ssm_d", (heads, 1)),
            (f"blk.{i}.ssm_norm.weight", (groups, inner // groups)),
            (f"blk.{i}.ssm_out.weight", (WIDTH, inner)),
        ]
    return [*_common("mamba2"), *_ssm("mamba2", inner, heads, groups)], [*tensors, ("output_norm.weight", (WIDTH,))]


MODELS: Final[dict[str, Callable[[], tuple[Keys, Tensors]]]] = {
    "qwen3": qwen3,
    "qwen35": qwen35,
    "qwen3next": qwen3next,
    "lfm2": lfm2,
    "mamba2": mamba2,
}


def _values(
    name: str, shape: tuple[int, ...], rng: np.random.Generator
) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    """Spread wide enough that what was read before shows in what is said."""
    if name.endswith("ssm_a"):
        return -np.exp(rng.uniform(-2.0, 1.0, shape)).astype(np.float32)
    if name.endswith("norm.weight"):
        return rng.uniform(0.6, 1.4, shape).astype(np.float32)
    scale = 1.0 if len(shape) == 1 or name == "token_embd.weight" else 1.6 / np.sqrt(shape[-1])
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def write_model(path: Path, name: str, template: str | None = CHATML, seed: int = 1) -> Path:
    """Write one model; an existing file is replaced.

    Args:
        name: of MODELS. template: its chat template; None: it has none.
    """
    keys, tensors = MODELS[name]()
    vocabulary, n_tokens = tokenizer_keys(template)
    tensors = [("token_embd.weight", (n_tokens, WIDTH)), *tensors, ("output.weight", (n_tokens, WIDTH))]
    if name == "lfm2":
        tensors.pop()  # it has no output of its own
    architecture = keys[0].value
    keys.append(Key(f"{architecture}.vocab_size", "u32", n_tokens))
    rng = np.random.Generator(np.random.PCG64(seed))
    path.unlink(missing_ok=True)
    plans = [TensorPlan(tensor, shape, GgmlType.F32) for tensor, shape in tensors]
    with GgufWriter(path, [*keys, *vocabulary], plans) as writer:
        for tensor, shape in tensors:
            writer.append(_values(tensor, shape, rng))
        writer.finish()
    return path


def main(arguments: list[str]) -> None:
    """Write the named models, or all."""
    if not arguments:
        raise SystemExit("usage: make_tiny_llms.py DIR [NAME...]")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments[1:] or MODELS:
        sys.stdout.write(f"{write_model(folder / f'tiny-{name}.gguf', name)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
