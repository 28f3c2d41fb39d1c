"""The loudspeaker: a queue of speech, silenced at once, that knows what was heard."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from kazeia_desktop.audio import devices, portaudio
from kazeia_desktop.audio.base import Heard
from kazeia_desktop.audio.resampler import Resampler, resample
from kazeia_desktop.audio.tape import QUEUE_S, Tape
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.events import Event, Notice
from kazeia_desktop.frames import FloatArray, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import AudioSettings

_log = logging.getLogger(__name__)

_LATENCY_S: Final = 0.1
"""The device's buffer. Beside two busy cores 8 ms gave 77 gaps in 5 s, 30 ms 144, 60 ms up to 26, 100 ms none;
it costs no time before the first sample, and `flush` drops it."""
_LONGEST_LATENCY_S: Final = 0.3
_FIRST_CUSHION_S: Final = 0.1
_LAST_CUSHION_S: Final = 1.0
_DEAD_S: Final = 2.5
"""So long the device may not ask for sound; a sound server that moves a stream takes up to two seconds."""
_WAIT_S: Final = 0.02
_TURNS_KEPT: Final = 8


@dataclass(slots=True)
class _Span:
    """A clause's place in the stream, in samples of the device. end grows while frames arrive."""

    turn_id: int
    clause_index: int
    start: int
    end: int
    complete: bool = False


