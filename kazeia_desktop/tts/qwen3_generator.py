"""From a prompt to codec frames: the talker, the code predictor, and the draws between them."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from kazeia_desktop._native import CodePredictor, Pcg32, Sampler, SamplerOptions, TalkerError
from kazeia_desktop.errors import Cancelled, InferenceError
from kazeia_desktop.formats.voice_description import Sampling, VoiceDescription
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.qwen3_guard import LoopDetector, frame_budget
from kazeia_desktop.tts.qwen3_prompt import PromptBuilder
from kazeia_desktop.tts.qwen3_talker import TalkerSession

Stop = Literal["eos", "budget", "silence", "loop", "cancel"]
_FIRST_SPECIAL: Final = 2048
"""Codes from here are no sounds; only the end of speech may be drawn of them."""
_MIN_FRAMES: Final = 2
_TALKER_STREAM, _CODE_PREDICTOR_STREAM = 1, 2
"""Each model draws from a generator of its own, so that one's options do not shift the other's draws."""


@dataclass(slots=True)
class Times:
    """Seconds spent so far in one utterance. host: what is neither model nor draw, in Python."""

    prefill: float = 0.0
    talker: float = 0.0
    layers: float = 0.0
    heads: float = 0.0
    code_predictor_sampling: float = 0.0
    talker_sampling: float = 0.0
    code_predictor: float = 0.0
    total: float = 0.0
    waiting: float = 0.0


@dataclass(slots=True)
class Speech:
    """One utterance's input. rows: what the frames add, in order, then `end` if streamed, then `pad`."""

    prompt: FloatArray
    n_prefix: int
    rows: Iterator[FloatArray]
    text_bytes: list[int] = field(default_factory=lambda: [0])
    """Of the text so far; grows while a streamed text comes."""


class FrameGenerator:
    """Draws frame after frame. One thread at a time."""

    def __init__(
        self, description: VoiceDescription, prompts: PromptBuilder, talker: TalkerSession, predictor: CodePredictor
    ) -> None:
        self._eos = description.ids["codec_eos"]
        self._pad = prompts.pad
        self._talker = talker
        self._predictor = predictor
        self._sampler = Sampler()
        self._suppressed = np.arange(_FIRST_SPECIAL, description.talker.vocab)
        self._suppressed = self._suppressed[self._suppressed != self._eos]
        self.stop: Stop = "eos"
        self.times = Times()

    def frames(
        self,
        speech: Speech,
        seed: int,
        talker: Sampling,
        code_predictor: Sampling,
        penalty_window: int,
        max_frames: int | None,
        cancel: CancelToken,
        silent: CancelToken,
    ) -> Iterator[IntArray]:
        """Yields (16,) int32 a frame; `stop` then says why it ended.

        Args:
            penalty_window: how many of the last frames the repetition penalty sees; 0: all.
            max_frames: exactly this bound, and no guard against endless speech; None: bounded by the text.
            silent: set by who hears the sound when nothing is left to hear.
        Raises:
            InferenceError: a model failed.
        """
        self.times = times = Times()
        began = time.perf_counter()
        draw_code0 = _options(talker)
        draw_others = _options(code_predictor)
        random = Pcg32(seed, _TALKER_STREAM)
        other_random = Pcg32(seed, _CODE_PREDICTOR_STREAM)
        history: list[int] = []
        loop = LoopDetector()
        self._predictor.take_times_ns()
        try:
            hidden, logits = self._talker.prefill(speech.prompt, speech.n_prefix)
            times.prefill = time.perf_counter() - began
            room = self._talker.n_positions - len(speech.prompt)
            while True:
                bound = max_frames if max_frames is not None else frame_budget(speech.text_bytes[0])
                if len(history) >= min(bound, room):
                    self.stop = "budget"
                    return
                mark = time.perf_counter()
                code0 = self._draw(logits, draw_code0, random, history[-penalty_window:], len(history))
                times.talker_sampling += time.perf_counter() - mark
                if code0 == self._eos:
                    self.stop = "eos"
                    return
                mark = time.perf_counter()
                others = self._predictor.predict(hidden, code0, draw_others, other_random)
                times.code_predictor += time.perf_counter() - mark
                frame = np.concatenate([np.array([code0], np.int32), others])
                history.append(code0)
                mark = time.perf_counter()
                yield frame
                times.waiting += time.perf_counter() - mark
                if cancel.is_set():
                    self.stop = "cancel"
                    return
                if max_frames is None and (silent.is_set() or loop.push(code0)):
                    self.stop = "silence" if silent.is_set() else "loop"
                    return
                embed = self._predictor.frame_embedding(frame, next(speech.rows, self._pad))
                mark = time.perf_counter()
                hidden, logits = self._talker.decode(embed)
                times.talker += time.perf_counter() - mark
        except TalkerError as error:
            if cancel.is_set():
                self.stop = "cancel"
                return
            raise InferenceError("The voice failed ({reason}).", reason=str(error)) from error
        except RuntimeError as error:  # figures that are not finite
            raise InferenceError("The voice failed ({reason}).", reason=str(error)) from error
        except Cancelled:
            self.stop = "cancel"
            return
        finally:
            layers, heads, sampling = self._predictor.take_times_ns()
            times.layers, times.heads, times.code_predictor_sampling = layers * 1e-9, heads * 1e-9, sampling * 1e-9
            times.total = time.perf_counter() - began

    def _draw(self, logits: FloatArray, options: SamplerOptions, random: Pcg32, window: list[int], step: int) -> int:
        """Codebook 0 as Hugging Face's processors choose it; `logits` is changed."""
        logits[self._suppressed] = -np.inf
        if step < _MIN_FRAMES:
            logits[self._eos] = -np.inf
        code = self._sampler.sample(logits, options, random, np.array(window, np.int32))
        if code < 0:
            raise InferenceError("The voice failed ({reason}).", reason="the talker's figures are not finite")
        return code


def _options(sampling: Sampling) -> SamplerOptions:
    return SamplerOptions(sampling.temperature, sampling.top_k, sampling.top_p, sampling.repetition_penalty)
