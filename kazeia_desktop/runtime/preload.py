"""Big native libraries, brought into memory before Python imports what needs them.

An import loads a library while its thread holds the interpreter: ONNX Runtime's 36 MB kept every other thread, the
window's among them, away for 130 ms and much longer from a slow disk. The system's own `dlopen`, called as a foreign
function, lets the others run; the import then finds the library where it is.
"""

import ctypes
import logging
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_log = logging.getLogger(__name__)

PARTS: Final[tuple[tuple[str, str], ...]] = (
    ("onnxruntime", "capi/onnxruntime_pybind11_state"),
    ("llama_cpp", "lib/libllama"),
)
"""Package, library in it without its ending."""
_PIECE: Final = 1 << 20
SYSTEM: Final = ("libportaudio.so.2",)


def preload() -> None:
    """Load what is there; what is missing is told by whoever imports it. Windows loads libraries otherwise."""
    if sys.platform == "win32":
        return
    for package, library in PARTS:
        path = _find(package, library)
        if path is not None:
            _read(path)
            _load(str(path))
    if sys.platform == "linux":
        for name in SYSTEM:
            _load(name)


def _find(package: str, library: str) -> Path | None:
    """The file of a library; the package is not imported."""
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for ending in (*EXTENSION_SUFFIXES, ".dylib"):
            path = Path(folder) / f"{library}{ending}"
            if path.is_file():
                return path
    return None


def _read(path: Path) -> None:
    """Bring the file into memory: what the import then touches of it waits for no disk."""
    piece = bytearray(_PIECE)
    try:
        with path.open("rb", buffering=0) as file:
            while file.readinto(piece):
                pass
    except OSError as error:
        _log.debug("%s cannot be read ahead: %s", path.name, error.strerror)


def _load(name: str) -> bool:
    """Whether the library is in memory now."""
    try:
        dlopen = ctypes.CDLL(None).dlopen
    except (AttributeError, OSError):  # a system without it
        return False
    dlopen.restype, dlopen.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
    found = dlopen(os.fsencode(name), sys.getdlopenflags())
    if not found:
        _log.debug("%s is not loaded ahead", name)
    return bool(found)
