"""The listen stage: microphone -> endpointing -> utterances, and barge-in."""

import math
import threading
import time
from collections.abc import Callable
from typing import Final

import numpy as np

from kazeia_desktop.audio.base import FrameSource
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.events import Level, State, TurnsRemoved
from kazeia_desktop.frames import CAPTURE_RATE_HZ, AudioFrame, FloatArray, Utterance
from kazeia_desktop.pipeline.desk import TurnDesk
from kazeia_desktop.pipeline.items import Draft, Hearing, Said
from kazeia_desktop.pipeline.turn import Turn
from kazeia_desktop.runtime.channel import Channel, ChannelClosed
from kazeia_desktop.vad.endpointing import SpeechDetector, SpeechDiscarded, SpeechHeard, SpeechSoFar, UtteranceEnded

_LEVEL_PERIOD_S: Final = 1 / 15
_LEVEL_STEP: Final = 0.004
"""A change of RMS too small to see; an idle window draws nothing."""
_MAX_SAMPLES: Final = 120 * CAPTURE_RATE_HZ
"""Of what was said with pauses before it was answered; who speaks longer is answered from the last pause on."""
_AFTER_VOICE_S: Final = 0.25
"""Half duplex: the room still rings after the voice ends."""
_DRAFT_SHARE: Final = 0.25
"""Of a long speech at most this share of the time goes into captions; the draft at a pause is always made."""


