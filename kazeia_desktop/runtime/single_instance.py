"""One running app for each configuration, and how others on this machine talk to it: a line in, a line out.

Whoever holds the lock is the app; the lock ends with its process, so that what a crash left behind is no obstacle.
Requests come over a socket that only the user can reach: a file in a folder of mode 0700, or, where the system has no
such sockets (Windows), the loopback with a secret that only the user can read.
"""

import contextlib
import hashlib
import hmac
import json
import logging
import os
import secrets
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kazeia_desktop.errors import NotRunningError, StorageError
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.small_files import read_record, write_record

_log = logging.getLogger(__name__)

_VERSION: Final = 1
_LINE_BYTES: Final = 4096
_RETRY_S: Final = 0.05
_ANSWER_S: Final = 5.0
"""A window answers within milliseconds; one that just starts needs a second."""

Answer = Mapping[str, Any]


class SingleInstance:
    """The app's side: the lock and the socket. `claim` makes it.

    Not thread-safe: one owner, whose event loop watches `fileno`.
    """

    def __init__(self, lock: int, listening: socket.socket, place: "Place") -> None:
        self._lock = lock
        self._listening = listening
        self._place = place

    @classmethod
    def claim(cls, place: "Place") -> "SingleInstance | None":
        """Become the one that runs; None where another one is.

        Raises:
            StorageError: the folder cannot be used.
        """
        try:
            place.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(place.lock, os.O_RDWR | os.O_CREAT, 0o600)
            if not _locked(lock):
                os.close(lock)
                return None
            try:
                return cls(lock, place.listen(), place)
            except OSError:
                os.close(lock)
                raise
        except OSError as error:
            raise StorageError(
                "{path} cannot be written ({reason}): choose another place.",
                path=str(place.folder),
                reason=error.strerror or str(error),
            ) from error

    def fileno(self) -> int:
        """Readable when somebody asks for something."""
        return self._listening.fileno()

    def accept(self) -> "Request | None":
        """The next request; None where there is none after all. Never waits."""
        try:
            connection, _ = self._listening.accept()
        except OSError:
            return None
        connection.setblocking(False)
        return Request(connection, self._place.secret())

    def close(self) -> None:
        """Give up the place. Closing twice is harmless."""
        if self._lock >= 0:
            self._listening.close()
            self._place.remove()
            os.close(self._lock)
            self._lock = -1


