"""The tiny language models of tools/make_tiny_llms.py, written once for all tests of a run."""

import atexit
import functools
import importlib.util
import shutil
import tempfile
from pathlib import Path
from types import ModuleType

ARCHITECTURES = ("qwen3", "qwen35", "qwen3next", "lfm2", "mamba2")
RECURRENT = ARCHITECTURES[1:]
"""Those that cannot go back without a checkpoint."""


@functools.cache
def tool() -> ModuleType:
    """The script as a module."""
    script = Path(__file__).parents[2] / "tools" / "make_tiny_llms.py"
    spec = importlib.util.spec_from_file_location("make_tiny_llms", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
