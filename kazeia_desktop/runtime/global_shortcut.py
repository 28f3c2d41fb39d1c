"""A key of the whole desktop, by the XDG portal that some desktops have (Plasma, GNOME from 48, Hyprland).

The desktop asks the user and may choose another key; Kazeia hears only that it was pressed.
Source: org.freedesktop.portal.GlobalShortcuts version 1, and the XDG shortcuts specification for how a key is written.
"""

import contextlib
import logging
import os
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from kazeia_desktop.runtime.dbus import Bus, BusError, BusMessage, Variant
from kazeia_desktop.runtime.worker import Worker

_log = logging.getLogger(__name__)

_PORTAL: Final = "org.freedesktop.portal.Desktop"
_PATH: Final = "/org/freedesktop/portal/desktop"
_SHORTCUTS: Final = "org.freedesktop.portal.GlobalShortcuts"
_REQUEST: Final = "org.freedesktop.portal.Request"
_ID: Final = "toggle"
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
    """Where the session bus listens; what is not there is told by `Bus`."""
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
        self._bus: Bus | None = None
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
            bus = Bus(self._address)
            with self._lock:
                self._bus = bus
                if self._closed:
                    return
            session = self._bind(bus)
            while True:
                message = bus.next(None)
                if message.is_signal(_SHORTCUTS, "Activated") and message.body[:2] == (session, _ID):
                    self._pressed()
        except BusError as error:
            if not self._closed:
                _log.info("no key of the whole desktop: %s", error)
                self._refused()
        finally:
            if self._bus is not None:
                self._bus.close()

    def _failed(self, error: Exception) -> None:
        _log.error("the key of the whole desktop failed", exc_info=error)

    def _bind(self, bus: Bus) -> str:
        with contextlib.suppress(BusError):  # older portals have no register, and know us by other means
            bus.call(_PORTAL, _PATH, "org.freedesktop.host.portal.Registry", "Register", "sa{sv}", ("kazeia", {}))
        for interface, member in ((_REQUEST, "Response"), (_SHORTCUTS, "Activated")):
            bus.match(f"type='signal',sender='{_PORTAL}',interface='{interface}',member='{member}'")
        options = {"session_handle_token": Variant("s", f"kazeia{secrets.token_hex(4)}")}
        made = self._ask(bus, "CreateSession", "a{sv}", [], options)
        session = str(made["session_handle"].value)
        wanted: dict[str, object] = {
            "description": Variant("s", self._title), "preferred_trigger": Variant("s", trigger(self._keys)),
        }  # fmt: skip
        self._ask(bus, "BindShortcuts", "oa(sa{sv})sa{sv}", [session, [(_ID, wanted)], ""], {})
        return session

    def _ask(
        self, bus: Bus, member: str, signature: str, body: list[object], options: dict[str, Variant]
    ) -> dict[str, Any]:
        """Call a method of the portal, whose answer is a signal of a request."""
        token = f"kazeia{secrets.token_hex(4)}"
        options = options | {"handle_token": Variant("s", token)}
        answer = bus.call(_PORTAL, _PATH, _SHORTCUTS, member, signature, [*body, options])
        request = answer.body[0]
        while True:
            message: BusMessage = bus.next(_ASKED_S)
            if message.is_signal(_REQUEST, "Response") and message.fields.get("path") == request:
                code, found = message.body
                if code != 0:
                    raise BusError(f"{member} was refused ({code})")
                return dict(found)
