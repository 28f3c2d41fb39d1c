"""Takes one file or folder that is dropped on a widget."""

from pathlib import Path

from PySide6.QtGui import QDragEnterEvent, QDropEvent


class DropTarget:
    """Beside a QWidget in the bases of a class, before it; the widget calls `setAcceptDrops(True)`."""

    def takes(self, path: Path) -> bool:
        """Whether it has a use for it now."""
        return True

    def take(self, path: Path) -> None:
        """It was dropped."""
        raise NotImplementedError

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._dragged(event) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        path = self._dragged(event)
        if path is not None:
            event.acceptProposedAction()
            self.take(path)

    def _dragged(self, event: QDropEvent) -> Path | None:
        urls = event.mimeData().urls()
        if len(urls) != 1 or not urls[0].isLocalFile():
            return None
        path = Path(urls[0].toLocalFile())
        return path if self.takes(path) else None
