"""The key of the desktop, on a bus of its own where there is a daemon, with a portal that the test plays."""

import logging
import queue
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kazeia_desktop.runtime.global_shortcut import GlobalShortcut, trigger

pytestmark = pytest.mark.unit

_WAIT_S: Final = 10.0
_SHORTCUTS: Final = "org.freedesktop.portal.GlobalShortcuts"
_PORTAL_PATH: Final = "/org/freedesktop/portal/desktop"


class Daemon:
    """A session bus for one test."""

    def __init__(self) -> None:
        if shutil.which("dbus-daemon") is None:
            pytest.skip("there is no dbus-daemon")
        command = ["dbus-daemon", "--session", "--nofork", "--print-address"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def end(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=_WAIT_S)


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    made = Daemon()
    yield made
    made.end()


class Portal:
    """Plays the desktop: answers CreateSession and BindShortcuts, presses the key.

    Args:
        code: of its answers; 1 is the user's no.
        early: the answer of a request comes before the call that asked has returned.
        silent: the user is asked and says nothing.
        found: what CreateSession finds; the session unless given.
    """

    SESSION: Final = "/session/1"

    def __init__(
        self, address: str, *, code: int = 0, early: bool = False, silent: bool = False, found: object = None
    ) -> None:
        jeepney = pytest.importorskip("jeepney")
        from jeepney.io.blocking import DBusConnection, prep_socket

        self._jeepney: Any = jeepney
        self._socket = prep_socket(jeepney.bus.get_bus(address))
        self._connection: Any = DBusConnection(self._socket)
        self._connection.bus_proxy.RequestName("org.freedesktop.portal.Desktop", 4)
        self._code, self._early, self._silent = code, early, silent
        self._found = {"session_handle": ("s", self.SESSION)} if found is None else found
        self.bound: queue.Queue[tuple[Any, ...]] = queue.Queue()
        self.asked: queue.Queue[str] = queue.Queue()
        self._user, self.name = "", ""
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                asked = self._connection.receive()
            except OSError:
                return
            if asked.header.message_type is self._jeepney.MessageType.method_call:
                self._answer(asked)

    def _answer(self, asked: Any) -> None:  # noqa: ANN401 - jeepney has no types
        fields = self._jeepney.HeaderFields
        self._user = asked.header.fields[fields.sender]
        member = asked.header.fields[fields.member]
        if member == "Register":
            self.name = asked.body[0]
            self._connection.send(self._jeepney.new_method_return(asked))
            return
        request = f"/request/{asked.body[-1]['handle_token'][1]}"
        returned = self._jeepney.new_method_return(asked, "o", (request,))
        told = self._signal(request, "org.freedesktop.portal.Request", "Response", "ua{sv}",
                            (self._code, self._found if member == "CreateSession" else {}))  # fmt: skip
        answers = [returned] if self._silent else [told, returned] if self._early else [returned, told]
        for one in answers:
            self._connection.send(one)
        if member == "BindShortcuts":
            self.bound.put(asked.body)
        self.asked.put(member)

    def _signal(self, path: str, interface: str, member: str, signature: str, body: tuple[object, ...]) -> object:
        emitter = self._jeepney.DBusAddress(path, interface=interface)
        made = self._jeepney.new_signal(emitter, member, signature, body)
        made.header.fields[self._jeepney.HeaderFields.destination] = self._user
        return made

    def press(self, what: str = "toggle", session: str = SESSION) -> None:
        body = (session, what, 0, {})
        self._connection.send(self._signal(_PORTAL_PATH, _SHORTCUTS, "Activated", "osta{sv}", body))

    def press_when_bound(self, held: "Held") -> None:
        """When the key was heard, its thread waits for it again."""
        self.bound.get(timeout=_WAIT_S)
        self.press()
        assert held.hears() == "pressed"

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._connection.close()


PlayPortal = Callable[..., Portal]


@pytest.fixture
def play(daemon: Daemon) -> Iterator[PlayPortal]:
    """Makes a portal on the bus, which ends before the bus does."""
    made: list[Portal] = []

    def one(**given: Any) -> Portal:  # noqa: ANN401
        made.append(Portal(daemon.address, **given))
        return made[-1]

    yield one
    for portal in made:
        portal.close()


class Held:
    """A key that is asked for, and what it tells."""

    def __init__(self, address: str, keys: str = "F9") -> None:
        self.told: queue.Queue[str] = queue.Queue()
        self.key = GlobalShortcut(
            address, keys, "Micro", lambda: self.told.put("pressed"), lambda: self.told.put("refused")
        )  # fmt: skip

    def hears(self) -> str:
        return self.told.get(timeout=3 * _WAIT_S)

    def closes_at_once(self) -> bool:
        """Whether closing ends the thread in time, and nothing more is told."""
        start = time.monotonic()
        return self.key.close() and time.monotonic() - start < 1.0 and self.told.empty()


@pytest.mark.parametrize(
    ("keys", "written"),
    [("Ctrl+Alt+K", "CTRL+ALT+k"), ("Meta+Space", "LOGO+space"), ("Ctrl++", "CTRL+plus"), ("F9", "F9"),
     ("Ctrl+Shift+PgUp", "CTRL+SHIFT+Page_Up")],
)  # fmt: skip
def test_keys_are_written_as_the_portal_reads_them(keys: str, written: str) -> None:
    assert trigger(keys) == written


@pytest.mark.parametrize("early", [False, True])
def test_a_key_is_bound_and_heard(daemon: Daemon, play: PlayPortal, early: bool) -> None:
    portal = play(early=early)
    held = Held(daemon.address, "Ctrl+Alt+K")
    session, shortcuts, _, _ = portal.bound.get(timeout=_WAIT_S)
    assert session == Portal.SESSION
    assert shortcuts == [("toggle", {"description": ("s", "Micro"), "preferred_trigger": ("s", "CTRL+ALT+k")})]
    assert portal.name == "kazeia"
    portal.press("something else")
    portal.press(session="/session/2")
    portal.press()
    portal.press()
    assert [held.hears(), held.hears()] == ["pressed", "pressed"]
    assert held.closes_at_once()


def test_the_users_no_is_told(daemon: Daemon, play: PlayPortal, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    play(code=1)
    held = Held(daemon.address)
    assert held.hears() == "refused"
    assert held.closes_at_once()
    assert "no key of the whole desktop: CreateSession was refused (1)" in caplog.messages


@pytest.mark.parametrize("found", [{}, {"session_handle": ("s", "no path")}, {"session_handle": ("u", 1)}])
def test_an_answer_that_makes_no_sense_is_a_refusal(daemon: Daemon, play: PlayPortal, found: object) -> None:
    play(found=found)
    held = Held(daemon.address)
    assert held.hears() == "refused"
    assert held.closes_at_once()


def test_a_desktop_without_the_portal_is_told(daemon: Daemon, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    held = Held(daemon.address)
    assert held.hears() == "refused"
    assert held.closes_at_once()
    assert "no key of the whole desktop: org.freedesktop.DBus.Error.ServiceUnknown" in caplog.messages


@pytest.mark.parametrize("wrong", ["", "tcp:host=localhost,port=1", "unix:path=/nowhere/at/all", "nonsense", "unix:"])
def test_no_bus_is_told(wrong: str, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("jeepney")
    caplog.set_level(logging.INFO)
    held = Held(wrong)
    assert held.hears() == "refused"
    assert held.closes_at_once()
    assert "no key of the whole desktop: no session bus" in caplog.messages


def test_without_jeepney_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setitem(sys.modules, "jeepney", None)
    caplog.set_level(logging.INFO)
    held = Held("unix:path=/nowhere/at/all")
    assert held.hears() == "refused"
    assert held.closes_at_once()
    (line,) = [one for one in caplog.messages if one.startswith("no key of the whole desktop: ")]
    assert "jeepney" in line


def test_jeepney_is_not_loaded_with_the_module() -> None:
    program = "import sys, kazeia_desktop.runtime.global_shortcut; sys.exit('jeepney' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_closing_ends_the_wait_for_the_key(daemon: Daemon, play: PlayPortal) -> None:
    portal = play()
    held = Held(daemon.address)
    portal.press_when_bound(held)
    assert held.closes_at_once()


def test_closing_ends_the_wait_for_the_user(daemon: Daemon, play: PlayPortal) -> None:
    portal = play(silent=True)
    held = Held(daemon.address)
    assert portal.asked.get(timeout=_WAIT_S) == "CreateSession"
    assert held.closes_at_once()


def test_a_bus_that_goes_away_is_told(play: PlayPortal, daemon: Daemon) -> None:
    portal = play()
    held = Held(daemon.address)
    portal.press_when_bound(held)
    daemon.end()
    assert held.hears() == "refused"
    assert held.closes_at_once()


# A bus that is none


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    if not hasattr(socket, "AF_UNIX"):
        pytest.skip("there are no such sockets")
    pytest.importorskip("jeepney")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "bus"))
        made.listen()
        made.settimeout(_WAIT_S)
        yield made


def _let_in(listener: socket.socket) -> socket.socket:
    """Authenticate who comes, and read until it has said hello."""
    other, _ = listener.accept()
    other.settimeout(_WAIT_S)
    got = b""
    while b"\r\n" not in got:
        got += other.recv(4096)
    other.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
    while b"Hello" not in got:
        got += other.recv(4096)
    return other


def test_closing_ends_the_wait_for_a_bus_that_says_nothing(listener: socket.socket) -> None:
    held = Held(f"unix:path={listener.getsockname()}")
    with _let_in(listener):
        assert held.closes_at_once()


@pytest.mark.parametrize("said", [b"", b"\xff" * 64, b"l\x02\x00\x01" + b"\xff" * 4 + b"\x00" * 64])
def test_a_bus_that_says_nonsense_is_told(listener: socket.socket, said: bytes) -> None:
    held = Held(f"unix:path={listener.getsockname()}")
    with _let_in(listener) as other:
        other.sendall(said)
        other.shutdown(socket.SHUT_RDWR)
        assert held.hears() == "refused"
    assert held.closes_at_once()


def test_a_bus_that_refuses_is_told(listener: socket.socket) -> None:
    held = Held(f"unix:path={listener.getsockname()}")
    other, _ = listener.accept()
    with other:
        other.sendall(b"REJECTED EXTERNAL\r\n")
        assert held.hears() == "refused"
    assert held.closes_at_once()
