"""The devices that are there now, also while a stream is open.

PortAudio lists devices once, when it starts, and cannot start again while a stream is open, which the microphone's
mostly is: then a process of its own looks.
"""

import json
import logging
import subprocess
import sys
from typing import Final

from kazeia_desktop.audio import devices, portaudio

_log = logging.getLogger(__name__)

_TIMEOUT_S: Final = 10.0
_PROGRAM: Final = (
    "import json, sys; from kazeia_desktop.audio import devices; "
    "found = devices.list_inputs() if sys.argv[1] == 'input' else devices.list_outputs(); "
    "print(json.dumps([device.name for device in found]))"
)


def names(direction: devices.Direction) -> tuple[str, ...]:
    """Names of the microphones ("input") or loudspeakers ("output"), in PortAudio's order.

    Beside an open stream this takes as long as a start of Python.

    Raises:
        AudioDeviceError: PortAudio is missing, or the sound server has died.
    """
    if not portaudio.refresh():
        fresh = _asked(direction)
        if fresh is not None:
            return fresh
    listed = devices.list_inputs() if direction == "input" else devices.list_outputs()
    return tuple(device.name for device in listed)


def _asked(direction: devices.Direction) -> tuple[str, ...] | None:
    """What a process of its own sees; None where it fails."""
    command = [sys.executable, "-c", _PROGRAM, direction]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=True)
        found = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        _log.info("the devices cannot be listed afresh: %s", type(error).__name__)
        return None
    return tuple(map(str, found)) if isinstance(found, list) else None
