"""A key of the whole desktop, by the XDG portal that some desktops have (Plasma, GNOME from 48, Hyprland).

The desktop asks the user and may choose another key; Kazeia hears only that it was pressed.
Source: org.freedesktop.portal.GlobalShortcuts version 1, and the XDG shortcuts specification for how a key is written.
"""

import contextlib
import logging
import os
import secrets
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kazeia_desktop.runtime.worker import Worker

_log = logging.getLogger(__name__)

_PORTAL: Final = "org.freedesktop.portal.Desktop"
_PATH: Final = "/org/freedesktop/portal/desktop"
_SHORTCUTS: Final = "org.freedesktop.portal.GlobalShortcuts"
_REQUEST: Final = "org.freedesktop.portal.Request"
_ID: Final = "toggle"
_ANSWER_S: Final = 5.0
"""The longest wait for the bus to let us in, and for the answer to a call."""
_ASKED_S: Final = 120.0
"""The user may be asked, and thinks."""
_MODIFIERS: Final[Mapping[str, str]] = {"Ctrl": "CTRL", "Alt": "ALT", "Shift": "SHIFT", "Meta": "LOGO"}
_KEYS: Final[Mapping[str, str]] = {
    "Space": "space", "Esc": "Escape", "Return": "Return", "Del": "Delete", "Ins": "Insert", "Backspace": "BackSpace",
    "PgUp": "Page_Up", "PgDown": "Page_Down", "+": "plus", "-": "minus", ",": "comma", ".": "period", "/": "slash",
    ";": "semicolon", "=": "equal", "[": "bracketleft", "]": "bracketright",
}  # fmt: skip


def trigger(keys: str) -> str:
    """A shortcut of the settings as the portal writes it: "Ctrl+Alt+K" is "CTRL+ALT+k"."""
    head, _, start = keys[:-1].rpartition("+")  # the key itself may be "+"
    key = start + keys[-1]
    parts = [_MODIFIERS[one] for one in head.split("+") if one]
    named = _KEYS.get(key, key.lower() if len(key) == 1 else key)
    return "+".join([*parts, named])


def session_bus() -> str:
    """Where the session bus listens; what is not there is told when the key is asked for."""
    given = os.environ.get("DBUS_SESSION_BUS_ADDRESS")
    return given or (f"unix:path=/run/user/{os.getuid()}/bus" if hasattr(os, "getuid") else "")


class GlobalShortcut:
    """Holds one key of the desktop while it lives, in a thread of its own.

    Args:
        address: of the session bus.
        keys: as in the settings; the desktop may take others.
        title: what the key does, shown by the desktop.
        pressed: called in the thread.
        refused: called in the thread when there is no such portal, or the user said no.
    """

    def __init__(
        self, address: str, keys: str, title: str, pressed: Callable[[], None], refused: Callable[[], None]
    ) -> None:
        self._address = address
        self._keys = keys
        self._title = title
        self._pressed = pressed
        self._refused = refused
        self._lock = threading.Lock()
        self._bus: _Bus | None = None
        self._closed = False
        self._worker = Worker("shortcut", self._run, self._failed)
        self._worker.start()

    def close(self, timeout_s: float = 1.0) -> bool:
        """Give the key back. Returns whether the thread has ended."""
        with self._lock:
            self._closed = True
            if self._bus is not None:
                self._bus.end()
        return self._worker.join(timeout_s)

    def _run(self) -> None:
        try:
            bus = _Bus(self._address)
            with self._lock:
                self._bus = bus
                if self._closed:
                    return
            bus.greet()
            with _bus_errors():  # an answer that is not as it should be
                session = self._bind(bus)
            while True:
                if bus.signal(_SHORTCUTS, "Activated", None).body[:2] == (session, _ID):
                    self._pressed()
        except _BusError as error:
            if not self._closed:
                _log.info("no key of the whole desktop: %s", error)
                self._refused()
        finally:
            with self._lock:
                if self._bus is not None:
                    self._bus.close()

    def _failed(self, error: Exception) -> None:
        _log.error("the key of the whole desktop failed", exc_info=error)

    def _bind(self, bus: "_Bus") -> str:
        with contextlib.suppress(_BusError):  # older portals have no register, and know us by other means
            bus.call("org.freedesktop.host.portal.Registry", "Register", "sa{sv}", ("kazeia", {}))
        bus.listen(_REQUEST, "Response")
        bus.listen(_SHORTCUTS, "Activated")
        options = {"session_handle_token": ("s", f"kazeia{secrets.token_hex(4)}")}
        _, session = self._ask(bus, "CreateSession", "a{sv}", (), options)["session_handle"]
        wanted = {"description": ("s", self._title), "preferred_trigger": ("s", trigger(self._keys))}
        self._ask(bus, "BindShortcuts", "oa(sa{sv})sa{sv}", (session, [(_ID, wanted)], ""), {})
        return str(session)

    def _ask(
        self, bus: "_Bus", member: str, signature: str, body: tuple[object, ...], options: Mapping[str, object]
    ) -> dict[str, Any]:
        """Call a method of the portal, whose answer is a signal of a request."""
        token = ("s", f"kazeia{secrets.token_hex(4)}")
        (request,) = bus.call(_SHORTCUTS, member, signature, (*body, {**options, "handle_token": token}))
        code, found = bus.signal(_REQUEST, "Response", _ASKED_S, request).body
        if code != 0:
            raise _BusError(f"{member} was refused ({code})")
        return dict(found)


