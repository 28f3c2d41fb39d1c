"""Whisper's two graphs, written node by node from the CTranslate2 weights.

Encoder: mel (1, n_mels, 2 n) -> for each decoder layer the cross-attention's keys (heads, 64, n) and
values (heads, n, 64), so that they are computed once an utterance. n is free, up to 1500 (30 s).

Decoder: tokens (s) -> logits (n_vocab) of the last one. Its self-attention cache has 200 fixed slots; the
graph scatters new keys and values into it, and a caller that binds one buffer as input and output gets
the update in place.
"""

import logging
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from kazeia_desktop.frames import FloatArray
from kazeia_desktop.stt.ctranslate2_file import WhisperWeights
from kazeia_desktop.stt.export import SLOTS

_OPSET: Final = 20
_ORT_DOMAIN: Final = "com.microsoft"
_EPSILON: Final = 1e-5


class _Graph:
    """Nodes and constants of one graph while it is written."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._n = 0

    def constant(self, value: NDArray[Any], name: str = "") -> str:
        name = name or f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:  # noqa: ANN401 - ONNX's own
        self._n += 1
        output = output or f"t{self._n}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def linear(self, x: str, weight: FloatArray, bias: FloatArray | None) -> str:
        """x W^T + b; weight as stored: (out, in)."""
        y = self.node("MatMul", x, self.constant(weight.T))
        return y if bias is None else self.node("Add", y, self.constant(bias))

    def norm(self, x: str, weights: WhisperWeights, name: str, width: int) -> str:
        scale = self.constant(weights.get(f"{name}/gamma", width))
        shift = self.constant(weights.get(f"{name}/beta", width))
        return self.node("LayerNormalization", x, scale, shift, axis=-1, epsilon=_EPSILON)

    def activation(self, x: str, kind: str) -> str:
        if kind == "relu":
            return self.node("Relu", x)
        return self.node("Gelu", x, approximate="tanh" if kind == "gelu_tanh" else "none")

    def heads(self, x: str, n_heads: int, transposed: bool = False) -> str:
        """(s, width) -> (heads, s, 64), or (heads, 64, s)."""
        split = self.node("Reshape", x, self.ints(0, n_heads, -1))
        return self.node("Transpose", split, perm=[1, 2, 0] if transposed else [1, 0, 2])

    def model(self, inputs: list[Any], outputs: list[Any], name: str) -> Any:  # noqa: ANN401 - onnx.ModelProto
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.constants)
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(_ORT_DOMAIN, 1)],
            ir_version=10,
            producer_name="kazeia",
        )


def _float(name: str, *shape: int | str) -> Any:  # noqa: ANN401 - onnx.ValueInfoProto
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


def _attend(g: _Graph, q: str, keys: str, values: str, mask: str | None) -> str:
    """softmax(q keys + mask) values, heads joined: (s, width)."""
    scores = g.node("MatMul", q, keys)
    if mask is not None:
        scores = g.node("Add", scores, mask)
    mixed = g.node("MatMul", g.node("Softmax", scores, axis=-1), values)
    return g.node("Reshape", g.node("Transpose", mixed, perm=[1, 0, 2]), g.ints(0, -1))


def _feed_forward(g: _Graph, x: str, w: WhisperWeights, layer: str) -> str:
    width = w.shape.width
    normed = g.norm(x, w, f"{layer}/ffn/layer_norm", width)
    inner = w.raw(f"{layer}/ffn/linear_0/weight").shape[0]
    up = g.linear(
        normed,
        w.get(f"{layer}/ffn/linear_0/weight", inner, width),
        w.get(f"{layer}/ffn/linear_0/bias", inner),
    )
    down = g.linear(
        g.activation(up, w.activation),
        w.get(f"{layer}/ffn/linear_1/weight", width, inner),
        w.get(f"{layer}/ffn/linear_1/bias", width),
    )
    return g.node("Add", x, down)


def _parts(w: WhisperWeights, name: str, n_parts: int) -> list[tuple[FloatArray, FloatArray]]:
    """A fused linear's weights and biases, one pair a part."""
    width = w.shape.width
    weight = w.get(f"{name}/weight", n_parts * width, width)
    bias = w.get(f"{name}/bias", n_parts * width)
    return [(weight[i * width : (i + 1) * width], bias[i * width : (i + 1) * width]) for i in range(n_parts)]


