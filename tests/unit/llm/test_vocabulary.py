"""Tokens' bytes and which of them end a text are what llama.cpp says."""

import ctypes

import llama_cpp
import pytest

from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.settings.schema import LlmSettings
from tests.fakes.tiny_llms import tiny_llm

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("special", [False, True])
def test_every_token(special: bool) -> None:
    model = LlamaModel(tiny_llm("qwen3"), LlmSettings(threads=1, n_ctx=512))
    vocabulary = model.vocabulary
    try:
        buffer = ctypes.create_string_buffer(4096)
        ends = 0
        for token in range(vocabulary.n_tokens):
            n = llama_cpp.llama_token_to_piece(vocabulary.handle, token, buffer, len(buffer), 0, special)
            assert vocabulary.piece(token, special) == buffer.raw[:n]
            assert vocabulary.is_end(token) is bool(llama_cpp.llama_vocab_is_eog(vocabulary.handle, token))
            ends += vocabulary.is_end(token)
        assert 0 < ends < 10
        assert vocabulary.text(-1) == ""
    finally:
        model.close()
