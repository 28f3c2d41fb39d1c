"""Installs llama-cpp-python, which comes as source, and shows how far the build is.

Usage: python tools/build_llama.py CONSTRAINTS LOG
pip keeps the built wheel, so only the first installation on a machine takes minutes.
"""

import os
import re
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

NAME = "llama-cpp-python"
# No tools of llama.cpp's own, and the instructions of this very processor.
CMAKE_ARGS = "-DLLAVA_BUILD=OFF -DGGML_NATIVE=ON"
STEP = re.compile(r"\[(\d+)/(\d+)\]")
TAIL_LINES = 25


def pinned(constraints: Path) -> str:
    """The version that the constraints file wants."""
    found = re.search(rf"^{NAME}==(\S+)", constraints.read_text("utf-8"), re.MULTILINE)
    if found is None:
        sys.exit(f"{constraints} does not pin {NAME}")
    return found.group(1)


def installed() -> str:
    try:
        return version(NAME)
    except PackageNotFoundError:
        return ""


def show(step: str, started: float, fixed_line: bool) -> None:
    minutes, seconds = divmod(int(time.monotonic() - started), 60)
    line = f"llama.cpp: {step}, {minutes} min {seconds:02d} s"
    sys.stdout.write(f"\r{line}   " if fixed_line else f"{line}\n")
    sys.stdout.flush()


def install(constraints: Path, log: Path) -> int:
    """Run pip, keep its words in `log`, show the build's steps. Returns pip's exit code."""
    # -v: pip passes the build's own lines on. --no-input: nobody would see a question. No isolation: the build
    # tools are this environment's, which constraints.txt pins.
    command = [
        *(sys.executable, "-m", "pip", "install", "-v", "--no-input", "--no-build-isolation"),
        *("-c", str(constraints), NAME),
    ]
    environment = {**os.environ, "CMAKE_ARGS": os.environ.get("CMAKE_ARGS", CMAKE_ARGS), "PYTHONUNBUFFERED": "1"}
    fixed_line = sys.stdout.isatty()
    started = time.monotonic()
    shown_at = -100.0
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w", encoding="utf-8") as kept,
        subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as pip,
    ):
        assert pip.stdout is not None
        for line in pip.stdout:
            kept.write(line)
            step = STEP.search(line)
            now = time.monotonic()
            if step and now - shown_at > (0.5 if fixed_line else 20.0):
                show(f"building, step {step.group(1)} of {step.group(2)}", started, fixed_line)
                shown_at = now
    show("installed" if pip.returncode == 0 else "failed", started, fixed_line=False)
    return pip.returncode


def main() -> int:
    constraints, log = Path(sys.argv[1]), Path(sys.argv[2])
    if installed() == pinned(constraints):
        return 0
    sys.stdout.write(f"Installing {NAME}: the first time this builds llama.cpp, 8 to 9 minutes on two cores.\n")
    code = install(constraints, log)
    if code:
        tail = log.read_text("utf-8").splitlines()[-TAIL_LINES:]
        sys.stderr.write("\n".join([*tail, f"{NAME} could not be installed; the whole log is {log}", ""]))
    return code


if __name__ == "__main__":
    sys.exit(main())
