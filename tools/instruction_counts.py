"""Instructions that a frame of the voice takes, by kernel, as qemu-user counts them: what a processor here cannot tell
of ARM, and what no clock disturbs.

    python tools/instruction_counts.py [--types q8_0 q4_0] [--isas neon neon-i8mm ...]

Builds native/benchmarks/frame_instructions.cpp for this machine and for aarch64, and a TCG plugin of QEMU from
tools/count_instructions.c; prints the tables of docs/performance.md. Needs what `make native` needs, on x86-64.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
PROGRAM: Final = "frame_instructions"
FRAME: Final = ("talker", "code_predictor")


class Machine(NamedTuple):
    """How an instruction set's program is built and run."""

    folder: str
    options: tuple[str, ...]
    emulator: tuple[str, ...]


X86: Final = Machine("build/native-host", (), ("qemu-x86_64", "-cpu", "max"))
ARM: Final = Machine(
    "build/native-aarch64",
    (f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/native/cmake/aarch64-linux-gnu.cmake",),
    ("qemu-aarch64", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu"),
)
# TCG has no AVX-512: what kernels use of it cannot be counted here.
MACHINES: Final = {"scalar": X86, "avx2": X86, "neon": ARM, "neon-dotprod": ARM, "neon-i8mm": ARM}

# The first that is found in a function's name.
PARTS: Final = (
    ("matrix products", r"panel_matvec::"),
    ("rounding to 16 bits", r"::quantize\("),
    ("attention", r"::(dot|add_scaled)(_f16|_with<.*>)?\(|::(softmax|to_f16|attend|normalize_and_rotate)\("),
    ("norms and SwiGLU", r"::(rms_norm|silu_mul)\("),
)
REST: Final = "the rest"


def part_of(function: str) -> str:
    """The row of the table that a demangled function belongs to."""
    return next((part for part, pattern in PARTS if re.search(pattern, function)), REST)


def parse(text: str) -> dict[str, int]:
    """Instructions by demangled function, from the plugin's "COUNT FUNCTION" lines."""
    lines = [line.partition(" ") for line in text.splitlines() if line]
    names = run(["c++filt"], "\n".join(name or "?" for _, _, name in lines)).splitlines()
    found: dict[str, int] = {}
    for (count, _, _), name in zip(lines, names, strict=True):
        found[name] = found.get(name, 0) + int(count)
    return found


def run(command: Sequence[str], text: str | None = None) -> str:
    """What a command prints; ends the program with the command's own words when it fails."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def build_plugin(plugin: Path) -> None:
    """Compile the plugin; QEMU runs it, so it is for this machine whatever the program is for."""
    flags = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden")
    run(["cc", *flags, "-o", str(plugin), "tools/count_instructions.c"])


def build_programs(isas: Sequence[str]) -> None:
    """Build the program for each machine that is needed."""
    for machine in {MACHINES[isa] for isa in isas}:
        run(["cmake", "-S", "native", "-B", machine.folder, "-G", "Ninja", "-DKAZEIA_TESTS=ON", *machine.options])
        run(["cmake", "--build", machine.folder, "--target", PROGRAM])


def count(plugin: Path, command: Sequence[str]) -> dict[str, int]:
    """Instructions by function, between the marks, of one run; the command begins with the emulator."""
    out = plugin.with_name("counts.txt")
    out.unlink(missing_ok=True)
    counting = ("-d", "plugin", "-D", "/dev/null", "-plugin", f"{plugin},out={out}")
    run([command[0], *counting, *command[1:]])
    return parse(out.read_text(encoding="utf-8"))


def count_of(plugin: Path, isa: str, weight_type: str, what: str, n: int) -> dict[str, int]:
    """Instructions by function of one part of a frame, for n sequences at once."""
    machine = MACHINES[isa]
    return count(plugin, [*machine.emulator, f"{machine.folder}/{PROGRAM}", isa, weight_type, what, str(n)])


def table(head: Sequence[str], rows: Sequence[tuple[str, Sequence[float | None]]], digits: int) -> str:
    """A Markdown table, figures to the right."""

    def cell(value: float | None) -> str:
        return "–" if value is None else f"{value:.{digits}f}"

    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    lines += ["| " + " | ".join([name, *(cell(value) for value in values)]) + " |" for name, values in rows]
    return "\n".join(lines) + "\n"


def frame_table(plugin: Path, isas: Sequence[str], weight_type: str) -> str:
    """Millions of instructions of talker and code predictor, by part; and of one of four frames that are computed at
    once. The scalar kernels share nothing between them: their four would only take long to count.
    """
    rows: list[tuple[str, list[float | None]]] = []
    for what in FRAME:
        name = what.replace("_", " ")
        counts = [count_of(plugin, isa, weight_type, what, 1) for isa in isas]
        parts = [*(part for part, _ in PARTS), REST]
        rows += [(f"{name}: {part}", [of_part(found, part) / 1e6 for found in counts]) for part in parts]
        rows.append((f"**{name}**", [sum(found.values()) / 1e6 for found in counts]))
        four = [
            None if isa == "scalar" else sum(count_of(plugin, isa, weight_type, what, 4).values()) / 4e6 for isa in isas
        ]
        rows.append((f"**{name}, one of four at once**", four))
    return table([f"{weight_type}, millions", *isas], rows, 1)


def of_part(found: dict[str, int], part: str) -> int:
    """Instructions of the functions of one part."""
    return sum(n for function, n in found.items() if part_of(function) == part)


def product_table(plugin: Path, isas: Sequence[str], weight_types: Sequence[str]) -> str:
    """Instructions of the matrix product for each block of 8 rows and 32 columns, per vector."""
    rows: list[tuple[str, list[float | None]]] = []
    for weight_type in weight_types:
        for n in (1, 2, 4):
            found = [count_of(plugin, isa, weight_type, "product", n) for isa in isas]
            n_blocks = 1024 / 8 * 1024 / 32 * n
            of_isa: list[float | None] = [of_part(counts, PARTS[0][0]) / n_blocks for counts in found]
            rows.append((f"{weight_type}, {n} vector{'s' if n > 1 else ''}", of_isa))
    return table(["per block and vector", *isas], rows, 1)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", nargs="+", default=["q8_0", "q4_0"])
    parser.add_argument("--isas", nargs="+", choices=MACHINES, default=list(MACHINES))
    parser.add_argument("--products-only", action="store_true", help="only the small table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plugin = Path(folder) / "count.so"
        build_plugin(plugin)
        build_programs(options.isas)
        sys.stdout.write(product_table(plugin, options.isas, options.types))
        if not options.products_only:
            for weight_type in options.types:
                sys.stdout.write("\n" + frame_table(plugin, options.isas, weight_type))
                sys.stdout.flush()


if __name__ == "__main__":
    main()
