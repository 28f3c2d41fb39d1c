"""The microphone: any device in, 32 ms frames at 16 kHz out."""

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable
from typing import Final

import numpy as np

from kazeia_desktop.audio import devices, portaudio
from kazeia_desktop.audio.resampler import Resampler
from kazeia_desktop.audio.ring_buffer import RingBuffer
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.events import Event, Notice
from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, CAPTURE_RATE_HZ, AudioFrame, FloatArray
from kazeia_desktop.settings.schema import AudioSettings

_log = logging.getLogger(__name__)

_RING_S: Final = 4.0
_LATENCY_S: Final = 0.03
_FRAME_S: Final = CAPTURE_FRAME_SAMPLES / CAPTURE_RATE_HZ
_LATE_S: Final = 0.002  # what a device's blocks vary in time
"""One frame. Less makes more callbacks, and each has to wait for the interpreter's lock."""
_FIRST_DATA_S: Final = 3.0  # a Bluetooth headset takes so long to change to its profile with a microphone
_SILENT_DEVICE_S: Final = 1.0  # delivers nothing
_ZERO_DEVICE_S: Final = 2.0  # delivers exact zeros, as a muted or unplugged one does
_PROBE_S: Final = 2.0  # so long the wanted device may take to give a sound before it counts as still dead
_FIRST_RETRY_S: Final = 5.0
_LAST_RETRY_S: Final = 60.0
_QUIET_S: Final = 2.0
_QUIET_LEVEL: Final = 0.02
_LOUDER: Final = 1.6
"""2 dB above what is always heard; a fan's own frames differ by a third of it."""
_USUAL_FRAMES: Final = 64


def _energy(samples: FloatArray) -> float:
    """Sum of the squares: one pass, where a look at each sample costs several; not finite where one of them is not."""
    return float(np.dot(samples, samples))


class _Usual:
    """Tells what is louder than what was always heard in the last two to four seconds, as of a fan."""

    def __init__(self) -> None:
        self._smooth = 0.0
        self._lowest = self._lowest_before = math.inf
        self._n_frames = 0

    def is_louder(self, energy: float) -> bool:
        """energy: of the next frame."""
        louder = energy > _LOUDER * min(self._lowest, self._lowest_before) or self._n_frames < _USUAL_FRAMES
        self._smooth += 0.2 * (energy - self._smooth) if self._n_frames else energy
        self._n_frames += 1
        if self._n_frames % _USUAL_FRAMES == 0:
            self._lowest_before, self._lowest = self._lowest, self._smooth
        else:
            self._lowest = min(self._lowest, self._smooth)
        return louder


class _Line:
    """One open device. The callback changes the ring and `arrived_s`; the reader changes the rest."""

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.ring = RingBuffer(1)
        self.arrived_s = 0.0  # when the callback last brought something; 0 before
        self.opened_s = clock()
        self.sound_s = 0.0  # when it last was more than zeros, or first was anything; 0 before
        self.opened = devices.open_stream("input", name, CAPTURE_RATE_HZ, _LATENCY_S, self._callback)
        self.name = self.opened.device.name
        same = self.opened.rate_hz == CAPTURE_RATE_HZ
        self.resampler = None if same else Resampler(self.opened.rate_hz, CAPTURE_RATE_HZ)
        devices.start_stream("input", self.opened)

    def _callback(self, rate_hz: int) -> Callable[[FloatArray, int, object, object], None]:
        self.ring = ring = RingBuffer(int(_RING_S * rate_hz))

        def write(data: FloatArray, n_frames: int, when: object, status: object) -> None:
            """Mixes to mono, copies, returns."""
            ring.write(data[:, 0] if data.shape[1] == 1 else data.mean(axis=1))
            self.arrived_s = self._clock()

        return write

    def is_dead(self, now_s: float) -> bool:
        """Nothing comes any more, or nothing ever came."""
        if self.arrived_s == 0.0:
            return now_s - self.opened_s > _FIRST_DATA_S
        return now_s - self.arrived_s > _SILENT_DEVICE_S

    def close(self) -> None:
        portaudio.close(self.opened.stream, abort=True)


