"""The loudspeaker: a queue of speech, silenced at once, that knows what was heard."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kazeia_desktop.audio import devices
from kazeia_desktop.audio.base import Heard
from kazeia_desktop.audio.resampler import Resampler
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.events import Event, Notice
from kazeia_desktop.frames import FloatArray, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import AudioSettings

_log = logging.getLogger(__name__)

_QUEUE_S: Final = 4.0
"""So much may be queued ahead; then `write` holds the voice back."""
_FIRST_CUSHION_S: Final = 0.03
_LAST_CUSHION_S: Final = 1.0
_WAIT_S: Final = 0.02
_METER_S: Final = 0.05


@dataclass(slots=True)
class _Span:
    """A clause's place in the stream, in samples of the device. end grows while frames arrive."""

    turn_id: int
    clause_index: int
    start: int
    end: int
    complete: bool = False


class _Tape:
    """The samples of one open stream; written by one thread, played by the callback, without a lock.

    Counts only grow, each changed by one side. `ended`: no more is coming, so silence is no underrun.
    """

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self._ring = np.zeros(int((_QUEUE_S + 2) * rate_hz), np.float32)
        self.written = 0
        self.played = 0
        self.flowing = False  # set by the writer when the cushion is filled
        self.ended = False
        self.ran_dry = False  # set by the callback
        self.first_played_s = 0.0
        self._mark = (0, 0.0)  # samples handed over before this block, when its first sample is heard

    def room(self) -> int:
        return int(_QUEUE_S * self.rate_hz) - (self.written - self.played)

    def write(self, samples: FloatArray) -> None:
        """(n,) with n at most two seconds: `room` was asked first."""
        at = self.written % len(self._ring)
        first = min(len(samples), len(self._ring) - at)
        self._ring[at : at + first] = samples[:first]
        self._ring[: len(samples) - first] = samples[first:]
        self.written += len(samples)

    def callback(self, out: FloatArray, n_frames: int, when: Any, status: object) -> None:  # noqa: ANN401 - C struct
        """Copies out and returns."""
        n = min(n_frames, self.written - self.played) if self.flowing or self.ended else 0
        if n:
            at = self.played % len(self._ring)
            first = min(n, len(self._ring) - at)
            out[:first, 0] = self._ring[at : at + first]
            out[first:n, 0] = self._ring[: n - first]
            if out.shape[1] > 1:
                out[:n, 1:] = out[:n, :1]
            self._mark = (self.played, when.outputBufferDacTime)
            if self.first_played_s == 0.0:
                self.first_played_s = time.monotonic()
            self.played += n
        out[n:] = 0.0
        if n < n_frames and self.flowing and not self.ended:
            self.flowing = False
            self.ran_dry = True

    def heard(self, stream_time_s: float) -> int:
        """Samples that have left the loudspeaker: those handed over less what the device still holds."""
        before, dac_s = self._mark
        if dac_s <= 0.0:  # the device does not tell
            return self.played
        return max(min(before, self.played), min(self.played, before + int((stream_time_s - dac_s) * self.rate_hz)))

    def rms(self, at: int) -> float:
        n = min(int(_METER_S * self.rate_hz), at)
        if n <= 0:
            return 0.0
        block = self._ring.take(range(at - n, at), mode="wrap")
        return float(np.sqrt(np.mean(np.square(block))))