class ListenStage:
    """Reads the microphone in one thread until it is stopped.

    Args:
        desk: the turns.
        source: the microphone.
        detector: endpointing.
        utterances: where what was said goes, and what is being said.
        interrupt: stops a turn; returns whether any of its reply was heard.
        half_duplex: whether the microphone is closed while Kazeia speaks.
    """

    def __init__(
        self,
        desk: TurnDesk,
        source: FrameSource,
        detector: SpeechDetector,
        utterances: Channel[Hearing],
        interrupt: Callable[[Turn], bool],
        half_duplex: Callable[[], bool],
    ) -> None:
        self._desk = desk
        self._source = source
        self._detector = detector
        self._utterances = utterances
        self._interrupt = interrupt
        self._half_duplex = half_duplex
        self._muted = threading.Event()
        self._send_now = threading.Event()
        self._withdrawn = threading.Event()
        self._deaf_until = 0.0
        self._said: tuple[int, FloatArray] | None = None  # turn, samples of the last utterance
        self._carried: FloatArray | None = None  # said before a pause, not yet answered
        self._draft: Draft | None = None  # of what is being said
        self._drafted_s = 0.0  # when it was begun
        self._shown = False  # as hearing, before it was sure
        self._level = 0.0
        self._level_time_s = 0.0

    def set_muted(self, muted: bool) -> None:
        """Stop or resume listening; takes effect with the next frame."""
        if muted:
            self._muted.set()
        else:
            self._muted.clear()

    def send_now(self) -> None:
        """End the utterance that is being spoken."""
        self._send_now.set()

    def withdraw(self) -> None:
        """Nobody wants an answer any more to what was said before the pause that has just ended."""
        self._withdrawn.set()

    def run(self) -> None:
        """Until the source is stopped or at its end, or nobody recognises any more."""
        try:
            while True:
                frame = self._source.read(0.5)
                if frame is not None:
                    self._hear(frame)
        except EOFError:
            self._desk.set_resting(State.IDLE)
        except ChannelClosed:  # closing
            pass
        except AudioDeviceError as error:
            self._desk.set_resting(State.IDLE)
            self._desk.fail(error, "devices")
        finally:
            self._drop_draft()

    def _hear(self, frame: AudioFrame) -> None:
        if self._is_deaf(frame.time_s):
            self._detector.reset()
            self._drop_draft()
            self._carried = None
            if self._desk.state is State.HEARING:
                self._desk.rest()
            return
        if self._withdrawn.is_set():
            self._withdrawn.clear()
            if self._carried is not None:
                self._carried = None
                self._drop_draft()
        events = list(self._detector.push(frame))
        if self._send_now.is_set():
            self._send_now.clear()
            events += self._detector.send_now()
        for event in events:
            match event:
                case SpeechHeard():
                    self._begin_hearing()
                case SpeechSoFar():
                    self._begin_draft(event, frame.time_s)
                case UtteranceEnded():
                    self._submit(event.samples, event.speech_end_s, event.ended_s, event.nothing_new)
                case SpeechDiscarded():
                    self._discard()
        self._show_hearing()
        self._show_level(frame)

    def _is_deaf(self, now_s: float) -> bool:
        if self._muted.is_set() or self._desk.resting is State.ERROR:  # nobody is left to answer
            return True
        if self._desk.state is State.SPEAKING and self._half_duplex():
            self._deaf_until = now_s + _AFTER_VOICE_S
        return now_s < self._deaf_until

    def _begin_hearing(self) -> None:
        self._stop_answering()
        self._desk.hearing()

    def _stop_answering(self) -> None:
        turn = self._desk.current
        if turn is None:
            return
        heard = self._interrupt(turn)
        # The user paused and goes on: what came before belongs to the same question.
        if not heard and self._said is not None and self._said[0] == turn.id:
            self._carried = self._said[1]
            self._drop_draft()

    def _begin_draft(self, so_far: SpeechSoFar, now_s: float) -> None:
        """Have what was said recognised while the speaker may go on."""
        if so_far.paused:
            self._drop_draft()  # of less than what is there now
        if self._desk.current is not None:  # something softer than what interrupts, or written meanwhile
            return
        before = self._draft
        if before is not None and not (before.done and self._has_rested(before, now_s)):
            return
        if len(self._utterances):  # the recogniser is busy, or being loaded anew
            return
        self._drafted_s = now_s
        self._draft = Draft(self._with_carried(so_far.samples), so_far.speech_end_s, so_far.paused)
        self._utterances.put(self._draft)

    def _has_rested(self, draft: Draft, now_s: float) -> bool:
        return now_s - self._drafted_s >= draft.took_ms / 1000 / _DRAFT_SHARE

    def _drop_draft(self) -> None:
        draft, self._draft = self._draft, None
        if draft is not None:
            draft.cancel.set()

    def _with_carried(self, samples: FloatArray) -> FloatArray:
        return samples if self._carried is None else np.concatenate([self._carried, samples])

    def _submit(self, samples: FloatArray, speech_end_s: float, ended_s: float, nothing_new: bool) -> None:
        self._stop_answering()  # that began before the 96 ms that interrupt, for example softly
        if self._carried is not None and len(self._carried) + len(samples) > _MAX_SAMPLES:
            self._carried, nothing_new = None, False
        if not nothing_new:
            self._drop_draft()
        draft, self._draft = self._draft, None
        superseded = self._said[0] if self._carried is not None and self._said is not None else 0
        samples, self._carried = self._with_carried(samples), None
        cancel = None if draft is None else draft.cancel
        turn = self._desk.begin_after(self._interrupt, typed=False, cancel=cancel)
        if superseded:  # this turn asks it again, whole
            self._desk.emit(TurnsRemoved(superseded, superseded))
        turn.marks.set("speech_end", speech_end_s)
        turn.marks.set("endpoint", ended_s)
        self._desk.hearing()
        self._desk.advance(turn, State.THINKING)
        self._desk.rest()  # where it was stopped already
        self._said = (turn.id, samples)
        self._utterances.put(Said(Utterance(turn.id, samples, speech_end_s, ended_s), draft))

    def _discard(self) -> None:
        self._drop_draft()
        if self._carried is not None and self._desk.current is None:
            # A cough stopped the answer before it began: answer after all.
            now = time.monotonic()
            self._submit(np.zeros(0, np.float32), now, now, nothing_new=False)
        else:
            self._carried = None
            self._desk.rest()

    def _show_hearing(self) -> None:
        """Sooner than what interrupts: it is only shown."""
        if self._detector.seems_speech:
            if self._desk.state is not State.HEARING and self._desk.current is None:
                self._desk.hearing()
                self._shown = True
        elif self._shown:
            self._shown = False
            self._desk.rest()

    def _show_level(self, frame: AudioFrame) -> None:
        if frame.time_s - self._level_time_s < _LEVEL_PERIOD_S or self._desk.state is State.SPEAKING:
            return
        rms = math.sqrt(float(np.dot(frame.samples, frame.samples)) / len(frame.samples))
        if abs(rms - self._level) >= _LEVEL_STEP:
            self._level, self._level_time_s = rms, frame.time_s
            self._desk.emit(Level(rms))
