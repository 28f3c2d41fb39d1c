"""From a source to a model directory: planned, written beside its place, hashed on the way, then renamed."""

import importlib
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import ModelError, ModelIncompatibleError
from kazeia_desktop.formats import voice_manifest
from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf_writer import GgufWriter, Key, TensorPlan, planned_bytes
from kazeia_desktop.formats.lazy_tensor import LazyTensor
from kazeia_desktop.formats.problems import missing_tensor
from kazeia_desktop.formats.voice_manifest import DTYPES, FileRecord, VoiceManifest, sha256_of
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert.finite import check_finite, finite
from kazeia_desktop.models.convert.layout import code_predictor_keys, code_predictor_plan, talker_keys, talker_plan
from kazeia_desktop.models.convert.source import VoiceSource
from kazeia_desktop.models.fetch import MARGIN_BYTES, Progress, ProgressCallback
from kazeia_desktop.runtime.cancel import CancelToken

_REPORT_S: Final = 0.2
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
    began, target = time.monotonic(), target.absolute()
    if dtype not in DTYPES:
        raise ValueError(f"dtype {dtype}")
    _check_target(target, force)
    conversion = _Conversion(source, dtype, report, cancel or CancelToken())
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _check_space(target.parent, conversion.total_bytes + _GRAPH_BYTES, free_bytes)
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.converting-"))
        manifest = conversion.write(temporary)
        temporary.chmod(0o755)  # mkdtemp's is for one user only
        _put_in_place(temporary, target)
    except OSError as error:
        raise ModelError(
            "The model cannot be written to {path} ({reason}).",
            path=str(target), reason=error.strerror or str(error),
        ) from error  # fmt: skip
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
    return Converted(target, manifest, time.monotonic() - began)


def _check_space(directory: Path, needed: int, free_bytes: Callable[[Path], int]) -> None:
    free = free_bytes(directory)
    if free < needed + MARGIN_BYTES:
        raise ModelError(
            "Not enough disk space to convert the model: {needed_mb} MB needed in {path}, {free_mb} MB free.",
            path=str(directory), needed_mb=-(-(needed + MARGIN_BYTES) // 10**6), free_mb=free // 10**6,
        )  # fmt: skip


class _Conversion:
    def __init__(self, source: VoiceSource, dtype: str, report: ProgressCallback | None, cancel: CancelToken) -> None:
        self._source, self._dtype, self._report, self._cancel = source, dtype, report, cancel
        told = source.description
        self._talker = talker_plan(told.talker, dtype)
        self._predictor = code_predictor_plan(told.code_predictor, told.talker, dtype)
        self.total_bytes = planned_bytes(self._talker) + planned_bytes(self._predictor)
        self._done, self._file = 0, ""
        self._began, self._last = time.monotonic(), float("-inf")

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
        self._file = path.name
        with GgufWriter(path, keys, plan) as writer:
            for planned in plan:
                tensor = tensors[planned.name]
                for block in tensor.blocks():
                    self._cancel.raise_if_set()
                    self._fits(check_finite(block, tensor), tensor, planned)
                    self._progress(writer.append(block))
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
        self._file = path.name
        write = importlib.import_module("kazeia_desktop.models.convert.codec_graph").write_codec_graph

        def get(name: str) -> FloatArray:
            self._cancel.raise_if_set()
            if name not in self._source.codec:
                raise missing_tensor(path.name, name)
            return self._source.codec[name]()

        write(path, get, self._source.codec_geometry)

    def _speaker_encoder(self, path: Path) -> None:
        self._file = path.name
        write = importlib.import_module("kazeia_desktop.models.convert.speaker_graph").write_speaker_graph
        tensors = self._source.speaker_encoder

        def get(name: str) -> FloatArray:
            self._cancel.raise_if_set()
            if name not in tensors:
                raise missing_tensor(next(iter(tensors.values())).file, name)
            return finite(tensors[name])

        write(path, get, self._source.speaker_encoder_config)

    def _progress(self, count: int) -> None:
        self._done += count
        now = time.monotonic()
        if self._report is None or (now - self._last < _REPORT_S and self._done < self.total_bytes):
            return
        self._last = now
        speed = self._done / (now - self._began) if now > self._began else None
        left = (self.total_bytes - self._done) / speed if speed else None
        name = self._source.description.name
        self._report(Progress(name, self._file, self._done, self.total_bytes, speed, left))


def _check_target(target: Path, force: bool) -> None:
    if not target.exists():
        return
    if not target.is_dir() or (any(target.iterdir()) and not (target / voice_manifest.FILE).is_file()):
        raise ModelError("{path} is there and is no converted model: choose another place.", path=str(target))
    if not force:
        raise ModelError("{path} is there already: add --force to replace it.", path=str(target))


def _put_in_place(made: Path, target: Path) -> None:
    """One rename; a replaced model is out of the way first, and back if that fails."""
    if not target.exists():
        made.rename(target)
        return
    aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old-"))
    target.rename(aside / "model")
    try:
        made.rename(target)
    except OSError:
        (aside / "model").rename(target)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
