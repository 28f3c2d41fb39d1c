"""Which microphones and loudspeakers there are, how they are opened, and whether one hears the other."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from kazeia_desktop.audio import portaudio
from kazeia_desktop.audio.portaudio import refresh as refresh
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, CAPTURE_RATE_HZ
from kazeia_desktop.settings.schema import AudioSettings

Direction = Literal["input", "output"]
Duplex = Literal["full", "half"]
Callback = Callable[..., None]

_BEST_WINDOWS_API: Final = "Windows WASAPI"
"""Windows lists each device once per interface; the others are slower or cut names at 31 characters."""
_SPEAKER: Final = re.compile(
    r"speaker|haut-?parleur|lautsprecher|built-?in|int[ée]gr|internal|hdmi|displayport|monitor|hda|analog",
    re.IGNORECASE,
)
_HEADSET: Final = re.compile(
    r"head(?:set|phone)|casque|[ée]couteur|ear(?:bud|phone)|airpods|buds|hands-?free|null|virtual|dummy|loopback",
    re.IGNORECASE,
)
_SERVER_DEVICE: Final = re.compile(r"default|pulse|pipewire|sysdefault.*")
_BLOCK_S: Final = CAPTURE_FRAME_SAMPLES / CAPTURE_RATE_HZ
"""A microphone calls once a frame: left to itself it calls up to four times as often, which an idle machine feels."""
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


@dataclass(frozen=True, slots=True, eq=False)
class OpenStream:
    """A stream, not yet started, and what it was opened on."""

    stream: Any
    device: AudioDevice
    rate_hz: int


def _list(direction: Direction) -> tuple[AudioDevice, ...]:
    portaudio.check_alive()
    sd = portaudio.sounddevice()
    with portaudio.lock:
        apis = sd.query_hostapis()
        devices = sd.query_devices()
        default = _default_index(direction, apis)
    channels = f"max_{direction}_channels"
    there = tuple(
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
    return tuple(d for d in there if d.host_api == _BEST_WINDOWS_API) or there


def _default_index(direction: Direction, apis: Iterable[dict[str, Any]]) -> int:
    """PortAudio's own default, but that of the best interface where there is one; -1 without any."""
    for api in apis:
        if api["name"] == _BEST_WINDOWS_API:
            return int(api[f"default_{direction}_device"])
    portaudio.check_alive()
    sd = portaudio.sounddevice()
    try:
        return int(sd.query_devices(kind=direction)["index"])
    except (sd.PortAudioError, ValueError):
        return -1


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
    if len({d.name for d in fits}) == 1:
        return fits[0]
    there = ", ".join(sorted({d.name for d in devices}))
    if fits:
        raise AudioDeviceError("Several devices are called {name!r}: give one of {there}.", name=name, there=there)
    raise AudioDeviceError("There is no audio device {name!r}: give one of {there}.", name=name, there=there)


def open_stream(
    direction: Direction, name: str, rate_hz: int, latency_s: float, callback_for: Callable[[int], Callback]
) -> OpenStream:
    """Open a device for float32, at `rate_hz` in mono when it takes that, else at its own rate and channels.

    Args:
        name: as for `find`.
        latency_s: how much the device's buffer shall hold; it may hold more.
        callback_for: given the rate, returns what PortAudio calls from its own thread.
    Returns:
        The stream; start it, and end it with `portaudio.close`.
    Raises:
        AudioDeviceError: there is no such device, or it refuses every format.
    """
    portaudio.check_alive()
    sd = portaudio.sounddevice()
    kind = sd.InputStream if direction == "input" else sd.OutputStream
    problem: Exception | None = None
    with portaudio.lock, portaudio.quiet_stderr():  # together: an index is only valid until the next refresh
        device = find(direction, name)
        own_hz = device.default_rate_hz
        for at_hz, channels in dict.fromkeys([(rate_hz, 1), (own_hz, 1), (own_hz, min(device.channels, 2))]):
            try:
                stream = kind(
                    samplerate=at_hz,
                    channels=channels,
                    dtype="float32",
                    device=device.index,
                    latency=latency_s,
                    blocksize=round(at_hz * _BLOCK_S) if direction == "input" else 0,
                    callback=callback_for(at_hz),
                )
            except (sd.PortAudioError, ValueError) as error:
                problem = error
                continue
            return OpenStream(portaudio.started(stream), device, at_hz)
    raise refused(direction, device.name, problem)


def refused(direction: Direction, name: str, problem: Exception | None) -> AudioDeviceError:
    """The error of a device that is there but cannot be used."""
    reason = " ".join(str(problem).split())
    if direction == "input":
        return AudioDeviceError(
            "The microphone {name} cannot be opened ({reason}): close what uses it, or choose another.",
            name=name,
            reason=reason,
        )
    return AudioDeviceError(
        "The loudspeaker {name} cannot be opened ({reason}): close what uses it, or choose another.",
        name=name,
        reason=reason,
    )


def start_stream(direction: Direction, opened: OpenStream) -> None:
    """Start what `open_stream` opened; when the device refuses, it is closed.

    Raises:
        AudioDeviceError: the device refuses.
    """
    portaudio.check_alive()
    sd = portaudio.sounddevice()
    try:
        with portaudio.lock, portaudio.quiet_stderr():
            opened.stream.start()
    except sd.PortAudioError as error:
        portaudio.close(opened.stream, abort=True)
        raise refused(direction, opened.device.name, error) from error


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
        _duplex = (settings, now, duplex_of(_output_descriptions(settings)))
    return _duplex[2]


def duplex_of(descriptions: Iterable[str]) -> Duplex:
    """By what a loudspeaker says of itself: the first description that says anything decides."""
    for description in descriptions:
        if _HEADSET.search(description):
            return "full"
        if _SPEAKER.search(description):
            return "half"
    return "full"


def _output_descriptions(settings: AudioSettings) -> tuple[str, ...]:
    try:
        name = find("output", settings.output_device).name
    except AudioDeviceError:
        return ()
    if _SERVER_DEVICE.fullmatch(name):
        return (*_sound_server_output(), name)
    return (name,)


def _sound_server_output() -> tuple[str, ...]:
    """How the sound server describes its own output, where its tool is installed."""
    tool = shutil.which("pactl")
    if tool is None:
        return ()
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        default, sinks = (
            subprocess.run(
                [tool, *words], capture_output=True, text=True, timeout=1, check=True, env=environment, errors="replace"
            ).stdout
            for words in (["get-default-sink"], ["list", "sinks"])
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return sink_descriptions(sinks, default.strip())


def sink_descriptions(sinks: str, name: str) -> tuple[str, ...]:
    """What `pactl list sinks` says of the sink `name`, the most telling first; empty without it.

    The port in use comes first: a laptop's sink may be called "Speaker + Headphones" whatever is plugged in.
    """
    for block in sinks.split("\n\n"):
        if f"Name: {name}\n" in block:
            lines = re.findall(
                r"^\s*(Name|Description|Active Port|device\.form_factor)\b\s*[:=]\s*(.*)$", block, re.MULTILINE
            )
            told = dict(lines)
            order = ("Active Port", "device.form_factor", "Description", "Name")
            return tuple(told[key] for key in order if key in told)
    return ()
