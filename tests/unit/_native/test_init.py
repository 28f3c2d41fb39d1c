"""The extension is there, of one build with llama.cpp, and says in one line when it is not."""

import importlib.util
import platform
from pathlib import Path

import pytest

from kazeia_desktop import _native
from kazeia_desktop.errors import ModelIncompatibleError
from tests.native.programs import python

pytestmark = pytest.mark.native

X86 = platform.machine() in ("x86_64", "AMD64")
FOREIGN = "neon" if X86 else "avx2"
TELL = """
import sys
from kazeia_desktop.errors import KazeiaError
try:
    from kazeia_desktop import _native
except KazeiaError as error:
    print(type(error).__name__, error)
    sys.exit(1)
print(_native.cpu_isa())
"""


def test_build() -> None:
    build = _native.llama_build()
    assert build["version"] and build["commit"] and build["system_info"]
    assert len(build["library_sha256"]) == 64
    cpu = [device for device in build["devices"] if device["type"] == "cpu"]
    assert len(cpu) == 1
    assert cpu[0]["name"] and cpu[0]["memory_total_bytes"] > 1e8


def test_another_library_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "libllama.so"
    other.write_bytes(b"of another build")
    monkeypatch.setattr(_native, "_mapped_libllama", lambda: other)
    with pytest.raises(ModelIncompatibleError, match="not the one that Kazeia was built with: run `make build`"):
        _native.check_build()


def test_the_mapped_library_is_checked_at_import() -> None:
    """llama_cpp may be told to map another folder's library: that one is checked, not the one beside it."""
    program = python(
        "import pathlib, shutil, sys, tempfile\n"
        "lib = pathlib.Path(sys.argv[1] if sys.argv[1:] else "
        f"{str(Path(importlib.util.find_spec('llama_cpp').origin).parent / 'lib')!r})\n"
        "folder = pathlib.Path(tempfile.mkdtemp())\n"
        "for file in lib.glob('*.so*'): shutil.copy(file, folder)\n"
        "with (folder / 'libllama.so').open('ab') as out: out.write(b'changed')\n"
        "import os; os.environ['LLAMA_CPP_LIB_PATH'] = str(folder)\n" + TELL
    )
    assert program.returncode == 1
    assert program.stdout.startswith("ModelIncompatibleError llama-cpp-python")
    assert program.stderr == ""


@pytest.mark.parametrize("isa", ["scalar", "avx2" if X86 else "neon"])
def test_forced_isa_is_the_active_one(isa: str) -> None:
    program = python(TELL, KAZEIA_CPU_ISA=isa)
    if isa == "avx2" and program.returncode == 1:
        pytest.skip("this processor has no AVX2")
    assert (program.returncode, program.stdout.strip()) == (0, isa)


@pytest.mark.parametrize(
    ("isa", "says"), [(FOREIGN, "this processor does not run it"), ("sse9", "is not an instruction set")]
)
def test_unusable_isa_is_told_in_one_line(isa: str, says: str) -> None:
    program = python(TELL, KAZEIA_CPU_ISA=isa)
    assert program.returncode == 1
    assert program.stdout.startswith(f"SettingsError KAZEIA_CPU_ISA={isa}")
    assert says in program.stdout
    assert len(program.stdout.splitlines()) == 1
    assert program.stderr == ""


def test_names_of_instruction_sets_are_those_of_the_kernels() -> None:
    program = python(
        "from kazeia_desktop._native import _core, ISAS\n"
        "print([name for name in ISAS if _core.select_isa(name) not in ('', f'this processor does not run {name}')])"
    )
    assert (program.returncode, program.stdout.strip()) == (0, "[]")


def test_unusable_isa_ends_a_command_with_1(tmp_path: Path) -> None:
    sound = tmp_path / "a.wav"
    sound.write_bytes(b"RIFF")
    program = python(
        f"import sys\nfrom kazeia_desktop.__main__ import main\nsys.exit(main(['transcribe', {str(sound)!r}]))",
        KAZEIA_CPU_ISA=FOREIGN,
        KAZEIA_HOME=str(tmp_path),
        LC_ALL="C.UTF-8",
    )
    assert program.returncode == 1
    assert len(program.stderr.splitlines()) == 1
    assert FOREIGN in program.stderr


def test_a_missing_extension_is_told_in_one_line() -> None:
    program = python("import sys\nsys.modules['kazeia_desktop._native._core'] = None\n" + TELL)
    assert program.returncode == 1
    assert program.stdout.startswith("ModelIncompatibleError Kazeia's native library cannot be loaded")
    assert "`make build`" in program.stdout
    assert len(program.stdout.splitlines()) == 1


def test_a_missing_llama_is_told_in_one_line() -> None:
    program = python("import sys\nsys.modules['llama_cpp'] = None\n" + TELL)
    assert program.returncode == 1
    assert program.stdout.startswith("ModelIncompatibleError llama.cpp cannot be loaded")


def test_only_bindings_know_pybind_and_no_public_header_knows_llama() -> None:
    native = Path(__file__).parents[3] / "native"
    sources = [path for path in native.rglob("*") if path.suffix in (".h", ".cpp")]
    assert len(sources) > 10
    for path in sources:
        text = path.read_text("utf-8")
        if "bindings" not in path.parts:
            assert "pybind11" not in text, path
        if "include" in path.parts:
            assert "llama.h" not in text and "ggml" not in text.replace("ggml names", ""), path
