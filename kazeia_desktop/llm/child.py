"""A child process that meets the drivers first: one that aborts takes only the child with it."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from kazeia_desktop.runtime.cancel import CancelToken

_POLL_S: Final = 0.05
_LONGEST: Final = 200


class ChildFailed(Exception):
    """The child did not answer.

    Attributes:
        code: its exit code; negative for a signal; None when it was stopped because it took too long.
        last: the last line it wrote, or the name of the signal.
    """

    def __init__(self, code: int | None, last: str) -> None:
        super().__init__(last)
        self.code = code
        self.last = last


def ask_child(
    module: str, job: Mapping[str, object], environment: Mapping[str, str], timeout_s: float, cancel: CancelToken
) -> dict[str, Any] | None:
    """Run `python -m module` with `job` as JSON on its stdin; its answer is the last line of its stdout, as JSON.

    Returns:
        The answer; None when cancelled, and the child is then killed.
    Raises:
        ChildFailed: an exit code other than 0, no answer, or no end within `timeout_s`.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        text=True,
        encoding="utf-8",
        errors="replace",
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0) if sys.platform == "win32" else 0,
    )
    deadline = time.monotonic() + timeout_s
    given: str | None = json.dumps(job)
    late = False
    while True:
        try:
            out, err = process.communicate(given, timeout=_POLL_S)
            break
        except subprocess.TimeoutExpired:
            given = None  # it is on its way already
            late = late or time.monotonic() > deadline
            if late or cancel.is_set():
                process.kill()
    if cancel.is_set():
        return None
    if late:
        raise ChildFailed(None, f"no end within {timeout_s:.0f} s")
    if process.returncode != 0:
        raise ChildFailed(process.returncode, _last_line(err) or _signal_name(process.returncode))
    try:
        answer: dict[str, Any] = json.loads(_last_line(out, longest=None))
    except ValueError as error:
        raise ChildFailed(0, "no answer") from error
    return answer


def _last_line(text: str, longest: int | None = _LONGEST) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip()[:longest] if lines else ""


def _signal_name(code: int) -> str:
    if code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            pass
    return f"exit code {code}"
