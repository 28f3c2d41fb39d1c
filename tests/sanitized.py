"""Runs a module on another build of the extension: `python -m tests.sanitized EXTENSION MODULE ARGUMENT ...`.

For one with sanitizers, whose runtime library must be loaded before Python (see tools/fuzz_voice.py).
"""

import importlib.util
import os
import runpy
import subprocess
import sys
from pathlib import Path

NAME = "kazeia_desktop._native._core"


def build(root: Path) -> Path:
    """The extension with the sanitizers for memory and for undefined behaviour, in build/native-extension-sanitize.

    Raises:
        subprocess.CalledProcessError: it cannot be built here.
    """
    folder = root / "build" / "native-extension-sanitize"
    pybind11 = subprocess.check_output([sys.executable, "-m", "pybind11", "--cmakedir"], text=True).strip()
    chosen = {
        "KAZEIA_SANITIZE": "address,undefined", "CMAKE_BUILD_TYPE": "RelWithDebInfo",
        "Python_EXECUTABLE": sys.executable, "pybind11_DIR": pybind11,
    }  # fmt: skip
    cmake = Path(sys.executable).with_name("cmake")
    path = f"{cmake.parent}{os.pathsep}{os.environ['PATH']}"  # ninja
    for arguments in (
        ["-S", str(root / "native"), "-B", str(folder), "-G", "Ninja", *(f"-D{k}={v}" for k, v in chosen.items())],
        ["--build", str(folder)],
    ):
        subprocess.run([cmake, *arguments], check=True, stdout=sys.stderr, env={**os.environ, "PATH": path})
    return next(folder.glob("_core.*.so"))


def environment() -> dict[str, str]:
    """For a process that loads such an extension into a Python without sanitizers."""
    libraries = [
        subprocess.check_output(["g++", f"-print-file-name={name}"], text=True).strip()
        for name in ("libasan.so", "libubsan.so", "libstdc++.so.6")
    ]
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }


def main() -> None:
    importlib.import_module("llama_cpp")  # first, as in kazeia_desktop._native
    extension, module = sys.argv[1:3]
    spec = importlib.util.spec_from_file_location(NAME, extension)
    assert spec is not None and spec.loader is not None
    sys.modules[NAME] = importlib.util.module_from_spec(spec)  # found there by whoever imports it
    spec.loader.exec_module(sys.modules[NAME])
    del sys.argv[1:3]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
