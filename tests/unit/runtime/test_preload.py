"""Libraries come into memory without their packages being imported."""

import subprocess
import sys
from pathlib import Path

import pytest

from kazeia_desktop.runtime import preload

pytestmark = [pytest.mark.unit, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

PROGRAM = """
import sys
from kazeia_desktop.runtime.preload import preload
preload()
assert not {"onnxruntime", "llama_cpp"} & set(sys.modules), "imported"
print(open("/proc/self/maps").read())
import onnxruntime
"""


def test_they_are_mapped_before_the_import() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    assert "onnxruntime_pybind11_state" in ran.stdout and "libllama" in ran.stdout


def test_what_is_missing_does_no_harm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(preload, "PARTS", (("no_such_package", "x"), ("json", "no_such_library")))
    monkeypatch.setattr(preload, "SYSTEM", ("libnosuch.so.9",))
    preload.preload()
    assert preload._find("json", "x") is None
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    preload._read(broken)
    preload._read(tmp_path / "missing.so")
    assert not preload._load(str(broken))
