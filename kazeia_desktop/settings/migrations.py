"""Reading settings that an older Kazeia wrote: one function a step from version n to n + 1."""

from collections.abc import Callable, Mapping
from typing import Any

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.settings.schema import SCHEMA_VERSION

Tree = dict[str, Any]


def _threads_are_automatic(tree: Tree) -> Tree:
    """Version 1 had fixed numbers of threads and frames; whoever still has them never chose them."""
    llm = tree.get("llm")
    if isinstance(llm, dict) and llm.get("gpu_layers") == 0:
        tree = tree | {"llm": llm | {"gpu_layers": -1}}  # no device could be chosen: 0 meant nothing
    tts = tree.get("tts")
    if not isinstance(tts, dict):
        return tree
    fixed = {"talker_threads": (2, 0), "code_predictor_threads": (2, 0), "codec_threads": (2, 0)}
    moved = {name: now for name, (was, now) in (fixed | {"stream_frames": (4, -1)}).items() if tts.get(name) == was}
    return tree | {"tts": tts | moved}


STEPS: Mapping[int, Callable[[Tree], Tree]] = {1: _threads_are_automatic}
"""Version n -> the function that makes version n + 1 of its tree."""


def migrate(tree: Tree) -> Tree:
    """The tree in today's form, without its version.

    Raises:
        SettingsError: no version, or one from a newer Kazeia.
    """
    rest = dict(tree)
    version = rest.pop("version", None)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise SettingsError("version is {version!r}, expected a number from 1", version=version)
    if version > SCHEMA_VERSION:
        raise SettingsError("it is of version {version}, written by a newer Kazeia", version=version)
    for step in range(version, SCHEMA_VERSION):
        rest = STEPS[step](rest)
    return rest