class Request:
    """One connection to the app: what is asked, and the answer. Never waits."""

    def __init__(self, connection: socket.socket, secret: str) -> None:
        self._connection = connection
        self._secret = secret
        self._got = b""
        self.ended = False

    def fileno(self) -> int:
        """Readable when more of the request is there."""
        return self._connection.fileno()

    def read(self) -> str | None:
        """What is asked, when it is all there; None: not yet, or nothing that counts (then `ended`)."""
        try:
            got = self._connection.recv(_LINE_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            got = b""
        self._got += got
        if b"\n" not in self._got:
            if not got or len(self._got) > _LINE_BYTES:
                self.close()
            return None
        try:
            asked = json.loads(self._got.partition(b"\n")[0])
        except ValueError:
            asked = None
        if not isinstance(asked, dict) or not hmac.compare_digest(str(asked.get("secret", "")), self._secret):
            self.close()
            return None
        return str(asked.get("do", ""))

    def answer(self, answer: Answer) -> None:
        """Say it and end."""
        with contextlib.suppress(OSError):
            self._connection.send(json.dumps(answer).encode() + b"\n")
        self.close()

    def close(self) -> None:
        """End without a word. Closing twice is harmless."""
        self.ended = True
        self._connection.close()


class Place:
    """Where the lock and the socket are.

    Args:
        folder: the user's own.
        name: of this configuration.
        loopback: whether to use a port and a secret instead of a socket file.
    """

    def __init__(self, folder: Path, name: str, loopback: bool | None = None) -> None:
        self.folder = folder
        self._name = name
        self._loopback = not hasattr(socket, "AF_UNIX") if loopback is None else loopback
        self._socket = folder / f"{name}.socket"
        self._port = folder / f"{name}.port"
        self._secret = ""

    @classmethod
    def of(cls, paths: Paths) -> "Place":
        """That of a configuration: KAZEIA_HOME has its own."""
        name = hashlib.sha256(str(paths.config_dir).encode()).hexdigest()[:16]
        return cls(_runtime_dir(paths), name)

    @property
    def lock(self) -> Path:
        return self.folder / f"{self._name}.lock"

    def secret(self) -> str:
        """What a request must say; "" where the socket's folder is protection enough."""
        return self._secret

    def listen(self) -> socket.socket:
        """A socket for requests in the place of what was left of another. Raises OSError."""
        if self._loopback:
            made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            made.bind(("127.0.0.1", 0))
            self._secret = secrets.token_hex(32)
            write_record(self._port, _VERSION, {"port": made.getsockname()[1], "secret": self._secret})
        else:
            self._socket.unlink(missing_ok=True)
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.bind(str(self._socket))
        made.setblocking(False)
        made.listen(16)
        return made

    def connect(self, timeout_s: float) -> tuple[socket.socket, str]:
        """A connection to the app, and the secret to say. Raises OSError: nobody listens."""
        if self._loopback:
            record = read_record(self._port, _VERSION)
            return socket.create_connection(("127.0.0.1", int(record.get("port", 0))), timeout_s), str(
                record.get("secret", "")
            )
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(timeout_s)
        try:
            made.connect(str(self._socket))
        except OSError:
            made.close()
            raise
        return made, ""

    def remove(self) -> None:
        """Nobody listens any more. The lock's file stays: removing it would let two hold one of its name."""
        for left in (self._socket, self._port):
            with contextlib.suppress(OSError):
                left.unlink(missing_ok=True)

    def held(self) -> bool:
        """Whether an app of this configuration runs."""
        try:
            lock = os.open(self.lock, os.O_RDWR)
        except OSError:
            return False
        try:
            return not _locked(lock)
        finally:
            os.close(lock)


def ask(place: Place, request: str, timeout_s: float = _ANSWER_S) -> Answer:
    """Ask the running app for something.

    Raises:
        NotRunningError: none runs.
        StorageError: it does not answer in time.
    """
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        if not place.held():
            raise NotRunningError("Kazeia is not running: start it with `kazeia`.")
        try:
            connection, secret = place.connect(timeout_s)
        except (OSError, ValueError):  # it is just starting, or just ending
            time.sleep(_RETRY_S)
            continue
        with connection:
            try:
                connection.sendall(json.dumps({"do": request, "secret": secret}).encode() + b"\n")
                answer = _line(connection, deadline_s)
            except OSError:
                continue
        if answer is not None:
            return answer
    raise StorageError("Kazeia runs but does not answer: try again, or end it and start it anew.")


def wait_for_end(place: Place, timeout_s: float) -> bool:
    """Wait until no app of this configuration runs; whether that is so."""
    deadline_s = time.monotonic() + timeout_s
    while place.held():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(_RETRY_S)
    return True


def _line(connection: socket.socket, deadline_s: float) -> Answer | None:
    got = b""
    while b"\n" not in got:
        connection.settimeout(max(0.01, deadline_s - time.monotonic()))
        piece = connection.recv(_LINE_BYTES)
        if not piece or len(got) > _LINE_BYTES:
            return None
        got += piece
    try:
        answer = json.loads(got)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _runtime_dir(paths: Paths) -> Path:
    """A folder of the user alone whose path is short enough for a socket's name (some 100 bytes)."""
    if sys.platform == "win32":
        return paths.cache_dir / "run"
    given = Path(f"/run/user/{os.getuid()}")
    if _is_ours(given):
        return given / "kazeia"
    own = Path(tempfile.gettempdir()) / f"kazeia-{os.getuid()}"
    with contextlib.suppress(OSError):
        own.mkdir(mode=0o700)
    return own if _is_ours(own) else paths.cache_dir / "run"


def _is_ours(folder: Path) -> bool:
    """Whether only this user can look into it: others may make folders where temporary files are."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _locked(handle: int) -> bool:
    """Lock an open file for this process; false where another has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
