"""A helper program run to its end, unless the turn is cancelled first."""

import subprocess
import sys
import threading
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
    talk = _Talk(process, given)
    deadline = time.monotonic() + timeout_s
    late = False
    while not talk.done.wait(_POLL_S):
        late = late or time.monotonic() > deadline
        if late or cancel.is_set():
            process.kill()
    if cancel.is_set():
        return None
    if late:
        raise ProgramFailed(f"no end within {timeout_s:.0f} s")
    if process.returncode != 0:
        told = talk.err.decode("utf-8", "replace").strip().splitlines()
        raise ProgramFailed(told[-1][:120] if told else f"exit code {process.returncode}")
    return talk.out


class _Talk:
    """Writes and reads both pipes in a thread: one of them full would otherwise stop the other."""

    def __init__(self, process: "subprocess.Popen[bytes]", given: bytes) -> None:
        self.done = threading.Event()
        self.out = self.err = b""
        threading.Thread(target=self._run, args=(process, given), name="tts-program").start()

    def _run(self, process: "subprocess.Popen[bytes]", given: bytes) -> None:
        try:
            with process:
                self.out, self.err = process.communicate(given)
        finally:
            self.done.set()
