"""Writes codec.onnx: the codec's decoder as a graph whose whole memory comes in and goes out by name.

codes (k, 16) and the state go in, k * 1,920 samples and the next state come out, so that any chunking of an utterance
gives the same audio. What is constant is folded while it is written: the quantizers' output projections, the first
convolution and the transformer's input projection are one convolution; the transformer's output projection and the
first ConvTranspose are one product; norms' weights, layer scales and biases go into the matrices beside them.

Rows are positions (k, channels) up to the convolution stack, whose tensors are (1, channels, positions): measured
fastest with ONNX Runtime on two cores, as is each choice that a comment names.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper, save

from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert.codec_weights import DILATIONS, CodecGeometry

_OPSET: Final = 23  # the first with RMSNormalization
_ORT: Final = "com.microsoft"
_LAYER_NORM_EPS: Final = 1e-6  # of the ConvNeXt blocks; a constant of the official code
_HIDDEN: Final = -1e9  # added to the score of a position that may not be seen
_INLINE_BYTES: Final = 1024  # smaller constants stay in the .onnx file
_ALIGN: Final = 4096  # a page, so that the weights can be mapped

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
    data = path.with_name(f"{path.name}.data")
    with data.open("wb") as file:
        writer = _Writer(file, data.name, weights, geometry)
        model = writer.decoder()
    save(model, str(path))
    return about(geometry)


def about(geometry: CodecGeometry) -> dict[str, Any]:
    """What the manifest, and the graph's metadata, say of the codec."""
    return {
        "sample_rate_hz": geometry.sample_rate_hz,
        "samples_per_frame": geometry.samples_per_frame,
        "codebooks": geometry.codebooks,
        "codebook_size": geometry.codebook_size,
    }


