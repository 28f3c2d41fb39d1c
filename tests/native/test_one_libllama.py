"""One process maps one llama.cpp, whatever is imported first: two copies would each have their own state."""

import sys

import pytest

from tests.native.programs import python

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/maps"),
]

MAPPED = """
mapped = {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if line.count("/")}
for name in ("libllama.so", "libggml.so", "libggml-base.so"):
    print(name, *sorted(path for path in mapped if path.rsplit("/", 1)[1].startswith(name)))
"""
USE = "from kazeia_desktop import _native\n_native.llama_build()\nimport llama_cpp\nllama_cpp.llama_backend_init()\n"


@pytest.mark.parametrize(
    "first",
    [
        "import llama_cpp",
        "from kazeia_desktop import _native",
        "import kazeia_desktop._native._core",
        "import kazeia_desktop.llm.llama",
        "import kazeia_desktop.audio.resampler",
        "import onnxruntime",
    ],
)
def test_one_libllama(first: str) -> None:
    program = python(f"{first}\n{USE}{MAPPED}")
    assert program.returncode == 0, program.stderr
    lines = [line.split(" ", 1) for line in program.stdout.splitlines()]
    assert [line[0] for line in lines] == ["libllama.so", "libggml.so", "libggml-base.so"]
    for name, paths in lines:
        assert len(paths.split(" /")) == 1, f"{name} is mapped more than once: {paths}"
        assert "llama_cpp/lib/" in paths


def test_the_search_would_see_two() -> None:
    """A copy at another path is counted."""
    copied = python(
        "import ctypes, pathlib, shutil, tempfile, llama_cpp\n"
        "lib = pathlib.Path(llama_cpp.__file__).parent / 'lib'\n"
        "with tempfile.TemporaryDirectory() as other:\n"
        "    copy = shutil.copy(lib / 'libggml-base.so', pathlib.Path(other) / 'libggml-base.so')\n"
        "    ctypes.CDLL(copy)\n" + "".join(f"    {line}\n" for line in MAPPED.strip().splitlines())
    )
    assert copied.returncode == 0, copied.stderr
    assert copied.stdout.splitlines()[2].count(" /") == 2


def test_llama_prints_nothing() -> None:
    program = python(USE + "print(_native.llama_build()['devices'][0]['name'])")
    assert program.returncode == 0
    assert program.stderr == ""
    assert program.stdout.strip()


def test_llama_log_is_silent() -> None:
    """A line that llama.cpp logs reaches neither stdout nor stderr."""
    program = python(
        USE
        + "print('loaded', llama_cpp.llama_model_load_from_file(b'/nowhere', llama_cpp.llama_model_default_params()))"
    )
    assert program.returncode == 0
    assert (program.stdout.strip(), program.stderr) == ("loaded None", "")
