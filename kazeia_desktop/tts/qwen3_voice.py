"""Kazeia's own voice as the conversation uses it: clauses in, sound out, choices from the settings."""

import contextlib
import dataclasses
import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from kazeia_desktop.events import Notice
from kazeia_desktop.formats.voice_description import Sampling
from kazeia_desktop.formats.voice_manifest import load_manifest
from kazeia_desktop.frames import Clause, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.core_share import CoreShare
from kazeia_desktop.runtime.cores import others_busy_s, read_cores
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.tts.base import Pace, SpeechFigures
from kazeia_desktop.tts.qwen3 import FRAMES_PER_S, Qwen3Tts
from kazeia_desktop.tts.qwen3_advice import USUAL_SHARE, slowness
from kazeia_desktop.tts.qwen3_clause import Spoken
from kazeia_desktop.tts.qwen3_measure import EngineProbe, measure
from kazeia_desktop.tts.qwen3_options import SpeechOptions, SpeechStats, Voice
from kazeia_desktop.tts.qwen3_tuning import Tuning, is_automatic, plan, teams
from kazeia_desktop.tts.qwen3_tuning_store import TuningStore
from kazeia_desktop.tts.voice_store import VoiceStore

_log = logging.getLogger(__name__)

NO_VOICE_SEED: Final = 1
"""Without a voice the seed alone makes the speaker: the same one in every clause."""
_DISTURBED_CORES: Final = 0.5
"""Other work that makes a measurement worthless for another day."""
_NOTHING: Final = np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What a clause is spoken with; replaced as a whole, so a clause never mixes two."""

    name: str
    voice: Voice
    options: SpeechOptions
    threads: tuple[int, int]
    codec_threads: int


class Qwen3Voice:
    """SpeechSynthesizer on the native engine.

    Args:
        model_dir: written by `kazeia models convert`.
        voices: the added voices.
        share: told how many cores the voice takes while its sound is awaited.
        measured: keeps what was measured on this machine; None: nothing is measured.
    Raises:
        ModelError: the model is missing or damaged.
        SettingsError: there is no such voice.
    """

    def __init__(
        self,
        model_dir: Path,
        voices: VoiceStore,
        settings: TtsSettings,
        share: CoreShare | None = None,
        measured: TuningStore | None = None,
    ) -> None:
        manifest = load_manifest(model_dir)
        self._measured = measured
        self._cores = read_cores() if measured is None else measured.cores
        self._tuning = None if measured is None else measured.get(manifest, settings.talker)
        self._settings = settings
        chosen = plan(settings, self._tuning, self._cores)
        self._tts: Qwen3Tts | None = Qwen3Tts.load(model_dir, chosen.talker, chosen.codec, settings.talker)
        self._voices = voices
        self._share = share or CoreShare(1)
        self.sample_rate_hz = self._tts.sample_rate_hz
        self._model = manifest.description.name
        self._dtype = manifest.dtype
        self._figures: SpeechFigures | None = None
        self._chosen = self._choose(self._tts, settings)
        self._threads = (chosen.talker, chosen.talker)
        self._codec_threads = chosen.codec

    @property
    def name(self) -> str:
        """See SpeechSynthesizer."""
        return f"{self._model}, {self._chosen.name}"

    @property
    def figures(self) -> SpeechFigures | None:
        """See SpeechSynthesizer."""
        return self._figures

    @property
    def stats(self) -> SpeechStats:
        """All that the engine knows of the last clause."""
        return self._tts.stats if self._tts is not None else SpeechStats()

    def apply(self, settings: TtsSettings) -> None:
        """See SpeechSynthesizer. A voice that is not there raises SettingsError and leaves the one before."""
        if self._tts is not None:
            self._chosen = self._choose(self._tts, settings)
            self._settings = settings

    @property
    def model(self) -> str:
        """See MeasuredVoice."""
        return f"{self._model}, {self._dtype}"

    @property
    def pace(self) -> Pace | None:
        """See MeasuredVoice."""
        if self._tuning is None:
            return None
        return Pace(self._tuning.rtf, max(1, self._chosen.options.stream_frames) / FRAMES_PER_S)

    @property
    def wants_measuring(self) -> bool:
        """See MeasuredVoice."""
        unknown = self._measured is not None and self._tuning is None and self._tts is not None
        return unknown and is_automatic(self._settings)

    def measure(self, idle: CancelToken, always_keep: bool = False) -> None:
        """See MeasuredVoice. A voice that fails is not measured again.

        What was measured while other programs were at work counts for this run, and is not kept, unless `always_keep`.
        """
        tts, chosen, kept = self._tts, self._chosen, self._measured
        if tts is None or kept is None:
            return
        probe = EngineProbe(tts, chosen.voice, chosen.options, self._codec_threads)
        began, busy_s = time.monotonic(), others_busy_s()
        try:
            tuning = measure(probe, teams(self._cores), idle)
        except BaseException:
            self._measured = None
            raise
        finally:
            self._codec_threads = probe.codec_threads
            self._use_threads(tts, chosen.threads)
        if tuning is None:
            return
        others = None if busy_s is None else ((others_busy_s() or 0.0) - busy_s) / (time.monotonic() - began)
        if always_keep or others is None or others < _DISTURBED_CORES:
            kept.put(tts.manifest, self._settings.talker, tuning)
        else:
            _log.info("other programs kept %.1f cores busy: it is measured again at the next start", others)
        self._take_over(tts, tuning)

    def _take_over(self, tts: Qwen3Tts, tuning: Tuning) -> None:
        self._tuning = tuning
        self._chosen = self._choose(tts, self._settings)
        if self._chosen.codec_threads != self._codec_threads:
            tts.set_codec_threads(self._chosen.codec_threads)
            self._codec_threads = self._chosen.codec_threads
        self._use_threads(tts, self._chosen.threads)

    def _use_threads(self, tts: Qwen3Tts, threads: tuple[int, int]) -> None:
        tts.set_threads(*threads)
        self._threads = threads

    def slowness(self, rtf: float | None = None) -> Notice | None:
        """See MeasuredVoice."""
        tuning = self._tuning
        if rtf is None and tuning is None:
            return None
        share = USUAL_SHARE if tuning is None else tuning.generator_share
        return slowness(tuning.rtf if rtf is None and tuning is not None else rtf or 0.0, share, self._dtype)

    def close(self) -> None:
        """See SpeechSynthesizer."""
        self._tts = None

    def synthesize(self, clause: Clause, cancel: CancelToken) -> Iterator[SpeechFrame]:
        """See SpeechSynthesizer."""
        tts, chosen = self._tts, self._chosen
        self._figures = None
        if tts is None or cancel.is_set():
            return
        if not clause.spoken:
            yield self._end(clause)
            return
        if chosen.threads != self._threads:
            self._use_threads(tts, chosen.threads)
        sounds = tts.synthesize(clause.spoken, chosen.voice, chosen.options, cancel)
        with contextlib.closing(sounds):
            while True:
                with self._share.taking(max(chosen.threads)):
                    frame = next(sounds, None)
                if frame is None:
                    return
                if frame.end_of_clause:
                    self._account(tts.stats)
                yield dataclasses.replace(frame, turn_id=clause.turn_id, clause_index=clause.index)

    def synthesize_all(
        self, first: Clause, more: Callable[[], Clause | None], cancel: CancelToken
    ) -> Generator[SpeechFrame, None, None]:
        """See BatchVoice."""
        tts, threads = self._tts, self._chosen.threads
        self._figures = None
        if tts is None or cancel.is_set():
            return
        if threads != self._threads:
            self._use_threads(tts, threads)
        order: deque[Clause] = deque()  # handed out and not over; those without a word never reach the engine
        waiting = iter((first,))

        def spoken() -> Spoken | None:
            while (clause := next(waiting, None) or more()) is not None:
                order.append(clause)
                if clause.spoken:
                    chosen = self._chosen
                    return Spoken(clause.spoken, chosen.voice, chosen.options)
            return None

        given = spoken() if first.spoken else None
        if given is None and not order:
            order.append(next(waiting))
        sounds = tts.synthesize_all([] if given is None else [given], cancel, spoken)
        with contextlib.closing(sounds):
            while not cancel.is_set():
                yield from self._ends(order)
                with self._share.taking(max(threads)):
                    frame = next(sounds, None)
                if frame is None:
                    break
                yield from self._ends(order)
                clause = order[0]
                if frame.end_of_clause:
                    order.popleft()
                    self._account(tts.stats)
                yield dataclasses.replace(frame, turn_id=clause.turn_id, clause_index=clause.index)
                if frame.end_of_clause:
                    self._figures = None
        if not cancel.is_set():
            yield from self._ends(order)

    def _ends(self, order: deque[Clause]) -> Iterator[SpeechFrame]:
        """Of those without a word that come next."""
        while order and not order[0].spoken:
            yield self._end(order.popleft())

    def _end(self, clause: Clause) -> SpeechFrame:
        """All of a clause without a word."""
        return SpeechFrame(clause.turn_id, clause.index, _NOTHING, self.sample_rate_hz, end_of_clause=True)

    def _account(self, stats: SpeechStats) -> None:
        if stats.stop not in ("eos", "cancel"):
            _log.info("a clause of %d frames was stopped: %s", stats.frames, stats.stop)
        if stats.frames:
            self._figures = SpeechFigures(
                stats.frames, stats.elapsed_s * FRAMES_PER_S / stats.frames, stats.talker_ms,
                stats.code_predictor_ms, stats.codec_ms, stats.retries,
            )  # fmt: skip

    def _choose(self, tts: Qwen3Tts, settings: TtsSettings) -> _Chosen:
        name, voice = self._voice(tts, settings.voice)
        seed = settings.seed if settings.seed >= 0 else None
        if voice is None and seed is None:
            seed = NO_VOICE_SEED
        chosen = plan(settings, self._tuning, self._cores)
        options = SpeechOptions(
            language=settings.language,
            text_mode=settings.text_mode,
            seed=seed,
            stream_frames=chosen.stream_frames,
            talker=Sampling(
                settings.talker_temperature, settings.talker_top_k, settings.talker_top_p,
                settings.talker_repetition_penalty,
            ),
            code_predictor=Sampling(
                settings.code_predictor_temperature, settings.code_predictor_top_k, settings.code_predictor_top_p,
                settings.code_predictor_repetition_penalty,
            ),
            penalty_window=settings.talker_penalty_frames,
            ramp=chosen.ramp,
        )  # fmt: skip
        return _Chosen(name, voice, options, (chosen.talker, chosen.code_predictor), chosen.codec)

    def _voice(self, tts: Qwen3Tts, name: str) -> tuple[str, Voice]:
        """An added voice, one of the model's own speakers, or none."""
        told = tts.manifest.description
        if name.lower() in told.speakers:
            return name.lower(), name.lower()
        if name:
            return name, self._voices.xvector_for(
                self._voices.get(name), told.name, told.talker.hidden, tts.speaker_encoder
            )
        if told.speakers:
            first = next(iter(told.speakers))
            return first, first
        return f"seed {NO_VOICE_SEED}", None
