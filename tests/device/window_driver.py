"""Kazeia's own window, with what its engine tells written to stdout: run by test_talk.py."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QTimer

from kazeia_desktop import app
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.main_window import MainWindow
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings


def tell(**record: object) -> None:
    sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")
    sys.stdout.flush()


class ToldWindow(MainWindow):
    """The window that `kazeia` opens; it also saves a picture of itself when it begins to speak."""

    def __init__(self, bridge: EngineBridge, settings: Settings, paths: Paths | None = None) -> None:
        super().__init__(bridge, settings, paths)
        bridge.state_changed.connect(self._state)
        bridge.user_text.connect(lambda turn_id, text: tell(event="user_text", text=text))
        bridge.turn_ended.connect(lambda e: tell(event="turn_ended", reply=e.reply, reason=e.reason))
        bridge.failed.connect(lambda e: tell(event="failed", template=e.template, values=str(e.values)))

    def _state(self, state: object) -> None:
        tell(event="state_changed", state=str(state))
        if str(state) == "speaking" and len(sys.argv) > 1:
            QTimer.singleShot(300, self._picture)

    def _picture(self) -> None:
        self.grab().save(sys.argv[1])
        tell(event="picture", path=str(Path(sys.argv[1])))


def main(run: Callable[[], int] = app.main) -> int:
    app.MainWindow = ToldWindow  # type: ignore[attr-defined]
    return run()


if __name__ == "__main__":
    sys.exit(main())
