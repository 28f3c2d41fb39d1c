"""The PortAudio library: loaded quietly, one caller at a time, restarted to see new devices."""

import atexit
import contextlib
import ctypes
import functools
import logging
import os
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from kazeia_desktop.errors import AudioDeviceError

_log = logging.getLogger(__name__)

lock = threading.RLock()
"""Held while PortAudio opens, closes or lists: it is not thread-safe there."""

_open_streams: set[int] = set()
_stuck: Final = threading.Event()
_CLOSE_S: Final = 3.0  # closing plays out what the device holds, a fraction of a second

_ALSA_HANDLER: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p
)


def _ignore(file: bytes, line: int, function: bytes, error: int, message: bytes) -> None:
    """Nothing to do."""


_ignore_callback: Final = _ALSA_HANDLER(_ignore)
"""Kept for ever: ALSA calls it from then on."""


@functools.cache
def sounddevice() -> ModuleType:
    """The sounddevice module, loaded without ALSA's complaints on stderr.

    Raises:
        AudioDeviceError: PortAudio is not installed.
    """
    try:
        with lock, quiet_stderr():
            _silence_alsa()
            import sounddevice as loaded
    except (OSError, ImportError) as error:
        raise AudioDeviceError(
            "The sound library PortAudio is missing: install the package libportaudio2, then start Kazeia again."
        ) from error
    module: ModuleType = loaded
    return module


def _silence_alsa() -> None:
    """ALSA prints its configuration's problems; ours are told by AudioDeviceError."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL("libasound.so.2").snd_lib_error_set_handler(_ignore_callback)


@contextlib.contextmanager
def quiet_stderr() -> Iterator[None]:
    """Drops what libraries print on stderr meanwhile (PortAudio, JACK and PulseAudio do when a device refuses).

    The whole process's stderr: hold `lock`, and be brief.
    """
    try:
        kept = os.dup(2)
    except OSError:  # a window's program may have none
        yield
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def started(stream: Any) -> Any:  # noqa: ANN401 - sounddevice has no types
    """Note a stream that was opened: PortAudio is not restarted while there is one. Returns it."""
    _open_streams.add(id(stream))
    return stream


def close(stream: Any, abort: bool) -> None:  # noqa: ANN401
    """Close a stream; abort: drop what its buffer holds instead of playing it. Its device may be gone.

    A sound server that died while the stream was open can hold the close for ever. It is then left behind in
    its thread, and every later use of sound is an error that says so: nobody waits for it.
    """
    done = threading.Event()

    def work() -> None:
        with contextlib.suppress(sounddevice().PortAudioError):
            (stream.abort if abort else stream.stop)(ignore_errors=True)
            stream.close(ignore_errors=True)
        done.set()

    with lock:
        closing = threading.Thread(target=work, name="audio-close", daemon=True)
        closing.start()
        if done.wait(_CLOSE_S):
            closing.join()
        else:
            _log.warning("the sound server does not answer: its stream is left open")
            atexit.unregister(sounddevice()._exit_handler)  # it would wait for the same answer
            _stuck.set()
    _open_streams.discard(id(stream))


def check_alive() -> None:
    """Raises:
    AudioDeviceError: a stream could not be closed, so that PortAudio can no longer be used.
    """
    if _stuck.is_set():
        raise AudioDeviceError("The sound server has died: start it again, then start Kazeia again.")


def n_open_streams() -> int:
    """How many streams of this process are open."""
    return len(_open_streams)


def refresh() -> bool:
    """Look for devices anew: PortAudio lists them once, when it starts. 30 ms without devices.

    Returns:
        False when a stream is open, which restarting PortAudio would kill, or PortAudio is stuck.
    """
    sd = sounddevice()
    with lock, quiet_stderr():
        if _open_streams or _stuck.is_set():
            return False
        sd._terminate()
        sd._initialize()
        return True