class Playback:
    """SpeechSink on a device of PortAudio. The stream is open only while something is to be said.

    Opening takes some milliseconds, so that an idle Kazeia holds no device and wakes no processor.

    Args:
        emit: told when another device has to be used.
    """

    def __init__(self, settings: AudioSettings, emit: Callable[[Event], None]) -> None:
        self._settings = settings
        self._emit = emit
        self._lock = threading.Condition(threading.RLock())
        self._opened: devices.OpenStream | None = None
        self._tape: Tape | None = None
        self._running = False  # the stream was started
        self._since_s = 0.0  # when it was
        self._voice_hz = 0
        self._resampler: Resampler | None = None
        self._spans: list[_Span] = []
        self._kept: dict[int, tuple[Heard, ...]] = {}  # turns whose stream was closed
        self._first: dict[int, float] = {}
        self._ended_turn = 0
        self._cushion_s = _FIRST_CUSHION_S
        self._latency_s = _LATENCY_S
        self._stopped = False
        self._generation = 0  # of what is said; a flush begins another
        self.device_name = ""
        self.underruns = 0

    def start(self) -> None:
        """Check that there is a loudspeaker; it is opened by the first `write`.

        Raises:
            AudioDeviceError: there is none.
        """
        wanted = self._settings.output_device
        try:
            self.device_name = devices.find("output", wanted).name
        except AudioDeviceError:
            if not wanted:
                raise
            self.device_name = devices.find("output", "").name
            self._tell_fallback(wanted)

    def apply(self, settings: AudioSettings) -> None:
        """Volume at once; another device from the next turn on."""
        with self._lock:
            self._settings = settings
            if self._tape is not None:
                self._tape.gain = settings.volume

    def write(self, frame: SpeechFrame, cancel: CancelToken) -> None:
        """Queue a frame; see SpeechSink. AudioDeviceError when no device can play it."""
        samples: FloatArray = np.clip(np.nan_to_num(frame.samples, nan=0.0), -1.0, 1.0)
        with self._lock:
            generation = self._generation
            if cancel.is_set() or self._stopped:
                return
            if len(samples):
                self._open_for(frame, cancel)
                if cancel.is_set() or self._stopped or generation != self._generation:
                    return
            if self._resampler is not None:
                parts = [self._resampler.push(samples)] if len(samples) else []
                parts += [self._resampler.flush()] if frame.end_of_clause else []
                samples = np.concatenate(parts) if parts else samples
            span = self._span_of(frame)
            at = 0
            while at < len(samples):
                n = 0 if self._tape is None else min(self._tape.room(), len(samples) - at, self._tape.rate_hz)
                if n > 0 and self._tape is not None:
                    self._tape.write(samples[at : at + n])
                    span.end += n
                    at += n
                    self._pour(ended=False)
                    continue
                before = self._tape
                self._keep_running()
                if before is not None and self._tape is not None and before.rate_hz != self._tape.rate_hz:
                    samples, at = resample(samples[at:], before.rate_hz, self._tape.rate_hz), 0
                self._lock.wait(_WAIT_S)  # others may act meanwhile
                if cancel.is_set() or self._stopped or generation != self._generation:
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
            if self._tape is None:
                return True
            try:
                self._keep_running()
            except AudioDeviceError as error:  # nothing is left to play it: the turn ends with what was heard
                self._emit(Notice(error.template, error.values))
                return True
            if self._position() < self._tape.written:
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
            return self._heard_of(self._tape, turn_id, self._position())

    def first_sample_time(self, turn_id: int) -> float | None:
        """See SpeechSink."""
        with self._lock:
            tape = self._tape
            span = next((span for span in self._spans if span.turn_id == turn_id), None)
            if tape is not None and span is not None and tape.played > span.start:
                # Exact for the first turn of a stream; another one follows without a pause only in tests.
                exact = span is self._spans[0]
                self._first.setdefault(turn_id, tape.first_played_s if exact else time.monotonic())
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
            if not self._running:
                self._run()

    def _run(self) -> None:
        """Start the stream only now: started empty, its buffer would hold silence that the voice waits behind."""
        if self._opened is None:
            return
        try:
            devices.start_stream("output", self._opened)
        except AudioDeviceError:
            self._opened = self._tape = None  # it was closed
            raise
        self._running, self._since_s = True, time.monotonic()

    def _position(self) -> int:
        """Samples of the open stream that were heard."""
        tape = self._tape
        if tape is None or self._opened is None or not self._running:
            return 0 if tape is None else tape.played
        try:
            now_s = self._opened.stream.time
        except portaudio.sounddevice().PortAudioError:
            return tape.played
        return tape.heard(now_s)

    def _heard_of(self, tape: Tape, turn_id: int, position: int) -> tuple[Heard, ...]:
        """With the clauses that an earlier stream played: the voice was changed for one of another rate meanwhile."""
        now = self._heard_now(tape, turn_id, position)
        here = {part.clause_index for part in now}
        return tuple(part for part in self._kept.get(turn_id, ()) if part.clause_index not in here) + now

    def _heard_now(self, tape: Tape, turn_id: int, position: int) -> tuple[Heard, ...]:
        scale = self._voice_hz / tape.rate_hz
        return tuple(
            Heard(
                span.clause_index,
                round(min(max(position - span.start, 0), span.end - span.start) * scale),
                round((span.end - span.start) * scale),
                span.complete,
            )
            for span in self._spans
            if span.turn_id == turn_id
        )

    def _open_for(self, frame: SpeechFrame, cancel: CancelToken) -> None:
        """A stream for the frame's rate, the one that is open where it fits."""
        if self._tape is not None and self._voice_hz == frame.sample_rate_hz:
            self._keep_running()
            return
        while self._tape is not None and self._position() < self._tape.written:  # another rate: the voice was changed
            self._pour(ended=True)
            self._lock.wait(_WAIT_S)
            if cancel.is_set() or self._stopped:
                return
        if self._tape is not None:
            self._close(abort=False)
        self._voice_hz = frame.sample_rate_hz
        wanted = self._settings.output_device
        try:
            self._open(wanted)
        except AudioDeviceError:
            if not wanted:
                raise
            self._open("")
            self._tell_fallback(wanted)

    def _open(self, name: str) -> None:
        made: list[Tape] = []

        def callback_for(rate_hz: int) -> devices.Callback:
            made.append(Tape(rate_hz, self._settings.volume))
            return made[-1].callback

        opened = devices.open_stream("output", name, self._voice_hz, self._latency_s, callback_for)
        self._opened, self._tape, self._running = opened, made[-1], False
        self.device_name = opened.device.name
        same = opened.rate_hz == self._voice_hz
        self._resampler = None if same else Resampler(self._voice_hz, opened.rate_hz)
        self._spans = []
        _log.info("loudspeaker %s at %d Hz", self.device_name, opened.rate_hz)

    def _keep_running(self) -> None:
        """A device that vanished: go on with the default one from where it stopped."""
        opened, tape = self._opened, self._tape
        if opened is None or tape is None or not self._running:
            return
        if opened.stream.active and time.monotonic() - max(tape.called_s, self._since_s) < _DEAD_S:
            return
        lost, spans, resampler = self.device_name, self._spans, self._resampler
        self._close(abort=True)  # what was heard stays known, should there be no other device
        devices.refresh()
        self._open("")
        fresh = self._tape
        assert fresh is not None
        scale = fresh.rate_hz / tape.rate_hz
        if scale == 1.0:
            self._resampler = resampler  # in the middle of a clause
        for span in spans:
            span.start, span.end = round(span.start * scale), round(span.end * scale)
        fresh.go_on_at(round(tape.played * scale))
        fresh.write(resample(tape.rest(), tape.rate_hz, fresh.rate_hz)[: round(QUEUE_S * fresh.rate_hz)])
        self._spans = spans
        self._pour(ended=tape.ended)
        if self.device_name != lost:
            self._tell_fallback(lost)

    def _tell_fallback(self, lost: str) -> None:
        self._emit(Notice("The loudspeaker {lost} is gone: {used} is used.", {"lost": lost, "used": self.device_name}))

    def _close(self, abort: bool) -> None:
        """Remember what was heard, then close the stream."""
        opened, tape = self._opened, self._tape
        if tape is not None:
            position = self._position() if abort else tape.written
            for turn_id in {span.turn_id for span in self._spans}:
                self.first_sample_time(turn_id)
                self._kept[turn_id] = self._heard_of(tape, turn_id, position)
            for memory in (self._kept, self._first):
                while len(memory) > _TURNS_KEPT:
                    memory.pop(next(iter(memory)))
            if tape.device_gaps > 1:
                self._latency_s = min(2 * self._latency_s, _LONGEST_LATENCY_S)
                _log.info("the loudspeaker ran empty %d times: buffer %.1f s", tape.device_gaps, self._latency_s)
        self._opened = self._tape = self._resampler = None
        self._spans, self._running = [], False
        if opened is not None:
            portaudio.close(opened.stream, abort)
