"""Files of the Hugging Face hub over plain HTTP: their hashes, and their bytes from any offset.

huggingface_hub tells the endpoint, the login token and whether the user wants to stay offline; the
requests are our own, because its downloader resumes only inside its own cache and would keep every
model twice.
"""

import http.client
import logging
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from typing import IO, Final, TypeVar

from kazeia_desktop import __version__
from kazeia_desktop.models.catalog import HubFile
from kazeia_desktop.runtime.cancel import CancelToken

_log = logging.getLogger(__name__)
T = TypeVar("T")

CONNECT_S: Final = 4.0
"""Time for the first answer; after it the next source is tried."""
READ_S: Final = 30.0
"""A transfer that delivers nothing for so long is cut and resumed."""
_FORGET_S: Final = 60.0
"""How long a hub without an answer is not asked again."""


class HubUnreachable(Exception):
    """No answer, or the user asked to stay offline."""


class HubRefused(Exception):
    """The hub answered, but not with the file."""


@dataclass(frozen=True, slots=True)
class HubInfo:
    """What the hub says of a file. Exactly one of the hashes is set."""

    bytes: int
    revision: str
    sha256: str | None  # large files
    git_sha1: str | None  # small files: sha1 of "blob <size>\0" and the content


class Hub:
    """A connection's settings; keeps in mind that the hub could not be reached.

    Args:
        endpoint: base URL; None asks huggingface_hub, which also knows whether to stay offline.
        connect_s, read_s: patience for the first answer and between two blocks.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        connect_s: float = CONNECT_S,
        read_s: float = READ_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoint = endpoint
        self._connect_s = connect_s
        self._read_s = read_s
        self._clock = clock
        self._unreachable: tuple[float, str] | None = None  # when it was found out, and how
        self._opener = urllib.request.build_opener(_Redirects)

    def info(self, file: HubFile, cancel: CancelToken) -> HubInfo:
        """Ask for size, revision and hash.

        Raises:
            HubUnreachable: no answer within `connect_s`, now or at an earlier call.
            HubRefused: no such file, no access, or an answer without a hash.
        """
        if self._unreachable is not None and self._clock() - self._unreachable[0] < _FORGET_S:
            raise HubUnreachable(self._unreachable[1])
        try:
            request = self._request(file, file.revision, "HEAD")
            headers = self._within(lambda: self._head(request), cancel)
        except HubUnreachable as error:
            self._unreachable = (self._clock(), str(error))
            _log.info("the model hub cannot be reached (%s): going on without it", error)
            raise
        etag = (headers.get("x-linked-etag") or headers.get("etag") or "").removeprefix("W/").strip('"')
        size = headers.get("x-linked-size") or headers.get("content-length") or ""
        if not size.isdecimal() or not re.fullmatch(r"[0-9a-f]{64}|[0-9a-f]{40}", etag):
            raise HubRefused("no size or hash in its answer")
        revision = headers.get("x-repo-commit", "")
        if not re.fullmatch(r"[0-9a-f]{40}", revision):
            revision = file.revision
        is_sha256 = len(etag) == 64
        return HubInfo(int(size), revision, etag if is_sha256 else None, None if is_sha256 else etag)

    def open(self, file: HubFile, revision: str, start: int) -> tuple[http.client.HTTPResponse, int]:
        """Begin to read a file.

        Args:
            revision: as `info` told it, so that every piece is of the same file.
            start: first byte wanted.
        Returns:
            (the answer's body, the offset it starts at: `start`, or 0 where ranges are not known).
        Raises:
            HubRefused, OSError, http.client.HTTPException.
        """
        request = self._request(file, revision, "GET")
        if start:
            request.add_header("Range", f"bytes={start}-")
        try:
            answer: http.client.HTTPResponse = self._opener.open(request, timeout=self._read_s)
        except urllib.error.HTTPError as error:
            error.close()
            raise HubRefused(f"HTTP {error.code}") from error
        if answer.status == 206:
            given = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
            if given is None or int(given[1]) != start:
                answer.close()
                raise HubRefused("it sent another range than asked for")
            return answer, start
        return answer, 0

    def _head(self, request: urllib.request.Request) -> dict[str, str]:
        try:
            with self._opener.open(request, timeout=self._connect_s) as answer:
                return _header_map(answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                if error.code < 400 and "X-Linked-Etag" in error.headers:
                    return _header_map(error.headers)
            raise HubRefused(f"HTTP {error.code}") from error
        except urllib.error.URLError as error:
            raise HubUnreachable(_plain(error.reason)) from error
        except (OSError, http.client.HTTPException) as error:
            raise HubUnreachable(_plain(error)) from error

    def _request(self, file: HubFile, revision: str, method: str) -> urllib.request.Request:
        from huggingface_hub import constants, get_token

        endpoint = self._endpoint
        if endpoint is None:
            if constants.HF_HUB_OFFLINE:
                raise HubUnreachable("offline mode is on")
            endpoint = constants.ENDPOINT
        path = urllib.parse.quote(f"{file.repo}/resolve/{revision}/{file.file}")
        request = urllib.request.Request(f"{endpoint}/{path}", method=method)
        if request.type not in ("https", "http"):
            raise HubUnreachable(f"its address begins with {request.type}:")
        request.add_header("User-Agent", f"kazeia/{__version__}")
        request.add_header("Accept-Encoding", "identity")  # sizes and ranges are those of the file itself
        token = get_token() if self._endpoint is None else None
        if token:
            # "unredirected": the token must not follow to the storage host.
            request.add_unredirected_header("Authorization", f"Bearer {token}")
        return request

    def _within(self, ask: Callable[[], T], cancel: CancelToken) -> T:
        """Run `ask` with a deadline. A name lookup, or a host of many dead addresses, ignores socket timeouts."""
        answers: list[T] = []
        errors: list[HubUnreachable | HubRefused] = []
        done = threading.Event()

        def run() -> None:
            try:
                answers.append(ask())
            except (HubUnreachable, HubRefused) as error:
                errors.append(error)
            finally:
                done.set()

        # A daemon, against the habit: a lookup that hangs cannot be stopped, and must not keep the process.
        threading.Thread(target=run, name="hub-probe", daemon=True).start()
        waited = 0.0
        while not done.wait(0.05):
            cancel.raise_if_set()
            waited += 0.05
            if waited >= self._connect_s * 2:
                raise HubUnreachable("no answer")
        if errors:
            raise errors[0]
        if not answers:
            raise HubUnreachable("no answer")
        return answers[0]


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows renamed repositories and, for content, to the storage host; never from https to http."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if req.type == "https" and not newurl.startswith("https:"):
            return None
        if req.get_method() == "HEAD" and "X-Linked-Etag" in headers:
            return None  # all is said here; the storage host's address is signed for GET only
        follow = super().redirect_request(req, fp, code, msg, headers, newurl)
        if follow is None:
            return None
        follow.method = req.get_method()
        if "Authorization" in req.unredirected_hdrs and follow.host == req.host:
            follow.add_unredirected_header("Authorization", req.unredirected_hdrs["Authorization"])
        return follow


def _header_map(headers: Message) -> dict[str, str]:
    return {key.lower(): value for key, value in headers.items()}


def _plain(reason: object) -> str:
    """An error as a few words, without the class and number that Python puts around it."""
    if isinstance(reason, TimeoutError):
        return "no answer"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return str(reason) or type(reason).__name__
