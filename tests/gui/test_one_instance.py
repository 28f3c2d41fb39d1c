"""Real processes: one app at a time, the commands that talk to it, and what a crash leaves."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.gui

_APP = (
    "import sys; from kazeia_desktop import app; from tests.fakes.fake_engine import FakeHost;"
    "app.host = lambda paths, store: FakeHost().host();"
    "start = app.MainWindow.start;"
    "app.MainWindow.start = lambda self: (start(self), sys.stdout.write('ready\\n'), sys.stdout.flush());"
    "sys.exit(app.main())"
)


class Started:
    """An app on a fake engine, in a process of its own."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", _APP]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ready(self) -> bool:
        """Whether its window came; false: it ended before."""
        assert self.process.stdout is not None
        return self.process.stdout.readline() == "ready\n"

    def end(self) -> str:
        return self.process.communicate(timeout=20)[1]


def kazeia(*words: str) -> tuple[int, dict[str, object]]:
    command = [sys.executable, "-m", "kazeia_desktop", *words, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30)
    return ran.returncode, json.loads(ran.stdout) if ran.stdout else {}


@pytest.fixture
def first(kazeia_home: Path) -> Iterator[Started]:
    started = Started()
    try:
        assert started.ready()
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
        started.end()


def test_commands_talk_to_it_and_a_second_start_shows_it(first: Started) -> None:
    assert kazeia("toggle") == (0, {"state": "muted", "window": "shown"})
    second = Started()
    assert not second.ready()
    assert second.end() == "" and second.process.returncode == 0
    assert kazeia("show") == (0, {"state": "muted", "window": "shown"})
    assert kazeia("quit") == (0, {"state": "closed"})
    assert first.process.wait(timeout=5) == 0
    assert kazeia("show") == (1, {})


def test_what_a_killed_app_leaves_is_no_obstacle(first: Started) -> None:
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    assert kazeia("toggle") == (1, {})
    again = Started()
    assert again.ready()
    assert kazeia("show")[1]["window"] == "shown"
    assert kazeia("quit")[0] == 0
    again.end()
    assert again.process.returncode == 0


def test_of_two_started_at_once_one_has_the_window(kazeia_home: Path) -> None:
    racers = [Started(), Started()]
    came = [racer.ready() for racer in racers]
    assert sorted(came) == [False, True]
    assert kazeia("quit")[0] == 0
    for racer in racers:
        racer.end()
        assert racer.process.returncode == 0
