"""The scripts of `tools/`, which are no package, as modules."""

import functools
import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]


@functools.cache
def tool_script(name: str) -> ModuleType:
    """`tools/NAME.py`; loaded once.

    Raises:
        FileNotFoundError: there is no such script.
    """
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
