"""Our C++ extension, and the one llama.cpp of this process.

llama_cpp is imported first: it maps llama.cpp's libraries by path, and an extension that mapped them
before would give the process a second copy with a state of its own.
"""

import hashlib
import logging
import os
from pathlib import Path
from typing import Final, TypedDict

from kazeia_desktop.errors import ModelIncompatibleError, SettingsError

try:
    import llama_cpp
except (ImportError, OSError) as error:
    raise ModelIncompatibleError(
        "llama.cpp cannot be loaded ({reason}): run `make build` again.", reason=str(error)
    ) from error
try:
    from kazeia_desktop._native import _core
except ImportError as error:
    raise ModelIncompatibleError(
        "Kazeia's native library cannot be loaded ({reason}): run `make build` again.", reason=str(error)
    ) from error

Resampler = _core.Resampler
CodePredictor = _core.CodePredictor
CodePredictorModel = _core.CodePredictorModel
NativeTalker = _core.NativeTalker
NativeTalkerModel = _core.NativeTalkerModel
Pcg32 = _core.Pcg32
Sampler = _core.Sampler
SamplerOptions = _core.SamplerOptions
TalkerError = _core.TalkerError
TalkerModel = _core.TalkerModel
TalkerSession = _core.TalkerSession
ThreadTeam = _core.ThreadTeam
PACKED_ALIGNMENT = _core.PACKED_ALIGNMENT
PACKED_LAYOUT = _core.PACKED_LAYOUT
checksum = _core.checksum
pack = _core.pack

ISAS: Final = ("scalar", "avx2", "avx512", "neon", "neon-dotprod", "neon-i8mm")


class ComputeDevice(TypedDict):
    """A device of llama.cpp; type: "cpu", "gpu", "igpu" or "accelerator"."""

    name: str
    description: str
    type: str
    memory_total_bytes: int
    memory_free_bytes: int


class LlamaBuild(TypedDict):
    """llama.cpp in this process. library_sha256: of the libllama that the extension was built against."""

    version: str
    commit: str
    system_info: str
    library_sha256: str
    devices: list[ComputeDevice]


def llama_build() -> LlamaBuild:
    """llama.cpp's version, what it was built with, and the devices it can run on."""
    return _core.llama_build()


def cpu_isa() -> str:
    """The instruction set that the kernels use, one of ISAS."""
    return _core.active_isa()


def _mapped_libllama() -> Path:
    """The file that llama_cpp mapped: not always the one beside it, LLAMA_CPP_LIB_PATH may name another folder."""
    return Path(llama_cpp.llama_cpp._lib._name)


def check_build() -> None:
    """Whether library and extension belong together.

    Raises:
        ModelIncompatibleError: llama-cpp-python was changed since the extension was built: its structures may
            have other layouts, and calls through them would corrupt memory.
    """
    if hashlib.sha256(_mapped_libllama().read_bytes()).hexdigest() != _core.LLAMA_LIBRARY_SHA256:
        raise ModelIncompatibleError(
            "llama-cpp-python {version} is not the one that Kazeia was built with: run `make build`.",
            version=llama_cpp.__version__,
        )


def _select_isa() -> None:
    wanted = os.environ.get("KAZEIA_CPU_ISA", "")
    if not _core.select_isa(wanted):
        return
    if wanted in ISAS:
        raise SettingsError(
            "KAZEIA_CPU_ISA={wanted} cannot be used: this processor does not run it. Leave it out.", wanted=wanted
        )
    raise SettingsError(
        "KAZEIA_CPU_ISA={wanted} is not an instruction set: leave it out, or use one of {names}.",
        wanted=wanted,
        names=", ".join(ISAS),
    )


# llama_cpp prints every line of llama.cpp on stderr until someone sets the level; who wants the lines
# takes llama.cpp's log callback.
logging.getLogger("llama-cpp-python").setLevel(logging.CRITICAL + 1)
check_build()
_select_isa()
