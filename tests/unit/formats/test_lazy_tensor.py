"""Blocks, pages and other shapes of a tensor that stays in its file."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.errors import ModelMissingError
from kazeia_desktop.formats.lazy_tensor import LazyTensor, read_bytes
from kazeia_desktop.frames import FloatArray

pytestmark = pytest.mark.unit


def lazy(values: FloatArray) -> LazyTensor:
    return LazyTensor(Path("x"), "t", values.shape, lambda start, stop: values[start:stop])


@given(n=st.integers(0, 40), width=st.integers(1, 9), block=st.integers(1, 50))
def test_blocks_are_all_rows_in_order(n: int, width: int, block: int) -> None:
    values = np.arange(n * width, dtype=np.float32).reshape(n, width)
    blocks = list(lazy(values).blocks(block))
    assert all(part.size <= max(block, width) for part in blocks)
    np.testing.assert_array_equal(np.concatenate([*blocks, values[:0]]), values)


def test_a_page_of_a_stack() -> None:
    stack = np.arange(60, dtype=np.float32).reshape(3, 5, 4)
    page = lazy(stack).slice(1, 2, (5, 4))
    assert page.name == "t[1]"
    np.testing.assert_array_equal(page.array(), stack[1])
    np.testing.assert_array_equal(page.rows(2, 4), stack[1, 2:4])
    np.testing.assert_array_equal(np.concatenate(list(page.blocks(8))), stack[1])
    with pytest.raises(ValueError, match="are not"):
        lazy(stack).slice(1, 2, (6, 4))


def test_an_axis_of_one() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(lazy(values).reshaped((2, 3, 1)).rows(1, 2), values[1:, :, None])
    with pytest.raises(ValueError, match="cannot become"):
        lazy(values).reshaped((3, 2))


def test_reading_past_the_end(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert read_bytes(tmp_path / "x", 1, 2) == b"bc"
    with pytest.raises(ModelMissingError, match="3 < 5 bytes"):
        read_bytes(tmp_path / "x", 1, 4)
    with pytest.raises(ModelMissingError, match="no model file"):
        read_bytes(tmp_path / "y", 0, 1)
