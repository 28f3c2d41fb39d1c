"""Jobs of the pages: their news come in the window's thread, and none outlives the window."""

import sys
import threading
import time

import pytest
from pytestqt.qtbot import QtBot

from kazeia_desktop.errors import KazeiaError, StorageError
from kazeia_desktop.gui.jobs import Jobs, Report
from kazeia_desktop.runtime.cancel import CancelToken

pytestmark = pytest.mark.gui


def test_a_job_runs_elsewhere_and_tells_in_the_windows_thread(qtbot: QtBot) -> None:
    jobs = Jobs()
    heard: list[tuple[str, object, str]] = []
    worked_in: list[str] = []

    def work(_cancel: CancelToken, report: Report) -> int:
        worked_in.append(threading.current_thread().name)
        report(0.5)
        return 7

    def note(kind: str, value: object) -> None:
        heard.append((kind, value, threading.current_thread().name))

    jobs.run("sums", work, done=lambda v: note("done", v), progressed=lambda v: note("progress", v))
    qtbot.waitUntil(lambda: bool(heard) and heard[-1][0] == "done", timeout=3000)
    here = threading.current_thread().name
    assert heard == [("progress", 0.5, here), ("done", 7, here)]
    assert worked_in == ["sums"]
    assert jobs.close(time.monotonic() + 2)


@pytest.mark.parametrize("error", [StorageError("A title needs at least one character."), ValueError("x")])
@pytest.mark.expects_warning
def test_what_goes_wrong_is_told_in_a_plain_line(qtbot: QtBot, error: Exception) -> None:
    jobs = Jobs()
    failed: list[KazeiaError] = []

    def work(_cancel: CancelToken, _report: Report) -> None:
        raise error

    jobs.run("bad", work, failed=failed.append)
    qtbot.waitUntil(lambda: bool(failed), timeout=3000)
    assert str(error) in str(failed[0])
    assert jobs.close(time.monotonic() + 2)


def test_cancel_ends_a_job_and_closing_ends_all(qtbot: QtBot) -> None:
    jobs = Jobs()
    ended: list[str] = []

    def work(cancel: CancelToken, _report: Report) -> None:
        cancel.wait(10)
        cancel.raise_if_set()

    jobs.run("one", work, cancelled=lambda: ended.append("one")).cancel()
    qtbot.waitUntil(lambda: ended == ["one"], timeout=3000)
    other = jobs.run("two", work, cancelled=lambda: ended.append("two"))
    assert jobs.close(time.monotonic() + 3)
    assert not other.worker.alive
    late = jobs.run("three", work)
    qtbot.wait(20)
    assert ended == ["one"]  # a closed window hears nothing
    assert not late.worker.alive


def test_the_last_news_arrive_however_they_race(qtbot: QtBot) -> None:
    jobs = Jobs()
    told: list[int] = []
    last = 100_000

    def work(_cancel: CancelToken, report: Report) -> None:
        for news in range(last + 1):
            report(news)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        jobs.run("quick", work, progressed=told.append)
        qtbot.waitUntil(lambda: not jobs._running, timeout=20_000)
    finally:
        sys.setswitchinterval(before)
    assert told[-1] == last
    assert told == sorted(told)
    assert jobs.close(time.monotonic() + 2)
