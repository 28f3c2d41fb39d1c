"""What importing the package promises: nothing leaves the machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

_ORT_USERS = ("kazeia_desktop.stt.graphs", "kazeia_desktop.vad.silero", "kazeia_desktop.tts.kokoro")


@pytest.mark.skipif(sys.platform != "linux", reason="looks at Linux's place for it")
@pytest.mark.parametrize("module", _ORT_USERS)
@pytest.mark.parametrize("wanted", [None, "0"])
def test_onnx_runtime_neither_identifies_nor_reports(module: str, wanted: str | None, tmp_path: Path) -> None:
    """Left alone it keeps an identifier and a queue of events below ~/.cache, and a thread that sends them."""
    drop = ("CI", "GITHUB_ACTIONS", "XDG_CACHE_HOME", "ORT_DISABLE_TELEMETRY", "PYTEST_CURRENT_TEST")
    environment = {name: value for name, value in os.environ.items() if name not in drop}
    environment |= {"HOME": str(tmp_path)} | ({"ORT_DISABLE_TELEMETRY": wanted} if wanted else {})
    script = f"import {module}"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []
