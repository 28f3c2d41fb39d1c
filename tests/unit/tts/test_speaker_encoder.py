"""Mel frames and x-vectors; damaged graphs."""

import json
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kazeia_desktop.errors import (
    AudioFormatError,
    KazeiaError,
    ModelCorruptError,
    ModelError,
    ModelIncompatibleError,
    ModelMissingError,
)
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.tts.speaker_encoder import SpeakerEncoder, log_mel
from tests.fakes.speaker_network import Weights, voice_like, write_model, x_vector

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Weights]:
    folder = tmp_path_factory.mktemp("voice") / "modèle"
    return folder, write_model(folder)


def slow_mel(audio: FloatArray) -> NDArray[np.float64]:
    """The definition: every frame a sum over samples, every filter a triangle, in float64."""
    padded = np.pad(audio.astype(np.float64), 384, mode="reflect")
    n_frames = (len(padded) - 1024) // 256 + 1
    t = np.arange(1024)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * t / 1024)
    turns = np.exp(-2j * np.pi * np.outer(np.arange(513), t) / 1024)
    hz_of_bin = np.arange(513) * 24_000 / 1024

    def hz_of(mel: float) -> float:
        return mel * 200 / 3 if mel < 15 else 1000 * 6.4 ** ((mel - 15) / 27)

    top = 15 + 27 * np.log(12) / np.log(6.4)
    corners = [hz_of(i * top / 129) for i in range(130)]
    out = np.empty((n_frames, 128))
    for f in range(n_frames):
        magnitude = np.sqrt(np.abs(turns @ (padded[256 * f : 256 * f + 1024] * window)) ** 2 + 1e-9)
        for m in range(128):
            low, centre, high = corners[m : m + 3]
            rise, fall = (hz_of_bin - low) / (centre - low), (high - hz_of_bin) / (high - centre)
            weights = np.maximum(0, np.minimum(rise, fall)) * 2 / (high - low)
            out[f, m] = np.log(max(weights @ magnitude, 1e-5))
    return out


@pytest.mark.parametrize("n", [1280, 1281, 1535, 1536, 9000, 256 * 300 + 77])
def test_mel_equals_its_definition(n: int) -> None:
    audio = voice_like(n / 24_000, seed=n)
    found = log_mel(audio)
    assert found.shape == (n // 256, 128) and found.dtype == np.float32
    part = slice(None) if n < 10_000 else slice(250, 262)  # around the edge of a block
    np.testing.assert_allclose(found[part], slow_mel(audio)[part], atol=2e-5)


def test_mel_of_silence_is_the_floor() -> None:
    mel = log_mel(np.zeros(24_000, np.float32))
    assert np.isfinite(mel).all() and mel.min() >= np.float32(np.log(1e-5))


@pytest.mark.parametrize(
    ("audio", "told"),
    [
        (np.zeros(1279, np.float32), "0.05 s"),
        (np.zeros(0, np.float32), "0.00 s"),
        (np.zeros(60 * 24_000 + 1, np.float32), "60.00 s"),
        (np.zeros(24_000, np.float64), "float32"),
        (np.zeros((24_000, 1), np.float32), "float32"),
        (np.full(24_000, np.nan, np.float32), "not numbers"),
        (np.full(24_000, -np.inf, np.float32), "not numbers"),
    ],
)
def test_what_cannot_be_heard(audio: FloatArray, told: str) -> None:
    with pytest.raises(AudioFormatError, match=told) as error:
        log_mel(audio)
    assert "\n" not in str(error.value)


def test_the_x_vector_equals_the_reference(model: tuple[Path, Weights]) -> None:
    folder, weights = model
    audio = voice_like(2.0)
    encoder = SpeakerEncoder.load(folder, threads=1)
    found = encoder.embed(audio)
    assert encoder.width == 24 and found.shape == (24,) and found.dtype == np.float32
    expected = x_vector(log_mel(audio), weights)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * (10 + np.abs(expected).max()))
    np.testing.assert_array_equal(encoder.embed(audio), found)
    np.testing.assert_allclose(SpeakerEncoder.load(folder, threads=2).embed(audio), found, atol=1e-4)


