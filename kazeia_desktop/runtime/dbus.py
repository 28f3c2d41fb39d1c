"""As much of D-Bus as one client needs: method calls and signals on the session bus, without a library.

Source: D-Bus Specification 0.43, https://dbus.freedesktop.org/doc/dbus-specification.html. Little-endian only, as every
machine is on which Kazeia runs; no file descriptors.
"""

import contextlib
import os
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kazeia_desktop.errors import KazeiaError

METHOD_CALL, METHOD_RETURN, ERROR, SIGNAL = 1, 2, 3, 4
_FIXED: Final = {"y": "B", "b": "I", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d"}
_ALIGNMENT: Final = {"y": 1, "g": 1, "v": 1, "n": 2, "q": 2, "b": 4, "i": 4, "u": 4, "s": 4, "o": 4, "a": 4}
_MOST_BYTES: Final = 1 << 20
_FIELDS: Final = {1: "path", 2: "interface", 3: "member", 4: "error", 5: "reply_to", 6: "destination", 7: "sender",
                  8: "signature"}  # fmt: skip
_FIELD_TYPES: Final = {"path": "o", "reply_to": "u", "signature": "g"}


class BusError(KazeiaError):
    """The bus is not there, refuses, or says what cannot be read. Never shown: the caller does without."""

    def __init__(self, reason: str) -> None:
        super().__init__("{reason}", reason=reason)


@dataclass(frozen=True, slots=True)
class Variant:
    """A value with its own type."""

    signature: str
    value: object


@dataclass(frozen=True, slots=True)
class BusMessage:
    """One message; the header's fields that it has, and its body."""

    kind: int
    serial: int
    fields: dict[str, Any]
    body: tuple[Any, ...]

    def is_signal(self, interface: str, member: str) -> bool:
        """Whether it is this signal."""
        return self.kind == SIGNAL and self.fields.get("interface") == interface and self.fields.get("member") == member


class Bus:
    """A connection to the session bus. Belongs to one thread; only `end` may be called from another.

    Args:
        address: as in DBUS_SESSION_BUS_ADDRESS.
    Raises:
        BusError: it cannot be reached.
    """

    def __init__(self, address: str, timeout_s: float = 5.0) -> None:
        self._serial = 0
        self._got = b""
        self._waiting: list[BusMessage] = []
        self._socket = _connect(address, timeout_s)
        try:
            self._authenticate()
            self.name: str = self.call(
                "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello", "", ()
            ).body[0]
        except BaseException:
            self._socket.close()
            raise
        self._socket.settimeout(timeout_s)

    def call(
        self, destination: str, path: str, interface: str, member: str, signature: str, body: Sequence[object]
    ) -> BusMessage:
        """Call a method and wait for its answer; signals that come meanwhile are kept for `signal`.

        Raises:
            BusError: it answers with an error, or not in time.
        """
        fields: dict[str, object] = {
            "path": path, "interface": interface, "member": member, "destination": destination,
        }  # fmt: skip
        serial = self._send(METHOD_CALL, fields, signature, body)
        while True:
            message = self._receive()
            if message.fields.get("reply_to") == serial and message.kind in (METHOD_RETURN, ERROR):
                if message.kind == ERROR:
                    raise BusError(str(message.fields.get("error")))
                return message
            self._waiting.append(message)

    def match(self, rule: str) -> None:
        """Ask the bus for signals. Raises BusError."""
        self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", "s", (rule,))

    def next(self, timeout_s: float | None) -> BusMessage:
        """The next message that answers no call; None: wait without end. Raises BusError: none came, or the end."""
        if self._waiting:
            return self._waiting.pop(0)
        with contextlib.suppress(OSError):  # closed: told when it is read
            self._socket.settimeout(timeout_s)
        return self._receive()

    def answer(self, to: BusMessage, signature: str, body: Sequence[object]) -> None:
        """Answer a method call of another."""
        self._send(METHOD_RETURN, {"reply_to": to.serial, "destination": to.fields["sender"]}, signature, body)

    def emit(
        self, destination: str, path: str, interface: str, member: str, signature: str, body: Sequence[object]
    ) -> None:
        """Send a signal to one other."""
        fields: dict[str, object] = {"path": path, "interface": interface, "member": member, "destination": destination}
        self._send(SIGNAL, fields, signature, body)

    def end(self) -> None:
        """From any thread: whoever waits for a message, now or later, gets BusError."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the connection. Closing twice is harmless."""
        self._socket.close()

    def _authenticate(self) -> None:
        self._write(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        while b"\r\n" not in self._got:
            self._read()
        line, _, self._got = self._got.partition(b"\r\n")
        if not line.startswith(b"OK"):
            raise BusError("the bus refuses")
        self._write(b"BEGIN\r\n")

    def _send(self, kind: int, fields: dict[str, object], signature: str, body: Sequence[object]) -> int:
        self._serial += 1
        content = bytearray()
        for one, value in zip(_split(signature), body, strict=True):
            _put(content, one, value)
        if signature:
            fields = fields | {"signature": signature}
        numbers = {name: number for number, name in _FIELDS.items()}
        header = bytearray(struct.pack("<BBBBII", ord("l"), kind, 0, 1, len(content), self._serial))
        listed = [
            (numbers[name], Variant(_FIELD_TYPES.get(name, "s"), value)) for name, value in fields.items()
        ]  # fmt: skip
        _put(header, "a(yv)", listed)
        _align(header, 8)
        self._write(bytes(header + content))
        return self._serial

    def _receive(self) -> BusMessage:
        while len(self._got) < 16:
            self._read()
        order, kind, _, _, n_body, serial, n_fields = struct.unpack_from("<BBBBIII", self._got)
        n_header = (16 + n_fields + 7) // 8 * 8
        if order != ord("l") or n_body > _MOST_BYTES or n_fields > _MOST_BYTES:
            raise BusError("a message that cannot be read")
        while len(self._got) < n_header + n_body:
            self._read()
        message, self._got = self._got[: n_header + n_body], self._got[n_header + n_body :]
        try:
            listed, _ = _take(message[:n_header], 12, "a(yv)")
            fields = {_FIELDS[number]: value.value for number, value in listed if number in _FIELDS}
            body, at = [], 0
            for one in _split(str(fields.get("signature", ""))):
                value, at = _take(message[n_header:], at, one)
                body.append(value)
        except (struct.error, ValueError, IndexError, KeyError, RecursionError, TypeError) as error:
            raise BusError("a message that cannot be read") from error
        return BusMessage(kind, serial, fields, tuple(body))

    def _read(self) -> None:
        try:
            got = self._socket.recv(65536)
        except OSError as error:
            raise BusError(error.strerror or str(error)) from error
        if not got:
            raise BusError("the bus has gone")
        self._got += got

    def _write(self, content: bytes) -> None:
        try:
            self._socket.sendall(content)
        except OSError as error:
            raise BusError(error.strerror or str(error)) from error


def _connect(address: str, timeout_s: float) -> socket.socket:
    for one in address.split(";"):
        kind, _, rest = one.partition(":")
        values = dict(pair.partition("=")[::2] for pair in rest.split(","))
        place = values.get("path") or ("\0" + values["abstract"] if "abstract" in values else "")
        if kind != "unix" or not place or not hasattr(socket, "AF_UNIX"):
            continue
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(timeout_s)
        try:
            made.connect(place)
        except OSError:
            made.close()
            continue
        return made
    raise BusError("no session bus")


# Marshalling


def _split(signature: str) -> list[str]:
    """The complete types of a signature: "sa{sv}u" is "s", "a{sv}", "u"."""
    found, at = [], 0
    while at < len(signature):
        end = _end(signature, at)
        found.append(signature[at:end])
        at = end
    return found


def _end(signature: str, at: int) -> int:
    if signature[at] == "a":
        return _end(signature, at + 1)
    if signature[at] in "({":
        at += 1
        while signature[at] not in ")}":
            at = _end(signature, at)
    return at + 1


def _align(out: bytearray, to: int) -> None:
    out.extend(b"\0" * (-len(out) % to))


def _put(out: bytearray, signature: str, value: Any) -> None:  # noqa: ANN401 - of the type that the signature says
    kind = signature[0]
    _align(out, _ALIGNMENT.get(kind, 8))
    if kind in _FIXED:
        out += struct.pack(f"<{_FIXED[kind]}", value)
    elif kind in "sog":
        text = value.encode("utf-8")
        out += struct.pack("<B" if kind == "g" else "<I", len(text)) + text + b"\0"
    elif kind == "v":
        _put(out, "g", value.signature)
        _put(out, value.signature, value.value)
    elif kind == "a":
        items = value.items() if isinstance(value, dict) else value
        at = len(out)
        out += b"\0\0\0\0"
        _align(out, _ALIGNMENT.get(signature[1], 8))
        start = len(out)
        for item in items:
            _put(out, signature[1:], item)
        struct.pack_into("<I", out, at, len(out) - start)
    else:
        for one, part in zip(_split(signature[1:-1]), value, strict=True):
            _put(out, one, part)


def _take(data: bytes, at: int, signature: str) -> tuple[Any, int]:
    kind = signature[0]
    to = _ALIGNMENT.get(kind, 8)
    at = (at + to - 1) // to * to
    if kind in _FIXED:
        layout = f"<{_FIXED[kind]}"
        (value,) = struct.unpack_from(layout, data, at)
        return (bool(value) if kind == "b" else value), at + struct.calcsize(layout)
    if kind in "sog":
        layout = "<B" if kind == "g" else "<I"
        (n,) = struct.unpack_from(layout, data, at)
        at += struct.calcsize(layout)
        if at + n >= len(data):
            raise ValueError("a text beyond the end")
        return data[at : at + n].decode("utf-8"), at + n + 1
    if kind == "v":
        inner, at = _take(data, at, "g")
        value, at = _take(data, at, inner)
        return Variant(inner, value), at
    if kind == "a":
        (n,) = struct.unpack_from("<I", data, at)
        to = _ALIGNMENT.get(signature[1], 8)
        at = (at + 4 + to - 1) // to * to
        end, items = at + n, []
        if end > len(data):
            raise ValueError("an array beyond the end")
        while at < end:
            item, at = _take(data, at, signature[1:])
            items.append(item)
        return (dict(items) if signature[1] == "{" else items), at
    parts = []
    for one in _split(signature[1:-1]):
        part, at = _take(data, at, one)
        parts.append(part)
    return tuple(parts), at
