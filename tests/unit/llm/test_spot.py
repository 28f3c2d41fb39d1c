"""Settings as llama.cpp's parameters."""

import ctypes

import llama_cpp
import pytest

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.llm import context as context_module
from kazeia_desktop.llm.context import LlamaContext
from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.llm.spot import CPU, Spot, model_params, place_context
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.core_share import CoreShare
from kazeia_desktop.settings.schema import LlmSettings
from tests.fakes.tiny_llms import tiny_llm

pytestmark = pytest.mark.unit

_SETTINGS = LlmSettings(threads=1, n_ctx=512)


def test_on_the_processor_no_device_is_taken() -> None:
    """llama.cpp takes every device where the list is missing; an empty one is something else."""
    params, kept = model_params(_SETTINGS.model_copy(update={"gpu_layers": 99}), CPU)
    assert params.n_gpu_layers == 0
    assert params.devices
    assert ctypes.cast(params.devices, ctypes.POINTER(ctypes.c_void_p))[0] is None
    assert kept is not None


def test_a_device_that_is_gone_is_told() -> None:
    with pytest.raises(InferenceError, match="HTP0 is not there"):
        model_params(_SETTINGS, Spot("HTP0", -1))


@pytest.mark.parametrize(
    ("mmap", "mode"), [(True, llama_cpp.LLAMA_LOAD_MODE_MMAP), (False, llama_cpp.LLAMA_LOAD_MODE_NONE)]
)
def test_mapping(mmap: bool, mode: int) -> None:
    settings = _SETTINGS.model_copy(update={"mmap": mmap})
    assert model_params(settings, CPU)[0].load_mode == mode
    LlamaModel(tiny_llm("qwen35"), settings).close()


def test_batches_and_offload() -> None:
    params = llama_cpp.llama_context_default_params()
    place_context(params, _SETTINGS.model_copy(update={"batch": 64, "ubatch": 256}), Spot("X", 3, op_offload=False))
    assert (params.n_batch, params.n_ubatch, params.op_offload, params.offload_kqv) == (64, 64, False, True)
    place_context(params, _SETTINGS, CPU)
    assert (params.n_batch, params.n_ubatch, params.offload_kqv) == (512, 128, False)


@pytest.mark.parametrize("batch", [32, 64])
def test_the_batch_does_not_change_what_is_read(batch: int) -> None:
    tokens = list(range(100))
    read = []
    for settings in (_SETTINGS, _SETTINGS.model_copy(update={"batch": batch, "ubatch": 16})):
        model = LlamaModel(tiny_llm("qwen35"), settings)
        try:
            assert model.prefill(tokens, CancelToken()) == 100
            read.append(model.context.logits().copy())
        finally:
            model.close()
    assert abs(read[0] - read[1]).max() < 1e-3


def test_threads_to_read_and_to_write_are_two_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(
        context_module.llama_cpp, "llama_set_n_threads", lambda _, write, read: asked.append((write, read))
    )
    share = CoreShare(4)
    model = LlamaModel(tiny_llm("qwen3"), _SETTINGS.model_copy(update={"threads": 2, "prefill_threads": 4}), share)
    try:
        context: LlamaContext = model.context
        model.prefill([1, 2, 3], CancelToken())
        context.step(4, CancelToken())
        model.use(_SETTINGS)
        context.step(5, CancelToken())
        model.use(_SETTINGS.model_copy(update={"threads": 4, "prefill_threads": 3}))
        with share.taking(2):
            context.step(6, CancelToken())
    finally:
        model.close()
    assert asked == [(2, 4), (1, 1), (2, 2)]
