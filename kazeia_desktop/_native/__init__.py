"""Our C++ extension, and the one llama.cpp of this process.

llama_cpp is imported first: it maps llama.cpp's libraries by path, and an extension that mapped them
before would give the process a second copy with a state of its own.
"""

import functools
import hashlib
import os
from pathlib import Path
from typing import TypedDict

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
    system_info: str
    library_sha256: str
    devices: list[ComputeDevice]


def llama_build() -> LlamaBuild:
    """llama.cpp's version, what it was built with, and the devices it can run on."""
    build: LlamaBuild = _core.llama_build()
    return build


def cpu_isa() -> str:
    """The instruction set that the kernels use: "scalar", "avx2" or "neon"."""
    return _core.active_isa()


@functools.cache
def _libllama() -> Path:
    found = sorted((Path(llama_cpp.__file__).parent / "lib").glob("*llama.*"))
    return next(path for path in found if path.suffix in (".so", ".dll", ".dylib"))


def check_build() -> None:
    """Whether library and extension belong together.

    Raises:
        ModelIncompatibleError: llama-cpp-python was changed since the extension was built: its structures may
            have other layouts, and calls through them would corrupt memory.
    """
    if hashlib.sha256(_libllama().read_bytes()).hexdigest() != _core.LLAMA_LIBRARY_SHA256:
        raise ModelIncompatibleError(
            "llama-cpp-python {version} is not the one that Kazeia was built with: run `make build`.",
            version=llama_cpp.__version__,
        )


def _select_isa() -> None:
    wanted = os.environ.get("KAZEIA_CPU_ISA", "")
    problem = _core.select_isa(wanted)
    if problem:
        raise SettingsError(
            "KAZEIA_CPU_ISA={wanted} cannot be used: {problem}. Leave it out, or use scalar, avx2 or neon.",
            wanted=wanted,
            problem=problem,
        )


_select_isa()
check_build()
