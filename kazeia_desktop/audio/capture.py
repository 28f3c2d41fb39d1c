"""The microphone: any device in, 32 ms frames at 16 kHz out."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from kazeia_desktop.audio import devices
from kazeia_desktop.audio.resampler import Resampler
from kazeia_desktop.audio.ring_buffer import RingBuffer
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.events import Event, Notice
from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, CAPTURE_RATE_HZ, AudioFrame, FloatArray
from kazeia_desktop.settings.schema import AudioSettings

_log = logging.getLogger(__name__)

_RING_S: Final = 4.0
_SILENT_DEVICE_S: Final = 1.0  # delivers nothing
_ZERO_DEVICE_S: Final = 2.0  # delivers exact zeros, as a muted or unplugged one does
_RETRY_S: Final = 5.0
_POLL_S: Final = 0.008


class Capture:
    """FrameSource on a device of PortAudio.

    `read` is the watchdog too: a device that delivers nothing for a second, or exact zeros for two, is
    left for the system's default, and taken again when it is back. `start`, `read` and `stop` may be
    called from different threads.

    Args:
        emit: told of every change of device.
    """

    def __init__(self, settings: AudioSettings, emit: Callable[[Event], None]) -> None:
        self._settings = settings
        self._emit = emit
        self._lock = threading.RLock()
        self._stream: Any = None
        self._ring = RingBuffer(1)
        self._resampler: Resampler | None = None
        self._ready = np.zeros(0, np.float32)  # at 16 kHz, not yet handed out
        self._stopped = threading.Event()
        self._changed = False
        self._last_data_s = 0.0
        self._last_sound_s = 0.0
        self._fell_back = False  # the default stands in for the wanted device
        self._retry_s = 0.0  # not before this time is a device tried again
        self.device_name = ""

    def start(self) -> None:
        """Open the device of the settings.

        Raises:
            AudioDeviceError: there is none, or it refuses every format.
        """
        try:
            self._open(self._settings.input_device)
        except AudioDeviceError:
            if not self._settings.input_device:
                raise
            self._open("")
            self._fell_back = True
            self._retry_s = time.monotonic() + _RETRY_S
            self._emit(
                Notice(
                    "The microphone {lost} gives no sound: {used} is used.",
                    {"lost": self._settings.input_device, "used": self.device_name},
                )
            )

    def apply(self, settings: AudioSettings) -> None:
        """Another device is opened by the next `read`."""
        with self._lock:
            self._changed = self._changed or settings.input_device != self._settings.input_device
            self._settings = settings

    def read(self, timeout_s: float) -> AudioFrame | None:
        """The next 32 ms. EOFError after `stop`. None again and again while there is no device."""
        deadline = time.monotonic() + timeout_s
        while not self._stopped.is_set():
            if self._changed:
                self._switch()
            self._collect()
            if len(self._ready) >= CAPTURE_FRAME_SAMPLES:
                samples = self._ready[:CAPTURE_FRAME_SAMPLES]
                self._ready = self._ready[CAPTURE_FRAME_SAMPLES:]
                behind_s = len(self._ready) / CAPTURE_RATE_HZ
                return AudioFrame(samples, self._last_data_s - behind_s)
            now = time.monotonic()
            self._watch(now)
            if now >= deadline:
                return None
            self._stopped.wait(_POLL_S)
        raise EOFError

    def stop(self) -> None:
        self._stopped.set()
        self._close()

    @property
    def dropped_samples(self) -> int:
        """Samples of the device that were lost because nobody read."""
        return self._ring.dropped

    def _collect(self) -> None:
        """Move what the callback brought into `_ready`, at 16 kHz."""
        n = self._ring.available()
        raw = self._ring.read(n) if n else None
        if raw is None:
            return
        now = time.monotonic()
        self._last_data_s = now
        if raw.any():
            self._last_sound_s = now
        raw = np.nan_to_num(raw, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
        if self._resampler is not None:
            raw = self._resampler.push(raw)
        self._ready = np.concatenate([self._ready, np.clip(raw, -1.0, 1.0)])

    def _open(self, name: str) -> None:
        sd = devices.sounddevice()
        device = devices.find("input", name)
        problem: Exception | None = None
        for rate_hz, channels in dict.fromkeys(
            [(CAPTURE_RATE_HZ, 1), (device.default_rate_hz, 1), (device.default_rate_hz, min(device.channels, 2))]
        ):
            ring = RingBuffer(int(_RING_S * rate_hz))
            try:
                with devices.portaudio_lock, devices.quiet_stderr():
                    stream = sd.InputStream(
                        samplerate=rate_hz,
                        channels=channels,
                        dtype="float32",
                        device=device.index,
                        latency="low",
                        callback=_writer(ring),
                    )
                    stream.start()
            except (sd.PortAudioError, ValueError) as error:
                problem = error
                continue
            devices.stream_opened(stream)
            with self._lock:
                self._stream, self._ring = stream, ring
                self._resampler = None if rate_hz == CAPTURE_RATE_HZ else Resampler(rate_hz, CAPTURE_RATE_HZ)
                self._ready = np.zeros(0, np.float32)
                self._last_data_s = self._last_sound_s = time.monotonic()
                self.device_name = device.name
            _log.info("microphone %s at %d Hz, %d channels", device.name, rate_hz, channels)
            return
        raise AudioDeviceError(
            "The microphone {name} cannot be opened ({reason}): close what uses it, or choose another.",
            name=device.name,
            reason=str(problem),
        )

    def _close(self) -> None:
        with self._lock:
            stream, self._stream = self._stream, None
        if stream is not None:
            with devices.portaudio_lock, devices.quiet_stderr(), contextlib.suppress(Exception):  # already gone
                stream.abort(ignore_errors=True)
                stream.close(ignore_errors=True)
            devices.stream_closed(stream)

    def _switch(self) -> None:
        self._changed = False
        self._close()
        devices.refresh()
        self._fell_back = False
        try:
            self.start()
        except AudioDeviceError as error:
            self._emit(Notice(error.template, error.values))

    def _watch(self, now_s: float) -> None:
        if now_s < self._retry_s:
            return
        if self._stream is None:
            self._retry_s = now_s + _RETRY_S
            self._reopen()
            return
        lost = now_s - self._last_data_s > _SILENT_DEVICE_S
        on_wanted = bool(self._settings.input_device) and not self._fell_back
        if lost or (on_wanted and now_s - self._last_sound_s > _ZERO_DEVICE_S):
            self._retry_s = now_s + _RETRY_S
            self._leave()
        elif self._fell_back:
            self._retry_s = now_s + _RETRY_S
            self._come_back()

    def _leave(self) -> None:
        """The device is dead: take the system's own, at once or as soon as there is one."""
        lost = self.device_name
        self._close()
        devices.refresh()
        self._fell_back = bool(self._settings.input_device)
        try:
            self._open("")
        except AudioDeviceError as error:
            self._emit(Notice(error.template, error.values))
            return
        if self.device_name != lost:
            self._emit(
                Notice(
                    "The microphone {lost} gives no sound: {used} is used.", {"lost": lost, "used": self.device_name}
                )
            )

    def _reopen(self) -> None:
        """There was no device at all: look again."""
        devices.refresh()
        with contextlib.suppress(AudioDeviceError):
            self._open("")
            self._emit(Notice("The microphone {used} is back.", {"used": self.device_name}))

    def _come_back(self) -> None:
        """Take the wanted device again when it is listed; listing needs all streams closed."""
        used = self.device_name
        self._close()
        devices.refresh()
        try:
            self._open(self._settings.input_device)
            self._fell_back = False
        except AudioDeviceError:
            with contextlib.suppress(AudioDeviceError):
                self._open("")
            return
        if self.device_name != used:
            self._emit(Notice("The microphone {used} is back.", {"used": self.device_name}))


def _writer(ring: RingBuffer) -> Callable[[FloatArray, int, object, object], None]:
    """The callback: mixes to mono, copies, returns."""

    def write(data: FloatArray, n_frames: int, when: object, status: object) -> None:
        ring.write(data[:, 0] if data.shape[1] == 1 else data.mean(axis=1))

    return write
