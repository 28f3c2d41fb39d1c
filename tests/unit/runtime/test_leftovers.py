"""What was left long ago goes; what may be another process's work stays."""

import os
import time
from pathlib import Path

import pytest

from kazeia_desktop.runtime.leftovers import remove_leftovers

pytestmark = pytest.mark.unit


def test_only_old_ones_of_the_name_go(tmp_path: Path) -> None:
    for name in (".onnx-old", ".onnx-new", "onnx-mixed-v1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").write_bytes(b"x" * 100)
    (tmp_path / ".onnx-file").write_bytes(b"x")
    (tmp_path / ".onnx-link").symlink_to(tmp_path / "onnx-mixed-v1")
    day_ago_s = time.time() - 86_400
    for name in (".onnx-old", "onnx-mixed-v1", ".onnx-file"):
        os.utime(tmp_path / name, (day_ago_s, day_ago_s))
    remove_leftovers(tmp_path, ".onnx-*")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".onnx-new", "onnx-mixed-v1"]
    assert (tmp_path / "onnx-mixed-v1" / "weights").exists()


def test_a_folder_that_is_not_there_does_no_harm(tmp_path: Path) -> None:
    remove_leftovers(tmp_path / "none", "*")
