"""Holds Kazeia's writing speed to llama.cpp's own tool, llama-bench, on the very libraries that Kazeia uses.

    .venv/bin/python tools/llama_bench.py FILE.gguf [--threads 2] [--runs 7] [--busy] [--json]

llama-bench is built once, in build/llama-bench, from the source that llama-cpp-python is made of, and linked against
the installed libraries: same kernels, same OpenMP, same settings of it, same threads. It computes random tokens and
chooses none; Kazeia's figure holds what a reply takes: the choice by the usual samplers and the text. Both are run in
turn; the ratio is the median of those of each pair, so that what else the machine does weighs on both.

--busy: also beside processes that keep 1 and 2 cores busy, as ratios to the time alone, and llama-bench's own ratios
in the same run. Kazeia writes with fewer threads meanwhile (llm/pace.py); llama-bench keeps its number.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kazeia_desktop.llm.llama import LlamaModel
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings

ROOT: Final = Path(__file__).resolve().parents[1]
BUILD: Final = ROOT / "build" / "llama-bench"
SOURCES: Final = (
    "tools/llama-bench/llama-bench.cpp", "tools/llama-bench/main.cpp", "common/common.cpp", "common/fit.cpp",
    "common/log.cpp", "common/json.cpp",
)  # fmt: skip
PROMPT: Final = "Raconte une longue histoire de marins et de tempêtes."
BUSY: Final = (1, 2)

# The rest of llama.cpp's common library is a hundred thousand lines of servers, downloads and templates.
STUB: Final = """
#include "arg.h"
#include "build-info.h"
#include <stdexcept>
int llama_build_number(void) { return 0; }
const char * llama_commit(void) { return "sdist"; }
void llama_print_build_info(const char *, FILE *) {}
void common_print_available_devices() {}
namespace common_arg_utils {
bool is_truthy(const std::string & value) { return value == "1" || value == "on"; }
bool is_falsey(const std::string & value) { return value == "0" || value == "off"; }
bool is_autoy(const std::string & value) { return value == "auto"; }
}
common_models_handler common_models_handler_init(const common_params &, llama_example) {
    throw std::runtime_error("models are read from files only");
}
void common_models_handler_apply(common_models_handler &, common_params &, common_download_callback *) {}
"""


def pinned() -> str:
    """The version of llama-cpp-python that the project is made with; it must be the installed one."""
    text = (ROOT / "constraints.txt").read_text("utf-8")
    found = re.search(r"^llama-cpp-python==(\S+)", text, re.MULTILINE)
    if found is None or found.group(1) != (installed := version("llama-cpp-python")):
        sys.exit(f"installed is llama-cpp-python {installed}, constraints.txt wants another: `make build`")
    return found.group(1)


def source(number: str) -> Path:
    """llama.cpp's tree, unpacked from the source distribution, which pip gets."""
    name = f"llama_cpp_python-{number}"
    tree = BUILD / name / "vendor" / "llama.cpp"
    if not tree.is_dir():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation"]
        command += ["--no-binary", ":all:", "--dest", str(BUILD), f"llama-cpp-python=={number}"]
        subprocess.run(command, check=True)
        with tarfile.open(BUILD / f"{name}.tar.gz") as archive:
            archive.extractall(BUILD, filter="data")
    return tree


def build(tree: Path) -> Path:
    """The program; compiled in 30 s on one core unless it is there."""
    program = BUILD / "llama-bench"
    package = find_spec("llama_cpp")
    assert package is not None and package.origin is not None
    libraries = Path(package.origin).parent / "lib"
    if program.exists() and program.stat().st_mtime > (libraries / "libllama.so").stat().st_mtime:
        return program
    (BUILD / "stub.cpp").write_text(STUB, "utf-8")
    compiler = os.environ.get("CXX", "c++")
    flags = ["-std=c++17", "-O2", "-w", "-ffunction-sections", "-fdata-sections"]
    flags += [f"-I{tree / folder}" for folder in ("common", "include", "ggml/include", "vendor")]
    objects = []
    for file in (*(tree / name for name in SOURCES), BUILD / "stub.cpp"):
        objects.append(str(BUILD / f"{file.stem}.o"))
        subprocess.run([compiler, *flags, "-c", str(file), "-o", objects[-1]], check=True)
    # What the tool does not use of these files needs the rest of the library: the linker leaves it out.
    link = ["-Wl,--gc-sections", f"-Wl,-rpath,{libraries}", f"-L{libraries}"]
    link += ["-lllama", "-lggml", "-lggml-base", "-lpthread"]
    subprocess.run([compiler, *objects, *link, "-o", str(program)], check=True)
    return program


