"""How many threads read and write."""

import llama_cpp
import pytest

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.core_share import CoreShare
from kazeia_desktop.settings.schema import LlmSettings
from tests.fakes.tiny_llms import tiny_llm

pytestmark = pytest.mark.unit


def test_a_token_is_written_with_the_threads_of_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    model = LlamaModel(tiny_llm("qwen3"), LlmSettings(threads=2, prefill_threads=2, n_ctx=512), CoreShare(2))
    context, never = model.context, CancelToken()
    asked: list[int] = []
    took: list[float] = []

    def one(most: int) -> int:
        asked.append(most)
        return 1

    monkeypatch.setattr(context.pace, "threads", one)
    monkeypatch.setattr(context.pace, "took", took.append)
    try:
        context.prefill([1, 2, 3], never)
        assert llama_cpp.llama_n_threads_batch(context.handle) == 2
        assert (asked, took) == ([], []), "a prompt is no token"
        assert context.step(4, never)
        assert llama_cpp.llama_n_threads(context.handle) == 1
        assert asked == [2]
        assert len(took) == 1
        assert took[0] > 0.0
        never.set()
        assert not context.step(5, never)
        assert len(took) == 1, "what was stopped tells nothing of the speed"
    finally:
        model.close()


def test_nothing_read_has_no_logits() -> None:
    model = LlamaModel(tiny_llm("qwen3"), LlmSettings(threads=1, n_ctx=512))
    try:
        with pytest.raises(InferenceError, match="has read nothing"):
            model.context.logits()
    finally:
        model.close()
