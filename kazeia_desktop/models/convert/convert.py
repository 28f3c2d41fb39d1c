"""From a source to a model directory: planned, written beside its place, hashed on the way, then renamed."""

import importlib
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.formats import voice_manifest
from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf_writer import GgufWriter, Key, TensorPlan, planned_bytes
from kazeia_desktop.formats.lazy_tensor import LazyTensor
from kazeia_desktop.formats.problems import missing_tensor
from kazeia_desktop.formats.voice_manifest import DTYPES, FileRecord, VoiceManifest, sha256_of
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert.finite import check_finite, finite, naming
from kazeia_desktop.models.convert.layout import code_predictor_keys, code_predictor_plan, talker_keys, talker_plan
from kazeia_desktop.models.convert.source import VoiceSource
from kazeia_desktop.models.convert.staging import Meter, staged
from kazeia_desktop.models.fetch import ProgressCallback
from kazeia_desktop.runtime.cancel import CancelToken

_GRAPH_BYTES: Final = 600_000_000
"""Codec, speaker encoder and the vocabulary: at most, of the published sizes."""
_F16_MAX: Final = 65504.0
_LARGEST: Final = {
    GgmlType.F32: float("inf"), GgmlType.F16: _F16_MAX, GgmlType.Q8_0: 127 * _F16_MAX, GgmlType.Q4_0: 8 * _F16_MAX,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Converted:
    """What `convert` made."""

    directory: Path
    manifest: VoiceManifest
    seconds: float


def convert(
    source: VoiceSource,
    target: Path,
    dtype: str,
    *,
    force: bool = False,
    report: ProgressCallback | None = None,
    cancel: CancelToken | None = None,
    free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
) -> Converted:
    """Write the model directory `target`.

    Memory: blocks of 8 MB of the large tensors; the codec's and the speaker encoder's one tensor at a time.

    Args:
        dtype: of the matrices: f32, f16, q8_0 or q4_0.
        force: replace `target` if it holds a converted model.
    Raises:
        ModelError: the source is damaged, or does not fit the dtype; the target exists, or cannot be written.
        Cancelled: `cancel` was set. Nothing is left behind in either case.
    """
    began = time.monotonic()
    if dtype not in DTYPES:
        raise ValueError(f"dtype {dtype}")
    conversion = _Conversion(source, dtype, report, cancel or CancelToken())
    needed = conversion.total_bytes + _GRAPH_BYTES
    with staged(target, needed, replaces=voice_manifest.FILE if force else None, free_bytes=free_bytes) as directory:
        manifest = conversion.write(directory)
    return Converted(target.absolute(), manifest, time.monotonic() - began)


class _Conversion:
    def __init__(self, source: VoiceSource, dtype: str, report: ProgressCallback | None, cancel: CancelToken) -> None:
        self._source, self._dtype, self._cancel = source, dtype, cancel
        told = source.description
        self._talker = talker_plan(told.talker, dtype)
        self._predictor = code_predictor_plan(told.code_predictor, told.talker, dtype)
        self.total_bytes = planned_bytes(self._talker) + planned_bytes(self._predictor)
        self._meter = Meter(told.name, self.total_bytes, report)

    def write(self, directory: Path) -> VoiceManifest:
        """All files of the model, into an empty directory."""
        source = self._source
        files: dict[str, FileRecord] = {}
        # The graphs first: they are small, and their writers find what else may be wrong with the source.
        self._codec(directory / voice_manifest.CODEC[0])
        if source.speaker_encoder:
            self._speaker_encoder(directory / voice_manifest.SPEAKER_ENCODER[0])
        keys = talker_keys(source.description, source.tokens, source.rope_sections, self._dtype)
        files[voice_manifest.TALKER] = self._gguf(directory / voice_manifest.TALKER, keys, self._talker, source.talker)
        keys = code_predictor_keys(source.description, self._dtype)
        path = directory / voice_manifest.CODE_PREDICTOR
        files[voice_manifest.CODE_PREDICTOR] = self._gguf(path, keys, self._predictor, source.code_predictor)
        for name in voice_manifest.file_names(source.description):
            if name not in files and (directory / name).exists():
                self._cancel.raise_if_set()
                files[name] = FileRecord((directory / name).stat().st_size, sha256_of(directory / name))
        manifest = VoiceManifest(source.description, self._dtype, files)
        (directory / voice_manifest.FILE).write_text(manifest.to_json(), encoding="utf-8")
        return manifest

    def _gguf(
        self, path: Path, keys: Sequence[Key], plan: Sequence[TensorPlan], tensors: Mapping[str, LazyTensor]
    ) -> FileRecord:
        self._meter.file = path.name
        with GgufWriter(path, keys, plan) as writer:
            for planned in plan:
                tensor = tensors[planned.name]
                for block in tensor.blocks():
                    self._cancel.raise_if_set()
                    self._fits(check_finite(block, tensor), tensor, planned)
                    self._meter.add(writer.append(block))
            written = writer.finish()
        return FileRecord(written.bytes, written.sha256)

    def _fits(self, block: FloatArray, tensor: LazyTensor, planned: TensorPlan) -> None:
        """float16 ends at 65,504: as a value, and as a block's scale."""
        limit = _LARGEST[planned.type]
        largest = max(float(block.max()), -float(block.min())) if block.size else 0.0
        if largest > limit:
            raise ModelIncompatibleError(
                "The model file {file} has the value {value} in the tensor {tensor}: {type} ends at {limit}. "
                "Use --dtype f32.",
                file=str(tensor.file), tensor=tensor.name, value=f"{largest:.4g}", type=planned.type.name.lower(),
                limit=f"{limit:.4g}",
            )  # fmt: skip

    def _codec(self, path: Path) -> None:
        self._meter.file = path.name
        write = importlib.import_module("kazeia_desktop.models.convert.codec_graph").write_codec_graph

        def get(name: str) -> FloatArray:
            self._cancel.raise_if_set()
            if name not in self._source.codec:
                raise missing_tensor(self._source.codec_file, name)
            return self._source.codec[name]()

        with naming(self._source.codec_file):
            write(path, get, self._source.codec_geometry)

    def _speaker_encoder(self, path: Path) -> None:
        self._meter.file = path.name
        write = importlib.import_module("kazeia_desktop.models.convert.speaker_graph").write_speaker_graph
        tensors = self._source.speaker_encoder
        file = next(iter(tensors.values())).file

        def get(name: str) -> FloatArray:
            self._cancel.raise_if_set()
            if name not in tensors:
                raise missing_tensor(file, name)
            return finite(tensors[name])

        write(path, get, self._source.speaker_encoder_config, file)
