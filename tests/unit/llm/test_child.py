"""A child process that meets a driver first."""

import os
from pathlib import Path

import pytest

from kazeia_desktop.llm.child import ChildFailed, ask_child
from kazeia_desktop.runtime.cancel import CancelToken

pytestmark = pytest.mark.unit


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Where modules named by a test are found."""
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def _module(folder: Path, body: str) -> str:
    (folder / "kz_child.py").write_text(body, "utf-8")
    return "kz_child"


def test_the_answer_is_the_last_line(tmp_path: Path, environment: dict[str, str]) -> None:
    name = _module(tmp_path, "import json,sys\nprint('noise')\nprint(json.dumps({'got': json.load(sys.stdin)['a']}))")
    assert ask_child(name, {"a": "é"}, environment, 60.0, CancelToken()) == {"got": "é"}


@pytest.mark.parametrize(
    ("body", "code", "last"),
    [
        ("import os,sys\nsys.stderr.write('GGML_ASSERT failed\\n');sys.stderr.flush()\nos.abort()", -6, "GGML_ASSERT"),
        ("import os,signal\nos.kill(os.getpid(), signal.SIGSEGV)", -11, "SIGSEGV"),
        ("raise SystemExit(3)", 3, "exit code 3"),
        ("print('no json')", 0, "no answer"),
        ("", 0, "no answer"),
    ],
)
def test_how_a_child_ends_is_told(tmp_path: Path, environment: dict[str, str], body: str, code: int, last: str) -> None:
    with pytest.raises(ChildFailed) as failed:
        ask_child(_module(tmp_path, body), {}, environment, 60.0, CancelToken())
    assert failed.value.code == code
    assert last in failed.value.last


def test_a_child_that_does_not_end_is_stopped(tmp_path: Path, environment: dict[str, str]) -> None:
    name = _module(tmp_path, "import time\ntime.sleep(600)")
    with pytest.raises(ChildFailed, match="no end"):
        ask_child(name, {}, environment, 0.2, CancelToken())


def test_cancel_stops_it(tmp_path: Path, environment: dict[str, str]) -> None:
    name = _module(tmp_path, "import time\ntime.sleep(600)")
    cancel = CancelToken()
    cancel.set()
    assert ask_child(name, {}, environment, 60.0, cancel) is None
