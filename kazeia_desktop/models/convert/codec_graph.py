"""Writes codec.onnx: the codec's decoder as a graph whose whole memory comes in and goes out by name.

codes (k, 16) and the state go in, k * 1,920 samples and the next state come out, so that any chunking of an utterance
gives the same audio. What is constant is folded while it is written: the quantizers' output projections, the first
convolution and the transformer's input projection are one convolution; the transformer's output projection and the
first ConvTranspose are one product; norms, layer scales and the snakes' factors go into the matrices beside them.

Two layouts. Rows (positions, channels) are multiplied by matrices that ONNX Runtime packs once, which is what few
positions need, and whose sums do not depend on how many positions there are. From the second block of the
convolution stack on, (1, channels, positions) with its Conv, which does not spread a window in memory.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from onnx import TensorProto

from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert.codec_weights import DILATIONS, CodecGeometry
from kazeia_desktop.models.convert.graph_writer import ORT, GraphWriter

MAX_FRAMES: Final = 8
"""Of one run: the rings of keys and values have this many slots more than the window."""
RING: Final = "ring."
"""Begins the names of the states that may be one buffer as input and output."""
_ROW_BLOCKS: Final = 1  # blocks of the convolution stack that work on rows
_LAYER_NORM_EPS: Final = 1e-6  # of the ConvNeXt blocks; a constant of the official code
_HIDDEN: Final = -1e9  # added to the score of a position that may not be seen
_LARGE_BETA: Final = 1e3  # x + b/2 - b/2 cos(2 a x) loses digits where b is large

Weights = Callable[[str], FloatArray]
"""Name -> float32 array; see `codec_weights`."""


def write_codec_graph(path: Path, weights: Weights, geometry: CodecGeometry) -> dict[str, Any]:
    """Write `path` and, beside it, its weights in `<path>.data`, one tensor in memory at a time.

    Args:
        path: "codec.onnx" in the model directory.
        weights: the decoder's tensors under the names of `codec_weights`.
    Returns:
        What the manifest says of the codec.
    Raises:
        ModelCorruptError: a tensor does not have the shape that the others and the geometry ask for, or holds a value
            that is not finite.
    """
    geometry.check()
    told = ("sample_rate_hz", "samples_per_frame", "codebooks", "codebook_size")
    about: dict[str, Any] = {name: getattr(geometry, name) for name in told} | {"max_frames": MAX_FRAMES}
    with path.with_name(f"{path.name}.data").open("wb") as data:
        writer = GraphWriter(path, data)
        _Decoder(writer, weights, geometry).write()
        writer.save("codec", about)
    return about


class _Decoder:
    """The nodes, from codes to audio."""

    def __init__(self, writer: GraphWriter, weights: Weights, geometry: CodecGeometry) -> None:
        self._w = writer
        self._weights = weights
        self._g = geometry
        self._counts: dict[int, str] = {}

    def write(self) -> None:
        w = self._w
        w.input("codes", TensorProto.INT32, "k", self._g.codebooks)
        w.input("position", TensorProto.INT64, 1)
        w.output("audio", TensorProto.FLOAT, "n")
        w.output("position_next", TensorProto.INT64, 1)
        x = self.transformer(self.latent())
        x, width = self.upsamplers(x)
        x = self.stack(x, width)
        flat = w.node("Reshape", x, w.ints(-1))
        w.node("Clip", flat, w.constant(np.float32(-1)), w.constant(np.float32(1)), name="audio")

    # Pieces

    def get(self, name: str, *shape: int | None) -> FloatArray:
        """The tensor, checked: None stands for any size."""
        full = f"a.gen.wav.{name}"
        try:
            value = np.asarray(self._weights(full), np.float32)
        except KeyError:
            raise ModelCorruptError("The codec has no tensor {tensor}: fetch the model again.", tensor=full) from None
        same = len(value.shape) == len(shape) and value.size > 0
        if not same or any(want not in (None, got) for got, want in zip(value.shape, shape, strict=True)):
            raise ModelCorruptError(
                "The codec's tensor {tensor} has the shape {got} instead of {want}: fetch the model again.",
                tensor=full,
                got=list(value.shape),
                want=["any" if size is None else size for size in shape],
            )
        if not np.isfinite(value).all():
            raise ModelCorruptError(
                "The codec's tensor {tensor} holds values that are not finite: fetch the model again.", tensor=full
            )
        return value

    def with_past(self, name: str, x: str, past: int, shape: tuple[int, ...], axis: int) -> str:
        """x behind the last positions of the run before, which are the state `name`."""
        w = self._w
        w.input(name, TensorProto.FLOAT, *shape)
        w.output(f"{name}_next", TensorProto.FLOAT, *shape)
        joined = w.node("Concat", name, x, axis=axis)
        w.node("Slice", joined, w.ints(-past), w.ints(1 << 40), w.ints(axis), name=f"{name}_next")
        return joined

    def linear(self, x: str, weight: FloatArray, bias: FloatArray | None = None) -> str:
        """x W^T + b; weight (out, in)."""
        y = self._w.node("MatMul", x, self._w.constant(weight.T))
        return y if bias is None else self._w.node("Add", y, self._w.constant(bias))

    def positions(self, rate: int) -> str:
        """(k * rate, 1) int64: 0, 1, 2, ..."""
        w = self._w
        if rate not in self._counts:
            n = w.node("Squeeze", w.node("Mul", w.node("Shape", "codes", start=0, end=1), w.ints(rate)))
            zero, one = w.constant(np.array(0, np.int64)), w.constant(np.array(1, np.int64))
            self._counts[rate] = w.node("Unsqueeze", w.node("Range", zero, n, one), w.ints(1))
        return self._counts[rate]

    def windows(self, name: str, x: str, width: int, taps: int, dilation: int, rate: int) -> str:
        """(n, width) rows to (n, taps, width): each position and the ones before it that a convolution reads."""
        w, past = self._w, (taps - 1) * dilation
        joined = self.with_past(name, x, past, (past, width), 0)
        offsets = w.constant(np.arange(0, past + 1, dilation, dtype=np.int64)[None, :])
        return w.node("Gather", joined, w.node("Add", self.positions(rate), offsets), axis=0)

    def causal_rows(self, name: str, x: str, weight: FloatArray, bias: FloatArray, rate: int, dilation: int = 1) -> str:
        """A causal convolution of rows as one product. weight: (out, in, taps)."""
        out, width, taps = weight.shape
        if taps > 1:
            spread = self.windows(name, x, width, taps, dilation, rate)
            x = self._w.node("Reshape", spread, self._w.ints(-1, taps * width))
        return self.linear(x, weight.transpose(0, 2, 1).reshape(out, taps * width), bias)

    # Codes to latent frames

    def latent(self) -> str:
        """Codes to the transformer's input, (k, hidden)."""
        g, w = self._g, self._w
        first = self.get("quant.first.codebook.weight", g.codebook_size, None)
        dim = first.shape[1]
        rest = self.get("quant.rest.codebook.weight", g.codebooks - 1, g.codebook_size, dim)
        head, tail = w.split("codes", 1, g.codebooks - 1, axis=1)
        semantic = w.node("Reshape", w.node("Gather", w.constant(first), head, axis=0), w.ints(-1, dim))
        shift = w.constant((np.arange(g.codebooks - 1, dtype=np.int32) * g.codebook_size)[None, :])
        # One table of the 15 books: folded with their projection it would be twice as large, and no faster. Sum and
        # not ReduceSum, whose order is another one for one frame.
        found = w.node("Gather", w.constant(rest.reshape(-1, dim)), w.node("Add", tail, shift), axis=0)
        del rest
        acoustic = w.node("Sum", *w.split(found, *[1] * (g.codebooks - 1), axis=1))
        both = w.node("Concat", semantic, w.node("Squeeze", acoustic, w.ints(1)), axis=1)
        out_first = self.get("quant.first.out_proj.weight", None, dim)
        out_rest = self.get("quant.rest.out_proj.weight", out_first.shape[0], dim)
        conv = self.get("pre_conv.weight", None, out_first.shape[0], None)
        into = self.get("tfm.in_proj.weight", None, conv.shape[0])
        outer = np.concatenate([out_first, out_rest], axis=1)
        folded = np.stack([into @ conv[:, :, tap] @ outer for tap in range(conv.shape[2])], axis=2)
        bias = into @ self.get("pre_conv.bias", conv.shape[0]) + self.get("tfm.in_proj.bias", into.shape[0])
        return self.causal_rows("latent", both, folded, bias, 1)

    # The transformer, on (1, k, hidden)

    def transformer(self, x: str) -> str:
        """(k, hidden) rows to (k, hidden), before the output projection."""
        g, w = self._g, self._w
        hidden = self.get("tfm.output_norm.weight", None).shape[0]
        now = w.node("Add", "position", self.positions(1))  # (k, 1)
        cos, sin = self.rotation(now)
        slots, mask = self.ring(now)
        first = w.constant(np.zeros(1, np.int64))
        keys_width, width = g.kv_heads * g.head_dim, g.heads * g.head_dim
        x = w.node("Unsqueeze", x, w.ints(0))
        scale = w.constant(self.get("tfm.blk.0.ln1.weight", hidden))
        normed = w.node("RMSNormalization", x, scale, axis=-1, epsilon=g.rms_norm_eps)
        for i in range(g.layers):
            at = f"tfm.blk.{i}"
            sizes = {"q": width, "k": keys_width, "v": keys_width}
            parts = [self.get(f"{at}.attn_{part}.weight", size, hidden) for part, size in sizes.items()]
            both, values = w.split(self.linear(normed, np.concatenate(parts)), width + keys_width, keys_width, axis=2)
            turned = w.node("RotaryEmbedding", both, first, cos, sin, domain=ORT)
            queries, keys = w.split(turned, width, keys_width, axis=2)
            seen = [
                self.remember(f"{RING}{kind}.{i}", part, slots) for kind, part in (("key", keys), ("value", values))
            ]
            # ONNX Runtime adds up a lone query in another order: a row of zeros keeps it company.
            queries = w.node("Concat", queries, w.constant(np.zeros((1, 1, width), np.float32)), axis=1)
            mixed = w.node("MultiHeadAttention", queries, *seen, "", "", mask, domain=ORT, num_heads=g.heads)
            mixed = w.node("Slice", mixed, w.ints(0), w.ints(-1), w.ints(1))
            weight = self.get(f"{at}.attn_out.weight", hidden, width) * self.get(f"{at}.ls1.weight", hidden)[:, None]
            normed, x = self.add_and_norm(x, self.linear(mixed, weight), f"{at}.ln2.weight", hidden)
            after = f"tfm.blk.{i + 1}.ln1.weight" if i + 1 < g.layers else "tfm.output_norm.weight"
            normed, x = self.add_and_norm(x, self.feed_forward(at, normed, hidden), after, hidden)
        return w.node("Squeeze", normed, w.ints(0))

    def rotation(self, now: str) -> tuple[str, str]:
        """cos and sin (k, head_dim / 2) of the positions' angles, in float32 as the official code computes them."""
        g, w = self._g, self._w
        exponents = np.arange(0, g.head_dim, 2, dtype=np.float32) / np.float32(g.head_dim)
        frequencies = np.float32(1) / np.float32(g.rope_theta) ** exponents
        angles = w.node("Mul", w.node("Cast", now, to=TensorProto.FLOAT), w.constant(frequencies[None, :]))
        return w.node("Cos", angles), w.node("Sin", angles)

    def ring(self, now: str) -> tuple[str, str]:
        """Where the new keys go, (1, kv_heads, k, 3) indices, and what each query may see, (1, 1, k + 1, slots).

        A position always has the same slot, so that a softmax adds up in the same order in any chunking.
        """
        g, w = self._g, self._w
        size = w.ints(g.sliding_window + MAX_FRAMES)
        last = w.node("Add", "position", w.node("Shape", "codes", start=0, end=1))
        w.node("Identity", last, name="position_next")
        last = w.node("Sub", last, w.ints(1))
        slot = w.constant(np.arange(g.sliding_window + MAX_FRAMES, dtype=np.int64)[None, :])
        held = w.node("Sub", last, w.node("Mod", w.node("Sub", last, slot), size))  # the position in each slot
        young = w.node("Greater", held, w.node("Sub", now, w.ints(g.sliding_window)))
        past = w.node("LessOrEqual", held, now)
        there = w.node("GreaterOrEqual", held, w.ints(0))
        seen = w.node("And", w.node("And", young, past), there)
        mask = w.node("Where", seen, w.constant(np.float32(0)), w.constant(np.float32(_HIDDEN)))
        company = w.constant(np.zeros((1, g.sliding_window + MAX_FRAMES), np.float32))
        mask = w.node("Concat", mask, company, axis=0)
        heads = np.zeros((1, g.kv_heads, 1, 2), np.int64)
        heads[0, :, 0, 1] = np.arange(g.kv_heads)
        n = w.node("Shape", "codes", start=0, end=1)
        shape = w.node("Concat", w.ints(1, g.kv_heads), n, w.ints(1), axis=0)
        where = w.node("Expand", w.node("Unsqueeze", w.node("Mod", now, size), w.ints(0, 1)), shape)
        pairs = w.node("Expand", w.constant(heads), w.node("Concat", w.ints(1, g.kv_heads), n, w.ints(2), axis=0))
        return w.node("Concat", pairs, where, axis=3), w.node("Unsqueeze", mask, w.ints(0, 1))

    def remember(self, name: str, x: str, slots: str) -> str:
        """(1, k, kv_heads * head_dim) into the ring `name`; returns the ring (1, heads, slots, head_dim).

        Input and output may be one buffer: what is overwritten is out of every later query's window.
        """
        g, w = self._g, self._w
        shape = (1, g.kv_heads, g.sliding_window + MAX_FRAMES, g.head_dim)
        w.input(name, TensorProto.FLOAT, *shape)
        w.output(f"{name}_next", TensorProto.FLOAT, *shape)
        heads = w.node("Transpose", w.node("Reshape", x, w.ints(1, -1, g.kv_heads, g.head_dim)), perm=[0, 2, 1, 3])
        ring = w.node("ScatterND", name, slots, heads, name=f"{name}_next")
        if g.kv_heads == g.heads:
            return ring
        index = np.repeat(np.arange(g.kv_heads, dtype=np.int64), g.heads // g.kv_heads)
        return w.node("Gather", ring, w.constant(index), axis=1)

    def feed_forward(self, at: str, x: str, hidden: int) -> str:
        w = self._w
        gate = self.get(f"{at}.ffn_gate.weight", None, hidden)
        ffn = gate.shape[0]
        both = self.linear(x, np.concatenate([gate, self.get(f"{at}.ffn_up.weight", ffn, hidden)]))
        gated, up = w.split(both, ffn, ffn, axis=2)
        grown = w.node("Mul", w.node("QuickGelu", gated, domain=ORT, alpha=1.0), up)  # of alpha 1: SiLU
        weight = self.get(f"{at}.ffn_down.weight", hidden, ffn) * self.get(f"{at}.ls2.weight", hidden)[:, None]
        return self.linear(grown, weight)

    def add_and_norm(self, x: str, change: str, norm: str, hidden: int) -> tuple[str, str]:
        """(RMS norm of the sum, the sum)."""
        w = self._w
        inputs, names = [x, change, w.constant(self.get(norm, hidden))], [w.fresh(), "", "", w.fresh()]
        epsilon = self._g.rms_norm_eps
        w.nodes("SkipSimplifiedLayerNormalization", *inputs, names=names, domain=ORT, epsilon=epsilon)
        return names[0], names[3]

    # Two rows for one, twice

    def upsamplers(self, x: str) -> tuple[str, int]:
        """The transformer's rows to rows at the convolution stack's entry, and their width."""
        w = self._w
        out = self.get("tfm.out_proj.weight", None, self.get("tfm.output_norm.weight", None).shape[0])
        out_bias = self.get("tfm.out_proj.bias", out.shape[0])
        width = out.shape[0]
        rate = 1
        for i, ratio in enumerate(self._g.upsampling_ratios):
            at = f"up.blk.{i}"
            # Kernel and stride are equal: a new row comes from one old row.
            conv = self.get(f"{at}.conv.weight", width, None, ratio)
            weight = conv.transpose(2, 1, 0).reshape(-1, width)  # (ratio * out, in)
            bias = np.tile(self.get(f"{at}.conv.bias", conv.shape[1]), ratio)
            if i == 0:
                weight, bias = weight @ out, bias + weight @ out_bias
            width, rate = conv.shape[1], rate * ratio
            rows = w.node("Reshape", self.linear(x, weight, bias), w.ints(-1, width))
            x = w.node("Add", rows, self.conv_next(at, rows, width, rate))
        return x, width

    def conv_next(self, at: str, x: str, width: int, rate: int) -> str:
        w = self._w
        weight = self.get(f"{at}.dwconv.weight", width, 1, None)
        spread = self.windows(at, x, width, weight.shape[2], 1, rate)
        deep = w.node("ReduceSum", w.node("Mul", spread, w.constant(weight[:, 0].T)), w.ints(1), keepdims=0)
        deep = w.node("Add", deep, w.constant(self.get(f"{at}.dwconv.bias", width)))
        norm = [w.constant(self.get(f"{at}.norm.{part}", width)) for part in ("weight", "bias")]
        normed = w.node("LayerNormalization", deep, *norm, axis=-1, epsilon=_LAYER_NORM_EPS)
        first = self.get(f"{at}.pw1.weight", None, width)
        grown = w.node("Gelu", self.linear(normed, first, self.get(f"{at}.pw1.bias", first.shape[0])))
        gamma = self.get(f"{at}.gamma", width)
        second = self.get(f"{at}.pw2.weight", width, first.shape[0]) * gamma[:, None]
        return self.linear(grown, second, self.get(f"{at}.pw2.bias", width) * gamma)

    # The convolution stack

    def stack(self, x: str, width: int) -> str:
        """Rows (n, width) to samples (1, 1, n)."""
        g = self._g
        rate = int(np.prod(g.upsampling_ratios))
        entry = self.get("dac.entry.weight", None, width, None)
        channels = entry.shape[0]
        x = self.causal_rows("dac.entry", x, entry, self.get("dac.entry.bias", channels), rate)
        for i, stride in enumerate(g.upsample_rates):
            at = f"dac.blk.{i}"
            rows = i < _ROW_BLOCKS
            x = self.snake(f"{at}.snake", x, channels, rows or i == _ROW_BLOCKS)
            x, channels = self.upsample(f"{at}.conv", x, channels, stride, rate, i)
            rate *= stride
            for unit, dilation in enumerate(DILATIONS):
                x = self.residual(f"{at}.res.{unit}", x, channels, dilation, rate, rows)
        x = self.snake("dac.post_snake", x, channels, False)
        weight, bias = self.get("dac.post_conv.weight", 1, channels, None), self.get("dac.post_conv.bias", 1)
        return self.conv("dac.post_conv", x, weight, bias, 1)

    def snake(self, name: str, x: str, channels: int, rows: bool) -> str:
        """x + beta sin^2(alpha x)."""
        w = self._w
        alpha, beta = (self.get(f"{name}.{part}", channels) for part in ("alpha", "beta"))
        sine = w.node("Sin", w.node("Mul", x, self.per_channel(alpha, rows)))
        return w.node("Add", x, w.node("Mul", w.node("Mul", sine, sine), self.per_channel(beta, rows)))

    def per_channel(self, value: FloatArray, rows: bool) -> str:
        return self._w.constant(value if rows else value[:, None])

    def residual(self, at: str, x: str, channels: int, dilation: int, rate: int, rows: bool) -> str:
        """x + conv2(snake(conv1(snake(x)))).

        The second snake, h + b sin^2(a h) = h + b/2 - b/2 cos(2 a h), is b/2 (u / (a b) - cos u) + b/2 with u = 2 a h:
        2 a goes into the convolution before it, b/2 into the one behind it, which has one tap.
        """
        w = self._w
        y = self.snake(f"{at}.act1", x, channels, rows)
        first, second = (self.get(f"{at}.conv{i}.weight", channels, channels, None) for i in (1, 2))
        bias1, bias2 = (self.get(f"{at}.conv{i}.bias", channels) for i in (1, 2))
        alpha, beta = (self.get(f"{at}.act2.{part}", channels) for part in ("alpha", "beta"))
        foldable = second.shape[2] == 1 and beta.max() < _LARGE_BETA and (alpha * beta).min() > 0
        if foldable:
            twice, half = np.add(alpha, alpha), np.multiply(beta, np.float32(0.5))
            first, bias1 = first * twice[:, None, None], bias1 * twice
            second, bias2 = second * half[None, :, None], bias2 + second[:, :, 0] @ half

        if rows:
            y = self.causal_rows(f"{at}.conv1", y, first, bias1, rate, dilation)
        else:
            y = self.conv(f"{at}.conv1", y, first, bias1, dilation)
        if foldable:
            y = w.node("Sub", w.node("Mul", y, self.per_channel(np.reciprocal(alpha * beta), rows)), w.node("Cos", y))
        else:
            y = self.snake(f"{at}.act2", y, channels, rows)
        if rows:
            return w.node("Add", self.causal_rows(f"{at}.conv2", y, second, bias2, rate), x)
        return self.conv(f"{at}.conv2", y, second, bias2, 1, added=x)

    def conv(self, name: str, x: str, weight: FloatArray, bias: FloatArray, dilation: int, added: str = "") -> str:
        """A causal convolution of (1, channels, n), and a tensor added to it. weight: (out, in, taps)."""
        w = self._w
        _, channels, taps = weight.shape
        past = (taps - 1) * dilation
        if past:
            x = self.with_past(name, x, past, (1, channels, past), 2)
        inputs = [x, w.constant(weight), w.constant(bias)]
        if added:
            return w.node("FusedConv", *inputs, added, domain=ORT, kernel_shape=[taps], dilations=[dilation])
        return w.node("Conv", *inputs, kernel_shape=[taps], dilations=[dilation])

    def upsample(self, name: str, x: str, channels: int, stride: int, rate: int, block: int) -> tuple[str, int]:
        """ConvTranspose of kernel 2 * stride, as a convolution of 2 taps whose outputs are the stride's phases.

        The tail that would be carried is a function of the last position, which is what the state holds.
        """
        w = self._w
        weight = self.get(f"{name}.weight", channels, None, 2 * stride)
        out = weight.shape[1]
        # The position before reaches into this one's samples with the kernel's second half.
        taps = weight.reshape(channels, out, 2, stride)[:, :, ::-1]
        bias = np.tile(self.get(f"{name}.bias", out), stride)
        flat = taps.transpose(3, 1, 0, 2).reshape(stride * out, channels, 2)
        if block <= _ROW_BLOCKS:
            rows = w.node("Reshape", self.causal_rows(name, x, flat, bias, rate), w.ints(-1, out))
            if block < _ROW_BLOCKS:
                return rows, out
            return w.node("Unsqueeze", w.node("Transpose", rows, perm=[1, 0]), w.ints(0)), out
        phases = w.node("Reshape", self.conv(name, x, flat, bias, 1), w.ints(stride, out, -1))
        return w.node("Reshape", w.node("Transpose", phases, perm=[1, 2, 0]), w.ints(1, out, -1)), out
