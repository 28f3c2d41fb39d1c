"""Which llama.cpp is built, and when the one that was built before is taken."""

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.tool_script import ROOT, tool_script

pytestmark = pytest.mark.unit

LAPTOP, SERVER = "sse4_2 avx2 fma", "sse4_2 avx2 fma avx512_vnni amx_tile amx_int8"


@pytest.fixture
def tool() -> ModuleType:
    return tool_script("build_llama")


def test_the_version_is_the_pinned_one(tool: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "constraints.txt"
    file.write_text("numpy==2.0\nllama-cpp-python==0.3.36\n", "utf-8")
    assert tool.pinned(file) == "0.3.36"
    file.write_text("numpy==2.0\n", "utf-8")
    with pytest.raises(SystemExit, match="does not pin llama-cpp-python"):
        tool.pinned(file)


def test_amx_is_left_out_where_the_processor_has_it(tool: ModuleType) -> None:
    assert tool.options(LAPTOP, {}) == {"CMAKE_ARGS": tool.CMAKE_ARGS, "CFLAGS": "", "CXXFLAGS": ""}
    own = {"CMAKE_ARGS": "-DGGML_CUDA=ON", "CFLAGS": "-O2", "PATH": "/bin"}
    assert tool.options(SERVER, own) == {
        "CMAKE_ARGS": "-DGGML_CUDA=ON",
        "CFLAGS": f"-O2 {tool.NO_AMX}",
        "CXXFLAGS": tool.NO_AMX,
    }


def test_instructions_are_those_of_the_processor(tool: ModuleType, tmp_path: Path) -> None:
    x86, arm = tmp_path / "x86", tmp_path / "arm"
    x86.write_text("model name\t: A\nflags\t\t: sse4_2 avx2\nbugs\t: none\n\nflags\t\t: sse4_2 avx2\n", "utf-8")
    arm.write_text("BogoMIPS\t: 38.40\nFeatures\t: fp asimd i8mm\n", "utf-8")
    assert tool.instructions(x86) == "sse4_2 avx2"
    assert tool.instructions(arm) == "fp asimd i8mm"
    assert tool.instructions(tmp_path / "none") != ""


def test_a_wheel_is_kept_for_what_it_was_built_for(tool: ModuleType, tmp_path: Path) -> None:
    def folder(version: str = "0.3.36", cpu: str = LAPTOP, **environment: str) -> Path:
        found: Path = tool.wheel_folder(tmp_path, version, cpu, tool.options(cpu, environment))
        return found

    assert folder() == folder(cpu="fma avx2 sse4_2", PATH="/bin")  # the same instructions, the same options
    others = [folder("0.3.37"), folder(cpu=SERVER), folder(CMAKE_ARGS="-DGGML_CUDA=ON"), folder(CFLAGS="-O1")]
    assert len({folder(), *others}) == 5


def test_the_llama_in_use_is_the_one_built_for_this_processor(tool: ModuleType) -> None:
    """Not one that some other cache had, which may have been built for another processor."""
    if sys.platform != "linux":
        pytest.skip("make builds it on Linux")
    cpu = tool.instructions()
    wanted = tool.pinned(ROOT / "constraints.txt")
    folder = tool.wheel_folder(Path("/cache"), wanted, cpu, tool.options(cpu, os.environ))
    assert folder.name in tool.installed_from()
