"""Icons: SVG files drawn for Kazeia, tinted with a colour of the theme."""

import functools
import importlib.resources

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

_SCALES = (1, 2, 3)


@functools.cache
def _source(name: str) -> str:
    return importlib.resources.files("kazeia_desktop.gui").joinpath("resources", f"{name}.svg").read_text("utf-8")


@functools.lru_cache(maxsize=256)
def renderer(name: str, color: str) -> QSvgRenderer:
    """The drawing `resources/<name>.svg` in which `currentColor` is `color` (#RRGGBB)."""
    return QSvgRenderer(QByteArray(_source(name).replace("currentColor", color).encode("utf-8")))


@functools.lru_cache(maxsize=256)
def icon(name: str, color: str, size: int = 20) -> QIcon:
    """An icon of `size` px that is sharp on screens of scale 1 to 3."""
    made = QIcon()
    for scale in _SCALES:
        pixmap = QPixmap(QSize(size, size) * scale)
        pixmap.setDevicePixelRatio(scale)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        renderer(name, color).render(painter, QRectF(0, 0, size, size))
        painter.end()
        made.addPixmap(pixmap)
    return made


def app_icon() -> QIcon:
    """Kazeia's own icon."""
    made = QIcon()
    for size in (16, 24, 32, 48, 64, 128, 256):
        made.addPixmap(icon("kazeia", "#000000", size).pixmap(size, size))
    return made
