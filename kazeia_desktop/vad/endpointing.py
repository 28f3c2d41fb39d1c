"""When an utterance begins and ends: rules on top of a gate and a scorer, without a thread or a clock.

Time is counted in frames of 32 ms, so that a late or early delivery changes nothing.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np

from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, CAPTURE_RATE_HZ, AudioFrame, FloatArray
from kazeia_desktop.settings.schema import VadSettings
from kazeia_desktop.vad.base import SpeechGate, SpeechScorer

FRAME_MS: Final = 1000 * CAPTURE_FRAME_SAMPLES / CAPTURE_RATE_HZ
HEARD_FRAMES: Final = 3
"""96 ms above the barge-in threshold: long enough not to fire on a click."""
SHOWN_FRAMES: Final = 2
"""64 ms of likely speech are enough to show that somebody is heard: being wrong costs a word on the screen only."""
_SHOWN_TAIL: Final = 6
"""What was shown goes after at most this many frames without speech: it does not flicker."""
GATE_TAIL_MS: Final = 700
"""The scorer is still asked this long after the gate closed: it must see the end of speech."""
PAUSE_FRAMES: Final = 6
"""After 192 ms without speech what was said is probably whole. Mostly it is: what can be begun then is ready sooner."""
_SO_FAR_FRAMES: Final = 32
"""So often, in frames of about a second, what was said so far is passed on while somebody goes on speaking."""


@dataclass(frozen=True, slots=True)
class SpeechHeard:
    """Somebody surely speaks: interrupt, show it. Once an utterance. time_s: of the deciding frame."""

    time_s: float


@dataclass(frozen=True, slots=True, eq=False)
class SpeechSoFar:
    """What has been said of an utterance that may go on, once it is long enough to count.

    samples: (n,) float32 at 16 kHz, pre-roll included. speech_end_s: when its last speech sample arrived.
    paused: nothing was said for 192 ms; else the speaker goes on, and this comes about once a second.
    """

    samples: FloatArray
    speech_end_s: float
    paused: bool


@dataclass(frozen=True, slots=True, eq=False)
class UtteranceEnded:
    """What was said, pre-roll and hangover included.

    samples: (n,) float32 at 16 kHz. speech_end_s: when its last speech sample arrived; ended_s: when the
    end was decided. reason: "silence", "max_turn" or "sent". nothing_new: the last SpeechSoFar was a pause, and
    only silence has followed.
    """

    samples: FloatArray
    speech_end_s: float
    ended_s: float
    reason: str
    nothing_new: bool = False


@dataclass(frozen=True, slots=True)
class SpeechDiscarded:
    """What began was too short to be transcribed."""

    time_s: float


VadEvent = SpeechHeard | SpeechSoFar | UtteranceEnded | SpeechDiscarded


class SpeechDetector:
    """Frames in, the beginning and end of utterances out. One thread; `apply` from any.

    Memory in silence is bounded by the pre-roll, and in speech by the longest turn.
    """

    def __init__(self, gate: SpeechGate, scorer: SpeechScorer, settings: VadSettings) -> None:
        self._gate = gate
        self._scorer = scorer
        self._settings = settings
        self._before: deque[AudioFrame] = deque()
        self._asked_frames = 0  # frames that the scorer is still asked after the gate closed
        self.probability = 0.0
        self._clear()

    def _clear(self) -> None:
        self._frames: list[AudioFrame] = []
        self._speaking = False
        self._heard = False
        self._loud_frames = 0
        self._speech_frames = 0
        self._silent_frames = 0
        self._last_speech_s = 0.0
        self._passed_on = 0  # frames at the last SpeechSoFar
        self._nothing_new = False
        self._likely_frames = 0
        self._seems = False

    def apply(self, settings: VadSettings) -> None:
        """Thresholds and durations from the next frame on."""
        self._settings = settings

    def reset(self) -> None:
        """Forget everything, also what is being said."""
        self._clear()
        self._before.clear()
        if self._asked_frames:
            self._scorer.reset()
        self._asked_frames = 0
        self.probability = 0.0

    @property
    def seems_speech(self) -> bool:
        """Somebody probably speaks: show it. Comes before SpeechHeard, and ends with what was begun."""
        return self._seems or (self._speaking and self._speech_frames >= SHOWN_FRAMES)

    def push(self, frame: AudioFrame) -> list[VadEvent]:
        """The next frame. Returns what it decides: mostly nothing, at most three events."""
        settings = self._settings
        self.probability = self._score(frame)
        events: list[VadEvent] = []
        self._note_likely(self.probability >= settings.leave_threshold)
        self._loud_frames = self._loud_frames + 1 if self.probability >= settings.barge_in_threshold else 0
        if not self._speaking and self.probability >= settings.enter_threshold:
            self._speaking = True
            self._frames = list(self._before)
            self._before.clear()
        if not self._speaking:
            self._keep_before(frame)
            return events
        self._frames.append(frame)
        if self.probability >= settings.leave_threshold:
            self._speech_frames += 1
            self._silent_frames = 0
            self._last_speech_s = frame.time_s
            self._nothing_new = False
        else:
            self._silent_frames += 1
        if not self._heard and self._loud_frames >= HEARD_FRAMES:
            self._heard = True
            events.append(SpeechHeard(frame.time_s))
        if (so_far := self._so_far()) is not None:
            events.append(so_far)
        if self._silent_frames * FRAME_MS >= settings.hangover_ms:
            events.append(self._end(frame.time_s, "silence"))
        elif len(self._frames) * FRAME_MS >= settings.max_turn_s * 1000:
            events.append(self._end(frame.time_s, "max_turn"))
        return events

    def _so_far(self) -> SpeechSoFar | None:
        paused = self._silent_frames == PAUSE_FRAMES
        goes_on = self._silent_frames == 0 and len(self._frames) - self._passed_on >= _SO_FAR_FRAMES
        if not (paused or goes_on) or self._nothing_new or not self._is_enough():
            return None
        self._passed_on, self._nothing_new = len(self._frames), paused
        return SpeechSoFar(self._sound(), self._last_speech_s, paused)

    def _is_enough(self) -> bool:
        return self._speech_frames * FRAME_MS >= self._settings.min_speech_ms

    def _sound(self) -> FloatArray:
        return np.concatenate([frame.samples for frame in self._frames])

    def _note_likely(self, likely: bool) -> None:
        self._likely_frames = min(self._likely_frames + 1, _SHOWN_TAIL) if likely else max(0, self._likely_frames - 1)
        self._seems = self._likely_frames >= SHOWN_FRAMES or (self._seems and self._likely_frames > 0)

    def send_now(self) -> list[VadEvent]:
        """End what is being said, without waiting for a pause; nothing when nobody speaks."""
        if not self._speaking:
            return []
        return [self._end(self._frames[-1].time_s, "sent")]

    def _end(self, time_s: float, reason: str) -> VadEvent:
        frames, n_silent = self._frames, self._silent_frames
        ended: VadEvent = SpeechDiscarded(time_s)
        if self._is_enough():
            ended = UtteranceEnded(self._sound(), self._last_speech_s, time_s, reason, self._nothing_new)
        self._clear()
        # What follows may begin at once: the silence that ended this one is its pre-roll.
        for frame in frames[len(frames) - n_silent :]:
            self._keep_before(frame)
        return ended

    def _keep_before(self, frame: AudioFrame) -> None:
        self._before.append(frame)
        while (len(self._before) - 1) * FRAME_MS >= max(self._settings.pre_roll_ms, FRAME_MS):
            self._before.popleft()

    def _score(self, frame: AudioFrame) -> float:
        """The scorer's answer, asked only while the gate is open and a little longer."""
        if self._gate.is_open(frame.samples) or self._speaking:
            if self._asked_frames == 0:
                # The scorer keeps state: let it hear what led here before it judges.
                self._scorer.reset()
                for before in self._before:
                    self._scorer.probability(before.samples)
            self._asked_frames = round(GATE_TAIL_MS / FRAME_MS)
        elif self._asked_frames:
            self._asked_frames -= 1
        if not self._asked_frames:
            return 0.0
        probability = self._scorer.probability(frame.samples)
        return probability if np.isfinite(probability) else 0.0
