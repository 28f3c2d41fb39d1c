"""The window without a screen, on an engine without models. A Qt warning fails the test."""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.main_window import MainWindow
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import Value, with_value
from tests.fakes.fake_engine import FakeEngine, FakeHost

_HARMLESS = ("This plugin does not support", "propagateSizeHints")
"""What the platform plugin `offscreen` cannot do."""


@pytest.fixture(autouse=True)
def no_qt_warning() -> Iterator[None]:
    """Fails on anything that Qt prints above information."""
    said: list[str] = []

    def heard(kind: QtMsgType, _context: object, text: str) -> None:
        loud = kind in (QtMsgType.QtWarningMsg, QtMsgType.QtCriticalMsg, QtMsgType.QtFatalMsg)
        if loud and not any(part in text for part in _HARMLESS):
            said.append(text)
        if kind is QtMsgType.QtFatalMsg:  # Qt aborts after this
            os.write(2, f"{text}\n".encode())

    before = qInstallMessageHandler(heard)
    yield
    qInstallMessageHandler(before)
    assert not said, f"Qt warned: {said}"


@pytest.fixture(scope="session", autouse=True)
def fusion(qapp: QApplication) -> None:
    qapp.setStyle("Fusion")


_SCHEDSTAT = Path("/proc/thread-self/schedstat")


def _kept_waiting_ms() -> float:
    """How long this thread wanted to run and other programs had the processor, since it began."""
    return int(_SCHEDSTAT.read_text().split()[1]) / 1e6 if _SCHEDSTAT.exists() else 0.0


class LoopWatch(QObject):
    """Measures how long the event loop is away: the longest time between two turns of a 1 ms timer.

    What other programs of a busy machine took is not counted, nor what the tests before left to collect: that is a
    third of a second after some thousands of them.
    """

    def __init__(self) -> None:
        super().__init__()
        gc.collect()
        gc.freeze()
        self.restart()
        self.startTimer(1)

    def restart(self) -> None:
        self.longest_ms = 0.0
        self._last = 1000 * time.perf_counter() - _kept_waiting_ms()

    def timerEvent(self, event: QEvent) -> None:
        now = 1000 * time.perf_counter() - _kept_waiting_ms()
        self.longest_ms = max(self.longest_ms, now - self._last)
        self._last = now


@dataclass
class Opened:
    """A window on a fake engine."""

    window: MainWindow
    host: FakeHost
    bot: QtBot
    closed: bool = field(default=False)

    @property
    def engine(self) -> FakeEngine:
        return self.host.engine

    def until(self, fits: Callable[[], bool]) -> None:
        """Let the event loop run until `fits`, at most 10 s: other programs may have the processor."""
        self.bot.waitUntil(lambda: bool(fits()), timeout=10_000)

    def settle(self) -> None:
        """Let what is queued be delivered, and what the window does in turns be done."""
        self.bot.wait(30)
        if not self.window.settled:
            self.bot.waitUntil(lambda: self.window.settled, timeout=20_000)
            self.bot.wait(30)  # and laid out

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.window.close()


Opener = Callable[..., Opened]


@pytest.fixture
def opened(qtbot: QtBot, tmp_path: Path) -> Iterator[Opener]:
    """Opens windows: `opened(host, {"appearance.language": "fr"}, start=True)`; closes them after the test."""
    all_opened: list[Opened] = []
    paths = Paths(*(tmp_path / name for name in ("config", "data", "cache", "logs")))

    def make(host: FakeHost | None = None, values: dict[str, Value] | None = None, start: bool = True) -> Opened:
        host = host or FakeHost()
        settings = Settings()
        for key, value in {"appearance.language": "fr", "appearance.theme": "light", **(values or {})}.items():
            settings = with_value(settings, key, value)
        window = MainWindow(EngineBridge(host.host(), settings), settings, paths)
        one = Opened(window, host, qtbot)
        all_opened.append(one)
        window.show()
        qtbot.waitExposed(window)
        if start:
            window.start()
            if host.hold.is_set() and host.error is None:
                one.until(lambda: bool(host.engines) and window.presence.state is host.rest)
                one.settle()
        else:
            one.closed = True  # its threads were never started
        return one

    yield make
    for one in all_opened:
        one.host.hold.set()
        one.close()
        one.window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.unfreeze()
