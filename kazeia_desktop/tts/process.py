"""A helper program run to its end, unless the turn is cancelled first."""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final

from kazeia_desktop.runtime.cancel import CancelToken

_POLL_S: Final = 0.02


class ProgramFailed(Exception):
    """The program could not be started, took too long or returned an error; the text says which."""


def run_program(
    command: Sequence[str],
    given: bytes,
    cancel: CancelToken,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
) -> bytes | None:
    """What `command` writes when it reads `given`; None when cancelled, and the program is then killed.

    Text goes in by the pipe, never as an argument: others on the machine can read a command line.

    Raises:
        ProgramFailed: no such program, exit code other than 0, or no end within `timeout_s`.
    """
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0) if sys.platform == "win32" else 0,
        )
    except OSError as error:
        raise ProgramFailed(error.strerror or str(error)) from error
    deadline = time.monotonic() + timeout_s
    waiting: bytes | None = given
    with process:
        while True:
            try:
                out, err = process.communicate(waiting, _POLL_S)
                break
            except subprocess.TimeoutExpired:
                waiting = None  # it has taken the input; a second call must not pass it again
                if cancel.is_set() or time.monotonic() > deadline:
                    process.kill()
                    process.communicate()
                    if cancel.is_set():
                        return None
                    raise ProgramFailed(f"no end within {timeout_s:.0f} s") from None
    if process.returncode != 0:
        told = err.decode("utf-8", "replace").strip().splitlines()
        raise ProgramFailed(told[-1][:120] if told else f"exit code {process.returncode}")
    return out
