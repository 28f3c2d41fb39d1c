"""ggml's tensor types: sizes of all, values of those that Kazeia reads and writes.

Source: ggml.h (ggml_type) and the reference quantisation of ggml-quants.c; a test compares bit by bit
with the library.
"""

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kazeia_desktop.frames import FloatArray

Bytes = NDArray[np.uint8]


class GgmlType(IntEnum):
    """The types that have a name; ggml's numbers."""

    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q8_0 = 8
    BF16 = 30


BLOCKS: Final[dict[int, tuple[int, int]]] = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
    16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82),
    23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2),
    34: (256, 54), 35: (256, 66), 39: (32, 17), 40: (64, 36), 41: (128, 18), 42: (64, 18),
}  # fmt: skip
"""Type number -> (values, bytes) of a block."""

_JUST_BELOW_HALF: Final = np.nextafter(np.float32(0.5), np.float32(0))


def n_bytes(n_values: int, kind: int) -> int:
    """Bytes of `n_values` values of type `kind`; a multiple of its block."""
    values, size = BLOCKS[kind]
    return n_values // values * size


def quantize(rows: FloatArray, kind: GgmlType) -> Bytes:
    """What ggml stores for `rows`.

    Args:
        rows: (n, width) or (n,) float32, C order; width a multiple of the type's block.
    Returns:
        (n_bytes,) uint8.
    """
    flat = np.ascontiguousarray(rows, np.float32).reshape(-1)
    if kind == GgmlType.F32:
        return flat.view(np.uint8)
    if kind == GgmlType.F16:
        with np.errstate(over="ignore"):  # the caller looks for infinities: it can name the tensor
            return flat.astype(np.float16).view(np.uint8)
    if kind == GgmlType.Q8_0:
        return _quantize_q8_0(flat.reshape(-1, 32))
    if kind == GgmlType.Q4_0:
        return _quantize_q4_0(flat.reshape(-1, 32))
    raise ValueError(f"{kind.name} is not written")


def dequantize(data: bytes | Bytes, kind: GgmlType) -> FloatArray:
    """(n_values,) float32 of the bytes of whole blocks."""
    raw = np.frombuffer(data, np.uint8)
    if kind == GgmlType.F32:
        return raw.view(np.float32).astype(np.float32)
    if kind == GgmlType.F16:
        return raw.view(np.float16).astype(np.float32)
    if kind == GgmlType.BF16:
        return bf16_to_f32(raw)
    if kind == GgmlType.Q8_0:
        blocks = raw.reshape(-1, 34)
        scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # a scale may be infinite: found by who checks values
            return (scale * blocks[:, 2:].view(np.int8).astype(np.float32)).reshape(-1)
    if kind == GgmlType.Q4_0:
        blocks = raw.reshape(-1, 18)
        scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        codes = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1).astype(np.int8) - np.int8(8)
        with np.errstate(over="ignore", invalid="ignore"):
            return (scale * codes.astype(np.float32)).reshape(-1)
    raise ValueError(f"{kind.name} is not read")


def bf16_to_f32(data: bytes | Bytes) -> FloatArray:
    """bfloat16 is the upper half of float32."""
    halves = np.frombuffer(data, np.uint8).view("<u2")
    wide = halves.astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)


def f32_to_bf16(values: FloatArray) -> NDArray[np.uint16]:
    """Rounded to nearest, ties to even; of finite values."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) >> 16).astype(np.uint16)


def _quantize_q8_0(blocks: FloatArray) -> Bytes:
    out = np.empty((blocks.shape[0], 34), np.uint8)
    largest = np.abs(blocks)
    for width in (16, 8, 4, 2, 1):  # by halves: numpy's maximum over a short axis takes three times as long
        largest = np.maximum(largest[:, :width], largest[:, width:])
    scale = largest / np.float32(127)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        inverse = np.where(scale != 0, np.float32(1) / scale, np.float32(0))
        scaled = blocks * inverse
        # C's roundf, halves away from zero: add a half and cut. The one value that the sum would round up to 1:
        scaled[np.abs(scaled) == _JUST_BELOW_HALF] = 0
        scaled += np.copysign(np.float32(0.5), scaled)
        out[:, 2:] = scaled.astype(np.int8).view(np.uint8)
        out[:, :2] = scale.astype(np.float16).view(np.uint8)
    return out.reshape(-1)


def _quantize_q4_0(blocks: FloatArray) -> Bytes:
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=1, keepdims=True), axis=1)
    scale = (largest + np.float32(0)) / np.float32(-8)  # of a block of -0 as of one of 0
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.where(scale != 0, np.float32(1) / scale, np.float32(0))
    with np.errstate(over="ignore", invalid="ignore"):
        codes = np.minimum((blocks * inverse + np.float32(8.5)).astype(np.int8), 15).astype(np.uint8)
        head = scale.astype(np.float16).view(np.uint8)
    return np.concatenate([head, codes[:, :16] | (codes[:, 16:] << 4)], axis=1).reshape(-1)
