"""The written graph against a plain numpy decoder, block by block and whole, and what it says of wrong tensors."""

import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto

from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.models.convert.codec_graph import MAX_FRAMES, RING, _Decoder, write_codec_graph
from kazeia_desktop.models.convert.codec_weights import CodecGeometry, official_codec_weights
from kazeia_desktop.models.convert.graph_writer import GraphWriter
from tests import codec_reference as reference
from tests.codec_reference import GEOMETRY

pytestmark = pytest.mark.unit

Run = Callable[..., dict[str, Any]]


def folded(tensors: dict[str, FloatArray], g: CodecGeometry = GEOMETRY) -> dict[str, FloatArray]:
    return dict(official_codec_weights(tensors.__getitem__, reference.official_config(g)))


def session(file: Path) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(str(file), options, ["CPUExecutionProvider"])


def chunks(opened: ort.InferenceSession, plan: list[int], codes: IntArray) -> FloatArray:
    """The audio of a decoder fed by `plan`, its states carried by name."""
    kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64}
    state = {i.name: np.zeros(i.shape, kinds[i.type]) for i in opened.get_inputs() if i.name != "codes"}
    names = [output.name for output in opened.get_outputs()]
    parts, at = [], 0
    for k in plan:
        values = dict(zip(names, opened.run(None, state | {"codes": codes[at : at + k]}), strict=True))
        parts.append(values.pop("audio"))
        state = {name: values[f"{name}_next"] for name in state}
        at += k
    return np.concatenate(parts)


def codes_of(n: int, g: CodecGeometry = GEOMETRY) -> IntArray:
    return np.random.default_rng(5).integers(0, g.codebook_size, (n, g.codebooks)).astype(np.int32)


@pytest.mark.parametrize("kv_heads", [1, 2])
@pytest.mark.parametrize("plan", [[8, 8, 8, 6], [1] * 30, [1, 2, 4, 8, 7, 3, 5]])
def test_decodes_as_the_reference(kv_heads: int, plan: list[int], tmp_path: Path) -> None:
    g = replace(GEOMETRY, kv_heads=kv_heads)
    tensors = reference.official_tensors(g)
    about = write_codec_graph(tmp_path / "codec.onnx", folded(tensors, g).__getitem__, g)
    assert about["samples_per_frame"] == 48 and about["max_frames"] == MAX_FRAMES
    codes = codes_of(30, g)
    want = reference.decode(codes, tensors, g)
    assert want.std() > 0.05 and np.abs(want).max() < 1  # neither silence nor clipped throughout
    np.testing.assert_allclose(chunks(session(tmp_path / "codec.onnx"), plan, codes), want, atol=5e-6)


def test_a_snake_of_a_large_beta_keeps_its_digits(tmp_path: Path) -> None:
    """The cosine form would leave 1e7 * 6e-8 of error."""
    tensors = reference.official_tensors()
    for unit in (2, 3, 4):
        tensors[f"decoder.decoder.1.block.{unit}.act2.beta"] -= 16
        tensors[f"decoder.decoder.1.block.{unit}.act2.alpha"] -= 9
    write_codec_graph(tmp_path / "codec.onnx", folded(tensors).__getitem__, GEOMETRY)
    codes = codes_of(20)
    got = chunks(session(tmp_path / "codec.onnx"), [8, 8, 4], codes)
    np.testing.assert_allclose(got, reference.decode(codes, tensors), atol=2e-5)


def test_the_audio_is_clamped(tmp_path: Path) -> None:
    tensors = reference.official_tensors()
    tensors["decoder.decoder.5.conv.weight"] *= 40
    write_codec_graph(tmp_path / "codec.onnx", folded(tensors).__getitem__, GEOMETRY)
    audio = chunks(session(tmp_path / "codec.onnx"), [8], codes_of(8))
    assert (audio.min(), audio.max()) == (-1, 1)


# Blocks by themselves


def piece(tmp_path: Path, tensors: dict[str, FloatArray], build: Callable[[_Decoder, GraphWriter], str]) -> Run:
    """A graph of one block: the input x, whose shape is free, and whatever states the block declares."""
    file = tmp_path / "piece.onnx"
    named = {f"a.gen.wav.{name}": value for name, value in tensors.items()}
    with (tmp_path / "piece.onnx.data").open("wb") as data:
        w = GraphWriter(file, data)
        w.input("codes", TensorProto.INT32, "k", 4)  # rows count by it
        y = build(_Decoder(w, named.__getitem__, GEOMETRY), w)
        w.node("Identity", y, name="y")
        w.output("y", TensorProto.FLOAT, *["a", "b", "c"][: 3 if "columns" in build.__name__ else 2])
        w.save("piece", {})
    opened = session(file)
    names = [output.name for output in opened.get_outputs()]
    wanted = {part.name: part.shape for part in opened.get_inputs()}

    def run(x: FloatArray, state: dict[str, Any]) -> dict[str, Any]:
        feeds = {"x": x, "codes": np.zeros((x.shape[0] if x.ndim == 2 else 1, 4), np.int32)} | state
        for name, shape in wanted.items():
            feeds.setdefault(name, np.zeros(shape, np.float32) if name not in ("x", "codes") else None)
        return dict(zip(names, opened.run(None, {name: feeds[name] for name in wanted}), strict=True))

    return run


