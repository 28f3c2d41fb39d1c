"""A measurement in a process of its own: its answer, its last words, and its end."""

from pathlib import Path

import pytest

from kazeia_desktop.cli.json_child import json_of
from kazeia_desktop.errors import InferenceError

pytestmark = pytest.mark.unit


def test_the_last_line_is_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "answers.py").write_text("import sys\nprint('warming up')\nprint(sys.stdin.read())")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert json_of("it", ["answers"], '{"n": 1}') == {"n": 1}


def test_a_failure_is_told_by_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fails.py").write_text("raise SystemExit('no such model')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(InferenceError, match="it failed: no such model"):
        json_of("it", ["fails"])


def test_what_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hangs.py").write_text("import threading\nthreading.Event().wait()")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(InferenceError, match="no answer within 1 s"):
        json_of("it", ["hangs"], timeout_s=1.0)