def _output(g: _Graph, x: str, mixed: str, w: WhisperWeights, name: str) -> str:
    weight, bias = _parts(w, name, 1)[0]
    return g.node("Add", x, g.linear(mixed, weight, bias))


def build_encoder(w: WhisperWeights) -> Any:  # noqa: ANN401 - onnx.ModelProto
    """The encoder's graph, float32."""
    g, s = _Graph(), w.shape
    x = "mel"
    for name, n_in, stride in (("conv1", s.n_mels, 1), ("conv2", s.width, 2)):
        kernel = g.constant(w.get(f"encoder/{name}/weight", s.width, n_in, 3))
        bias = g.constant(w.get(f"encoder/{name}/bias", s.width))
        x = g.node("Conv", x, kernel, bias, kernel_shape=[3], pads=[1, 1], strides=[stride])
        x = g.activation(x, "gelu")
    x = g.node("Transpose", x, perm=[0, 2, 1])  # (1, n, width)
    n = g.node("Shape", x, start=1, end=2)
    positions = g.constant(w.get("encoder/position_encodings/encodings", s.n_positions, s.width))
    x = g.node("Add", x, g.node("Slice", positions, g.ints(0), n, g.ints(0)))
    for i in range(s.n_layers_encoder):
        layer = f"encoder/layer_{i}"
        normed = g.norm(x, w, f"{layer}/self_attention/layer_norm", s.width)
        (qw, qb), (kw, kb), (vw, vb) = _parts(w, f"{layer}/self_attention/linear_0", 3)
        # ONNX Runtime's own: never holds the n x n scores, 72 MB for 30 s (process: 368 MB instead of 647), no slower.
        q, k, v = g.linear(normed, qw, qb), g.linear(normed, kw, kb), g.linear(normed, vw, vb)
        mixed = g.node("MultiHeadAttention", q, k, v, domain=_ORT_DOMAIN, num_heads=s.n_heads)
        x = _output(g, x, mixed, w, f"{layer}/self_attention/linear_1")
        x = _feed_forward(g, x, w, layer)
    x = g.node("Squeeze", g.norm(x, w, "encoder/layer_norm", s.width), g.ints(0))
    outputs = []
    head = s.width // s.n_heads
    for i in range(s.n_layers_decoder):
        (kw, kb), (vw, vb) = _parts(w, f"decoder/layer_{i}/attention/linear_1", 2)
        keys = g.heads(g.linear(x, kw, kb), s.n_heads, transposed=True)
        values = g.heads(g.linear(x, vw, vb), s.n_heads)
        g.node("Identity", keys, output=f"cross_k_{i}")
        g.node("Identity", values, output=f"cross_v_{i}")
        outputs += [_float(f"cross_k_{i}", s.n_heads, head, "n"), _float(f"cross_v_{i}", s.n_heads, "n", head)]
    return g.model([_float("mel", 1, s.n_mels, "frames")], outputs, "encoder")


