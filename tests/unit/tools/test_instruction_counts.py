"""Instructions are counted exactly, by function, between the marks only."""

import platform
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from tests.tool_script import tool_script

pytestmark = pytest.mark.native

PROGRAM = """
#include <stdlib.h>
volatile int at = 0;
__attribute__((noinline)) void kazeia_count_begin(void) { at = 1; }
__attribute__((noinline)) void kazeia_count_end(void) { at = 2; }
__attribute__((noinline)) void work(int n) { for (int i = 0; i < n; ++i) at = at + 1; }
int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1;
  work(7);
  kazeia_count_begin();
  work(n);
  kazeia_count_end();
  work(9);
  return 0;
}
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return tool_script("instruction_counts")


@pytest.mark.parametrize(
    ("function", "part"),
    [
        (
            "kazeia::panel_matvec::(anonymous namespace)::multiply<Q8, Sums<1ul>, 1ul>(std::byte const*)",
            "matrix products",
        ),
        ("kazeia::panel_matvec::q8_0_scalar(std::byte const*, unsigned long)", "matrix products"),
        ("kazeia::vector_ops::(anonymous namespace)::quantize(float const*)", "rounding to 16 bits"),
        ("kazeia::vector_ops::(anonymous namespace)::dot_f16(float const*)", "attention"),
        ("float kazeia::vector_ops::(anonymous namespace)::dot_with<float>(float const*)", "attention"),
        ("kazeia::Decoder::attend(unsigned long, unsigned long)", "attention"),
        ("kazeia::vector_ops::(anonymous namespace)::rms_norm(float const*)", "norms and SwiGLU"),
        ("kazeia::Decoder::forward(unsigned long, unsigned int)", "the rest"),
        ("?", "the rest"),
    ],
)
def test_parts(tool: ModuleType, function: str, part: str) -> None:
    assert tool.part_of(function) == part


def test_counts_of_a_function_are_added(tool: ModuleType) -> None:
    assert tool.parse("5 _ZN6kazeia4workEv\n7 main\n\n2 _ZN6kazeia4workEv\n1 \n") == {
        "kazeia::work()": 7,
        "main": 7,
        "?": 1,
    }


def test_the_table_is_markdown(tool: ModuleType) -> None:
    assert tool.table(["of", "a", "b"], [("x", [1, None])], 1) == "| of | a | b |\n|---|---:|---:|\n| x | 1.0 | – |\n"


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the program is built for x86-64")
def test_the_plugin_counts_between_the_marks(tool: ModuleType, tmp_path: Path) -> None:
    assert shutil.which("qemu-x86_64"), "qemu-user is missing: `make native` installs it"
    plugin = tmp_path / "count.so"
    tool.build_plugin(plugin)
    (tmp_path / "program.c").write_text(PROGRAM, encoding="utf-8")
    program = tmp_path / "program"
    subprocess.run(["cc", "-O1", "-o", str(program), str(tmp_path / "program.c")], check=True, timeout=60)
    found = {n: tool.count(plugin, ["qemu-x86_64", str(program), str(n)]) for n in (1000, 2000, 3000)}
    work = {n: counts["work"] for n, counts in found.items()}
    assert work[2000] - work[1000] == work[3000] - work[2000] == 1000 * ((work[2000] - work[1000]) // 1000) > 0
    assert 0 < sum(found[1000].values()) - work[1000] < 20
    assert set(found[1000]) == {"main", "work"}
