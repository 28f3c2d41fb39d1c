"""Damaged and foreign model files always end in a ModelError or a sound reading."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kazeia_desktop.errors import ModelCorruptError, ModelError, ModelIncompatibleError, ModelMissingError
from kazeia_desktop.stt.ctranslate2_file import WhisperWeights

pytestmark = pytest.mark.unit

_CODES = {"float32": 0, "int8": 1, "int16": 2, "int32": 3, "float16": 4}


def tensors() -> dict[str, NDArray[Any]]:
    """The tensors that the reader looks at, as small as it accepts."""
    width, random = 4, np.random.default_rng(1)

    def some(*shape: int) -> NDArray[Any]:
        return random.standard_normal(shape).astype(np.float16)

    return {
        "encoder/conv1/weight": some(width, 3, 3),
        "encoder/position_encodings/encodings": np.zeros((1500, width), np.float16),
        "encoder/num_heads": np.array([2], np.int16),
        "encoder/layer_0/ffn/linear_0/weight": some(8, width),
        "decoder/embeddings/weight": some(11, width),
        "decoder/position_encodings/encodings": some(5, width),
        "decoder/activation": np.array([3], np.int8),
        "decoder/layer_0/ffn/linear_0/weight": some(8, width),
    }


def packed(held: dict[str, NDArray[Any]], version: int = 6, spec: str = "WhisperSpec") -> bytes:
    """A model.bin of version 6."""

    def string(text: str) -> bytes:
        raw = text.encode() + b"\0"
        return struct.pack("<H", len(raw)) + raw

    out = struct.pack("<I", version) + string(spec) + struct.pack("<II", 3, len(held))
    for name, value in held.items():
        raw = value.tobytes()
        out += string(name) + struct.pack("<B", value.ndim) + struct.pack(f"<{value.ndim}I", *value.shape)
        out += struct.pack("<BI", _CODES[value.dtype.name], len(raw)) + raw
    return out


def write(folder: Path, raw: bytes, config: bytes = b"{}") -> Path:
    (folder / "model.bin").write_bytes(raw)
    (folder / "config.json").write_bytes(config)
    return folder


def use(folder: Path) -> None:
    """Everything that the rest of the program asks of the reader."""
    weights = WhisperWeights(folder)
    shape = weights.shape
    assert shape.width % shape.n_heads == 0
    weights.get("encoder/conv1/weight", shape.width, shape.n_mels, 3)
    assert weights.activation in {"relu", "gelu", "gelu_tanh"}


def test_a_sound_file_is_read_exactly(tmp_path: Path) -> None:
    held = tensors()
    weights = WhisperWeights(write(tmp_path, packed(held), json.dumps({"suppress_ids": [1]}).encode()))
    for name, value in held.items():
        np.testing.assert_array_equal(weights.raw(name), value)
    assert (weights.shape.width, weights.shape.n_heads, weights.shape.n_mels, weights.shape.n_vocab) == (4, 2, 3, 11)
    assert (weights.shape.n_layers_encoder, weights.shape.n_layers_decoder) == (1, 1)
    assert weights.activation == "gelu"
    assert weights.config == {"suppress_ids": [1]}
    wide = weights.get("decoder/embeddings/weight", 11, 4)
    assert wide.dtype == np.float32
    np.testing.assert_array_equal(wide, held["decoder/embeddings/weight"].astype(np.float32))


def test_cut_anywhere_it_is_a_model_error(tmp_path: Path) -> None:
    raw = packed(tensors())
    for length in sorted({*range(0, len(raw), 97), *range(60), len(raw) - 1}):
        with pytest.raises(ModelError) as caught:
            use(write(tmp_path, raw[:length]))
        assert "\n" not in str(caught.value)
        assert str(tmp_path) in str(caught.value)


_RAW = packed(tensors())
_ENCODINGS = _RAW.index(b"encoder/position_encodings") + 60  # 12 kB of zeros that say nothing
_SPOTS = [*range(_ENCODINGS), *range(_ENCODINGS + 11_900, len(_RAW))]


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@given(spot=st.sampled_from(_SPOTS), value=st.integers(0, 255))
@settings(max_examples=400, deadline=None)
def test_a_changed_byte_is_a_model_error_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, spot: int, value: int
) -> None:
    raw = bytearray(_RAW)
    raw[spot] = value
    try:
        use(write(tmp_path_factory.getbasetemp(), bytes(raw)))
    except ModelError as error:
        assert "\n" not in str(error)


@given(raw=st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_foreign_bytes_are_a_model_error(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    with pytest.raises(ModelError):
        use(write(tmp_path_factory.getbasetemp(), raw))


def test_each_fault_is_told_by_its_name(tmp_path: Path) -> None:
    def said(raw: bytes, kind: type[ModelError]) -> str:
        with pytest.raises(kind) as caught:
            use(write(tmp_path, raw))
        return str(caught.value)

    assert "found 5" in said(packed(tensors(), version=5), ModelIncompatibleError)
    assert "not a Whisper model" in said(packed(tensors(), spec="TransformerSpec"), ModelIncompatibleError)
    missing = tensors()
    del missing["decoder/embeddings/weight"]
    assert "decoder/embeddings/weight" in said(packed(missing), ModelCorruptError)
    nan = tensors()
    nan["encoder/conv1/weight"][0, 0, 0] = np.nan
    assert "encoder/conv1/weight" in said(packed(nan), ModelCorruptError)
    quantised = tensors()
    quantised["encoder/conv1/weight"] = quantised["encoder/conv1/weight"].astype(np.int8)
    assert "quantised" in said(packed(quantised), ModelIncompatibleError)
    gap = tensors()
    gap["decoder/layer_2/ffn/linear_0/weight"] = np.zeros((8, 4), np.float16)
    assert "decoder" in said(packed(gap), ModelCorruptError)
    for name in ("decoder/activation", "encoder/num_heads"):
        for value in (np.zeros(0, np.int8), np.array([np.nan], np.float16), np.array([99], np.int8)):
            said(packed(tensors() | {name: value}), ModelCorruptError)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match=r"config\.json"):
        WhisperWeights(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelMissingError, match=r"model\.bin"):
        WhisperWeights(tmp_path)


@pytest.mark.parametrize("config", [b"", b"[]", b"{", b"\xff\xfe", b'"x"', b"null", b"[" * 100_000])
def test_a_damaged_config_is_named(tmp_path: Path, config: bytes) -> None:
    with pytest.raises(ModelCorruptError, match=r"config\.json"):
        WhisperWeights(write(tmp_path, packed(tensors()), config))
