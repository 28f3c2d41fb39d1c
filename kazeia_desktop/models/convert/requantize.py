"""A language model's GGUF file with other types, made by llama.cpp in a process of its own, whole or not at all."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from kazeia_desktop.errors import ModelCorruptError, ModelError, ModelIncompatibleError
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.voice_layout import CODE_PREDICTOR_ARCHITECTURE
from kazeia_desktop.models.convert.llama_pair import MMPROJ, TALKER
from kazeia_desktop.models.convert.quant_types import plan_quant
from kazeia_desktop.models.convert.staging import Meter, free_bytes_of, staged_file
from kazeia_desktop.models.fetch import ProgressCallback
from kazeia_desktop.runtime.cancel import CancelToken

_END_S: Final = 10.0
"""For the child to end after its last word."""
_CHILD: Final = "kazeia_desktop.models.convert.requantize_child"
_DISK: Final = "iostream error"  # libstdc++'s word when a stream cannot write
_VOICE: Final = (TALKER, MMPROJ, CODE_PREDICTOR_ARCHITECTURE)


@dataclass(frozen=True, slots=True)
class Requantized:
    """What `requantize` made.

    Attributes:
        dtype: of FILE_TYPES; without one asked for, the type that token embedding and output got.
    """

    path: Path
    dtype: str
    bytes: int
    seconds: float


def requantize(
    source: Path,
    target: Path,
    dtype: str | None = None,
    *,
    pure: bool = False,
    force: bool = False,
    threads: int = 0,
    report: ProgressCallback | None = None,
    cancel: CancelToken | None = None,
    free_bytes: Callable[[Path], int] = free_bytes_of,
) -> Requantized:
    """Write the file `target`.

    Args:
        dtype, pure: see `plan_quant`.
        force: replace `target` if it is a GGUF file.
        threads: 0: all cores.
    Raises:
        UsageError: no such dtype.
        ModelError: the source is damaged or no language model, or llama.cpp cannot convert it; the target is there,
            or cannot be written.
        Cancelled: `cancel` was set. Nothing is left behind in either case.
    """
    began = time.monotonic()
    cancel = cancel or CancelToken()
    file = _language_model(source)
    plan = plan_quant(file, dtype, pure)
    job: dict[str, Any] = asdict(plan) | {"source": str(source.absolute()), "threads": threads or os.cpu_count() or 1}
    total = sum(tensor.n_bytes for tensor in file.tensors.values())
    needed = _dry_run(source, target, job, cancel) + source.stat().st_size - total
    with staged_file(target, needed, force, free_bytes) as temporary:
        meter = Meter(target.name, total, report)
        meter.file, last = target.name, 0
        # Closed here and not some time later: a stopped child must be gone before its file is removed.
        with closing(_ask(source, target, job | {"target": str(temporary), "dry_run": False}, cancel)) as telling:
            for told in telling:
                meter.add(last)
                last = file.tensors[told["tensor"]].n_bytes if "tensor" in told else 0
        _check_written(temporary, target, file)
        size = temporary.stat().st_size
    return Requantized(target.absolute(), plan.name, size, time.monotonic() - began)


def requantized_bytes(
    source: Path, dtype: str | None = None, *, pure: bool = False, cancel: CancelToken | None = None
) -> int:
    """How long the file would be that `requantize` makes; llama.cpp works it out without writing.

    Raises:
        UsageError, ModelError, Cancelled: as `requantize`.
    """
    cancel = cancel or CancelToken()
    file = _language_model(source)
    plan = plan_quant(file, dtype, pure)
    job: dict[str, Any] = asdict(plan) | {"source": str(source.absolute()), "threads": 1}
    others = source.stat().st_size - sum(tensor.n_bytes for tensor in file.tensors.values())
    return _dry_run(source, source, job, cancel) + others


def is_language_model(path: Path) -> bool:
    """Whether a path given for conversion is one GGUF file, by what it begins with."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"GGUF" or path.suffix == ".gguf"
    except OSError:
        return False


def _language_model(source: Path) -> GgufFile:
    file = GgufFile(source)
    architecture = file.text("general.architecture")
    if architecture in _VOICE:
        raise ModelIncompatibleError(
            "{file} is part of a voice, not a language model: `kazeia models convert` takes the published Qwen3-TTS "
            "directory, or llama.cpp's two GGUF files together.",
            file=str(source),
        )  # fmt: skip
    parts = file.integer("split.count", 0, 1 << 16, 0)
    if parts > 1:
        raise ModelIncompatibleError(
            "{file} is one of {parts} parts of a model: join them first, with llama.cpp's llama-gguf-split --merge.",
            file=str(source), parts=parts,
        )  # fmt: skip
    return file


def _dry_run(source: Path, target: Path, job: dict[str, Any], cancel: CancelToken) -> int:
    """Bytes of the tensors to come."""
    needed = 0
    with closing(_ask(source, target, job | {"target": "", "dry_run": True}, cancel)) as telling:
        for told in telling:
            needed = int(told.get("bytes", needed))
    return needed


def _ask(source: Path, target: Path, job: dict[str, Any], cancel: CancelToken) -> Generator[dict[str, Any], None, None]:
    """What the child tells, up to its end.

    Raises:
        ModelError: it could not. Cancelled.
    """
    code = "none"
    with _child(job) as process:
        assert process.stdout is not None
        told: dict[str, Any] = {}
        for line in process.stdout:
            cancel.raise_if_set()
            told = json.loads(line)
            if _DISK in told.get("error", ""):
                raise ModelError(
                    "The model cannot be written to {path} ({reason}).", path=str(target), reason="disk full?"
                )
            if "error" in told:
                raise ModelIncompatibleError(
                    "llama.cpp cannot convert {file}: {reason}", file=str(source), reason=told["error"]
                )
            yield told
        with suppress(subprocess.TimeoutExpired):  # killed below
            code = str(process.wait(_END_S))
    if "bytes" not in told and "done" not in told:
        raise ModelIncompatibleError(
            "llama.cpp breaks down over {file}: {reason}", file=str(source), reason=f"exit code {code}"
        )


@contextmanager
def _child(job: dict[str, Any]) -> Iterator["subprocess.Popen[str]"]:
    """The process, with its job; gone after the block. Ctrl-C reaches only us: what it has begun is ours to remove."""
    windows = sys.platform == "win32"
    process = subprocess.Popen(
        [sys.executable, "-m", _CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"GGML_NO_BACKTRACE": "1"},
        encoding="utf-8",
        start_new_session=not windows,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) if windows else 0,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        with suppress(OSError):  # it never read its job
            process.stdin.close()


def _check_written(made: Path, target: Path, source: GgufFile) -> None:
    """llama.cpp does not notice a full disk."""
    try:
        written = GgufFile(made)
    except ModelCorruptError:
        written = None
    if written is None or written.tensors.keys() != source.tensors.keys():
        raise ModelError("The model cannot be written to {path} ({reason}).", path=str(target), reason="disk full?")
