"""What llama.cpp offers on this machine, asked in a process of its own and remembered for the session."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kazeia_desktop.errors import InferenceError, KazeiaError, ModelIncompatibleError
from kazeia_desktop.llm.backend_flags import BACKENDS, joined, parse_flags
from kazeia_desktop.llm.child import ChildFailed, ask_child
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import BackendSettings

_PROBE: Final = "kazeia_desktop.llm.device_probe"
_PATIENCE_S: Final = 60.0
"""The first start of a driver compiles its kernels."""


@dataclass(frozen=True, slots=True)
class Device:
    """Something that llama.cpp can compute on.

    Attributes:
        kind: "cpu", "gpu", "igpu" (shares the system's memory), "accelerator" (beside the CPU, such as BLAS) or "meta".
        backend: which of ggml's backends drives it: "CPU", "Vulkan", "HTP" (Hexagon), "OpenCL"...
        memory_free_bytes: as its driver tells; 0 for unknown.
    """

    name: str
    description: str
    kind: str
    backend: str
    memory_total_bytes: int
    memory_free_bytes: int

    @property
    def is_cpu(self) -> bool:
        """Whether it is the processor, or only helps it from inside its backend."""
        return self.kind in ("cpu", "accelerator", "meta")


@dataclass(frozen=True, slots=True)
class Offer:
    """The devices, and why there may be more than could be listed."""

    devices: tuple[Device, ...]
    problem: KazeiaError | None = None


Probe = Callable[[str, Mapping[str, str], CancelToken], dict[str, Any] | None]
"""(library, flags, cancel) -> the child's answer; raises ChildFailed."""


def _run_probe(library: str, flags: Mapping[str, str], cancel: CancelToken) -> dict[str, Any] | None:
    return ask_child(_PROBE, {"library": library}, BACKENDS.clean_environment(flags), _PATIENCE_S, cancel)


class DeviceLister:
    """Lists once for each library and set of flags. From any thread."""

    def __init__(self, probe: Probe = _run_probe) -> None:
        self._probe = probe
        self._lock = threading.Lock()
        self._known: dict[tuple[str, tuple[tuple[str, str], ...]], Offer] = {}

    def list(self, backends: BackendSettings, needed: Mapping[str, str] | None = None, refresh: bool = False) -> Offer:
        """What is there with these settings.

        Args:
            needed: flags of a case beside the user's.
            refresh: ask the drivers again.
        """
        flags = joined(parse_flags(backends.flags).values, needed or {})
        key = (backends.library, tuple(sorted(flags.items())))
        with self._lock:
            if refresh or key not in self._known:
                self._known[key] = self._ask(backends.library, flags)
            return self._known[key]

    def _ask(self, library: str, flags: Mapping[str, str]) -> Offer:
        try:
            answer = self._probe(library, flags, CancelToken())
        except ChildFailed as failed:
            # What is there without the library and the flags is still there.
            rest = self._ask("", {}).devices if library or flags else ()
            return Offer(rest, _crash(failed))
        assert answer is not None  # it was not cancelled
        problem = None
        if "error" in answer:
            template, values = answer["error"]
            problem = ModelIncompatibleError(template, **values)
        return Offer(_devices(answer["devices"]), problem)


def _crash(failed: ChildFailed) -> KazeiaError:
    code = "-" if failed.code is None else failed.code
    return InferenceError(
        "The computing devices cannot be listed: a driver ended the probe (exit code {code}, last line: {last}). "
        "Correct the settings backends.library and backends.flags, or update the driver.",
        code=code,
        last=failed.last,
    )


def _devices(records: Sequence[Mapping[str, Any]]) -> tuple[Device, ...]:
    return tuple(Device(**record) for record in records)


DEVICES: Final = DeviceLister()
"""The session's: one for all parts of Kazeia, so that drivers are asked once."""
