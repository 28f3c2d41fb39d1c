"""A speech detector's file that is not one."""

from pathlib import Path

import pytest

from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.vad.silero import SileroScorer

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x07" * 1000])
def test_a_damaged_file_is_one_line_that_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "silero_vad.onnx"
    file.write_bytes(content)
    with pytest.raises(ModelCorruptError, match="kazeia models get silero-vad") as caught:
        SileroScorer(file)
    assert "\n" not in str(caught.value)


def test_a_missing_file_too(tmp_path: Path) -> None:
    with pytest.raises(ModelCorruptError):
        SileroScorer(tmp_path / "none.onnx")