def test_the_fingerprint_is_of_the_weights(model: tuple[Path, Weights], tmp_path: Path) -> None:
    write_model(tmp_path / "same", name="another name")
    write_model(tmp_path / "other", seed=9)
    first, same, other = (SpeakerEncoder.load(f) for f in (model[0], tmp_path / "same", tmp_path / "other"))
    assert first.fingerprint == same.fingerprint != other.fingerprint and len(first.fingerprint) == 16


def test_a_long_clip_in_bounded_memory() -> None:
    audio = voice_like(60.0)
    log_mel(audio[:2000])
    tracemalloc.start()
    try:
        log_mel(audio)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * audio.nbytes, "more than the clip, its mirror and its mel frames"


def test_a_model_without_an_encoder(tmp_path: Path) -> None:
    write_model(tmp_path / "own", name="Fine speakers", speaker=False)
    with pytest.raises(ModelIncompatibleError, match="Fine speakers"):
        SpeakerEncoder.load(tmp_path / "own")
    with pytest.raises(ModelMissingError, match="manifest"):
        SpeakerEncoder.load(tmp_path / "nothing")


def damaged(tmp_path: Path, change: object) -> Path:
    folder = tmp_path / "model"
    write_model(folder)
    graph = folder / "speaker_encoder.onnx"
    proto = onnx.load(str(graph), load_external_data=False)
    assert callable(change)
    change(proto)
    graph.write_bytes(proto.SerializeToString())
    return graph


def tensor_of(proto: onnx.ModelProto, name: str) -> onnx.TensorProto:
    found: onnx.TensorProto = next(tensor for tensor in proto.graph.initializer if name in tensor.name)
    return found


def set_entry(proto: onnx.ModelProto, key: str, value: str) -> None:
    next(e for e in tensor_of(proto, "mfa.conv.weight").external_data if e.key == key).value = value


def add_node(proto: onnx.ModelProto) -> None:
    proto.graph.node.append(onnx.helper.make_node("RandomNormal", [], ["noise"], name="noise", shape=[10**12]))


def widen_border(proto: onnx.ModelProto) -> None:
    pads = next(t for t in proto.graph.initializer if len(t.raw_data) == 48)
    pads.raw_data = np.array([0, 0, 1 << 40, 0, 0, 1 << 40], np.int64).tobytes()


def set_stride(proto: onnx.ModelProto) -> None:
    conv = next(node for node in proto.graph.node if node.op_type == "Conv")
    conv.attribute.append(onnx.helper.make_attribute("pads", [1 << 40, 1 << 40]))


def first_tensor_empty(proto: onnx.ModelProto) -> None:
    next(node for node in proto.graph.node if node.op_type == "Max").input[1] = ""  # ONNX Runtime crashes on it


