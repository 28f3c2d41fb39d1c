"""The speaker encoder's graph against the network in plain numpy."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kazeia_desktop.errors import ModelCorruptError, ModelIncompatibleError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert.speaker_graph import (
    mmproj_name,
    speaker_weights_from_mmproj,
    tensor_names,
    write_speaker_graph,
)
from tests.fakes.speaker_network import make_weights, x_vector

pytestmark = pytest.mark.unit


def run(path: Path, mel: FloatArray) -> FloatArray:
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (vector,) = session.run(None, {"mel": mel})
    return np.asarray(vector)


def mel_of(n_frames: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((n_frames, 128)).astype(np.float32)


@pytest.mark.parametrize("n_frames", [5, 6, 17, 200])
def test_equals_the_reference(n_frames: int, tmp_path: Path) -> None:
    weights = make_weights(3)
    path = tmp_path / "speaker_encoder.onnx"
    assert write_speaker_graph(path, weights.__getitem__, {}) == 24
    found = run(path, mel_of(n_frames))
    assert found.shape == (24,) and found.dtype == np.float32
    np.testing.assert_allclose(found, x_vector(mel_of(n_frames), weights), atol=2e-5)


@settings(max_examples=12, deadline=None)
@given(
    kernels=st.lists(st.integers(1, 5), min_size=3, max_size=5),
    data=st.data(),
    scale=st.sampled_from([2, 4, 8, 16]),
)
def test_every_layout(
    kernels: list[int], data: st.DataObject, scale: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    dilations = data.draw(st.lists(st.integers(1, 4), min_size=len(kernels), max_size=len(kernels)))
    weights = make_weights(5, kernels=tuple(kernels), scale=scale)
    path = tmp_path_factory.mktemp("graph") / "g.onnx"
    config = {"enc_kernel_sizes": kernels, "enc_dilations": dilations, "enc_res2net_scale": scale, "enc_dim": 24}
    write_speaker_graph(path, weights.__getitem__, config)
    expected = x_vector(mel_of(20), weights, tuple(dilations), scale)
    np.testing.assert_allclose(run(path, mel_of(20)), expected, rtol=0, atol=3e-6 * (10 + np.abs(expected).max()))


def test_a_still_clip_has_the_smallest_deviation(tmp_path: Path) -> None:
    weights = make_weights(3)
    write_speaker_graph(tmp_path / "g.onnx", weights.__getitem__, {})
    still = np.broadcast_to(mel_of(1), (40, 128)).astype(np.float32)
    found = run(tmp_path / "g.onnx", still)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, x_vector(still, weights), atol=1e-4)


def test_tensors_are_asked_once_and_written_at_once(tmp_path: Path) -> None:
    weights, asked, sizes = make_weights(3), list[str](), list[int]()
    data = tmp_path / "g.onnx.data"

    def get(name: str) -> FloatArray:
        asked.append(name)
        sizes.append(data.stat().st_size)
        return weights[name]

    write_speaker_graph(tmp_path / "g.onnx", get, {})
    assert asked == list(tensor_names({})) and set(asked) == set(weights)
    assert data.stat().st_size >= sum(tensor.nbytes for tensor in weights.values())
    assert (tmp_path / "g.onnx").stat().st_size < 64_000, "a weight stands in the graph"


def test_the_weights_file_is_where_the_graph_says(tmp_path: Path) -> None:
    weights = make_weights(3)
    write_speaker_graph(tmp_path / "g.onnx", weights.__getitem__, {})
    raw = (tmp_path / "g.onnx.data").read_bytes()
    model = onnx.load(str(tmp_path / "g.onnx"), load_external_data=False)
    for tensor in model.graph.initializer:
        told = {entry.key: entry.value for entry in tensor.external_data}
        if tensor.name in weights:
            offset, length = int(told["offset"]), int(told["length"])
            assert told["location"] == "g.onnx.data" and offset % 64 == 0
            expected = weights[tensor.name].reshape(list(tensor.dims)).tobytes()
            assert raw[offset : offset + length] == expected


@pytest.mark.parametrize("name", [name for name in tensor_names({}) if "res2net" not in name or ".0.conv" in name])
def test_a_wrong_shape_names_the_tensor(name: str, tmp_path: Path) -> None:
    weights = make_weights(3)
    weights[name] = weights[name][:, None] if weights[name].ndim == 1 else weights[name][:, :-1]
    with pytest.raises(ModelCorruptError) as told:
        write_speaker_graph(tmp_path / "g.onnx", weights.__getitem__, {}, source=Path("model.safetensors"))
    assert name in str(told.value)
    assert "model.safetensors" in str(told.value) and "\n" not in str(told.value)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_weight_that_is_no_number(value: float, tmp_path: Path) -> None:
    weights = make_weights(3)
    weights["speaker_encoder.mfa.conv.bias"][2] = value
    with pytest.raises(ModelCorruptError, match=r"speaker_encoder\.mfa\.conv\.bias.*finite"):
        write_speaker_graph(tmp_path / "g.onnx", weights.__getitem__, {})


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"enc_dim": 25}, "enc_dim"),
        ({"enc_dim": "24"}, "enc_dim"),
        ({"enc_channels": [16, 16, 16, 16, 47]}, "enc_channels"),
        ({"enc_channels": 16}, "enc_channels"),
        ({"enc_se_channels": 4}, "enc_se_channels"),
        ({"enc_attention_channels": 5}, "enc_attention_channels"),
        ({"enc_kernel_sizes": [5, 3, 5, 3, 1]}, "enc_kernel_sizes"),
        ({"mel_dim": 80}, r"blocks\.0\.conv\.weight"),
        ({"mel_dim": "128"}, "mel_dim"),
        ({"enc_kernel_sizes": "5"}, "enc_kernel_sizes"),
        ({"enc_kernel_sizes": [5, 3, 3]}, "enc_dilations"),
        ({"enc_dilations": [1, 2, 3, 4, 0]}, "enc_dilations"),
        ({"enc_dilations": [1, 2, 3, 4, 10**9]}, "enc_dilations"),
        ({"enc_dilations": [1, True, 3, 4, 1]}, "enc_dilations"),
        ({"enc_res2net_scale": 1}, "enc_res2net_scale"),
        ({"enc_res2net_scale": None}, "enc_res2net_scale"),
    ],
)
def test_a_wrong_configuration_names_the_key(config: dict[str, object], key: str, tmp_path: Path) -> None:
    with pytest.raises(ModelCorruptError, match=key):
        write_speaker_graph(tmp_path / "g.onnx", make_weights(3).__getitem__, config)


def test_channels_that_cannot_be_sliced(tmp_path: Path) -> None:
    with pytest.raises(ModelCorruptError, match=r"blocks\.0\.conv\.weight.*n \* 5"):
        write_speaker_graph(tmp_path / "g.onnx", make_weights(3).__getitem__, {"enc_res2net_scale": 5})


def test_mmproj_names() -> None:
    assert mmproj_name("speaker_encoder.blocks.0.conv.weight") == "a.conv1d.0.weight"
    assert mmproj_name("speaker_encoder.blocks.2.tdnn1.conv.bias") == "a.blk.2.conv_pw1.bias"
    assert mmproj_name("speaker_encoder.blocks.3.tdnn2.conv.weight") == "a.blk.3.conv_pw2.weight"
    assert mmproj_name("speaker_encoder.blocks.1.res2net_block.blocks.6.conv.weight") == "a.blk.1.res2.6.weight"
    assert mmproj_name("speaker_encoder.blocks.1.se_block.conv2.bias") == "a.blk.1.se_conv2.bias"
    assert mmproj_name("speaker_encoder.asp.tdnn.conv.weight") == "a.asp_tdnn.weight"
    assert mmproj_name("speaker_encoder.asp.conv.weight") == "a.asp_attn.weight"
    assert mmproj_name("speaker_encoder.mfa.conv.weight") == "a.conv_out.weight"
    assert mmproj_name("speaker_encoder.fc.bias") == "mm.a.fc.bias"
    names = [mmproj_name(name) for name in tensor_names({})]
    assert len(set(names)) == len(names) == 76
    for unknown in ("blocks.1.x.weight", "weight", "blocks.1.res2net_block.conv.weight", ""):
        with pytest.raises(ModelIncompatibleError):
            mmproj_name(f"speaker_encoder.{unknown}")


def test_the_pair_gives_the_same_graph(tmp_path: Path) -> None:
    weights = make_weights(3)
    pair = {mmproj_name(name): np.squeeze(tensor) for name, tensor in weights.items()}
    write_speaker_graph(tmp_path / "a.onnx", weights.__getitem__, {})
    write_speaker_graph(tmp_path / "b.onnx", speaker_weights_from_mmproj(pair.__getitem__), {})
    assert (tmp_path / "a.onnx.data").read_bytes() == (tmp_path / "b.onnx.data").read_bytes()
