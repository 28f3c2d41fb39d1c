"""Timers ring when they are due; alarms survive a restart."""

import json
import threading
from pathlib import Path

import pytest

from kazeia_desktop.llm.tools.timers import ALARM, MAX_PENDING, TIMER, Pending, Timers

pytestmark = pytest.mark.unit


class Bell:
    """Rings unless somebody speaks."""

    def __init__(self) -> None:
        self.now_s = 1_000_000.0
        self.rang: list[Pending] = []
        self.busy = False
        self.heard = threading.Event()

    def __call__(self, pending: Pending) -> bool:
        if self.busy:
            return False
        self.rang.append(pending)
        self.heard.set()
        return True

    def now(self) -> float:
        return self.now_s


class Still(Timers):
    """Without its thread: the test looks at the clock itself."""

    def _wake(self) -> None: ...


@pytest.fixture
def bell() -> Bell:
    return Bell()


def test_it_rings_when_it_is_due_and_nobody_speaks(tmp_path: Path, bell: Bell) -> None:
    timers = Still(tmp_path / "alarms.json", bell, now=bell.now)
    assert timers.ring_due() is None
    tea, egg = Pending(TIMER, bell.now_s + 100, 100), Pending(TIMER, bell.now_s + 10, 10, "les œufs")
    assert timers.add(tea) and timers.add(egg)
    assert timers.ring_due() == 10 and timers.pending() == [egg, tea]
    bell.now_s += 10
    bell.busy = True
    assert timers.ring_due() == pytest.approx(0.25) and bell.rang == []
    bell.busy = False
    assert timers.ring_due() == 30 and bell.rang == [egg] and timers.pending() == [tea]
    timers.remove([tea])
    bell.now_s += 1000
    assert timers.ring_due() is None and bell.rang == [egg]


def test_alarms_survive_a_restart_and_timers_do_not(tmp_path: Path, bell: Bell) -> None:
    file = tmp_path / "data" / "alarms.json"
    timers = Still(file, bell, now=bell.now)
    timers.add(Pending(TIMER, bell.now_s + 100, 100))
    assert not file.exists()
    timers.add(Pending(ALARM, bell.now_s + 500, 0, "appeler Marie"))
    assert "Marie" not in file.read_text("utf-8"), "words of the user are kept only where they may be"
    again = Still(file, bell, now=bell.now)
    again.start()
    assert [(one.kind, one.due_s) for one in again.pending()] == [(ALARM, bell.now_s + 500)]
    again.remove(again.pending())
    assert not file.exists()


def test_labels_are_kept_where_they_may_be(tmp_path: Path, bell: Bell) -> None:
    file = tmp_path / "alarms.json"
    Still(file, bell, lambda: True, bell.now).add(Pending(ALARM, bell.now_s + 500, 0, "appeler Marie"))
    again = Still(file, bell, lambda: True, bell.now)
    again.start()
    assert again.pending()[0].label == "appeler Marie"


def test_an_alarm_that_was_missed_is_told_within_a_day(tmp_path: Path, bell: Bell) -> None:
    file = tmp_path / "alarms.json"
    alarms = [{"due": bell.now_s - 600}, {"due": bell.now_s - 200_000}, {"due": bell.now_s - 5}]
    file.write_text(json.dumps({"version": 1, "alarms": alarms}))
    timers = Still(file, bell, now=bell.now)
    timers.start()
    timers.ring_due()
    assert [(one.due_s - bell.now_s, one.late) for one in bell.rang] == [(-600, True), (-5, False)]
    assert not file.exists()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b'{"alarms": 3}',
        b'{"alarms": [{}]}',
        b'{"alarms": [{"due": "x"}]}',
        b"\xff",
        b'{"alarms": [{"due": 1%s}]}' % (b"0" * 400),
        b"[" * 99999,
    ],
)
def test_a_broken_file_is_no_alarm(tmp_path: Path, bell: Bell, raw: bytes) -> None:
    (tmp_path / "alarms.json").write_bytes(raw)
    timers = Still(tmp_path / "alarms.json", bell, now=bell.now)
    timers.start()
    assert timers.pending() == []


def test_there_is_an_end_to_it(tmp_path: Path, bell: Bell) -> None:
    timers = Still(tmp_path / "alarms.json", bell, now=bell.now)
    assert all(timers.add(Pending(TIMER, bell.now_s + 1, 1)) for _ in range(MAX_PENDING))
    assert not timers.add(Pending(TIMER, bell.now_s + 1, 1))


def test_a_place_that_cannot_be_written_is_no_fault(tmp_path: Path, bell: Bell) -> None:
    (tmp_path / "file").write_text("")
    timers = Still(tmp_path / "file" / "alarms.json", bell, now=bell.now)
    assert timers.add(Pending(ALARM, bell.now_s + 1)) and len(timers.pending()) == 1


def test_the_thread_rings_and_ends(tmp_path: Path, bell: Bell) -> None:
    timers = Timers(tmp_path / "alarms.json", bell, now=bell.now)
    timers.add(Pending(ALARM, bell.now_s + 3600))
    timers.add(Pending(TIMER, bell.now_s - 1, 1))
    assert bell.heard.wait(5)
    timers.close()
    timers.close()
    assert [one.kind for one in bell.rang] == [TIMER] and (tmp_path / "alarms.json").exists()