def set_dilation(proto: onnx.ModelProto, value: int) -> None:
    conv = next(node for node in proto.graph.node if "mfa.conv.weight" in "".join(node.input))
    next(a for a in conv.attribute if a.name == "dilations").ints[0] = value


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda p: set_entry(p, "offset", "-64"), "mfa.conv.weight: offset"),
        (lambda p: set_entry(p, "offset", str(1 << 62)), "mfa.conv.weight: offset"),
        (lambda p: set_entry(p, "offset", "x"), "mfa.conv.weight: offset"),
        (lambda p: set_entry(p, "length", "4"), "mfa.conv.weight: length"),
        (lambda p: set_entry(p, "location", "../../secret"), "mfa.conv.weight: location"),
        (lambda p: tensor_of(p, "mfa.conv.weight").dims.__setitem__(0, 1 << 40), "mfa.conv.weight: shape"),
        (lambda p: tensor_of(p, "mfa.conv.weight").dims.__setitem__(0, -1), "mfa.conv.weight: shape"),
        (lambda p: tensor_of(p, "mfa.conv.weight").dims.pop(), "mfa.conv.weight: shape"),
        (lambda p: tensor_of(p, "asp.tdnn.conv.weight.x").dims.pop(), "asp.tdnn.conv.weight.x: shape"),
        (lambda p: setattr(tensor_of(p, "fc.bias"), "data_type", 10), "fc.bias: type"),
        (lambda p: setattr(tensor_of(p, "fc.bias"), "name", "x"), "lacks the tensor speaker_encoder.fc.bias"),
        (
            lambda p: setattr(tensor_of(p, "res2net_block.blocks.6.conv.weight"), "name", "x"),
            "blocks.0.conv.weight: shape",
        ),
        (lambda p: p.graph.initializer.pop(), "graph"),
        (lambda p: set_dilation(p, 0), "mfa.conv.weight: dilation"),
        (lambda p: set_dilation(p, 1 << 40), "mfa.conv.weight: dilation"),
        (first_tensor_empty, "node Max"),
        (add_node, "graph"),
        (widen_border, "values"),
        (set_stride, "node Conv"),
        (lambda p: p.graph.input.pop(), "graph"),
        (lambda p: p.graph.node.pop(), "graph"),
        (lambda p: tensor_of(p, "fc.weight").dims.__setitem__(slice(None), [1, 96, 24]), "fc.weight: shape"),
    ],
)
def test_a_damaged_graph_is_told(change: object, told: str, tmp_path: Path) -> None:
    graph = damaged(tmp_path, change)
    with pytest.raises(ModelCorruptError) as error:
        SpeakerEncoder(graph, 24)
    assert told in str(error.value) and str(graph) in str(error.value) and "\n" not in str(error.value)


def test_another_width_than_the_manifest(model: tuple[Path, Weights]) -> None:
    with pytest.raises(ModelCorruptError, match="x_vector"):
        SpeakerEncoder(model[0] / "speaker_encoder.onnx", 25)


@pytest.mark.parametrize("file", ["speaker_encoder.onnx", "speaker_encoder.onnx.data"])
def test_a_missing_or_short_file(file: str, tmp_path: Path) -> None:
    write_model(tmp_path / "m")
    path = tmp_path / "m" / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ModelCorruptError, match="speaker_encoder"):
        SpeakerEncoder(tmp_path / "m" / "speaker_encoder.onnx", 24)
    with pytest.raises(ModelCorruptError, match="speaker_encoder"):
        SpeakerEncoder.load(tmp_path / "m")
    path.unlink()
    with pytest.raises(ModelMissingError, match="speaker_encoder"):
        SpeakerEncoder(tmp_path / "m" / "speaker_encoder.onnx", 24)


def test_weights_that_are_no_numbers(tmp_path: Path) -> None:
    write_model(tmp_path / "m")
    data = tmp_path / "m" / "speaker_encoder.onnx.data"
    data.write_bytes(b"\xff" * data.stat().st_size)
    with pytest.raises(ModelError):
        SpeakerEncoder(tmp_path / "m" / "speaker_encoder.onnx", 24)


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph to damage; the sound one stays beside it."""
    folder = tmp_path_factory.mktemp("byte") / "m"
    write_model(folder)
    shutil.copy(folder / "speaker_encoder.onnx", folder / "whole")
    return folder / "speaker_encoder.onnx"


@settings(max_examples=150, deadline=None)
@given(where=st.integers(0, 1 << 30), to=st.integers(0, 255))
def test_any_byte_of_the_graph(where: int, to: int, victim: Path) -> None:
    graph = victim
    raw = bytearray((graph.parent / "whole").read_bytes())
    raw[where % len(raw)] = to
    graph.write_bytes(raw)
    try:
        vector = SpeakerEncoder(graph, 24).embed(voice_like(0.2))
    except KazeiaError as error:
        assert "\n" not in str(error)
    else:
        assert np.isfinite(vector).all()


def test_the_manifest_says_the_rate(tmp_path: Path) -> None:
    write_model(tmp_path / "m")
    manifest = tmp_path / "m" / "manifest.json"
    record = json.loads(manifest.read_text("utf-8"))
    record["speaker_encoder"]["sample_rate_hz"] = 16_000
    manifest.write_text(json.dumps(record), "utf-8")
    with pytest.raises(ModelError, match="16000"):
        SpeakerEncoder.load(tmp_path / "m")
