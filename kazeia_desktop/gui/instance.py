"""What other starts of Kazeia and `kazeia toggle | show | quit` ask of the window, in the window's thread."""

from collections.abc import Callable
from functools import partial
from typing import Final

from PySide6.QtCore import QObject, QSocketNotifier, QTimer

from kazeia_desktop.runtime.single_instance import Answer, Request, SingleInstance

_PATIENCE_MS: Final = 5000
"""With one that connects and says nothing."""


class InstanceServer(QObject):
    """Answers requests as they come; nothing here waits.

    Args:
        serve: does what is asked and says what is so now.
    """

    def __init__(self, instance: SingleInstance, serve: Callable[[str], Answer], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._instance = instance
        self._serve = serve
        self._open: dict[Request, QSocketNotifier] = {}
        self._listening = QSocketNotifier(instance.fileno(), QSocketNotifier.Type.Read, self)
        self._listening.activated.connect(self._accept)

    def _accept(self) -> None:
        request = self._instance.accept()
        if request is None:
            return
        notifier = self._open[request] = QSocketNotifier(request.fileno(), QSocketNotifier.Type.Read, self)
        notifier.activated.connect(partial(self._read, request))
        QTimer.singleShot(_PATIENCE_MS, self, partial(self._end, request))

    def _read(self, request: Request, *_: object) -> None:
        asked = request.read()
        if asked is not None:
            answer = self._serve(asked)
            self._forget(request)
            request.answer(answer)
        elif request.ended:
            self._forget(request)

    def _end(self, request: Request) -> None:
        self._forget(request)
        request.close()

    def _forget(self, request: Request) -> None:
        notifier = self._open.pop(request, None)
        if notifier is not None:
            notifier.setEnabled(False)
            notifier.deleteLater()

    def close(self) -> None:
        """No more requests; the place is free for another app."""
        self._listening.setEnabled(False)
        for request in list(self._open):
            self._end(request)
        self._instance.close()
