"""Installs llama-cpp-python, which comes as source, and shows how far the build is.

Usage: python tools/build_llama.py CONSTRAINTS LOG
The built wheel is kept, so only the first installation on a machine takes minutes. pip's own cache does not look at the
options and the processor that a wheel was built for; here each of these has a folder of its own.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

NAME = "llama-cpp-python"
# No tools of llama.cpp's own, and the instructions of this very processor.
CMAKE_ARGS = "-DLLAVA_BUILD=OFF -DGGML_NATIVE=ON"
# GCC before 11.5, 12.4 and 13.3 loses most of what AMX is configured with (its bug 114098), so that llama.cpp dies of a
# general protection fault at its first prompt; Debian 12 has 12.2. Only servers have AMX: no laptop is slower without.
NO_AMX = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
CPUINFO = Path("/proc/cpuinfo")
STEP = re.compile(r"\[(\d+)/(\d+)\]")
TAIL_LINES = 25


def pinned(constraints: Path) -> str:
    """The version that the constraints file wants."""
    found = re.search(rf"^{NAME}==(\S+)", constraints.read_text("utf-8"), re.MULTILINE)
    if found is None:
        sys.exit(f"{constraints} does not pin {NAME}")
    return found.group(1)


def instructions(cpuinfo: Path = CPUINFO) -> str:
    """What this processor can do, as Linux names it; elsewhere its architecture."""
    text = cpuinfo.read_text("utf-8") if cpuinfo.is_file() else ""
    found = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", text, re.MULTILINE)
    return found.group(1) if found else platform.machine()


def options(cpu: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What the build reads of the environment, for a processor with these `instructions`."""
    built_with = {"CMAKE_ARGS": environment.get("CMAKE_ARGS", CMAKE_ARGS)}
    for name in ("CFLAGS", "CXXFLAGS"):
        flags = [environment.get(name, ""), NO_AMX if "amx_tile" in cpu.split() else ""]
        built_with[name] = " ".join(filter(None, flags))
    return built_with


def wheel_folder(cache: Path, wanted: str, cpu: str, built_with: Mapping[str, str]) -> Path:
    """Where the wheel of a version is kept that was built for this Python, this processor and with these options."""
    told = json.dumps([sys.version_info[:2], platform.machine(), sorted(cpu.split()), sorted(built_with.items())])
    return cache / f"{NAME}-{wanted}-{hashlib.sha256(told.encode()).hexdigest()[:12]}"


def installed_from() -> str:
    """The address of the wheel that is installed; "" for none."""
    try:
        told = Distribution.from_name(NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    return str(json.loads(told)["url"]) if told else ""


def show(step: str, started: float, fixed_line: bool) -> None:
    minutes, seconds = divmod(int(time.monotonic() - started), 60)
    line = f"llama.cpp: {step}, {minutes} min {seconds:02d} s"
    sys.stdout.write(f"\r{line}   " if fixed_line else f"{line}\n")
    sys.stdout.flush()


def build(constraints: Path, log: Path, folder: Path, built_with: Mapping[str, str]) -> int:
    """Run pip, keep its words in `log`, show the build's steps. Returns pip's exit code."""
    # -v: pip passes the build's own lines on. --no-input: nobody would see a question. No isolation: the build
    # tools are this environment's, which constraints.txt pins.
    command = [
        *(sys.executable, "-m", "pip", "wheel", "-v", "--no-input", "--no-build-isolation", "--no-deps"),
        *("--no-cache-dir", "--wheel-dir", str(folder), "-c", str(constraints), NAME),
    ]
    environment = {**os.environ, **built_with, "PYTHONUNBUFFERED": "1"}
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
    show("built" if pip.returncode == 0 else "failed", started, fixed_line=False)
    return pip.returncode


def install(constraints: Path, wheel: Path) -> int:
    """Install the wheel, also over the same version built otherwise. Returns pip's exit code."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "-c", str(constraints))
    replaced = subprocess.run([*pip, "--force-reinstall", "--no-deps", str(wheel)], check=False).returncode
    return replaced or subprocess.run([*pip, str(wheel)], check=False).returncode


def main() -> int:
    constraints, log = Path(sys.argv[1]), Path(sys.argv[2])
    cpu = instructions()
    built_with = options(cpu, os.environ)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kazeia-build"
    folder = wheel_folder(cache, pinned(constraints), cpu, built_with)
    if folder.as_uri() in installed_from():
        return 0
    if not list(folder.glob("*.whl")):
        sys.stdout.write(f"Building {NAME}: the first time on a machine this takes 8 to 9 minutes on two cores.\n")
        sys.stdout.flush()
        part = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        code = build(constraints, log, part, built_with)
        if code:
            tail = log.read_text("utf-8").splitlines()[-TAIL_LINES:]
            sys.stderr.write("\n".join([*tail, f"{NAME} could not be built; the whole log is {log}", ""]))
            return code
        part.rename(folder)
    return install(constraints, next(folder.glob("*.whl")))


if __name__ == "__main__":
    sys.exit(main())
