"""Where the window was and what was open in it, kept in a small file beside the settings."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QApplication

from kazeia_desktop.runtime.small_files import read_record, write_record

_log = logging.getLogger(__name__)

_VERSION: Final = 1
_SEEN_PX: Final = (120, 48)
"""So much of the window's top must be on a screen: enough to take hold of it."""


@dataclass(frozen=True, slots=True)
class WindowPlace:
    """In logical pixels. width 0: never seen before."""

    x: int = 0
    y: int = 0
    width: int = 0
    height: int = 0
    maximized: bool = False
    sidebar: bool = False


def load(file: Path) -> WindowPlace:
    """What was kept; the default where there is nothing, or something else."""
    record = read_record(file, _VERSION)
    kinds: dict[str, type] = {"x": int, "y": int, "width": int, "height": int, "maximized": bool, "sidebar": bool}
    known: dict[str, Any] = {name: record[name] for name, kind in kinds.items() if type(record.get(name)) is kind}
    if any(abs(value) > 1 << 20 for value in known.values()):
        return WindowPlace()
    return WindowPlace(**known)


def save(file: Path, place: WindowPlace) -> None:
    """Keep it; where that cannot be, the window opens in its usual place next time."""
    try:
        write_record(file, _VERSION, asdict(place))
    except OSError as error:
        _log.info("the window's place is not kept: %s", error.strerror)


def fitting(place: WindowPlace, screens: Sequence[QRect], smallest: tuple[int, int]) -> QRect | None:
    """Where the window can be opened again; None where no screen shows it any more, or it was never kept.

    Args:
        screens: the usable part of each, in logical pixels.
    """
    if place.width < smallest[0] or place.height < smallest[1]:
        return None
    wanted = QRect(place.x, place.y, place.width, place.height)
    top = QRect(wanted.topLeft(), wanted.topRight()).adjusted(0, 0, 0, _SEEN_PX[1] - 1)
    for screen in screens:
        seen = screen.intersected(top)
        if seen.width() >= _SEEN_PX[0] and seen.height() >= _SEEN_PX[1] and wanted.top() >= screen.top() - 1:
            wanted.setWidth(min(wanted.width(), screen.width()))
            wanted.setHeight(min(wanted.height(), screen.height()))
            return wanted
    return None


def usable_screens() -> list[QRect]:
    """What each screen has for windows now."""
    return [screen.availableGeometry() for screen in QApplication.screens()]
