"""Which devices computed which models correctly on this machine, kept in a file: losing it costs a check."""

import hashlib
import json
import logging
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from kazeia_desktop.llm.devices import Device
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.small_files import read_record, write_record
from kazeia_desktop.settings.schema import LlmSettings

_log = logging.getLogger(__name__)

FILE: Final = "device_checks.json"
_VERSION: Final = 1
_KEPT: Final = 64
_READ: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a check.

    Attributes:
        ok: whether the device may be used for this model.
        reason: why not, as an English template with its values; "" when ok.
        cosine: the least of all steps. same_top: share of steps with the same likeliest token.
        computed_on: where most matrix products ran, by name; "CPU" when the device got under half of them.
        measured: whether `kazeia bench llm` has timed it here; experimental until then.
    """

    ok: bool
    reason: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    cosine: float = 0.0
    same_top: float = 0.0
    computed_on: str = ""
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """What a verdict is about; anything else that changes makes it another subject."""

    device: Device
    model_sha256: str
    llama_build: str
    flags: tuple[tuple[str, str], ...]
    library_sha256: str
    options: str

    def key(self) -> str:
        """A hash behind what a person can read."""
        # Free memory changes all the time and says nothing about correctness.
        parts = [self.device.name, self.device.description, self.device.backend, self.model_sha256, self.llama_build]
        parts += [json.dumps(self.flags), self.library_sha256, self.options]
        return f"{self.device.name} {hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]}"


def options_of(settings: LlmSettings) -> str:
    """The settings that choose other computations."""
    return f"kv {settings.kv_type}, flash {settings.flash_attention}, layers {settings.gpu_layers}"


class CheckStore:
    """One file; each call reads it anew, so that several processes may share it. A damaged one counts as empty."""

    def __init__(self, file: Path) -> None:
        self.file = file

    @classmethod
    def of(cls, paths: Paths) -> "CheckStore":
        """The installation's."""
        return cls(paths.cache_dir / FILE)

    def get(self, subject: Subject) -> Verdict | None:
        """What the check found; None: it was not made, or cannot be read."""
        return _verdict(self._part("verdicts").get(subject.key()))

    def put(self, subject: Subject, verdict: Verdict) -> None:
        """Keep it. A file that cannot be written is logged."""
        self._keep("verdicts", subject.key(), asdict(verdict))

    def model_sha256(self, gguf: Path) -> str:
        """The hash of a model's file, computed once for each size and time of the file: seconds for a large one.

        Raises:
            OSError: the file cannot be read.
        """
        stat = gguf.stat()
        state = [stat.st_size, stat.st_mtime_ns]
        name = str(gguf.resolve())
        known = self._part("files").get(name)
        if isinstance(known, dict) and known.get("state") == state and isinstance(known.get("sha256"), str):
            return str(known["sha256"])
        sha256 = file_sha256(gguf)
        self._keep("files", name, {"state": state, "sha256": sha256})
        return sha256

    def _keep(self, part: str, key: str, record: object) -> None:
        tree = {name: self._part(name) for name in ("verdicts", "files")}
        tree[part].pop(key, None)
        tree[part][key] = record
        while len(tree[part]) > _KEPT:
            tree[part].pop(next(iter(tree[part])))
        try:
            write_record(self.file, _VERSION, tree)
        except OSError as error:
            _log.info("the check of a device cannot be kept (%s)", error.strerror or error)

    def _part(self, name: str) -> dict[str, Any]:
        part = read_record(self.file, _VERSION).get(name)
        return part if isinstance(part, dict) else {}


def file_sha256(path: Path) -> str:
    """Hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_READ):
            digest.update(block)
    return digest.hexdigest()


def _verdict(record: object) -> Verdict | None:
    """The record, where every value has its type."""
    if not isinstance(record, dict):
        return None
    try:
        verdict = Verdict(**record)
    except TypeError:
        return None
    figures = (verdict.cosine, verdict.same_top)
    sound = (
        isinstance(verdict.ok, bool)
        and isinstance(verdict.measured, bool)
        and isinstance(verdict.reason, str)
        and isinstance(verdict.values, dict)
        and isinstance(verdict.computed_on, str)
        and all(type(x) in (int, float) and abs(x) <= 2 for x in figures)  # a cosine and a share, no NaN
    )
    return verdict if sound else None
