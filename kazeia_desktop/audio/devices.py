"""Which microphones and loudspeakers there are, and whether one hears the other."""

import contextlib
import ctypes
import functools
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Final, Literal

from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.settings.schema import AudioSettings

Direction = Literal["input", "output"]
Duplex = Literal["full", "half"]

portaudio_lock = threading.RLock()
"""Held while PortAudio opens, closes or lists: it is not thread-safe there."""

_open_streams: set[int] = set()

_SPEAKER: Final = re.compile(
    r"speaker|haut-?parleur|lautsprecher|built-?in|int[ée]gr|internal|hdmi|displayport|monitor|hda|analog",
    re.IGNORECASE,
)
_HEADSET: Final = re.compile(
    r"head(?:set|phone)|casque|[ée]couteur|ear(?:bud|phone)|airpods|buds|hands-?free|null|virtual|dummy|loopback",
    re.IGNORECASE,
)
_DUPLEX_CACHE_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class AudioDevice:
    """A device as PortAudio lists it. index: valid until devices change."""

    name: str
    index: int
    host_api: str
    channels: int
    default_rate_hz: int
    is_default: bool


@functools.cache
def sounddevice() -> ModuleType:
    """The sounddevice module, loaded without ALSA's complaints on stderr.

    Raises:
        AudioDeviceError: PortAudio is not installed.
    """
    try:
        with portaudio_lock, quiet_stderr():
            _silence_alsa()
            import sounddevice as loaded
    except (OSError, ImportError) as error:
        raise AudioDeviceError(
            "The sound library PortAudio is missing: install the package libportaudio2, then start Kazeia again."
        ) from error
    module: ModuleType = loaded
    return module


_ALSA_HANDLER: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p
)


def _ignore(file: bytes, line: int, function: bytes, error: int, message: bytes) -> None:
    """Nothing to do."""


_ignore_callback: Final = _ALSA_HANDLER(_ignore)
"""Kept for ever: ALSA calls it from then on."""


def _silence_alsa() -> None:
    """ALSA prints its configuration's problems; ours are told by AudioDeviceError."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL("libasound.so.2").snd_lib_error_set_handler(_ignore_callback)


@contextlib.contextmanager
def quiet_stderr() -> Iterator[None]:
    """Drops what libraries print on stderr meanwhile (JACK and PulseAudio do when no server runs)."""
    try:
        kept = os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
    except OSError:
        yield
        return
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _list(direction: Direction) -> tuple[AudioDevice, ...]:
    sd = sounddevice()
    with portaudio_lock:
        apis = sd.query_hostapis()
        devices = sd.query_devices()
        try:
            default = sd.query_devices(kind=direction)["index"]
        except (sd.PortAudioError, ValueError):
            default = -1
    channels = f"max_{direction}_channels"
    return tuple(
        AudioDevice(
            device["name"],
            device["index"],
            apis[device["hostapi"]]["name"],
            device[channels],
            int(device["default_samplerate"]),
            device["index"] == default,
        )
        for device in devices
        if device[channels] > 0
    )


def list_inputs() -> tuple[AudioDevice, ...]:
    """The microphones. AudioDeviceError when PortAudio is missing."""
    return _list("input")


def list_outputs() -> tuple[AudioDevice, ...]:
    """The loudspeakers. AudioDeviceError when PortAudio is missing."""
    return _list("output")


def find(direction: Direction, name: str) -> AudioDevice:
    """The device called `name`, or the only one whose name holds it; "" is the system's default.

    Raises:
        AudioDeviceError: none, or several; says which there are.
    """
    devices = _list(direction)
    if not devices:
        if direction == "input":
            raise AudioDeviceError("There is no microphone: plug one in. Typing works without.")
        raise AudioDeviceError("There is no loudspeaker: plug one in. Replies are shown as text.")
    if not name:
        return next((d for d in devices if d.is_default), devices[0])
    exact = [d for d in devices if d.name == name]
    fits = exact or [d for d in devices if name.lower() in d.name.lower()]
    if len(fits) >= 1 and (exact or len({d.name for d in fits}) == 1):
        return fits[0]
    there = ", ".join(sorted({d.name for d in devices}))
    if fits:
        raise AudioDeviceError("Several devices are called {name!r}: give one of {there}.", name=name, there=there)
    raise AudioDeviceError("There is no audio device {name!r}: give one of {there}.", name=name, there=there)


def stream_opened(stream: object) -> None:
    """Note an open stream: devices are not listed anew while there is one."""
    _open_streams.add(id(stream))


def stream_closed(stream: object) -> None:
    """Note that it is closed."""
    _open_streams.discard(id(stream))


def refresh() -> bool:
    """Look for devices anew; PortAudio lists them once when it starts.

    Returns:
        False when a stream is open: restarting PortAudio would kill it.
    """
    sd = sounddevice()
    with portaudio_lock, quiet_stderr():
        if _open_streams:
            return False
        sd._terminate()
        sd._initialize()
        return True


_duplex: tuple[AudioSettings, float, Duplex] | None = None


def effective_duplex(settings: AudioSettings) -> Duplex:
    """Whether the microphone may stay open while Kazeia speaks; "auto" is decided by the loudspeaker.

    A loudspeaker is heard by the microphone: half. A headset, a virtual or an unknown device: full.
    Cheap to call often: the answer is kept for half a minute.
    """
    global _duplex
    if settings.duplex != "auto":
        return settings.duplex
    now = time.monotonic()
    if _duplex is None or _duplex[0] != settings or now - _duplex[1] > _DUPLEX_CACHE_S:
        _duplex = (settings, now, _duplex_of(_output_description(settings)))
    return _duplex[2]


def _duplex_of(description: str) -> Duplex:
    if _HEADSET.search(description):
        return "full"
    return "half" if _SPEAKER.search(description) else "full"


def _output_description(settings: AudioSettings) -> str:
    try:
        name = find("output", settings.output_device).name
    except AudioDeviceError:
        return ""
    if re.fullmatch(r"default|pulse|pipewire|sysdefault.*", name):
        return _sound_server_output() or name
    return name


def _sound_server_output() -> str:
    """Name, description and active port of the sound server's own output, where its tool is installed."""
    tool = shutil.which("pactl")
    if tool is None:
        return ""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        default, sinks = (
            subprocess.run(
                [tool, *words], capture_output=True, text=True, timeout=2, check=True, env=environment, errors="replace"
            ).stdout
            for words in (["get-default-sink"], ["list", "sinks"])
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    for block in sinks.split("\n\n"):
        if f"Name: {default.strip()}\n" in block:
            wanted = r"^\s*(?:Name|Description|Active Port|device\.form_factor|device\.description)\b.*$"
            return " ".join(re.findall(wanted, block, re.MULTILINE))
    return ""
