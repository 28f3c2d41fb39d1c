"""Weights that are no numbers are refused by name, before they become a voice that is silent or noise."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.formats.lazy_tensor import LazyTensor
from kazeia_desktop.frames import FloatArray


def check_finite(values: FloatArray, tensor: LazyTensor) -> FloatArray:
    """`values`, of `tensor`.

    Raises:
        ModelCorruptError: one is infinite or not a number.
    """
    # The sum is not finite exactly when a value is not, unless it overflows: then each is looked at.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(values.sum(dtype=np.float64))
    if suspicious and not np.isfinite(values).all():
        raise ModelCorruptError(
            "The model file {file} is damaged: tensor {tensor} holds values that are no numbers.",
            file=str(tensor.file), tensor=tensor.name,
        )  # fmt: skip
    return values


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """An error that says which tensor is wrong says also in which file.

    Raises:
        ModelCorruptError: as the block's, with `file`.
    """
    try:
        yield
    except ModelCorruptError as error:
        if "file" in error.values:
            raise
        raise ModelCorruptError(
            "The model file {file} is damaged: {reason}", file=str(file), reason=str(error)
        ) from error


def finite(tensor: LazyTensor) -> FloatArray:
    """The whole tensor; errors as `check_finite`."""
    return check_finite(tensor.array(), tensor)


def joined(first: LazyTensor, second: LazyTensor) -> LazyTensor:
    """The rows of `first`, then those of `second`."""

    def read(start: int, stop: int) -> FloatArray:
        parts = []
        if start < first.n_rows:
            parts.append(first.rows(start, min(stop, first.n_rows)))
        if stop > first.n_rows:
            offset = first.n_rows
            parts.append(check_finite(second.rows(max(start - offset, 0), stop - offset), second))
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    return LazyTensor(first.file, first.name, (first.n_rows + second.n_rows, *first.shape[1:]), read)
