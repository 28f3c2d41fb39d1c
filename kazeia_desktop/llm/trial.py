"""A model file that nobody vouches for is first run in a process of its own.

Our reader knows what every GGUF file must be; what each of llama.cpp's hundred architectures takes for granted it
does not, and llama.cpp ends the process where that fails. So a file that is no catalogue's (those are known by their
hash) is loaded and asked for a few tokens by a child first, once for each file and llama.cpp.
"""

import os
from pathlib import Path
from typing import Final

import llama_cpp

from kazeia_desktop.errors import KazeiaError, ModelCorruptError, ModelIncompatibleError, ModelMissingError
from kazeia_desktop.llm.child import ChildFailed, ask_child
from kazeia_desktop.llm.gguf import check_header
from kazeia_desktop.llm.state_file import fingerprint
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings

_PATIENCE_S: Final = 30.0
_BYTES_A_SECOND: Final = 50_000_000  # a slow disk's
_ERRORS: Final = {kind.__name__: kind for kind in (ModelCorruptError, ModelIncompatibleError, ModelMissingError)}


def try_model(path: Path, settings: LlmSettings, paths: Paths, cancel: CancelToken | None = None) -> None:
    """Make sure that the file can be loaded and run without ending this process.

    Raises:
        ModelError: it cannot; with llama.cpp's reason, or how it ended.
    """
    check_header(path)
    of = f"trial {llama_cpp.__version__} {settings.kv_type} {settings.flash_attention}"
    record = paths.cache_dir / "trials" / fingerprint(path, of).hex()
    if record.exists():
        return
    job = {"path": str(path), "kv_type": settings.kv_type, "flash_attention": settings.flash_attention}
    patience_s = _PATIENCE_S + path.stat().st_size / _BYTES_A_SECOND
    environment = os.environ | {"GGML_NO_BACKTRACE": "1"}  # ggml would start a debugger on itself
    try:
        answer = ask_child("kazeia_desktop.llm.trial_child", job, environment, patience_s, cancel or CancelToken())
    except ChildFailed as failed:
        raise ModelIncompatibleError(
            "llama.cpp breaks down over {file}: {reason}", file=str(path), reason=_without_folder(failed.last)
        ) from None
    if answer is None:
        return  # cancelled
    if "error" in answer:
        kind, template, values = answer["error"]
        raise _ERRORS.get(kind, ModelIncompatibleError)(template, **values)
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.touch()
    except OSError:
        pass  # tried again next time


def _without_folder(line: str) -> str:
    """An assertion's line without the folder in which llama.cpp was built."""
    place, colon, said = line.partition(": ")
    return f"{Path(place).name}: {said}" if colon and os.sep in place else line


def told(error: KazeiaError) -> list[object]:
    """An error as the child hands it over."""
    return [type(error).__name__, error.template, {name: str(value) for name, value in error.values.items()}]
