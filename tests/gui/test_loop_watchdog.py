"""The watchdog names what keeps the window's thread, and is silent otherwise."""

import logging
import time

import pytest
from pytestqt.qtbot import QtBot

from kazeia_desktop.gui.loop_watchdog import LATE_MS, LoopWatchdog

pytestmark = [pytest.mark.gui, pytest.mark.expects_warning]


def hold_the_loop() -> None:
    end = time.monotonic() + 4 * LATE_MS / 1000
    while time.monotonic() < end:
        pass


def test_it_tells_once_what_kept_the_loop(qtbot: QtBot, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    watchdog = LoopWatchdog()
    try:
        qtbot.wait(100)
        caplog.clear()
        hold_the_loop()
        qtbot.wait(50)
    finally:
        watchdog.stop()
    said = [record.getMessage() for record in caplog.records if "away" in record.getMessage()]
    assert any("hold_the_loop" in text and "test_loop_watchdog.py" in text for text in said)
    assert sum("hold_the_loop" in text for text in said) == 1


def test_it_ends(qtbot: QtBot) -> None:
    watchdog = LoopWatchdog()
    watchdog.stop()
    assert not watchdog._worker.alive