class _Writer:
    """Nodes of the graph; constants go to the file as they come."""

    def __init__(self, file: BinaryIO, file_name: str, weights: Weights, geometry: CodecGeometry) -> None:
        self._file = file
        self._file_name = file_name
        self._weights = weights
        self._geometry = geometry
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._n = 0
        self._named: dict[tuple[str, bytes], str] = {}

    # Plumbing

    def get(self, name: str, *shape: int | None) -> FloatArray:
        """The tensor, checked: None stands for any size."""
        full = f"a.gen.wav.{name}"
        try:
            value = np.asarray(self._weights(full), np.float32)
        except KeyError:
            raise ModelCorruptError("The codec has no tensor {tensor}: fetch the model again.", tensor=full) from None
        if len(value.shape) != len(shape) or any(
            want not in (None, got) for got, want in zip(value.shape, shape, strict=True)
        ):
            raise ModelCorruptError(
                "The codec's tensor {tensor} has the shape {got} instead of {want}: fetch the model again.",
                tensor=full,
                got=list(value.shape),
                want=list(shape),
            )
        if not np.isfinite(value).all():
            raise ModelCorruptError(
                "The codec's tensor {tensor} holds values that are not finite: fetch the model again.", tensor=full
            )
        return value

    def constant(self, value: NDArray[Any] | np.generic) -> str:
        value = np.asarray(value, order="C")
        name = f"c{len(self._constants)}"
        if value.nbytes < _INLINE_BYTES:
            key = (f"{value.dtype}{value.shape}", value.tobytes())
            if key not in self._named:
                self._constants.append(numpy_helper.from_array(value, name))
                self._named[key] = name
            return self._named[key]
        self._file.write(b"\0" * (-self._file.tell() % _ALIGN))
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=value.shape)
        tensor.data_location = TensorProto.EXTERNAL
        for field, content in (("location", self._file_name), ("offset", self._file.tell()), ("length", value.nbytes)):
            tensor.external_data.add(key=field, value=str(content))
        self._file.write(value.astype("<f4", copy=False).data)
        self._constants.append(tensor)
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def nodes(self, kind: str, *inputs: str, n: int, names: tuple[str, ...] = (), **attributes: Any) -> list[str]:  # noqa: ANN401 - ONNX's own
        outputs = list(names) or [f"t{self._n + i}" for i in range(n)]
        self._n += n
        self._nodes.append(helper.make_node(kind, list(inputs), outputs, **attributes))
        return outputs

    def node(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:  # noqa: ANN401 - ONNX's own
        return self.nodes(kind, *inputs, n=1, names=(name,) if name else (), **attributes)[0]

    def state(self, name: str, *shape: int) -> str:
        """A float32 state input; its next value goes out under `<name>_next`, through `keep`."""
        self._inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))
        self._outputs.append(helper.make_tensor_value_info(f"{name}_next", TensorProto.FLOAT, list(shape)))
        return name

    def keep(self, name: str, x: str, n: int, axis: int) -> None:
        """The last n positions of x are the next value of the state."""
        self.node("Slice", x, self.ints(-n), self.ints(1 << 40), self.ints(axis), name=f"{name}_next")

    def linear(self, x: str, weight: FloatArray, bias: FloatArray | None = None) -> str:
        """x W^T + b; weight (out, in)."""
        y = self.node("MatMul", x, self.constant(weight.T))
        return y if bias is None else self.node("Add", y, self.constant(bias))

    # Rows: (positions, channels)

    def windows(self, name: str, x: str, kernel: int, width: int, positions: str) -> str:
        """(n, width) -> (n, kernel, width): each position and the kernel - 1 before it, the state's among them.

        positions: (n, 1) int64, 0 to n - 1.
        """
        joined = self.node("Concat", self.state(name, kernel - 1, width), x, axis=0)
        self.keep(name, joined, kernel - 1, 0)
        taps = self.constant(np.arange(kernel, dtype=np.int64)[None, :])
        return self.node("Gather", joined, self.node("Add", positions, taps), axis=0)

    def causal_rows(self, name: str, x: str, weight: FloatArray, bias: FloatArray, positions: str) -> str:
        """Causal convolution of rows as one product. weight: (out, in, kernel)."""
        out, width, kernel = weight.shape
        flat = self.node("Reshape", self.windows(name, x, kernel, width, positions), self.ints(-1, kernel * width))
        return self.linear(flat, weight.transpose(0, 2, 1).reshape(out, kernel * width), bias)

    def count(self, x: str, like: str) -> str:
        """(n, 1) int64: 0 to n - 1, where n is the number of rows of x times `like`."""
        length = self.node("Mul", self.node("Shape", x, start=0, end=1), like)
        scalar = self.node("Squeeze", length)
        zero, one = self.constant(np.array(0, np.int64)), self.constant(np.array(1, np.int64))
        return self.node("Unsqueeze", self.node("Range", zero, scalar, one), self.ints(1))

    # The decoder

    def decoder(self) -> Any:  # noqa: ANN401 - onnx.ModelProto
        g = self._geometry
        self._inputs.append(helper.make_tensor_value_info("codes", TensorProto.INT32, ["k", g.codebooks]))
        self._inputs.append(helper.make_tensor_value_info("position", TensorProto.INT64, [1]))
        self._outputs.append(helper.make_tensor_value_info("audio", TensorProto.FLOAT, ["n"]))
        self._outputs.append(helper.make_tensor_value_info("position_next", TensorProto.INT64, [1]))
        one = self.ints(1)
        frames = self.count("codes", one)
        x = self.transformer(self.latent(frames), frames)
        x, width, rate = self.upsamplers(x)
        x = self.stack(x, width, rate)
        flat = self.node("Reshape", x, self.ints(-1))
        self.node("Clip", flat, self.constant(np.float32(-1)), self.constant(np.float32(1)), name="audio")
        graph = helper.make_graph(self._nodes, "codec", self._inputs, self._outputs, self._constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(_ORT, 1)],
            ir_version=11,
            producer_name="kazeia",
        )
        helper.set_model_props(model, {key: str(value) for key, value in about(g).items()})
        return model

    def latent(self, frames: str) -> str:
        """Codes to the transformer's input (k, hidden)."""
        g = self._geometry
        first = self.get("quant.first.codebook.weight", g.codebook_size, None)
        rest = self.get("quant.rest.codebook.weight", g.codebooks - 1, g.codebook_size, first.shape[1])
        dim = first.shape[1]
        head, tail = self.nodes("Split", "codes", self.ints(1, g.codebooks - 1), n=2, axis=1)
        shift = self.constant((np.arange(g.codebooks - 1, dtype=np.int32) * g.codebook_size)[None, :])
        semantic = self.node("Reshape", self.node("Gather", self.constant(first), head, axis=0), self.ints(-1, dim))
        table = self.constant(rest.reshape(-1, dim))
        acoustic = self.node(
            "ReduceSum", self.node("Gather", table, self.node("Add", tail, shift), axis=0), self.ints(1), keepdims=0
        )
        codebook = self.node("Concat", semantic, acoustic, axis=1)
        out_first = self.get("quant.first.out_proj.weight", None, dim)
        out_rest = self.get("quant.rest.out_proj.weight", out_first.shape[0], dim)
        conv = self.get("pre_conv.weight", None, out_first.shape[0], None)
        into = self.get("tfm.in_proj.weight", None, conv.shape[0])
        outer = np.concatenate([out_first, out_rest], axis=1).astype(np.float64)
        folded = np.einsum("hl,lck,cd->hdk", into, conv, outer, optimize=True)
        bias = into.astype(np.float64) @ self.get("pre_conv.bias", conv.shape[0]) + self.get(
            "tfm.in_proj.bias", into.shape[0]
        )
        return self.causal_rows("latent", codebook, folded.astype(np.float32), bias.astype(np.float32), frames)

    def transformer(self, x: str, frames: str) -> str:
        """(k, hidden) -> (k, hidden), before the output projection."""
        g = self._geometry
        past, d = g.sliding_window - 1, g.head_dim
        now = self.node("Add", "position", frames)  # (k, 1)
        length = self.node("Shape", "codes", start=0, end=1)
        self.node("Add", "position", length, name="position_next")
        # In float32, as the official code computes the angles.
        frequency = (1.0 / (g.rope_theta ** (np.arange(0, d, 2, dtype=np.float32) / np.float32(d)))).astype(np.float32)
        angles = self.node("Mul", self.node("Cast", now, to=TensorProto.FLOAT), self.constant(frequency[None, :]))
        cos, sin = self.node("Cos", angles), self.node("Sin", angles)
        first = self.constant(np.zeros(1, np.int64))
        mask = self.mask(frames, length, past)
        hidden = self.get("tfm.output_norm.weight", None).shape[0]
        qk, kv, inner = (g.heads + g.kv_heads) * d, g.kv_heads * d, g.heads * d
        batch = self.node("Unsqueeze", x, self.ints(0))
        normed = self.node(
            "RMSNormalization",
            batch,
            self.constant(self.get("tfm.blk.0.ln1.weight", hidden)),
            axis=-1,
            epsilon=g.rms_norm_eps,
        )
        for i in range(g.layers):
            at = f"tfm.blk.{i}"
            weight = np.concatenate(
                [
                    self.get(f"{at}.attn_{part}.weight", size, hidden)
                    for part, size in (("q", inner), ("k", kv), ("v", kv))
                ]
            )
            both, values = self.nodes("Split", self.linear(normed, weight), self.ints(qk, kv), n=2, axis=2)
            turned = self.node("RotaryEmbedding", both, first, cos, sin, domain=_ORT)
            queries, keys = self.nodes("Split", turned, self.ints(inner, kv), n=2, axis=2)
            mixed = self.attend(i, queries, keys, values, mask)
            weight = self.get(f"{at}.attn_out.weight", hidden, inner) * self.get(f"{at}.ls1.weight", hidden)[:, None]
            normed, batch = self.add_and_norm(batch, self.linear(mixed, weight), f"{at}.ln2.weight", hidden)
            gate = self.get(f"{at}.ffn_gate.weight", None, hidden)
            ffn = gate.shape[0]
            weight = np.concatenate([gate, self.get(f"{at}.ffn_up.weight", ffn, hidden)])
            gated, up = self.nodes("Split", self.linear(normed, weight), self.ints(ffn, ffn), n=2, axis=2)
            grown = self.node("Mul", self.node("QuickGelu", gated, domain=_ORT, alpha=1.0), up)
            weight = self.get(f"{at}.ffn_down.weight", hidden, ffn) * self.get(f"{at}.ls2.weight", hidden)[:, None]
            last = i == g.layers - 1
            after = "tfm.output_norm.weight" if last else f"tfm.blk.{i + 1}.ln1.weight"
            normed, batch = self.add_and_norm(batch, self.linear(grown, weight), after, hidden)
        return self.node("Squeeze", normed, self.ints(0))

    def add_and_norm(self, x: str, change: str, norm: str, hidden: int) -> tuple[str, str]:
        """(norm of the sum, the sum)."""
        self._n += 2
        normed, total = f"n{self._n}", f"s{self._n}"
        self._nodes.append(
            helper.make_node(
                "SkipSimplifiedLayerNormalization",
                [x, change, self.constant(self.get(norm, hidden))],
                [normed, "", "", total],
                domain=_ORT,
                epsilon=self._geometry.rms_norm_eps,
            )
        )
        return normed, total

    def mask(self, frames: str, length: str, past: int) -> str:
        """(1, 1, k, past + k) to add to the scores: query i sees the slots i to i + past that hold a position."""
        total = self.node("Squeeze", self.node("Add", length, self.ints(past)), self.ints(0))
        zero, one = self.constant(np.array(0, np.int64)), self.constant(np.array(1, np.int64))
        slots = self.node("Range", zero, total, one)  # (past + k,)
        empty = self.node("Sub", self.ints(past), "position")
        seen = self.node(
            "And",
            self.node(
                "And",
                self.node("GreaterOrEqual", slots, frames),
                self.node("LessOrEqual", slots, self.node("Add", frames, self.ints(past))),
            ),
            self.node("GreaterOrEqual", slots, empty),
        )
        mask = self.node("Where", seen, self.constant(np.float32(0)), self.constant(np.float32(_HIDDEN)))
        return self.node("Unsqueeze", mask, self.ints(0, 1))

    def attend(self, layer: int, queries: str, keys: str, values: str, mask: str) -> str:
        g = self._geometry
        past, d = g.sliding_window - 1, g.head_dim
        split = self.ints(1, -1, g.kv_heads, d)
        whole = []
        for kind, part in (("key", keys), ("value", values)):
            heads = self.node("Transpose", self.node("Reshape", part, split), perm=[0, 2, 1, 3])
            name = f"{kind}_{layer}"
            joined = self.node("Concat", self.state(name, 1, g.kv_heads, past, d), heads, axis=2)
            self.keep(name, joined, past, 2)
            if g.kv_heads != g.heads:
                index = np.repeat(np.arange(g.kv_heads, dtype=np.int64), g.heads // g.kv_heads)
                joined = self.node("Gather", joined, self.constant(index), axis=1)
            whole.append(joined)
        return self.node("MultiHeadAttention", queries, *whole, "", "", mask, domain=_ORT, num_heads=g.heads)

    def upsamplers(self, x: str) -> tuple[str, int, int]:
        """(rows, their width, rows a frame)."""
        g = self._geometry
        rate = 1
        out = self.get("tfm.out_proj.weight", None, None)
        out_bias = self.get("tfm.out_proj.bias", out.shape[0])
        width = out.shape[0]
        for i, ratio in enumerate(g.upsampling_ratios):
            at = f"up.blk.{i}"
            # Kernel and stride are equal: every new position has one old one.
            conv = self.get(f"{at}.conv.weight", width, None, ratio)
            flat = conv.transpose(2, 1, 0).reshape(-1, width)  # (ratio * out, in)
            bias = np.tile(self.get(f"{at}.conv.bias", conv.shape[1]), ratio)
            if i == 0:
                bias = bias + flat @ out_bias
                flat = flat @ out
            width = conv.shape[1]
            rate *= ratio
            rows = self.node("Reshape", self.linear(x, flat, bias), self.ints(-1, width))
            x = self.node("Add", rows, self.conv_next(at, rows, width, rate))
        return x, width, rate

    def conv_next(self, at: str, x: str, width: int, rate: int) -> str:
        weight = self.get(f"{at}.dwconv.weight", width, 1, None)
        windows = self.windows(at, x, weight.shape[2], width, self.count("codes", self.ints(rate)))
        deep = self.node(
            "ReduceSum", self.node("Mul", windows, self.constant(weight[:, 0].T)), self.ints(1), keepdims=0
        )
        deep = self.node("Add", deep, self.constant(self.get(f"{at}.dwconv.bias", width)))
        normed = self.node(
            "LayerNormalization",
            deep,
            self.constant(self.get(f"{at}.norm.weight", width)),
            self.constant(self.get(f"{at}.norm.bias", width)),
            axis=-1,
            epsilon=_LAYER_NORM_EPS,
        )
        first = self.get(f"{at}.pw1.weight", None, width)
        grown = self.node("Gelu", self.linear(normed, first, self.get(f"{at}.pw1.bias", first.shape[0])))
        gamma = self.get(f"{at}.gamma", width)
        second = self.get(f"{at}.pw2.weight", width, first.shape[0]) * gamma[:, None]
        return self.linear(grown, second, self.get(f"{at}.pw2.bias", width) * gamma)

    # The convolution stack: (1, channels, positions)

    def stack(self, x: str, width: int, rate: int) -> str:
        g = self._geometry
        entry = self.get("dac.entry.weight", None, width, None)
        channels = entry.shape[0]
        x = self.causal_rows(
            "entry", x, entry, self.get("dac.entry.bias", channels), self.count("codes", self.ints(rate))
        )
        x = self.node("Unsqueeze", self.node("Transpose", x, perm=[1, 0]), self.ints(0))
        for i, stride in enumerate(g.upsample_rates):
            at = f"dac.blk.{i}"
            x = self.snake(f"{at}.snake", x, channels)
            x, channels = self.transposed(at, x, channels, stride)
            for unit, dilation in enumerate(DILATIONS):
                res = f"{at}.res.{unit}"
                y = self.snake(f"{res}.act1", x, channels)
                y = self.causal(f"{res}.conv1", y, channels, channels, dilation)
                y = self.snake(f"{res}.act2", y, channels)
                y = self.causal(f"{res}.conv2", y, channels, channels, 1)
                x = self.node("Add", y, x)
        x = self.snake("dac.post_snake", x, channels)
        return self.causal("dac.post_conv", x, channels, 1, 1)

    def snake(self, name: str, x: str, channels: int) -> str:
        alpha = self.constant(self.get(f"{name}.alpha", channels)[:, None])
        beta = self.constant(self.get(f"{name}.beta", channels)[:, None])
        sine = self.node("Sin", self.node("Mul", x, alpha))
        return self.node("Add", x, self.node("Mul", self.node("Mul", sine, sine), beta))

    def causal(self, name: str, x: str, channels: int, out: int, dilation: int) -> str:
        weight = self.get(f"{name}.weight", out, channels, None)
        kernel = weight.shape[2]
        reach = (kernel - 1) * dilation
        if reach:
            joined = self.node("Concat", self.state(name, 1, channels, reach), x, axis=2)
            self.keep(name, joined, reach, 2)
            x = joined
        return self.node(
            "Conv",
            x,
            self.constant(weight),
            self.constant(self.get(f"{name}.bias", out)),
            kernel_shape=[kernel],
            dilations=[dilation],
        )

    def transposed(self, at: str, x: str, channels: int, stride: int) -> tuple[str, int]:
        """ConvTranspose of kernel 2 * stride as a convolution of 2 taps, whose outputs are the stride's phases."""
        weight = self.get(f"{at}.conv.weight", channels, None, 2 * stride)
        out = weight.shape[1]
        joined = self.node("Concat", self.state(f"{at}.conv", 1, channels, 1), x, axis=2)
        self.keep(f"{at}.conv", joined, 1, 2)
        # taps of the position before are the kernel's second half
        taps = (
            weight.reshape(channels, out, 2, stride)[:, :, ::-1]
            .transpose(3, 1, 0, 2)
            .reshape(stride * out, channels, 2)
        )
        bias = np.tile(self.get(f"{at}.conv.bias", out), stride)
        y = self.node("Conv", joined, self.constant(taps), self.constant(bias), kernel_shape=[2])
        phases = self.node("Transpose", self.node("Reshape", y, self.ints(stride, out, -1)), perm=[1, 2, 0])
        return self.node("Reshape", phases, self.ints(1, out, -1)), out