class _BusError(Exception):
    """The bus is not there, refuses, or says what cannot be read. Never shown: Kazeia does without the key."""


@contextlib.contextmanager
def _bus_errors() -> Iterator[None]:
    """All that jeepney raises, for bytes that are no message too, or where it is missing, is a _BusError."""
    try:
        from jeepney import DBusErrorResponse
    except ImportError as error:
        raise _BusError(str(error)) from error
    try:
        yield
    except DBusErrorResponse as error:
        raise _BusError(str(error.name)) from error
    except (OSError, ValueError, LookupError, TypeError, RuntimeError, struct.error) as error:
        raise _BusError(str(error) or type(error).__name__) from error


class _Bus:
    """The portal on the session bus. Belongs to one thread, where jeepney is loaded; others may call only `end`.

    A variant is a pair of its signature and its value, as everywhere in jeepney. Every method raises _BusError.
    """

    def __init__(self, address: str) -> None:
        with _bus_errors():
            from jeepney.bus import get_bus
            from jeepney.io.blocking import prep_socket

            try:
                self._socket: socket.socket = prep_socket(get_bus(address), timeout=_ANSWER_S)
            except (OSError, ValueError, RuntimeError, AttributeError) as error:  # the last: no AF_UNIX
                raise _BusError("no session bus") from error
            self._connection: Any = None
            self._signals: deque[Any] = deque()

    def greet(self) -> None:
        """Say hello. Apart from the rest, because jeepney waits without end for the answer: `end` must be possible."""
        with _bus_errors():
            from jeepney.io.blocking import DBusConnection

            self._connection = DBusConnection(self._socket)

    def call(self, interface: str, member: str, signature: str, body: tuple[object, ...]) -> tuple[Any, ...]:
        """Call a method of the portal and wait for what it returns; signals that come meanwhile are kept."""
        with _bus_errors():
            from jeepney import DBusAddress, new_method_call

            address = DBusAddress(_PATH, bus_name=_PORTAL, interface=interface)
            return self._answer(new_method_call(address, member, signature, body))

    def listen(self, interface: str, member: str) -> None:
        """Keep these signals of the portal from now on, for `signal`."""
        with _bus_errors():
            from jeepney import MatchRule, message_bus

            self._connection.filter(MatchRule(type="signal", interface=interface, member=member), queue=self._signals)
            wanted = MatchRule(type="signal", sender=_PORTAL, interface=interface, member=member)
            self._answer(message_bus.AddMatch(wanted))

    def signal(self, interface: str, member: str, timeout_s: float | None, path: str | None = None) -> Any:  # noqa: ANN401 - jeepney has no types
        """The next signal of this name, others are passed over. None: wait without end."""
        with _bus_errors():
            from jeepney import MatchRule

            rule = MatchRule(type="signal", interface=interface, member=member, path=path)
            while not rule.matches(message := self._connection.recv_until_filtered(self._signals, timeout=timeout_s)):
                pass
            return message

    def end(self) -> None:
        """From any thread: whoever waits for the bus, now or later, gets _BusError."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()
        self._socket.close()

    def _answer(self, message: Any) -> tuple[Any, ...]:  # noqa: ANN401 - jeepney has no types
        from jeepney.wrappers import unwrap_msg

        body: tuple[Any, ...] = unwrap_msg(self._connection.send_and_get_reply(message, timeout=_ANSWER_S))
        return body
