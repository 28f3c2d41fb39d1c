"""Reader of CTranslate2's `model.bin` (Whisper), without CTranslate2.

The file is untrusted: every size and offset is checked before it is used.
Source: CTranslate2, python/ctranslate2/specs/model_spec.py, binary version 6.
"""

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kazeia_desktop.errors import ModelCorruptError, ModelIncompatibleError, ModelMissingError
from kazeia_desktop.frames import FloatArray

_VERSION: Final = 6
_DTYPES: Final = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}
_MAX_VARIABLES: Final = 20_000
_MAX_RANK: Final = 4


@dataclass(frozen=True, slots=True)
class WhisperShape:
    """Sizes of a Whisper model, read from its tensors."""

    n_mels: int
    n_layers_encoder: int
    n_layers_decoder: int
    n_heads: int
    width: int
    n_vocab: int
    n_positions: int  # of the encoder: 1500 for 30 s
    n_text_positions: int


class WhisperWeights:
    """The tensors of one model, mapped from the file.

    Raises:
        ModelMissingError, ModelCorruptError, ModelIncompatibleError: what is wrong, with file and tensor.
    """

    def __init__(self, model_dir: Path) -> None:
        self._path = model_dir / "model.bin"
        self.config = read_config(model_dir)
        if not self._path.is_file():
            raise ModelMissingError(
                "The file {file} is missing: run `kazeia models get {name}`.", file=str(self._path), name=model_dir.name
            )
        try:
            self._bytes = np.memmap(self._path, np.uint8, "r") if self._path.stat().st_size else np.zeros(0, np.uint8)
        except OSError as error:
            raise self._corrupt(f"it cannot be read: {error.strerror or error}") from error
        self._tensors: dict[str, NDArray[Any]] = {}
        self._read()
        self.shape = self._find_shape()

    def _corrupt(self, what: str) -> ModelCorruptError:
        return ModelCorruptError(
            "The model file {file} is damaged ({what}): run `kazeia models get {name}`.",
            file=str(self._path),
            what=what,
            name=self._path.parent.name,
        )

    def _take(self, at: int, n: int, what: str) -> bytes:
        if n < 0 or at + n > len(self._bytes):
            raise self._corrupt(f"it ends inside {what}")
        return self._bytes[at : at + n].tobytes()

    def _string(self, at: int, what: str) -> tuple[str, int]:
        (n,) = struct.unpack("<H", self._take(at, 2, what))
        raw = self._take(at + 2, n, what)
        try:
            return raw.rstrip(b"\0").decode("ascii"), at + 2 + n
        except UnicodeDecodeError:
            raise self._corrupt(f"the name of {what} is not text") from None

    def _read(self) -> None:
        (version,) = struct.unpack("<I", self._take(0, 4, "its header"))
        if version != _VERSION:
            raise ModelIncompatibleError(
                "The model file {file} is not a CTranslate2 model of version 6 (found {version}).",
                file=str(self._path),
                version=version,
            )
        spec, at = self._string(4, "its header")
        if spec != "WhisperSpec":
            raise ModelIncompatibleError("The model file {file} is not a Whisper model.", file=str(self._path))
        _, n_variables = struct.unpack("<II", self._take(at, 8, "its header"))
        at += 8
        if n_variables > _MAX_VARIABLES:
            raise self._corrupt(f"{n_variables} tensors")
        for index in range(n_variables):
            name, at = self._string(at, f"tensor {index}")
            rank = self._take(at, 1, name)[0]
            if rank > _MAX_RANK:
                raise self._corrupt(f"{name} has {rank} dimensions")
            shape = struct.unpack(f"<{rank}I", self._take(at + 1, 4 * rank, name))
            at += 1 + 4 * rank
            code, n_bytes = struct.unpack("<BI", self._take(at, 5, name))
            at += 5
            dtype = _DTYPES.get(code)
            if (
                dtype is None
                or math.prod(shape) * np.dtype(dtype).itemsize != n_bytes
                or at + n_bytes > len(self._bytes)
            ):
                raise self._corrupt(f"tensor {name}")
            self._tensors[name] = self._bytes[at : at + n_bytes].view(dtype).reshape(shape)
            at += n_bytes

    def raw(self, name: str) -> NDArray[Any]:
        """A tensor as stored (a view of the file)."""
        if name not in self._tensors:
            raise self._corrupt(f"tensor {name} is missing")
        return self._tensors[name]

    def get(self, name: str, *shape: int) -> FloatArray:
        """A tensor as float32, its shape checked."""
        tensor = self.raw(name)
        if tensor.dtype not in (np.float16, np.float32):
            raise ModelIncompatibleError(
                "The model file {file} holds quantised weights ({name}): use a float16 or float32 one.",
                file=str(self._path),
                name=name,
            )
        if tensor.shape != shape:
            raise self._corrupt(f"tensor {name} has the shape {tensor.shape}, expected {shape}")
        values: FloatArray = tensor.astype(np.float32)
        if not np.isfinite(values).all():
            raise self._corrupt(f"tensor {name} holds values that are not numbers")
        return values

    def _find_shape(self) -> WhisperShape:
        conv = self.raw("encoder/conv1/weight").shape
        vocabulary = self.raw("decoder/embeddings/weight").shape
        positions = self.raw("encoder/position_encodings/encodings").shape
        text_positions = self.raw("decoder/position_encodings/encodings").shape
        heads = self._number("encoder/num_heads")
        if len(conv) != 3 or len(vocabulary) != 2 or len(positions) != 2 or len(text_positions) != 2:
            raise self._corrupt("its tensors have other dimensions than Whisper's")
        width = conv[0]
        if not 1 <= heads <= 64 or width % heads or not 1 <= width <= 4096 or positions[0] != 1500:
            raise self._corrupt(f"{heads} heads for a width of {width}")
        return WhisperShape(
            conv[1],
            self._n_layers("encoder"),
            self._n_layers("decoder"),
            heads,
            width,
            vocabulary[0],
            positions[0],
            text_positions[0],
        )

    def _number(self, name: str) -> int:
        """A tensor that holds one whole number."""
        tensor = self.raw(name)
        if tensor.size != 1 or not np.isfinite(tensor).all():
            raise self._corrupt(f"tensor {name}")
        return int(tensor.reshape(-1)[0])

    def _n_layers(self, side: str) -> int:
        layers = {name.split("/")[1] for name in self._tensors if name.startswith(f"{side}/layer_") and "/ffn/" in name}
        if not layers or layers != {f"layer_{i}" for i in range(len(layers))}:
            raise self._corrupt(f"the layers of the {side} are incomplete")
        return len(layers)

    @property
    def activation(self) -> str:
        """ "gelu" or "relu". CTranslate2's codes: 0 ReLU, 1 GELU (tanh), 3 GELU."""
        code = self._number("decoder/activation")
        names = {0: "relu", 1: "gelu_tanh", 3: "gelu"}
        if code not in names:
            raise self._corrupt(f"activation {code}")
        return names[code]


def read_config(model_dir: Path) -> dict[str, Any]:
    """The model's config.json.

    Raises:
        ModelMissingError, ModelCorruptError: it is not there, or not a JSON object.
    """
    path = model_dir / "config.json"
    try:
        config = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ModelMissingError(
            "The file {file} is missing: run `kazeia models get {name}`.", file=str(path), name=model_dir.name
        ) from None
    except (OSError, ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise ModelCorruptError(
            "The model file {file} is damaged ({what}): run `kazeia models get {name}`.",
            file=str(path),
            what="not a JSON object",
            name=model_dir.name,
        )
    return config
