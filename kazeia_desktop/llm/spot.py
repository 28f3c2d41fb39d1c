"""One place where a model or a context is computed, as llama.cpp's parameters say it."""

import ctypes
from dataclasses import dataclass
from typing import Any

import llama_cpp

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.llm import ggml
from kazeia_desktop.llm.node_watch import NodeWatch
from kazeia_desktop.settings.schema import LlmSettings

_ALL_LAYERS = 1000


@dataclass(frozen=True, slots=True)
class Spot:
    """Attributes:
    device: ggml's name of it; "" for the CPU.
    layers: how many of the model's layers it holds; -1 for all.
    op_offload: whether large products of the other layers go there too.
    watch: sees every node of every graph; slow, for checks and benchmarks.
    """

    device: str = ""
    layers: int = 0
    op_offload: bool = True
    watch: NodeWatch | None = None


CPU = Spot()


def model_params(settings: LlmSettings, spot: Spot) -> tuple[Any, object]:
    """llama.cpp's parameters of a model, and what must live as long as they are used.

    The list of devices is always given: with none, llama.cpp would take every one that there is.

    Raises:
        InferenceError: there is no such device.
    """
    params = llama_cpp.llama_model_default_params()
    pointers: list[int | None] = [None]
    if spot.device:
        found = ggml.find_device(spot.device)
        if found is None:
            raise InferenceError("The computing device {device} is not there any more.", device=spot.device)
        pointers.insert(0, found)
    devices = (ctypes.c_void_p * len(pointers))(*pointers)
    params.devices = ctypes.cast(devices, ctypes.c_void_p)
    params.n_gpu_layers = (_ALL_LAYERS if spot.layers < 0 else spot.layers) if spot.device else 0
    params.load_mode = llama_cpp.LLAMA_LOAD_MODE_MMAP if settings.mmap else llama_cpp.LLAMA_LOAD_MODE_NONE
    return params, devices


def place_context(params: Any, settings: LlmSettings, spot: Spot) -> None:  # noqa: ANN401 - a C struct
    """Complete a context's parameters. `spot.watch` must outlive the context."""
    params.n_batch = settings.batch
    params.n_ubatch = min(settings.ubatch, settings.batch)
    params.op_offload = spot.op_offload
    params.offload_kqv = bool(spot.device)
    if spot.watch is not None:
        params.cb_eval = spot.watch.callback
