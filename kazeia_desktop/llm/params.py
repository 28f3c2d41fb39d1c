"""What llama.cpp is told when a context is made, and how it asks whether to stop."""

import ctypes
import sys
from typing import Any, Final

import llama_cpp

from kazeia_desktop.llm.spot import CPU, Spot, place_context
from kazeia_desktop.settings.schema import LlmSettings

_KV_TYPES: Final = {"f16": llama_cpp.GGML_TYPE_F16, "q8_0": llama_cpp.GGML_TYPE_Q8_0}


def _abort_function() -> Any:  # noqa: ANN401 - a C function
    """C's strlen as ggml's abort callback: not 0, that is true, as soon as the token's first byte is set.

    ggml asks before every node of the graph, some hundred times a token. A Python callback would wait for
    the GIL each time: beside one thread that runs Python, a token of the 0.5B model then takes 240-1270 ms
    instead of 70.
    """
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    return llama_cpp.ggml_abort_callback(ctypes.cast(library.strlen, ctypes.c_void_p).value or 0)


ABORT: Final = _abort_function()


def context_params(model: Any, settings: LlmSettings, spot: Spot = CPU) -> Any:  # noqa: ANN401 - C pointers and structs
    """llama.cpp's parameters of a context, from the settings."""
    params = llama_cpp.llama_context_default_params()
    trained = int(llama_cpp.llama_model_n_ctx_train(model))
    params.n_ctx = min(settings.n_ctx, trained) if trained > 0 else settings.n_ctx
    params.n_threads, params.n_threads_batch = settings.threads, settings.prefill_threads or settings.threads
    params.type_k = params.type_v = _KV_TYPES[settings.kv_type]
    wants_flash = settings.flash_attention or settings.kv_type != "f16"  # a quantised V needs it
    params.flash_attn_type = (
        llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED if wants_flash else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    )
    params.no_perf = True
    place_context(params, settings, spot)
    return params