class Capture:
    """FrameSource on a device of PortAudio.

    `read` is the watchdog too: a device that delivers nothing for a second, or exact zeros for two, is
    left for the system's default, and taken again when it gives sound. `start`, `read` and `stop` may be
    called from different threads; only `read` changes devices after `start`.

    Args:
        emit: told of every change of device.
        clock: seconds, as time.monotonic.
    """

    def __init__(
        self, settings: AudioSettings, emit: Callable[[Event], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._emit = emit
        self._clock = clock
        self._lock = threading.Lock()
        self._line: _Line | None = None
        self._probe: _Line | None = None  # the wanted device, listened to for signs of life
        self._ready = np.zeros(0, np.float32)  # at 16 kHz, not yet handed out
        self._stopped = threading.Event()
        self._changed = False
        self._fell_back = False  # the default stands in for the wanted device
        self._n_deaths = 0  # of lines in a row that gave nothing
        self._retry_at_s = 0.0  # not before this time is a device tried again
        self._retry_s = _FIRST_RETRY_S
        self._loud_s = 0.0  # when somebody may have spoken
        self._new_s = 0.0  # when something was louder than what is always heard
        self._usual = _Usual()
        self._dropped = 0
        self.bad_samples = 0
        """Samples that were not numbers and became zeros."""

    def start(self) -> None:
        """Open the device of the settings.

        Raises:
            AudioDeviceError: there is none, or it refuses every format.
        """
        wanted = self._settings.input_device
        self._fell_back = False
        try:
            self._open(wanted)
        except AudioDeviceError:
            if not wanted:
                raise
            self._open("")
            self._begin_fallback()
            self._tell("The microphone {lost} is not there: {used} is used.", lost=wanted, used=self.device_name)

    def apply(self, settings: AudioSettings) -> None:
        """Another device is opened by the next `read`."""
        self._changed = self._changed or settings.input_device != self._settings.input_device
        self._settings = settings

    def read(self, timeout_s: float) -> AudioFrame | None:
        """The next 32 ms. EOFError after `stop`. None again and again while there is no device."""
        deadline = self._clock() + timeout_s
        while not self._stopped.is_set():
            if self._changed:
                self._switch()
            self._collect()
            now_s = self._clock()
            self._watch(now_s)
            if len(self._ready) >= CAPTURE_FRAME_SAMPLES:
                return self._next_frame()
            if now_s >= deadline:
                return None
            self._stopped.wait(min(max(self._due_s(now_s) - now_s, 0.004), 2.5 * _FRAME_S, deadline - now_s))
        raise EOFError

    def _due_s(self, now_s: float) -> float:
        """When the frame should be whole, by when the device last brought something: waking sooner is for nothing. In a
        quiet room, or beside a fan, two frames are awaited: that costs 32 ms at the first word, and saves an idle
        machine half its wakings.
        """
        missing_s = (CAPTURE_FRAME_SAMPLES - len(self._ready)) / CAPTURE_RATE_HZ
        if now_s - self._new_s > _QUIET_S:
            missing_s += _FRAME_S
        line = self._line
        return (now_s if line is None or not line.arrived_s else line.arrived_s + _LATE_S) + missing_s

    def stop(self) -> None:
        self._stopped.set()
        self._close()

    @property
    def device_name(self) -> str:
        """The device in use; "" without one."""
        line = self._line
        return "" if line is None else line.name

    @property
    def dropped_samples(self) -> int:
        """Samples of the device that were lost because nobody read."""
        line = self._line
        return self._dropped + (0 if line is None else line.ring.dropped)

    def _next_frame(self) -> AudioFrame:
        samples = self._ready[:CAPTURE_FRAME_SAMPLES]
        self._ready = self._ready[CAPTURE_FRAME_SAMPLES:]
        arrived_s = self._clock() if self._line is None else self._line.arrived_s
        energy = _energy(samples)
        louder = self._usual.is_louder(energy)
        if energy > _QUIET_LEVEL**2 and float(np.abs(samples).max()) > _QUIET_LEVEL:
            self._loud_s = arrived_s
            if louder:
                self._new_s = arrived_s
        return AudioFrame(samples, arrived_s - len(self._ready) / CAPTURE_RATE_HZ)

    def _collect(self) -> None:
        """Move what the callback brought into `_ready`, at 16 kHz."""
        line = self._line
        n = 0 if line is None else line.ring.available()
        raw = line.ring.read(n) if line is not None and n else None
        if line is None or raw is None:
            return
        if self._n_deaths:
            self._n_deaths, self._retry_s = 0, _FIRST_RETRY_S
        if not math.isfinite(_energy(raw)):
            finite = np.isfinite(raw)
            self.bad_samples += len(raw) - int(finite.sum())
            raw[~finite] = 0.0
        if line.sound_s == 0.0 or raw.any():
            line.sound_s = self._clock()
        if line.resampler is not None:
            raw = line.resampler.push(raw)
        if not _energy(raw) <= 1.0:  # else no sample is beyond 1
            raw = np.clip(raw, -1.0, 1.0)
        self._ready = np.concatenate([self._ready, raw]) if len(self._ready) else raw

    def _open(self, name: str) -> None:
        self._take(_Line(name, self._clock))

    def _take(self, line: _Line) -> None:
        """Make `line` the one that is read; closes it at once when `stop` came meanwhile."""
        with self._lock:
            if not self._stopped.is_set():
                self._line, self._ready = line, np.zeros(0, np.float32)
                _log.info("microphone %s at %d Hz", line.name, line.opened.rate_hz)
                return
        line.close()

    def _close(self) -> None:
        with self._lock:
            lines, self._line, self._probe = (self._line, self._probe), None, None
        for line in lines:
            if line is not None:
                self._dropped += line.ring.dropped
                line.close()

    def _tell(self, template: str, **values: object) -> None:
        self._emit(Notice(template, values))

    def _switch(self) -> None:
        """The settings name another device."""
        self._changed = False
        self._close()
        devices.refresh()
        try:
            self.start()
        except AudioDeviceError as error:
            self._emit(Notice(error.template, error.values))

    # The watchdog, called by `read`

    def _watch(self, now_s: float) -> None:
        line = self._line
        if self._probe is not None:
            self._watch_probe(self._probe, now_s)
        elif line is None:
            if now_s >= self._retry_at_s:
                self._retry_later(now_s)
                self._look_again()
        elif line.is_dead(now_s):
            if now_s >= self._retry_at_s or self._n_deaths == 0:
                self._leave(line)
        elif self._fell_back:
            if now_s >= self._retry_at_s:
                self._try_wanted(now_s)
        elif self._settings.input_device and 0.0 < line.sound_s < now_s - _ZERO_DEVICE_S:
            if devices.find("input", "").name == line.name:
                line.sound_s = now_s  # it is the default one itself: there is nothing better
            else:
                self._leave(line)

    def _begin_fallback(self) -> None:
        self._fell_back = True
        self._retry_s = _FIRST_RETRY_S
        self._retry_at_s = self._clock() + self._retry_s

    def _retry_later(self, now_s: float) -> None:
        """What stays away is looked for less and less often."""
        self._retry_s = min(2 * self._retry_s, _LAST_RETRY_S)
        self._retry_at_s = now_s + self._retry_s

    def _leave(self, line: _Line) -> None:
        """The device is dead: take the system's own, at once or as soon as there is one."""
        self._close()
        devices.refresh()
        try:
            self._open("")
        except AudioDeviceError as error:
            self._retry_later(self._clock())
            self._emit(Notice(error.template, error.values))
            return
        if self.device_name != line.name:
            self._begin_fallback()
            self._fell_back = bool(self._settings.input_device)
            self._tell("The microphone {lost} gives no sound: {used} is used.", lost=line.name, used=self.device_name)
        elif line.is_dead(self._clock()):
            self._retry_later(self._clock())
            self._n_deaths += 1
            if self._n_deaths == 2:  # once may be a sound server that moved us elsewhere
                self._tell("The microphone {lost} gives no sound: check that it is plugged in.", lost=line.name)

    def _look_again(self) -> None:
        """There was no device at all: whichever there is now."""
        devices.refresh()
        for name in dict.fromkeys((self._settings.input_device, "")):
            with contextlib.suppress(AudioDeviceError):
                self._open(name)
                self._fell_back = bool(self._settings.input_device) and not name
                self._tell("The microphone {used} is back.", used=self.device_name)
                return

    def _try_wanted(self, now_s: float) -> None:
        """Listen to the wanted device beside the one in use, which goes on meanwhile."""
        self._retry_later(now_s)
        try:
            device = devices.find("input", self._settings.input_device)
        except AudioDeviceError:
            # It may have been plugged in since PortAudio last looked, and looking needs every stream closed:
            # not while somebody speaks, nor while Kazeia does.
            if now_s - self._loud_s < _QUIET_S or portaudio.n_open_streams() > 1:
                return
            self._close()
            devices.refresh()
            with contextlib.suppress(AudioDeviceError):
                self._open("")
            return self._probe_listed()
        if device.name != self.device_name:
            self._probe_listed()

    def _probe_listed(self) -> None:
        with contextlib.suppress(AudioDeviceError):
            line = _Line(self._settings.input_device, self._clock)
            with self._lock:
                if not self._stopped.is_set():
                    self._probe = line
                    return
            line.close()

    def _watch_probe(self, probe: _Line, now_s: float) -> None:
        n = probe.ring.available()
        heard = probe.ring.read(n) if n else None
        if heard is not None and np.nan_to_num(heard).any():
            with self._lock:
                self._probe = None
            self._close()
            self._take(probe)
            self._fell_back = False
            self._tell("The microphone {used} is back.", used=probe.name)
        elif now_s - probe.opened_s > _PROBE_S:
            with self._lock:
                self._probe = None
            probe.close()
