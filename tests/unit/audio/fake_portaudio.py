"""PortAudio without a device: the test decides which devices there are and when callbacks come."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kazeia_desktop.frames import FloatArray

Callback = Callable[..., None]


class PortAudioError(Exception):
    """As sounddevice's."""


class Clock:
    """Time that passes only when told to."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class When:
    """What a callback is told of time."""

    def __init__(self, dac_s: float) -> None:
        self.outputBufferDacTime = dac_s


class Status:
    """Flags of a callback."""

    def __init__(self, output_underflow: bool = False) -> None:
        self.output_underflow = output_underflow

    def __bool__(self) -> bool:
        return self.output_underflow


class Stream:
    """One open stream."""

    def __init__(self, sound: "FakePortAudio", device: int, rate_hz: int, channels: int, callback: Callback) -> None:
        self._sound = sound
        self.device = device
        self.name = sound.devices[device]["name"]
        self.samplerate = rate_hz
        self.channels = channels
        self.callback = callback
        self.active = False
        self.closed = False
        self.aborted = False
        self.latency_s = 0.05

    @property
    def time(self) -> float:
        return self._sound.clock()

    def start(self) -> None:
        if self.name in self._sound.refusing_to_start:
            raise PortAudioError("busy")
        self.active = True

    def stop(self, ignore_errors: bool = True) -> None:
        self.active = False

    def abort(self, ignore_errors: bool = True) -> None:
        self.active, self.aborted = False, True

    def close(self, ignore_errors: bool = True) -> None:
        self.active, self.closed = False, True

    def bring(self, samples: FloatArray) -> None:
        """The microphone hears (n,) or (n, channels) samples."""
        assert self.active
        data = samples if samples.ndim == 2 else np.repeat(samples[:, None], self.channels, axis=1)
        self.callback(data, len(data), None, Status())

    def ask(self, n: int, late: bool = False) -> FloatArray:
        """The loudspeaker takes (n, channels) samples."""
        assert self.active
        out = np.full((n, self.channels), np.nan, np.float32)
        self.callback(out, n, When(self._sound.clock() + self.latency_s), Status(late))
        return out


class FakePortAudio:
    """Stands for the sounddevice module."""

    PortAudioError = PortAudioError

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.devices: list[dict[str, Any]] = []
        self.host_apis = [{"name": "ALSA", "default_input_device": -1, "default_output_device": -1}]
        self.accepted_hz: dict[str, set[int]] = {}
        self.refusing_to_start: set[str] = set()
        self.streams: list[Stream] = []
        self.plugged: list[dict[str, Any]] | None = None  # seen after the next restart
        self.default = {"input": -1, "output": -1}
        self.n_restarts = 0

    def add(self, name: str, inputs: int = 0, outputs: int = 0, rate_hz: int = 48_000, host_api: int = 0) -> None:
        index = len(self.devices)
        self.devices.append(
            {
                "name": name,
                "index": index,
                "hostapi": host_api,
                "max_input_channels": inputs,
                "max_output_channels": outputs,
                "default_samplerate": float(rate_hz),
            }
        )
        for kind, n in (("input", inputs), ("output", outputs)):
            if n and self.default[kind] < 0:
                self.default[kind] = index

    def remove(self, name: str) -> None:
        """Pull a device out: seen after a restart of PortAudio; its streams end."""
        left = [d for d in self.devices if d["name"] != name]
        self.plugged = [{**d, "index": i} for i, d in enumerate(left)]
        for stream in self.streams:
            if stream.name == name:
                stream.active = False

    def query_hostapis(self) -> list[dict[str, Any]]:
        return self.host_apis

    def query_devices(self, kind: str | None = None) -> object:
        if kind is None:
            return self.devices
        if not 0 <= self.default[kind] < len(self.devices):
            raise PortAudioError("no default device")
        return self.devices[self.default[kind]]

    def _terminate(self) -> None:
        assert not self.open_streams, "PortAudio was restarted under an open stream"

    def _initialize(self) -> None:
        self.n_restarts += 1
        if self.plugged is not None:
            names = {kind: self.devices[i]["name"] for kind, i in self.default.items() if i >= 0}
            self.devices, self.plugged = self.plugged, None
            for kind, name in names.items():
                fits = [d["index"] for d in self.devices if d[f"max_{kind}_channels"]]
                same = [d["index"] for d in self.devices if d["name"] == name]
                self.default[kind] = (same or fits or [-1])[0]

    def _open(self, samplerate: int, channels: int, device: int, callback: Callback) -> Stream:
        name = self.devices[device]["name"]
        if samplerate not in self.accepted_hz.get(name, {samplerate}):
            raise PortAudioError("Invalid sample rate")
        stream = Stream(self, device, samplerate, channels, callback)
        self.streams.append(stream)
        return stream

    def InputStream(self, *, samplerate: int, channels: int, device: int, callback: Callback, **more: object) -> Stream:
        return self._open(samplerate, channels, device, callback)

    def OutputStream(
        self, *, samplerate: int, channels: int, device: int, callback: Callback, **more: object
    ) -> Stream:
        return self._open(samplerate, channels, device, callback)

    @property
    def open_streams(self) -> list[Stream]:
        return [stream for stream in self.streams if not stream.closed]

    @property
    def stream(self) -> Stream:
        """The one that is open."""
        (only,) = self.open_streams
        return only
