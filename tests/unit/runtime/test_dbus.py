"""Our D-Bus client, on a bus of its own where there is a daemon; the key of the desktop, on a portal made of it."""

import contextlib
import queue
import shutil
import struct
import subprocess
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.runtime import dbus
from kazeia_desktop.runtime.dbus import METHOD_CALL, Bus, BusError, Variant
from kazeia_desktop.runtime.global_shortcut import GlobalShortcut, trigger

pytestmark = pytest.mark.unit

_DRIVER = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A session bus for these tests alone."""
    if shutil.which("dbus-daemon") is None:
        pytest.skip("there is no dbus-daemon")
    command = ["dbus-daemon", "--session", "--nofork", "--print-address"]
    daemon = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert daemon.stdout is not None
    try:
        yield daemon.stdout.readline().strip()
    finally:
        daemon.terminate()
        daemon.communicate(timeout=10)


# Bytes

VALUES = {
    "s": "été", "o": "/a/b", "u": 7, "b": True, "d": 0.5, "as": ["", "x"], "a{sv}": {"k": Variant("u", 1)},
    "a(sa{sv})": [("id", {"d": Variant("as", ["a"])}), ("other", {})], "(yv)": (1, Variant("(ii)", (1, -2))),
    "aay": [[1, 2], []], "x": -5, "a{s(ub)}": {"k": (1, False)},
}  # fmt: skip


@pytest.mark.parametrize("signature", VALUES)
@pytest.mark.parametrize("at", range(8))
def test_values_come_back_at_any_place(signature: str, at: int) -> None:
    out = bytearray(at)
    dbus._put(out, signature, VALUES[signature])
    assert dbus._take(bytes(out), at, signature) == (VALUES[signature], len(out))


def test_bytes_are_those_of_the_specification() -> None:
    out = bytearray()
    dbus._put(out, "a{sv}", {"k": Variant("u", 5)})
    assert bytes(out) == struct.pack("<IxxxxI2sB2sxxxI", 16, 1, b"k\0", 1, b"u\0", 5)


@given(st.binary(max_size=64), st.sampled_from(sorted(VALUES)))
def test_damaged_bytes_end_in_an_error(data: bytes, signature: str) -> None:
    with contextlib.suppress(struct.error, ValueError, IndexError, KeyError, RecursionError, TypeError):
        dbus._take(data, 0, signature)  # these Bus makes a BusError of


# The bus


def test_a_real_bus_answers(address: str) -> None:
    bus = Bus(address)
    assert bus.name.startswith(":")
    assert bus.name in bus.call(*_DRIVER, "ListNames", "", ()).body[0]
    credentials = bus.call(*_DRIVER, "GetConnectionCredentials", "s", (bus.name,)).body[0]
    assert credentials["ProcessID"].signature == "u"
    with pytest.raises(BusError, match="UnknownMethod"):
        bus.call(*_DRIVER, "Nonsense", "", ())
    bus.close()
    bus.close()
    with pytest.raises(BusError):
        bus.call(*_DRIVER, "ListNames", "", ())


@pytest.mark.parametrize("wrong", ["", "tcp:host=localhost,port=1", "unix:path=/nowhere/at/all", "nonsense"])
def test_without_a_bus(wrong: str) -> None:
    with pytest.raises(BusError):
        Bus(wrong)


# The key


@pytest.mark.parametrize(
    ("keys", "written"),
    [("Ctrl+Alt+K", "CTRL+ALT+k"), ("Meta+Space", "LOGO+space"), ("Ctrl++", "CTRL+plus"), ("F9", "F9"),
     ("Ctrl+Shift+PgUp", "CTRL+SHIFT+Page_Up")],
)  # fmt: skip
def test_keys_are_written_as_the_portal_reads_them(keys: str, written: str) -> None:
    assert trigger(keys) == written


class Portal:
    """Plays the desktop: answers CreateSession and BindShortcuts, presses the key."""

    def __init__(self, address: str, code: int = 0) -> None:
        self._bus = Bus(address)
        self._bus.call(*_DRIVER, "RequestName", "su", ("org.freedesktop.portal.Desktop", 4))
        self._code = code
        self.bound: queue.Queue[tuple[object, ...]] = queue.Queue()
        self._session, self._user, self.name = "/session/1", "", ""
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                asked = self._bus.next(None)
            except BusError:
                return
            if asked.kind != METHOD_CALL:
                continue
            self._user = asked.fields["sender"]
            if asked.fields["member"] == "Register":
                self.name = asked.body[0]
                self._bus.answer(asked, "", ())
                continue
            request = f"/request/{asked.body[-1]['handle_token'].value}"
            self._bus.answer(asked, "o", (request,))
            found = {"session_handle": Variant("s", self._session)} if len(asked.body) == 1 else {}
            signal = (self._user, request, "org.freedesktop.portal.Request", "Response")
            self._bus.emit(*signal, "ua{sv}", (self._code, found))
            if len(asked.body) > 1:
                self.bound.put(asked.body)

    def press(self, what: str = "toggle") -> None:
        signal = (self._user, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.GlobalShortcuts", "Activated")
        self._bus.emit(*signal, "osta{sv}", (self._session, what, 0, {}))

    def close(self) -> None:
        self._bus.end()
        self._thread.join()
        self._bus.close()


def test_a_key_of_the_desktop_is_bound_and_heard(address: str) -> None:
    portal = Portal(address)
    heard: queue.Queue[str] = queue.Queue()
    key = GlobalShortcut(
        address, "Ctrl+Alt+K", "Micro", lambda: heard.put("pressed"), lambda: heard.put("refused")
    )  # fmt: skip
    session, shortcuts, _, _ = portal.bound.get(timeout=10)
    assert session == "/session/1"
    assert shortcuts == [
        ("toggle", {"description": Variant("s", "Micro"), "preferred_trigger": Variant("s", "CTRL+ALT+k")})
    ]
    assert portal.name == "kazeia"
    portal.press("something else")
    portal.press()
    assert heard.get(timeout=10) == "pressed"
    assert key.close() and heard.empty()
    portal.close()


def test_a_refusal_is_told(address: str) -> None:
    portal = Portal(address, code=1)
    heard: queue.Queue[str] = queue.Queue()
    key = GlobalShortcut(address, "F9", "Micro", lambda: heard.put("pressed"), lambda: heard.put("refused"))
    assert heard.get(timeout=10) == "refused"
    assert key.close()
    portal.close()


def test_a_desktop_without_the_portal_is_told(address: str) -> None:
    heard: queue.Queue[str] = queue.Queue()
    key = GlobalShortcut(address, "F9", "Micro", lambda: heard.put("pressed"), lambda: heard.put("refused"))
    assert heard.get(timeout=30) == "refused"
    assert key.close()
