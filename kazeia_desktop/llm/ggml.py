"""The part of ggml's backend interface that llama-cpp-python does not bind: devices, extra libraries, nodes of a graph.

Source: ggml/include/ggml-backend.h and ggml.h of the llama.cpp that llama-cpp-python carries.
"""

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

# isort: off
from kazeia_desktop import _native  # noqa: F401 - says plainly when llama.cpp is missing or not the one built with
import llama_cpp

# isort: on
import llama_cpp._ctypes_extensions

_pointer = ctypes.c_void_p
_MAPS: Final = Path("/proc/self/maps")


def _library(name: str) -> ctypes.CDLL:
    """The copy that libllama uses: a wheel holds each under several names, and each would have its own state."""
    folder = Path(llama_cpp.__file__).parent / "lib"
    if _MAPS.exists():
        for line in _MAPS.read_text("utf-8", "surrogateescape").splitlines():
            path = line.split(maxsplit=5)[-1]
            if path.startswith(f"{folder}/lib{name}.so"):
                return ctypes.CDLL(path)
    found: ctypes.CDLL = llama_cpp._ctypes_extensions.load_shared_library(name, folder)
    return found


_GGML: Final = _library("ggml")
# The functions of the base library are its own: on Windows a symbol is looked up in one library only.
_BASE: Final = _library("ggml-base")

_MOST_SOURCES: Final = 10  # GGML_MAX_SRC


class Tensor(ctypes.Structure):
    """struct ggml_tensor, read only."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("buffer", _pointer),
        ("ne", ctypes.c_int64 * 4),
        ("nb", ctypes.c_size_t * 4),
        ("op", ctypes.c_int),
        ("op_params", ctypes.c_int32 * 16),
        ("flags", ctypes.c_int32),
        ("src", _pointer * _MOST_SOURCES),
        ("view_src", _pointer),
        ("view_offs", ctypes.c_size_t),
        ("data", _pointer),
        ("name", ctypes.c_char * 64),
        ("extra", _pointer),
        ("padding", ctypes.c_char * 8),
    )


def _function(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:  # noqa: ANN401 - ctypes' types
    function = getattr(library, name)
    function.restype, function.argtypes = result, list(arguments)
    return function


_dev_count = _function(_GGML, "ggml_backend_dev_count", ctypes.c_size_t)
_dev_get = _function(_GGML, "ggml_backend_dev_get", _pointer, ctypes.c_size_t)
_load = _function(_GGML, "ggml_backend_load", _pointer, ctypes.c_char_p)
dev_name = _function(_BASE, "ggml_backend_dev_name", ctypes.c_char_p, _pointer)
dev_description = _function(_BASE, "ggml_backend_dev_description", ctypes.c_char_p, _pointer)
dev_type = _function(_BASE, "ggml_backend_dev_type", ctypes.c_int, _pointer)
_dev_memory = _function(
    _BASE,
    "ggml_backend_dev_memory",
    None,
    _pointer,
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
)
_dev_reg = _function(_BASE, "ggml_backend_dev_backend_reg", _pointer, _pointer)
_reg_name = _function(_BASE, "ggml_backend_reg_name", ctypes.c_char_p, _pointer)
_buffer_type = _function(_BASE, "ggml_backend_buffer_get_type", _pointer, _pointer)
_buft_device = _function(_BASE, "ggml_backend_buft_get_device", _pointer, _pointer)
_buft_is_host = _function(_BASE, "ggml_backend_buft_is_host", ctypes.c_bool, _pointer)
_dev_buffer_type = _function(_BASE, "ggml_backend_dev_buffer_type", _pointer, _pointer)
_op_desc = _function(_BASE, "ggml_op_desc", ctypes.c_char_p, _pointer)
_tensor_overhead = _function(_BASE, "ggml_tensor_overhead", ctypes.c_size_t)
_OBJECT_BYTES: Final = 32  # sizeof(struct ggml_object)

KINDS: Final = {0: "cpu", 1: "gpu", 2: "igpu", 3: "accelerator", 4: "meta"}


def knows_tensors() -> bool:
    """Whether `Tensor` has the size that this llama.cpp gives it; else nothing is read from one."""
    return int(_tensor_overhead()) == ctypes.sizeof(Tensor) + _OBJECT_BYTES


def devices() -> Iterator[int]:
    """The devices, as ggml's pointers. The first call reads the backends' environment."""
    for index in range(int(_dev_count())):
        yield int(_dev_get(index))


def find_device(name: str) -> int | None:
    """The device of that name, or None."""
    return next((device for device in devices() if text(dev_name(device)) == name), None)


def text(raw: bytes | None) -> str:
    """A C string that a driver wrote, in one line."""
    return " ".join((raw or b"").decode("utf-8", "replace").split())


def backend_name(device: int) -> str:
    """Name of the backend that a device belongs to: "CPU", "Vulkan", "HTP" (Hexagon), "OpenCL"..."""
    registered = _dev_reg(device)
    return text(_reg_name(registered)) if registered else ""


def memory(device: int) -> tuple[int, int]:
    """(total, free) bytes as the driver tells them; 0 for unknown."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    _dev_memory(device, ctypes.byref(free), ctypes.byref(total))
    return total.value, free.value


def load_backend(library: Path) -> bool:
    """Load an extra backend; the reason of a failure is in llama.cpp's log."""
    return bool(_load(str(library).encode()))


def device_of_node(tensor: Tensor) -> str:
    """Where a node of a graph is computed: its result lies in its backend's memory. "CPU" for the processor.

    A driver's host buffer belongs to its device but is the processor's to write.
    """
    buffer = tensor.buffer
    if not buffer and tensor.view_src:
        buffer = Tensor.from_address(tensor.view_src).buffer
    if not buffer:
        return ""
    kind = _buffer_type(buffer)
    device = _buft_device(kind)
    if not device or KINDS.get(int(dev_type(device))) == "cpu":
        return "CPU"
    if _buft_is_host(kind) and int(kind) != int(_dev_buffer_type(device) or 0):
        return "CPU"
    return text(dev_name(device))


def op_name(tensor: Tensor) -> str:
    """The node's operation: "MUL_MAT", "SSM_CONV"..."""
    return text(_op_desc(ctypes.addressof(tensor)))
