"""The flags of ggml's backends: read from the environment, once, when a backend begins.

So they are set before it does, and a change after that needs a new process.
"""

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kazeia_desktop.errors import ModelIncompatibleError
from kazeia_desktop.settings.schema import BackendSettings

_log = logging.getLogger(__name__)

_PREFIXES: Final = {
    "GGML_HEXAGON_": (
        "ARCH AR_SCATTER AR_SELECT DEVICES DMA64 ETM FA_SELECT GDN_SELECT HOSTBUF MBUF MM_SELECT NDEV NHMX NHVX "
        "OPBATCH OPFILTER OPFUSION OPPOLL OPQUEUE OPTRACE PROFILE VERBOSE VMEM"
    ),
    "GGML_VK_": (
        "ALLOW_GRAPHICS_QUEUE ALLOW_SYSMEM_FALLBACK ASYNC_USE_TRANSFER_QUEUE DISABLE_ASYNC DISABLE_BFLOAT16 "
        "DISABLE_COOPMAT DISABLE_COOPMAT2 DISABLE_F16 DISABLE_FUSION DISABLE_GRAPH_OPTIMIZE "
        "DISABLE_HOST_VISIBLE_VIDMEM DISABLE_INTEGER_DOT_PRODUCT DISABLE_MMVQ FORCE_MAX_ALLOCATION_SIZE "
        "FORCE_MAX_BUFFER_SIZE FORCE_MMVQ MAX_NODES_PER_SUBMIT PERF_LOGGER PREFER_HOST_MEMORY "
        "SUBALLOCATION_BLOCK_SIZE VISIBLE_DEVICES"
    ),
    "GGML_OPENCL_": (
        "ADRENO_E17_QUIRKS ADRENO_USE_LARGE_BUFFER ADRENO_XMEM_GEMM DEVICE DISABLE_FUSION KERNEL_CACHE_DIR OPFILTER "
        "PLATFORM"
    ),
    "GGML_CUDA_": (
        "CUBLAS_COMPUTE_TYPE DEVICES DISABLE_FUSION DISABLE_GRAPHS ENABLE_UNIFIED_MEMORY GRAPH_OPT NO_PINNED P2P "
        "REGISTER_HOST"
    ),
    "GGML_METAL_": "BF16_DISABLE CONCURRENCY_DISABLE DEVICES FUSION_DISABLE NO_RESIDENCY TENSOR_DISABLE",
    "GGML_": "OP_OFFLOAD_MIN_BATCH SCHED_DEBUG SYCL_NO_PINNED CANN_NO_PINNED",
    "": (
        "ADSP_LIBRARY_PATH CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES HSA_OVERRIDE_GFX_VERSION OCL_ICD_VENDORS "
        "ONEAPI_DEVICE_SELECTOR VK_DRIVER_FILES VK_ICD_FILENAMES"
    ),
}
KNOWN_FLAGS: Final = frozenset(prefix + name for prefix, names in _PREFIXES.items() for name in names.split())
"""What the backends of llama.cpp and their drivers read. Source: getenv in ggml/src, and the drivers' manuals."""

_OTHERS: Final = re.compile(
    r"(?:LD|DYLD|PYTHON|KAZEIA|ORT|OMP|GOMP|QT|XDG|DISPLAY|SSL)_?.*|PATH|HOME|USER|SHELL|TMPDIR|TEMP|TMP", re.IGNORECASE
)
"""Not a backend's: what these mean to the rest of the process must not change with a backend."""
_FILTER_SUFFIX: Final = "_OPFILTER"
"""Regular expressions of operations to leave to the CPU: what two sides ask for is joined."""


