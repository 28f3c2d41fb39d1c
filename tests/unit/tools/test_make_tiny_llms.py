"""The tiny models: small, the same every time, and with a vocabulary that holds every text."""

from pathlib import Path

import pytest

from kazeia_desktop.formats.gguf import GgufFile
from tests.fakes.tiny_llms import ARCHITECTURES, tiny_llm, tool

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_same_small_file_every_time(architecture: str, tmp_path: Path) -> None:
    first = tiny_llm(architecture).read_bytes()
    assert tool().write_model(tmp_path / "again.gguf", architecture).read_bytes() == first
    assert tool().write_model(tmp_path / "other.gguf", architecture, seed=2).read_bytes() != first
    assert len(first) < 1_000_000
    assert GgufFile(tmp_path / "again.gguf").text("general.architecture") == architecture


def test_all_are_written_by_the_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tool().main([str(tmp_path / "new")])
    assert capsys.readouterr().out.split() == [str(tmp_path / "new" / f"tiny-{name}.gguf") for name in ARCHITECTURES]
    with pytest.raises(SystemExit, match="usage"):
        tool().main([])


def test_the_vocabulary_is_bytes_merges_and_signs() -> None:
    tokens = GgufFile(tiny_llm("qwen3")).texts("tokenizer.ggml.tokens")
    assert len(set(tokens)) == len(tokens)
    assert tokens[:256] == tool().byte_signs()
    assert tokens[-3:] == list(tool().SPECIAL)
    assert "Ġd" in tokens
