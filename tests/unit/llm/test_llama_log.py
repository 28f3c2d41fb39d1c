"""llama.cpp's log, made into one line that tells why."""

import pytest

from kazeia_desktop.llm.llama_log import SpokenLines

pytestmark = pytest.mark.unit

_INFO, _WARN, _ERROR, _CONT = 2, 3, 4, 5


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "unknown"),
        ([(_INFO, "llama_model_loader: loaded meta data\n")], "unknown"),
        (
            [
                (_ERROR, "llama_model_load: error loading model: unknown model architecture: 'x'\n"),
                (_ERROR, "llama_model_load_from_file_impl: failed to load model\n"),
            ],
            "unknown model architecture: 'x'",
        ),
        (
            [
                (_ERROR, "gguf_init_from_reader: failed to read key-value pairs\n"),
                (_ERROR, "llama_model_load: error loading model: llama_model_loader: failed to load model from F\n"),
                (_ERROR, "llama_model_load_from_file_impl: failed to load model\n"),
            ],
            "failed to read key-value pairs",
        ),
        ([(_ERROR, "llama_model_load_from_file_impl: failed to load model\n")], "failed to load model"),
        ([(_WARN, "one\n"), (_CONT, "more"), (_CONT, "\n")], "one more"),
        ([(_WARN, "one\n"), (_INFO, "two"), (_CONT, "more")], "one"),
        ([(_CONT, "...."), (_ERROR, "init: two\n words\n")], "two words"),
        ([(_ERROR, "x" * 1000)], "x" * 200),
    ],
)
def test_the_telling_line(lines: list[tuple[int, str]], reason: str) -> None:
    spoken = SpokenLines()
    for level, text in lines:
        spoken.hear(level, text)
    assert spoken.reason("unknown") == reason


def test_what_was_said_before_is_forgotten() -> None:
    spoken = SpokenLines()
    spoken.hear(_ERROR, "old")
    spoken.forget()
    spoken.hear(_CONT, "older still")
    assert spoken.reason("unknown") == "unknown"


def test_endless_talk_is_bounded() -> None:
    spoken = SpokenLines()
    for i in range(10_000):
        spoken.hear(_WARN, f"line {i}")
    assert spoken.reason("") == "line 9999"
    assert len(spoken._lines) <= 30
