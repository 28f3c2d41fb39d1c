"""The tiny language models of tools/make_tiny_llms.py, written once for all tests of a run."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path
from types import ModuleType

from tests.tool_script import tool_script

ARCHITECTURES = ("qwen3", "qwen35", "qwen3next", "lfm2", "mamba2")
RECURRENT = ARCHITECTURES[1:]
"""Those that cannot go back without a checkpoint."""


def tool() -> ModuleType:
    """The script as a module."""
    return tool_script("make_tiny_llms")


@functools.cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="kazeia-tiny-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def tiny_llm(architecture: str, template: str | None = "chatml", seed: int = 1) -> Path:
    """A GGUF file; template: "chatml", None for none, or another one's Jinja source."""
    module = tool()
    source = module.CHATML if template == "chatml" else template
    path = _folder() / f"{architecture}-{abs(hash((template, seed)))}.gguf"
    written: Path = module.write_model(path, architecture, source, seed)
    return written