def build_decoder(w: WhisperWeights) -> Any:  # noqa: ANN401 - onnx.ModelProto
    """The decoder's graph, float32.

    Inputs: tokens (s) int64; positions (s) int64; slots (heads, s, 2) int64: (head, slot) of each new key;
    mask (s, 200): 0 where a slot may be seen, a large negative number elsewhere; self_k_i, self_v_i
    (heads, 200, 64) and cross_k_i, cross_v_i as the encoder gives them. Outputs: logits (n_vocab) and
    self_k_i_new, self_v_i_new.
    """
    g, s = _Graph(), w.shape
    head = s.width // s.n_heads
    scale = np.float32(head**-0.5)
    embeddings = w.get("decoder/embeddings/weight", s.n_vocab, s.width)
    # float16 as published: half the file, and exact
    table = g.constant(embeddings.astype(np.float16))
    x = g.node("Cast", g.node("Gather", table, "tokens", axis=0), to=TensorProto.FLOAT)
    positions = g.constant(w.get("decoder/position_encodings/encodings", s.n_text_positions, s.width))
    x = g.node("Add", x, g.node("Gather", positions, "positions", axis=0))
    inputs = [
        helper.make_tensor_value_info("tokens", TensorProto.INT64, ["s"]),
        helper.make_tensor_value_info("positions", TensorProto.INT64, ["s"]),
        helper.make_tensor_value_info("slots", TensorProto.INT64, [s.n_heads, "s", 2]),
        _float("mask", "s", SLOTS),
    ]
    outputs = [_float("logits", s.n_vocab)]
    for i in range(s.n_layers_decoder):
        layer = f"decoder/layer_{i}"
        normed = g.norm(x, w, f"{layer}/self_attention/layer_norm", s.width)
        (qw, qb), (kw, kb), (vw, vb) = _parts(w, f"{layer}/self_attention/linear_0", 3)
        q = g.heads(g.linear(normed, qw * scale, qb * scale), s.n_heads)
        k = g.heads(g.linear(normed, kw, kb), s.n_heads)
        v = g.heads(g.linear(normed, vw, vb), s.n_heads)
        k = g.node("ScatterND", f"self_k_{i}", "slots", k, output=f"self_k_{i}_new")
        v = g.node("ScatterND", f"self_v_{i}", "slots", v, output=f"self_v_{i}_new")
        mixed = _attend(g, q, g.node("Transpose", k, perm=[0, 2, 1]), v, "mask")
        x = _output(g, x, mixed, w, f"{layer}/self_attention/linear_1")

        normed = g.norm(x, w, f"{layer}/attention/layer_norm", s.width)
        ((qw, qb),) = _parts(w, f"{layer}/attention/linear_0", 1)
        q = g.heads(g.linear(normed, qw * scale, qb * scale), s.n_heads)
        mixed = _attend(g, q, f"cross_k_{i}", f"cross_v_{i}", None)
        x = _output(g, x, mixed, w, f"{layer}/attention/linear_2")
        x = _feed_forward(g, x, w, layer)
        for kind in "kv":
            inputs.append(_float(f"self_{kind}_{i}", s.n_heads, SLOTS, head))
            outputs.append(_float(f"self_{kind}_{i}_new", s.n_heads, SLOTS, head))
        inputs.append(_float(f"cross_k_{i}", s.n_heads, head, "n"))
        inputs.append(_float(f"cross_v_{i}", s.n_heads, "n", head))
    x = g.norm(x, w, "decoder/layer_norm", s.width)
    last = g.node("Slice", x, g.ints(-1), g.constant(np.array([np.iinfo(np.int64).max])), g.ints(0))
    logits = g.node("MatMul", last, g.constant(embeddings.T))
    g.node("Reshape", logits, g.ints(-1), output="logits")
    return g.model(inputs, outputs, "decoder")


def write(model: Any, path: Path, in_8_bits: bool) -> None:  # noqa: ANN401 - onnx.ModelProto
    """Save a graph; in_8_bits: with the weights of its matrix products in 8 bits. Raises OSError."""
    if not in_8_bits:
        onnx.save(model, str(path))
        return
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = path.with_suffix(".float32.onnx.tmp")
    onnx.save(model, str(whole))
    root = logging.getLogger()
    root.addFilter(_no_advice)  # it advises a pre-processing that changes nothing here
    try:
        quantize_dynamic(
            str(whole),
            str(path),
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=False,
            weight_type=QuantType.QInt8,
            # what follows ONNX Runtime's own attention has no type that it can infer
            extra_options={"MatMulConstBOnly": True, "DefaultTensorType": TensorProto.FLOAT},
        )
    finally:
        root.removeFilter(_no_advice)
    whole.unlink()


def _no_advice(record: logging.LogRecord) -> bool:
    return "pre-processing before quantization" not in record.getMessage()
