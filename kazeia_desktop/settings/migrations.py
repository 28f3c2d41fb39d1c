"""Reading settings that an older Kazeia wrote: one function a step from version n to n + 1."""

from collections.abc import Callable, Mapping
from typing import Any

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.settings.schema import SCHEMA_VERSION

Tree = dict[str, Any]

STEPS: Mapping[int, Callable[[Tree], Tree]] = {}
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
