"""A measurement in a process of its own, which answers in JSON."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Final

from kazeia_desktop.errors import InferenceError

_PATIENCE_S: Final = 1800.0
"""Much longer than any measurement: what takes longer hangs."""


def json_of(name: str, arguments: Sequence[str], given: str = "", timeout_s: float = _PATIENCE_S) -> dict[str, Any]:
    """The last line that `python -m ARGUMENTS` prints.

    Args:
        name: what runs, as it is called in the error.
        given: its standard input.
    Raises:
        InferenceError: it failed, with its last words, or did not end in time.
    """
    command = [sys.executable, "-m", *arguments]
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise InferenceError(
            "{engine} failed: {reason}", engine=name, reason=f"no answer within {timeout_s:.0f} s"
        ) from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise InferenceError("{engine} failed: {reason}", engine=name, reason=last)
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer
