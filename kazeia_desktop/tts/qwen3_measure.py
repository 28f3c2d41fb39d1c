"""Three seconds of silent speech that tell how many threads and which pieces are best on this machine."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import numpy as np

from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.qwen3 import Qwen3Tts
from kazeia_desktop.tts.qwen3_options import SpeechOptions, Voice
from kazeia_desktop.tts.qwen3_tuning import FRAME_MS, Team, Trial, Tuning, choose

_log = logging.getLogger(__name__)

BUDGET_S: Final = 3.0
_CALLS_S: Final = 0.8
"""Of these for the codec's calls of several sizes."""
TRIAL_FRAMES: Final = 2
"""Frames of a piece in a trial: short ones come often, so that few tell the speed."""
_FEWEST, _MOST = 5, 15
"""Frames of a trial: a first piece of one, at least two of two."""
_SIZES: Final = (2, 1, 4, 8)
"""Frames of a call: those of the usual ramp first."""
_USUAL: Final = 3
_TEXT: Final = "Bonjour, je m'appelle Kazeia et je vous écoute."


class Probe(Protocol):
    """What is measured."""

    def trial(self, team: Team, frames: int, idle: CancelToken) -> Trial | None:
        """Make `frames` frames with a team; None when `idle` was set."""
        ...

    def call_ms(self, frames: int, idle: CancelToken) -> float | None:
        """One call of the codec with the last trial's threads; None when `idle` was set."""
        ...

    def use_codec(self, threads: int) -> None:
        """Make the codec ready to be called with so many threads."""
        ...


def measure(
    probe: Probe, teams: Sequence[Team], idle: CancelToken, clock: Callable[[], float] = time.perf_counter
) -> Tuning | None:
    """Try the teams, then the codec's calls. None when `idle` was set before it was known.

    A machine so slow that the time is over leaves out the last teams and sizes.
    """
    trials: list[Trial] = []
    frames = _FEWEST
    spent_s = 0.0  # loading the codec for other threads is no measuring
    for number, team in enumerate(teams):
        if idle.is_set():
            return None
        probe.use_codec(team.codec)
        began = clock()
        trial = probe.trial(team, frames, idle)
        if trial is None:
            return None
        trials.append(trial)
        spent_s += clock() - began
        left_s, waiting = BUDGET_S - _CALLS_S - spent_s, len(teams) - number - 1
        if waiting and left_s < -0.5 * BUDGET_S:
            break
        frames = _frames(left_s / max(waiting, 1), min(trial.rtf for trial in trials))
    best = choose(trials, {}, TRIAL_FRAMES)
    probe.use_codec(best.team.codec)
    calls: dict[int, float] = {}
    began = clock()
    for size in _SIZES:
        call_ms = probe.call_ms(size, idle)
        if call_ms is None:
            return None
        calls[size] = call_ms
        if clock() - began > _CALLS_S and len(calls) >= _USUAL:
            break
    tuning = choose(trials, calls, TRIAL_FRAMES)
    _log.info("trials %s, codec calls %s: %s", trials, calls, tuning)
    return tuning


def _frames(seconds: float, rtf: float) -> int:
    """As many as fit, an odd number: one, then pieces of two."""
    fitting = int(seconds * 1000 / (FRAME_MS * rtf)) if rtf > 0 else _MOST
    return max(_FEWEST, min(_MOST, fitting)) // 2 * 2 + 1


class EngineProbe:
    """The loaded voice itself. Other calls of it wait for the trial under way.

    Attributes:
        codec_threads: those that the codec has now.
    """

    def __init__(self, tts: Qwen3Tts, voice: Voice, options: SpeechOptions, codec_threads: int) -> None:
        self._tts = tts
        self.codec_threads = codec_threads
        self._voice = voice
        self._options = options

    def trial(self, team: Team, frames: int, idle: CancelToken) -> Trial | None:
        """See Probe."""
        self._tts.set_threads(team.generator, team.generator)
        came: list[tuple[float, int]] = []  # when, frames so far
        began = time.perf_counter()
        for frame in self._tts.synthesize(_TEXT, self._voice, self._trial_options(frames), idle):
            if len(frame.samples):
                there = came[-1][1] if came else 0
                n_frames = round(len(frame.samples) * 1000 / (frame.sample_rate_hz * FRAME_MS))
                came.append((time.perf_counter() - began, there + n_frames))
        if idle.is_set() or len(came) < 2:
            return None
        (first_s, first_frames), (last_s, last_frames) = came[0], came[-1]
        stats = self._tts.stats
        rtf = (last_s - first_s) * 1000 / ((last_frames - first_frames) * FRAME_MS)
        generator_ms = stats.talker_ms + stats.code_predictor_ms
        return Trial(team, rtf, first_s * 1000, generator_ms, stats.codec_ms)

    def _trial_options(self, frames: int) -> SpeechOptions:
        options = self._options
        return SpeechOptions(
            options.language, options.text_mode, seed=1, stream_frames=TRIAL_FRAMES, talker=options.talker,
            code_predictor=options.code_predictor, max_frames=frames,
        )  # fmt: skip

    def call_ms(self, frames: int, idle: CancelToken) -> float | None:
        """See Probe."""
        if idle.is_set():
            return None
        stream = self._tts.codec_stream()
        codes = np.zeros((frames, 16), np.int32)
        began = time.perf_counter()
        stream.push(codes, None)
        return (time.perf_counter() - began) * 1000

    def use_codec(self, threads: int) -> None:
        """See Probe."""
        if threads != self.codec_threads:
            self._tts.set_codec_threads(threads)
            self.codec_threads = threads
