"""Writes a safetensors file tensor by tensor, from blocks of float32."""

import json
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from kazeia_desktop.formats.ggml_types import f32_to_bf16
from kazeia_desktop.frames import FloatArray

_BYTES: Final = {"F32": 4, "BF16": 2}


class SafetensorsWriter:
    """`append` the blocks of every tensor in the order of `shapes`, then `close`."""

    def __init__(self, path: Path, shapes: Mapping[str, tuple[int, ...]], dtype: str) -> None:
        """Args:
            dtype: F32 or BF16.

        Raises:
            OSError: the file cannot be written.
        """
        self._dtype, self.total_bytes = dtype, 0
        header: dict[str, object] = {"__metadata__": {"format": "pt"}}
        for name, shape in shapes.items():
            end = self.total_bytes + prod(shape) * _BYTES[dtype]
            header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [self.total_bytes, end]}
            self.total_bytes = end
        text = json.dumps(header, separators=(",", ":")).encode("utf-8")
        text += b" " * (-len(text) % 8)
        self._left = self.total_bytes
        self._file: BinaryIO = path.open("xb")
        self._file.write(len(text).to_bytes(8, "little") + text)

    def append(self, values: FloatArray) -> int:
        """The next values. Returns the bytes written."""
        flat = np.ascontiguousarray(values, np.float32).reshape(-1)
        data = (flat if self._dtype == "F32" else f32_to_bf16(flat)).tobytes()
        self._file.write(data)
        self._left -= len(data)
        return len(data)

    def close(self) -> None:
        """The file must be complete, except on the way out of an error."""
        self._file.close()

    def __enter__(self) -> "SafetensorsWriter":
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()
        if kind is None and self._left:
            raise ValueError(f"{self._left} bytes are missing or too many")


def write_safetensors(path: Path, tensors: Mapping[str, FloatArray], dtype: str = "F32") -> None:
    """A small file from arrays in memory."""
    blocks: Iterable[FloatArray] = tensors.values()
    with SafetensorsWriter(path, {name: array.shape for name, array in tensors.items()}, dtype) as writer:
        for block in blocks:
            writer.append(block)
