"""Which types a language model's tensors get: of the file's own 4-bit type, or of a file type that llama.cpp knows.

Source: llama.h (llama_ftype), ggml.h (ggml_type) and llama-quant.cpp of llama.cpp, which leaves token embedding and
output at 6 or 8 bits unless it is told. On Hexagon, 4 bits for them doubled the speed of reading a prompt.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from kazeia_desktop.errors import ModelIncompatibleError, UsageError
from kazeia_desktop.formats.ggml_types import BLOCKS
from kazeia_desktop.formats.gguf import GgufFile

FILE_TYPES: Final[dict[str, tuple[int, int]]] = {
    "f32": (0, 0), "f16": (1, 1), "bf16": (32, 30), "q8_0": (7, 8), "q6_k": (18, 14), "q5_k_m": (17, 13),
    "q5_k_s": (16, 13), "q5_1": (9, 7), "q5_0": (8, 6), "q4_k_m": (15, 12), "q4_k_s": (14, 12), "q4_1": (3, 3),
    "q4_0": (2, 2), "iq4_nl": (25, 20), "iq4_xs": (30, 23), "q3_k_l": (13, 11), "q3_k_m": (12, 11),
    "q3_k_s": (11, 11), "q2_k": (10, 10),
}  # fmt: skip
"""Name -> (llama_ftype, ggml_type of most matrices)."""

WITH_IMATRIX: Final = (
    "iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq2_m", "iq3_xxs", "iq3_xs", "iq3_s", "iq3_m", "q2_k_s",
)  # fmt: skip
"""These are made with statistics of the model at work, or are of no use without."""

FOUR_BITS: Final = {2: "q4_0", 3: "q4_1", 12: "q4_k", 20: "iq4_nl", 23: "iq4_xs"}
_FILE_TYPE_OF: Final = {2: 2, 3: 3, 12: 15, 20: 25, 23: 30}
_Q4_0: Final = 2
TABLES: Final = ("token_embd.weight", "per_layer_token_embd.weight", "output.weight")
"""What has one row a token."""

_SIGNS: Final = re.compile(r"([.^$|()\[\]{}*+?\\])")


@dataclass(frozen=True, slots=True)
class QuantPlan:
    """What llama.cpp is told.

    Attributes:
        name: of the types, for people.
        file_type: a llama_ftype.
        tables: ggml_type of token embedding and output; None: as llama.cpp thinks best.
        pure: all other matrices of the file type's one type.
        keep: ECMAScript pattern of tensors -> their ggml_type, whatever else holds.
    """

    name: str
    file_type: int
    tables: int | None = None
    pure: bool = False
    keep: tuple[tuple[str, int], ...] = ()


def plan_quant(file: GgufFile, dtype: str | None, pure: bool = False) -> QuantPlan:
    """The plan for a language model's file.

    Args:
        dtype: of FILE_TYPES; None: token embedding and output at the file's own 4-bit type, all else as it is.
        pure: every matrix of one type, where llama.cpp gives some more bits.
    Raises:
        UsageError: no such type, or one that needs an importance matrix.
        ModelIncompatibleError: without `dtype`, the file has no 4-bit type or nothing would change.
    """
    if dtype is None:
        return _own(file)
    name = dtype.lower()
    if name in WITH_IMATRIX:
        raise UsageError(
            "--dtype {dtype} needs an importance matrix, which Kazeia does not make: choose one of {dtypes}.",
            dtype=dtype, dtypes=", ".join(FILE_TYPES),
        )  # fmt: skip
    if name not in FILE_TYPES:
        raise UsageError(
            "There is no --dtype {dtype}: choose one of {dtypes}.", dtype=dtype, dtypes=", ".join(FILE_TYPES)
        )
    file_type, kind = FILE_TYPES[name]
    return QuantPlan(name, file_type, _table_type(file, kind) if kind in FOUR_BITS else None, pure)


def _own(file: GgufFile) -> QuantPlan:
    weights: Counter[int] = Counter()
    for name, tensor in file.tensors.items():
        if name not in TABLES and tensor.type in FOUR_BITS:
            weights[tensor.type] += tensor.n_bytes
    if not weights:
        raise ModelIncompatibleError(
            "The model file {file} has no 4-bit type of its own: choose one with --dtype, for example q4_0.",
            file=str(file.path),
        )
    kind = weights.most_common(1)[0][0]
    tables = _table_type(file, kind)
    changed = [name for name in (TABLES[0], TABLES[2]) if name in file.tensors and file.tensors[name].type != tables]
    if tables is None or not changed:
        raise ModelIncompatibleError(
            "Nothing to do: token embedding and output of {file} cannot be, or are already, of its type {type}.",
            file=str(file.path), type=FOUR_BITS[kind],
        )  # fmt: skip
    known = dict(FILE_TYPES.values())
    told = file.integer("general.file_type", 0, 2**31 - 1, _FILE_TYPE_OF[kind])
    file_type = told if known.get(told) == kind else _FILE_TYPE_OF[kind]
    # llama.cpp says of each tensor what it thinks best; here all others stay as they are, bit by bit.
    keep = tuple(
        (_only(name), tensor.type)
        for name, tensor in file.tensors.items()
        if len(tensor.shape) > 1 and (tensor.type != kind or name == TABLES[1])
    )
    return QuantPlan(FOUR_BITS[tables], file_type, tables, pure=True, keep=keep)


def _only(name: str) -> str:
    """The pattern of one name."""
    return "^" + _SIGNS.sub(r"\\\1", name) + "$"


def _table_type(file: GgufFile, kind: int) -> int | None:
    """`kind`, or one with smaller blocks where rows do not divide: llama.cpp asserts what it is told here."""
    widths = [file.tensors[name].shape[-1] for name in TABLES if name in file.tensors]
    for one in (kind, _Q4_0):
        if all(width % BLOCKS[one][0] == 0 for width in widths):
            return one
    return None