def pushed(run: Run, x: FloatArray, plan: list[int], axis: int) -> FloatArray:
    state: dict[str, Any] = {}
    parts, at = [], 0
    for k in plan:
        got = run(np.ascontiguousarray(np.take(x, range(at, at + k), axis)), state)
        state = {name.removesuffix("_next"): value for name, value in got.items() if name != "y"}
        parts.append(got["y"])
        at += k
    return np.concatenate(parts, axis)


PLANS = [[12], [1] * 12, [5, 1, 6]]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("dilation", [1, 3, 9])
@pytest.mark.parametrize("rows", [True, False])
def test_a_causal_convolution(rows: bool, dilation: int, plan: list[int], tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    weight, bias = rng.standard_normal((5, 3, 7)).astype(np.float32), rng.standard_normal(5).astype(np.float32)
    x = rng.standard_normal((3, 12)).astype(np.float32)

    def row_block(d: _Decoder, w: GraphWriter) -> str:
        return d.causal_rows("past", w.input("x", TensorProto.FLOAT, "n", 3), weight, bias, 1, dilation)

    def columns_block(d: _Decoder, w: GraphWriter) -> str:
        return d.conv("past", w.input("x", TensorProto.FLOAT, 1, 3, "n"), weight, bias, dilation)

    run = piece(tmp_path, {}, row_block if rows else columns_block)
    got = pushed(run, x.T, plan, 0).T if rows else pushed(run, x[None], plan, 2)[0]
    want = reference.causal_conv(x.astype(float), weight.astype(float), bias.astype(float), dilation)
    np.testing.assert_allclose(got, want, atol=1e-5)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(("block", "stride"), [(0, 2), (0, 5), (2, 3), (2, 4)])
def test_a_transposed_convolution(block: int, stride: int, plan: list[int], tmp_path: Path) -> None:
    """Blocks below the second on rows, others on columns."""
    rng = np.random.default_rng(3)
    tensors = {
        "up.weight": rng.standard_normal((4, 3, 2 * stride)).astype(np.float32),
        "up.bias": rng.standard_normal(3).astype(np.float32),
    }
    x = rng.standard_normal((4, 12)).astype(np.float32)

    def row_block(d: _Decoder, w: GraphWriter) -> str:
        return d.upsample("up", w.input("x", TensorProto.FLOAT, "n", 4), 4, stride, 1, block)[0]

    def columns_block(d: _Decoder, w: GraphWriter) -> str:
        return d.upsample("up", w.input("x", TensorProto.FLOAT, 1, 4, "n"), 4, stride, 1, block)[0]

    run = piece(tmp_path, tensors, columns_block if block else row_block)
    got = pushed(run, x[None], plan, 2)[0] if block else pushed(run, x.T, plan, 0).T
    weight, bias = (value.astype(float) for value in tensors.values())
    np.testing.assert_allclose(got, reference.transposed_conv(x.astype(float), weight, bias, stride), atol=1e-5)


def test_a_snake(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    alpha, beta = rng.standard_normal((2, 6)).astype(np.float32)
    tensors = {"s.alpha": np.exp(alpha), "s.beta": (1 / (np.exp(beta) + 1e-9)).astype(np.float32)}
    x = (4 * rng.standard_normal((50, 6))).astype(np.float32)

    def row_block(d: _Decoder, w: GraphWriter) -> str:
        return d.snake("s", w.input("x", TensorProto.FLOAT, "n", 6), 6, True)

    got = piece(tmp_path, tensors, row_block)(x, {})["y"]
    want = reference.snake(x.T.astype(float), alpha.astype(float), beta.astype(float)).T
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("window", [1, 2, 5, 30])
def test_attention_sees_its_window_and_no_more(window: int, tmp_path: Path) -> None:
    """45 frames go round the ring of window + 8 slots."""
    g = replace(GEOMETRY, sliding_window=window)
    tensors = reference.official_tensors(g)
    write_codec_graph(tmp_path / "codec.onnx", folded(tensors, g).__getitem__, g)
    codes = codes_of(45)
    want = reference.decode(codes, tensors, g)
    got = chunks(session(tmp_path / "codec.onnx"), [1, 2, 4, 8, 8, 8, 8, 6], codes)
    np.testing.assert_allclose(got, want, atol=5e-6)
    assert np.abs(want - reference.decode(codes, tensors, replace(g, sliding_window=window + 1))).max() > 1e-3


# Tensors that are wrong


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    tensors = folded(reference.official_tensors())
    del tensors["a.gen.wav.up.blk.1.gamma"]
    with pytest.raises(ModelCorruptError, match=r"a\.gen\.wav\.up\.blk\.1\.gamma"):
        write_codec_graph(tmp_path / "codec.onnx", tensors.__getitem__, GEOMETRY)


def test_a_tensor_of_another_shape_is_named_or_fits(tmp_path: Path) -> None:
    """Some sizes are free (a convolution's taps): then the graph works."""
    good = folded(reference.official_tensors())
    named = 0
    for name, value in good.items():
        for other in (value[..., :-1], value[None], np.concatenate([value, value])):
            tensors = good | {name: np.ascontiguousarray(other)}
            try:
                write_codec_graph(tmp_path / "codec.onnx", tensors.__getitem__, GEOMETRY)
            except ModelCorruptError as error:
                assert "tensor a.gen.wav." in str(error), (name, str(error))
                named += 1
            else:
                audio = chunks(session(tmp_path / "codec.onnx"), [2], codes_of(2))
                assert audio.shape == (96,) and np.isfinite(audio).all(), name
    assert named > 2.5 * len(good)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named(value: float, tmp_path: Path) -> None:
    tensors = folded(reference.official_tensors())
    tensors["a.gen.wav.dac.blk.1.res.2.conv1.weight"][0, 1, 2] = value
    with pytest.raises(ModelCorruptError, match=r"blk\.1\.res\.2\.conv1\.weight holds values that are not finite"):
        write_codec_graph(tmp_path / "codec.onnx", tensors.__getitem__, GEOMETRY)


# The file


def test_tensors_are_not_kept(tmp_path: Path) -> None:
    """At most a handful live at once, whatever the model's size."""
    tensors = folded(reference.official_tensors())
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    most = 0

    class Seen(np.ndarray):  # a plain array takes no weak reference
        def __hash__(self) -> int:  # type: ignore[override]
            return id(self)

        def __eq__(self, other: object) -> bool:  # type: ignore[override]
            return self is other

    def get(name: str) -> FloatArray:
        nonlocal most
        value = tensors[name].copy().view(Seen)
        alive.add(value)
        most = max(most, len(alive))
        return value

    write_codec_graph(tmp_path / "codec.onnx", get, GEOMETRY)
    assert most <= 8 < len(tensors)


def test_the_weights_are_beside_the_graph(tmp_path: Path) -> None:
    write_codec_graph(tmp_path / "codec.onnx", folded(reference.official_tensors()).__getitem__, GEOMETRY)
    assert {file.name for file in tmp_path.iterdir()} == {"codec.onnx", "codec.onnx.data"}
    model = onnx.load(str(tmp_path / "codec.onnx"), load_external_data=False)
    outside = [tensor for tensor in model.graph.initializer if tensor.data_location == TensorProto.EXTERNAL]
    assert outside and all(dict_of(tensor)["location"] == "codec.onnx.data" for tensor in outside)
    assert all(int(dict_of(tensor)["offset"]) % 4096 == 0 for tensor in outside)
    assert {prop.key for prop in model.metadata_props} >= {"samples_per_frame", "codebook_size", "max_frames"}


def dict_of(tensor: TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}


def test_states_come_back_in_the_shape_they_went_in(tmp_path: Path) -> None:
    write_codec_graph(tmp_path / "codec.onnx", folded(reference.official_tensors()).__getitem__, GEOMETRY)
    opened = session(tmp_path / "codec.onnx")
    inputs = {part.name: part.shape for part in opened.get_inputs() if part.name != "codes"}
    outputs = {part.name: part.shape for part in opened.get_outputs() if part.name != "audio"}
    assert outputs == {f"{name}_next": shape for name, shape in inputs.items()}
    rings = [name for name in inputs if name.startswith(RING)]
    assert len(rings) == 2 * GEOMETRY.layers
    assert inputs["dac.blk.0.res.2.conv1"] == [54, 8] and inputs["dac.blk.2.res.1.conv1"] == [1, 2, 18]