@dataclass(frozen=True, slots=True)
class Flags:
    """The user's flags.

    Attributes:
        values: name -> value, those that are set.
        unknown: names among them that no backend of this llama.cpp is known to read.
        refused: names that are kept in the setting but not set.
    """

    values: Mapping[str, str]
    unknown: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def parse_flags(text: str) -> Flags:
    """`NAME=value` lines, or parts between semicolons; the last of a name counts."""
    values: dict[str, str] = {}
    refused: dict[str, None] = {}
    for line in re.split(r"[\n;]", text):
        name, sign, value = line.partition("=")
        name = name.strip()
        if not sign or not name:
            continue
        if _OTHERS.fullmatch(name):
            refused[name] = None
        else:
            values[name] = value.strip()
    return Flags(values, tuple(name for name in values if name not in KNOWN_FLAGS), tuple(refused))


def joined(users: Mapping[str, str], needed: Mapping[str, str]) -> dict[str, str]:
    """The user's flags with those that a case needs: filters of operations are joined, else the user's counts."""
    both = {**needed, **users}
    for name in needed:
        if name.endswith(_FILTER_SUFFIX) and users.get(name) and needed[name] not in users[name].split("|"):
            both[name] = f"{users[name]}|{needed[name]}"
    return both


class BackendEnvironment:
    """What the backends of this process were begun with. One thread at a time.

    ggml itself has one registry of backends a process, so there is one of these, `BACKENDS`.
    """

    def __init__(self) -> None:
        self._begun: dict[str, str] | None = None  # flags of the backends that llama.cpp was built with
        self._library: tuple[str, dict[str, str]] | None = None
        self._set: dict[str, str | None] = {}  # name -> what the environment said before

    @property
    def library(self) -> str:
        """The extra backend library that is loaded, or ""."""
        return "" if self._library is None else self._library[0]

    def restart_needed(self, backends: BackendSettings, needed: Mapping[str, str]) -> bool:
        """Whether this process has begun backends with other flags, or another library, than these."""
        flags = joined(parse_flags(backends.flags).values, needed)
        if not backends.library:
            return self._library is not None or self._begun not in (None, flags)
        return self._library not in (None, (backends.library, flags))

    def begin(self, backends: BackendSettings, needed: Mapping[str, str]) -> None:
        """Set the flags and load the library, before the first model. A second call changes nothing.

        Raises:
            ModelIncompatibleError: the library cannot be loaded.
        """
        flags = joined(parse_flags(backends.flags).values, needed)
        if self._begun is None:
            self._put(flags)
            self._begun = flags
        if not backends.library or self._library is not None:
            return
        self._put(flags)
        load_library(Path(backends.library))
        self._library = (backends.library, flags)

    def clean_environment(self, flags: Mapping[str, str]) -> dict[str, str]:
        """The environment of a child process whose backends begin with `flags` and not with ours.

        Without ggml's backtrace, so that an assertion is the last line that the child writes.
        """
        child = {**os.environ, "GGML_NO_BACKTRACE": "1"}
        for name, before in self._set.items():
            if before is None:
                child.pop(name, None)
            else:
                child[name] = before
        return child | dict(flags)

    def _put(self, flags: Mapping[str, str]) -> None:
        for name, value in flags.items():
            self._set.setdefault(name, os.environ.get(name))
            os.environ[name] = value
        if flags:
            _log.info("backend flags: %s", ", ".join(f"{name}={value}" for name, value in sorted(flags.items())))


BACKENDS: Final = BackendEnvironment()


def load_library(library: Path) -> None:
    """Load an extra backend into this process.

    Raises:
        ModelIncompatibleError: with ggml's reason.
    """
    # Not before: the import maps llama.cpp, and flags must be set by then.
    from kazeia_desktop.llm import ggml
    from kazeia_desktop.llm.llama_log import SPOKEN

    SPOKEN.forget()
    if library.is_file() and ggml.load_backend(library):
        return
    reason = SPOKEN.reason("no reason given") if library.is_file() else "no such file"
    raise ModelIncompatibleError(
        "The backend library {file} cannot be loaded: {reason}. Correct the setting backends.library.",
        file=str(library),
        reason=reason,
    )