class Playback:
    """SpeechSink on a device of PortAudio. The stream is open only while something is to be said.

    Args:
        emit: told when another device has to be used.
    """

    def __init__(self, settings: AudioSettings, emit: Callable[[Event], None]) -> None:
        self._settings = settings
        self._emit = emit
        self._lock = threading.Condition(threading.RLock())
        self._stream: Any = None
        self._tape: _Tape | None = None
        self._voice_hz = 0
        self._resampler: Resampler | None = None
        self._spans: list[_Span] = []
        self._kept: dict[int, tuple[Heard, ...]] = {}  # turns whose stream was closed
        self._first: dict[int, float] = {}
        self._ended_turn = 0
        self._cushion_s = _FIRST_CUSHION_S
        self._stopped = False
        self._generation = 0
        self.device_name = ""
        self.underruns = 0

    def start(self) -> None:
        """Check that there is a loudspeaker; it is opened by the first `write`.

        Raises:
            AudioDeviceError: there is none.
        """
        try:
            self.device_name = devices.find("output", self._settings.output_device).name
        except AudioDeviceError:
            if not self._settings.output_device:
                raise
            self.device_name = devices.find("output", "").name
            self._tell_fallback(self._settings.output_device)

    def apply(self, settings: AudioSettings) -> None:
        """Volume at once for what is queued next; another device from the next turn on."""
        with self._lock:
            self._settings = settings

    def write(self, frame: SpeechFrame, cancel: CancelToken) -> None:
        """Queue a frame; see SpeechSink. AudioDeviceError when no device can play it."""
        samples = frame.samples
        with self._lock:
            generation = self._generation
            if cancel.is_set() or self._stopped:
                return
            if len(samples):
                self._open_for(frame)
            if self._resampler is not None:
                parts = [self._resampler.push(samples)] if len(samples) else []
                parts += [self._resampler.flush()] if frame.end_of_clause else []
                samples = np.concatenate(parts) if parts else samples
            span = self._span_of(frame)
        at = 0
        while at < len(samples):
            with self._lock:
                if cancel.is_set() or self._stopped or generation != self._generation or self._tape is None:
                    return
                n = min(self._tape.room(), len(samples) - at, self._tape.rate_hz)
                if n > 0:
                    self._tape.write(self._loud(samples[at : at + n]))
                    span.end += n
                    at += n
                    self._pour(ended=False)
                    continue
                self._keep_running()
                self._lock.wait(_WAIT_S)
        with self._lock:
            if cancel.is_set() or generation != self._generation:
                return
            span.complete = span.complete or frame.end_of_clause
            if frame.end_of_turn:
                self._ended_turn = frame.turn_id
            self._pour(ended=frame.end_of_clause)

    def all_played(self, turn_id: int) -> bool:
        """See SpeechSink; closes the stream when the turn is over."""
        with self._lock:
            if self._ended_turn != turn_id:
                return False
            tape = self._tape
            if tape is not None:
                self._keep_running()
                if self._position() < tape.written:
                    return False
                self._close(abort=False)
            return True

    def wait_played(self, turn_id: int, cancel: CancelToken) -> None:
        """See SpeechSink."""
        while not self._stopped and not self.all_played(turn_id) and not cancel.wait(_WAIT_S):
            pass

    def flush(self) -> None:
        """See SpeechSink."""
        with self._lock:
            self._generation += 1
            self._close(abort=True)
            self._lock.notify_all()

    def heard(self, turn_id: int) -> tuple[Heard, ...]:
        """See SpeechSink. Counts are in samples at the voice's rate."""
        with self._lock:
            if self._tape is None or not any(span.turn_id == turn_id for span in self._spans):
                return self._kept.get(turn_id, ())
            return self._heard_now(turn_id, self._position())

    def first_sample_time(self, turn_id: int) -> float | None:
        """See SpeechSink."""
        with self._lock:
            tape = self._tape
            begun = tape is not None and tape.first_played_s and self._spans and self._spans[0].turn_id == turn_id
            if tape is not None and begun:
                self._first.setdefault(turn_id, tape.first_played_s)
            return self._first.get(turn_id)

    @property
    def rms(self) -> float:
        """See SpeechSink."""
        with self._lock:
            return 0.0 if self._tape is None else self._tape.rms(self._position())

    def stop(self) -> None:
        """Close the device for good; waiting calls return."""
        with self._lock:
            self._stopped = True
        self.flush()

    # Called with the lock held

    def _span_of(self, frame: SpeechFrame) -> _Span:
        for span in reversed(self._spans):
            if span.turn_id == frame.turn_id and span.clause_index == frame.clause_index:
                return span
        at = 0 if self._tape is None else self._tape.written
        span = _Span(frame.turn_id, frame.clause_index, at, at)
        self._spans.append(span)
        return span

    def _loud(self, samples: FloatArray) -> FloatArray:
        clean: FloatArray = np.clip(np.nan_to_num(samples) * np.float32(self._settings.volume), -1.0, 1.0)
        return clean

    def _pour(self, ended: bool) -> None:
        """Let the callback play: when the cushion is filled, or nothing more of the clause is coming."""
        tape = self._tape
        if tape is None:
            return
        if tape.ran_dry:
            tape.ran_dry = False
            if not ended:
                self.underruns += 1
                self._cushion_s = min(2 * self._cushion_s, _LAST_CUSHION_S)
        waiting_s = (tape.written - tape.played) / tape.rate_hz
        tape.ended = ended
        if ended or waiting_s >= self._cushion_s:
            tape.flowing = True

    def _position(self) -> int:
        tape = self._tape
        if tape is None or self._stream is None:
            return 0
        try:
            now_s = self._stream.time
        except devices.sounddevice().PortAudioError:
            return tape.played
        return tape.heard(now_s)

    def _heard_now(self, turn_id: int, position: int) -> tuple[Heard, ...]:
        rate_hz = self._tape.rate_hz if self._tape is not None else self._voice_hz
        scale = self._voice_hz / rate_hz if rate_hz else 1.0
        return tuple(
            Heard(
                span.clause_index,
                int(min(max(position - span.start, 0), span.end - span.start) * scale),
                int((span.end - span.start) * scale),
                span.complete,
            )
            for span in self._spans
            if span.turn_id == turn_id
        )

    def _open_for(self, frame: SpeechFrame) -> None:
        """A running stream for the frame's rate."""
        if self._tape is not None and (self._voice_hz == frame.sample_rate_hz):
            self._keep_running()
            return
        if self._tape is not None:  # another rate: the voice was changed
            while self._position() < self._tape.written and not self._stopped:
                self._lock.wait(_WAIT_S)
            self._close(abort=False)
        self._voice_hz = frame.sample_rate_hz
        try:
            self._open(self._settings.output_device)
        except AudioDeviceError:
            if not self._settings.output_device:
                raise
            self._open("")
            self._tell_fallback(self._settings.output_device)

    def _open(self, name: str) -> None:
        sd = devices.sounddevice()
        device = devices.find("output", name)
        problem: Exception | None = None
        for rate_hz, channels in dict.fromkeys(
            [(self._voice_hz, 1), (device.default_rate_hz, 1), (device.default_rate_hz, min(device.channels, 2))]
        ):
            tape = _Tape(rate_hz)
            try:
                with devices.portaudio_lock, devices.quiet_stderr():
                    stream = sd.OutputStream(
                        samplerate=rate_hz,
                        channels=channels,
                        dtype="float32",
                        device=device.index,
                        latency="low",
                        callback=tape.callback,
                    )
                    stream.start()
            except (sd.PortAudioError, ValueError) as error:
                problem = error
                continue
            devices.stream_opened(stream)
            self._stream, self._tape, self.device_name = stream, tape, device.name
            self._resampler = None if rate_hz == self._voice_hz else Resampler(self._voice_hz, rate_hz)
            self._spans = []
            return
        raise AudioDeviceError(
            "The loudspeaker {name} cannot be opened ({reason}): close what uses it, or choose another.",
            name=device.name,
            reason=str(problem),
        )

    def _keep_running(self) -> None:
        """A device that vanished: go on with the default one from where it stopped."""
        stream, tape = self._stream, self._tape
        if stream is None or tape is None or stream.active:
            return
        lost, spans = self.device_name, self._spans
        rest = tape._ring.take(range(tape.played, tape.written), mode="wrap")
        played = tape.played
        self._release(abort=True)
        devices.refresh()
        self._open("")
        assert self._tape is not None
        if self._tape.rate_hz != tape.rate_hz:
            rest = np.zeros(0, np.float32)
        self._tape.played = self._tape.written = played
        self._tape.write(rest[: self._tape.rate_hz * int(_QUEUE_S)])
        self._tape.flowing, self._tape.ended = True, tape.ended
        self._spans = spans
        self._tell_fallback(lost)

    def _tell_fallback(self, lost: str) -> None:
        self._emit(Notice("The loudspeaker {lost} is gone: {used} is used.", {"lost": lost, "used": self.device_name}))

    def _close(self, abort: bool) -> None:
        """Remember what was heard, then close the stream."""
        if self._tape is not None:
            position = self._position() if abort else self._tape.written
            for turn_id in {span.turn_id for span in self._spans}:
                self.first_sample_time(turn_id)
                self._kept[turn_id] = self._heard_now(turn_id, position)
            while len(self._kept) > 8:
                self._kept.pop(next(iter(self._kept)))
            while len(self._first) > 8:
                self._first.pop(next(iter(self._first)))
        self._release(abort)
        self._spans = []

    def _release(self, abort: bool) -> None:
        stream, self._stream, self._tape = self._stream, None, None
        if stream is None:
            return
        with devices.portaudio_lock, devices.quiet_stderr(), contextlib.suppress(Exception):  # already gone
            (stream.abort if abort else stream.stop)(ignore_errors=True)
            stream.close(ignore_errors=True)
        devices.stream_closed(stream)
