"""Quantisation bit by bit as ggml's own, and back."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kazeia_desktop.formats.ggml_types import BLOCKS, GgmlType, bf16_to_f32, dequantize, f32_to_bf16, n_bytes, quantize
from kazeia_desktop.frames import FloatArray

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def ggml() -> ctypes.CDLL:
    import llama_cpp

    (path,) = (Path(llama_cpp.__file__).parent / "lib").glob("libggml-base.so")
    library = ctypes.CDLL(str(path))
    library.ggml_quantize_chunk.restype = ctypes.c_size_t
    library.ggml_quantize_chunk.argtypes = [
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p,
    ]  # fmt: skip
    for name in ("ggml_blck_size", "ggml_type_size"):
        getattr(library, name).restype = ctypes.c_int64 if name == "ggml_blck_size" else ctypes.c_size_t
    return library


def theirs(ggml: ctypes.CDLL, rows: FloatArray, kind: GgmlType) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    out = np.zeros(n_bytes(rows.size, kind), np.uint8)
    written = ggml.ggml_quantize_chunk(
        int(kind), rows.ctypes.data, out.ctypes.data, 0, rows.shape[0], rows.shape[1], None
    )
    assert written == out.size
    return out


def hard_rows() -> FloatArray:
    """Ordinary values, halves between two codes, zeros, tiny and huge scales, denormals, and signed zeros."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((3000, 256)).astype(np.float32)
    rows[:300] = np.round(rows[:300] * 8) / 8
    rows[300] = 0
    rows[301] = -0.0
    rows[302] *= np.float32(1e-42)
    rows[303] *= np.float32(1e-8)
    rows[304:600] *= (10.0 ** rng.uniform(-9, 5, (296, 1))).astype(np.float32)
    rows[600, :32] = [127, 0.49999997, -0.49999997, 0.5, -0.5, 1.5, 2.5, -126.5, *[0.0] * 24]
    rows[601, :32] = [-8, 7.5, 8, 0.5, -0.5, 3.5, -3.5, *[0.0] * 25]
    return rows


@pytest.mark.parametrize("kind", [GgmlType.Q8_0, GgmlType.Q4_0, GgmlType.F16])
def test_the_same_bits_as_ggml(ggml: ctypes.CDLL, kind: GgmlType) -> None:
    rows = hard_rows()
    np.testing.assert_array_equal(quantize(rows, kind), theirs(ggml, rows, kind))


blocks = hnp.arrays(np.float32, (4, 32), elements=st.floats(-1e6, 1e6, width=32, allow_nan=False, allow_infinity=False))


@settings(max_examples=300, deadline=None)
@given(rows=blocks, kind=st.sampled_from([GgmlType.Q8_0, GgmlType.Q4_0]))
def test_the_same_bits_as_ggml_whatever_the_values(ggml: ctypes.CDLL, rows: FloatArray, kind: GgmlType) -> None:
    np.testing.assert_array_equal(quantize(rows, kind), theirs(ggml, rows, kind))


def test_the_table_is_ggmls(ggml: ctypes.CDLL) -> None:
    for number, (values, size) in BLOCKS.items():
        assert (ggml.ggml_blck_size(number), ggml.ggml_type_size(number)) == (values, size), number
    known = {n for n in range(64) if n < 43 and ggml.ggml_type_size(n)}
    assert known == set(BLOCKS)


@pytest.mark.parametrize(
    ("kind", "bound"), [(GgmlType.F32, 0), (GgmlType.F16, 1e-3), (GgmlType.Q8_0, 0.005), (GgmlType.Q4_0, 0.13)]
)
def test_there_and_back(kind: GgmlType, bound: float) -> None:
    rows = np.random.default_rng(2).standard_normal((64, 128)).astype(np.float32)
    back = dequantize(quantize(rows, kind), kind).reshape(rows.shape)
    largest = np.abs(rows.reshape(-1, 32)).max(axis=1, keepdims=True)
    assert (np.abs(back - rows).reshape(-1, 32) <= bound * largest).all()


def test_q4_0_in_ggmls_order() -> None:
    """Low nibbles are the first 16 values, high nibbles the rest; a code minus 8, times the scale."""
    block = np.concatenate([np.array([0.5], np.float16).view(np.uint8), np.full(16, 0xF1, np.uint8)])
    np.testing.assert_array_equal(dequantize(block, GgmlType.Q4_0), [-3.5] * 16 + [3.5] * 16)


def test_bfloat16() -> None:
    values = np.array([1, -2.5, 1 + 2**-8, 1 + 3 * 2**-8, 3e38, 0, -0.0], np.float32)
    back = bf16_to_f32(f32_to_bf16(values).view(np.uint8))
    np.testing.assert_array_equal(back[:4], [1, -2.5, 1, 1 + 2**-6])  # ties to even
    assert back[4] == pytest.approx(3e38, rel=2**-8)
    assert np.signbit(back[6])


@pytest.mark.parametrize("kind", [GgmlType.BF16])
def test_what_is_not_written(kind: GgmlType) -> None:
    with pytest.raises(ValueError, match="not written"):
        quantize(np.zeros((1, 32), np.float32), kind)