def theirs(program: Path, gguf: Path, threads: int, tokens: int, flash: bool) -> float:
    """llama-bench's milliseconds a token. It inherits the environment that Kazeia sets for OpenMP."""
    command = [str(program), "-m", str(gguf), "-p", "0", "-n", str(tokens), "-t", str(threads), "-r", "1"]
    command += ["-fa", "1" if flash else "0", "-ngl", "0", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)[0]["avg_ns"]) / 1e6 / tokens


def ours(model: LlamaModel, tokens: int) -> float:
    """Kazeia's milliseconds a token: computed, chosen by the usual samplers, turned into text."""
    never = CancelToken()
    spent, made, computed = 0.0, 0, 0
    while made < tokens - 1:  # a story may end early
        model.context.keep(0)
        model.prefill(model.tokenize(PROMPT, special=False), never)
        before, began = made, time.perf_counter()
        for _ in model.generate(tokens - made, never):
            made += 1
        spent += time.perf_counter() - began
        if made < before + 2:
            sys.exit("the model ends at once")
        computed += made - before - 1  # the last one is told, not read
    return spent * 1000 / computed


class Busy:
    """Processes that keep so many cores busy meanwhile."""

    def __init__(self, n: int) -> None:
        command = [sys.executable, "-S", "-c", "print(flush=True)\nwhile True: pass"]
        self._processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(n)]

    def __enter__(self) -> None:
        for process in self._processes:
            assert process.stdout is not None
            process.stdout.readline()  # it works

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()


def opened(options: argparse.Namespace) -> LlamaModel:
    """The model as Kazeia loads it, warm."""
    model = LlamaModel(options.model, LlmSettings(threads=options.threads, prefill_threads=0, n_ctx=1024))
    ours(model, 16)
    return model


def anew(options: argparse.Namespace) -> float:
    """Kazeia's milliseconds a token with a model just loaded, as llama-bench's is, so that where weights come to lie in
    memory weighs on both alike."""
    model = opened(options)
    try:
        return ours(model, options.tokens)
    finally:
        model.close()


def in_turn(program: Path, gguf: Path, options: argparse.Namespace) -> dict[str, object]:
    """Both, `runs` times one after the other."""
    flash = LlmSettings().flash_attention
    pairs = []
    for run in range(options.runs):
        if run % 2:
            its = theirs(program, gguf, options.threads, options.tokens, flash)
            pairs.append((anew(options), its))
        else:
            mine = anew(options)
            pairs.append((mine, theirs(program, gguf, options.threads, options.tokens, flash)))
    ratios = sorted(mine / its for mine, its in pairs)
    return {
        "runs": options.runs,
        "ours_ms": round(statistics.median(mine for mine, _ in pairs), 3),
        "llama_bench_ms": round(statistics.median(its for _, its in pairs), 3),
        "ours_best_ms": round(min(mine for mine, _ in pairs), 3),
        "llama_bench_best_ms": round(min(its for _, its in pairs), 3),
        "ratio": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
    }


def beside(program: Path, model: LlamaModel, options: argparse.Namespace) -> dict[str, object]:
    """How many times the time alone a token takes beside busy cores: medians of `runs` in turn."""
    flash = LlmSettings().flash_attention
    measures: dict[str, Callable[[], float]] = {
        "kazeia": lambda: ours(model, options.tokens),
        "llama_bench": lambda: theirs(program, options.model, options.threads, options.tokens, flash),
    }
    found: dict[tuple[str, int], list[float]] = {}
    for _ in range(options.runs):
        for n in (0, *BUSY):
            with Busy(n):
                for name, measure in measures.items():
                    found.setdefault((name, n), []).append(measure())
    told: dict[str, object] = {}
    for name in measures:
        alone = found[name, 0]
        told[name] = {"alone_ms": round(statistics.median(alone), 3)} | {
            f"x{n}": round(statistics.median(b / a for a, b in zip(alone, found[name, n], strict=True)), 2)
            for n in BUSY
        }
    return told


def main() -> int:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, metavar="FILE.gguf")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=128, help="of each run")
    parser.add_argument("--source", type=Path, metavar="DIR", help="llama.cpp's tree; default: pip gets it")
    parser.add_argument("--busy", action="store_true", help="also beside 1 and 2 busy cores")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    program = build(options.source or source(pinned()))
    record: dict[str, object] = {"model": options.model.name, "threads": options.threads, "tokens": options.tokens}
    record |= in_turn(program, options.model, options)
    if options.busy:
        model = opened(options)
        try:
            record["beside_busy"] = beside(program, model, options)
        finally:
            model.close()
    if options.json:
        sys.stdout.write(json.dumps(record) + "\n")
    else:
        for name, value in record.items():
            sys.stdout.write(f"{name:20} {value}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
