"""One app at a time, and what others ask of it."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kazeia_desktop.errors import NotRunningError, StorageError
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime import single_instance
from kazeia_desktop.runtime.single_instance import Answer, Place, SingleInstance, ask, wait_for_end

pytestmark = pytest.mark.unit


@pytest.fixture(params=[False, True], ids=["file", "loopback"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(tmp_path / "run", "test", loopback=request.param)


@contextmanager
def served(instance: SingleInstance, answer: Callable[[str], Answer]) -> Iterator[list[str]]:
    """A thread in the place of the window's event loop."""
    asked: list[str] = []
    ends = threading.Event()

    def serve() -> None:
        while not ends.wait(0.002):
            request = instance.accept()
            while request is not None and not request.ended:
                what = request.read()
                if what is not None:
                    asked.append(what)
                    request.answer(answer(what))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield asked
    finally:
        ends.set()
        thread.join()


def test_the_first_has_the_place_until_it_ends(place: Place) -> None:
    first = SingleInstance.claim(place)
    assert first is not None and place.held()
    assert SingleInstance.claim(place) is None
    first.close()
    first.close()
    assert not place.held()
    again = SingleInstance.claim(place)
    assert again is not None
    again.close()


def test_a_request_is_answered(place: Place) -> None:
    instance = SingleInstance.claim(place)
    assert instance is not None
    with served(instance, lambda what: {"state": f"did {what}"}) as asked:
        assert ask(place, "toggle") == {"state": "did toggle"}
        assert ask(place, "show") == {"state": "did show"}
    assert asked == ["toggle", "show"]
    instance.close()


def test_without_an_app_one_plain_line(place: Place) -> None:
    with pytest.raises(NotRunningError, match="Kazeia is not running: start it with `kazeia`"):
        ask(place, "show")


def test_an_app_that_does_not_answer_is_told(place: Place) -> None:
    instance = SingleInstance.claim(place)
    assert instance is not None
    with pytest.raises(StorageError, match="does not answer"):
        ask(place, "show", timeout_s=0.05)
    instance.close()


def test_what_a_crash_left_is_no_obstacle(place: Place) -> None:
    crashed = SingleInstance.claim(place)
    assert crashed is not None
    os.close(crashed._lock)  # as the system does with a process that ends
    crashed._listening.close()
    with pytest.raises(NotRunningError):
        ask(place, "show")
    instance = SingleInstance.claim(place)
    assert instance is not None
    with served(instance, lambda what: {"state": what}):
        assert ask(place, "show") == {"state": "show"}
    instance.close()


def test_of_two_at_once_one_wins(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path;"
        "from kazeia_desktop.runtime.single_instance import Place, SingleInstance;"
        "sys.stdin.readline(); got = SingleInstance.claim(Place(Path(sys.argv[1]), 'race'));"
        "print(got is not None, flush=True); sys.stdin.readline()"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "run")]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        for _ in range(4)
    ]  # fmt: skip
    try:
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
        won = [racer.stdout.readline().strip() for racer in racers if racer.stdout is not None]
        assert sorted(won) == ["False", "False", "False", "True"]
    finally:
        for racer in racers:
            racer.communicate("end\n", timeout=20)


@pytest.mark.parametrize("sent", [b"", b"nonsense\n", b"[1]\n", b'{"do": "quit", "secret": "wrong"}\n', b"x" * 9000])
def test_what_is_no_request_is_dropped(tmp_path: Path, sent: bytes) -> None:
    place = Place(tmp_path / "run", "test", loopback=True)
    instance = SingleInstance.claim(place)
    assert instance is not None
    with served(instance, lambda what: {"state": what}) as asked:
        connection, _ = place.connect(2.0)
        with connection:
            connection.settimeout(2.0)
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):  # it did not read all of it
                assert connection.recv(100) == b""
        assert not asked
    instance.close()


def test_only_the_user_can_reach_it(tmp_path: Path) -> None:
    place = Place(tmp_path / "run", "test", loopback=True)
    instance = SingleInstance.claim(place)
    assert instance is not None
    assert (tmp_path / "run").stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in (tmp_path / "run").iterdir())
    instance.close()


def test_waiting_for_the_end(place: Place) -> None:
    instance = SingleInstance.claim(place)
    assert instance is not None
    assert not wait_for_end(place, 0.05)
    instance.close()
    assert wait_for_end(place, 0.05)


def test_each_configuration_has_its_own(tmp_path: Path) -> None:
    one, other = (
        Place.of(Paths(*(tmp_path / home / part for part in ("config", "data", "cache", "logs"))))
        for home in ("one", "other")
    )
    assert one.lock != other.lock
    assert len(str(one.lock)) < 100  # a socket's name is short


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    somebody = tmp_path.stat().st_uid + 1
    monkeypatch.setattr("os.getuid", lambda: somebody)
    paths = Paths(*(tmp_path / part for part in ("config", "data", "cache", "logs")))
    assert single_instance._runtime_dir(paths) == paths.cache_dir / "run"


def test_a_place_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        SingleInstance.claim(Place(tmp_path / "file" / "run", "test"))
