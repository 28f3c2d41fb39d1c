"""From a prompt to codec frames: the talker, the code predictor, and the draws between them."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

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
    """Seconds spent so far in one utterance.

    Attributes:
        talker, code_predictor: in all, without the talker's draws.
        layers, heads, code_predictor_sampling: of the code predictor.
        talker_head: of the talker; 0 where it does not tell.
        waiting: until the codec took a frame.
    """

    prefill: float = 0.0
    talker: float = 0.0
    talker_head: float = 0.0
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


class Course:
    """One utterance under way: its draws, its bounds, and what goes in next.

    Args:
        eos, suppressed: the end of speech, and the other tokens that are no sounds.
        pad: (hidden,), what a frame adds when no text is left.
        room: most frames that the talker has positions for.
    Attributes:
        draw_others, random: what its other codes are drawn with.
        stop: why it ended.
    """

    def __init__(
        self,
        eos: int,
        suppressed: NDArray[np.intp],
        pad: FloatArray,
        speech: Speech,
        seed: int,
        choices: "Choices",
        room: int,
    ) -> None:
        self._eos, self._suppressed, self._pad = eos, suppressed, pad
        self._speech, self._choices, self._room = speech, choices, room
        self._draw = _options(choices.talker)
        self._own_random = Pcg32(seed, _TALKER_STREAM)
        self.draw_others = _options(choices.code_predictor)
        self.random = Pcg32(seed, _CODE_PREDICTOR_STREAM)
        self._sampler = Sampler()
        self._history: list[int] = []
        self._loop = LoopDetector()
        self.stop: Stop = "eos"

    def code0(self, logits: FloatArray) -> int | None:
        """Codebook 0 of the next frame, as Hugging Face's processors choose it; None at the end. `logits` is changed.

        Raises:
            InferenceError: the logits are not finite.
        """
        told = self._choices.max_frames
        bound = told if told is not None else frame_budget(self._speech.text_bytes[0])
        step = len(self._history)
        if step >= min(bound, self._room):
            self.stop = "budget"
            return None
        logits[self._suppressed] = -np.inf
        if step < _MIN_FRAMES:
            logits[self._eos] = -np.inf
        window = np.array(self._history[-self._choices.penalty_window :], np.int32)
        code = self._sampler.sample(logits, self._draw, self._own_random, window)
        if code < 0:
            raise InferenceError("The voice failed ({reason}).", reason="the talker's figures are not finite")
        if code == self._eos:
            self.stop = "eos"
            return None
        self._history.append(code)
        return code

    def goes_on(self, silent: bool) -> bool:
        """Whether the guard lets it go on after its last frame."""
        if self._choices.max_frames is None and (silent or self._loop.push(self._history[-1])):
            self.stop = "silence" if silent else "loop"
            return False
        return True

    def row(self) -> FloatArray:
        """(hidden,): what the last frame adds."""
        return next(self._speech.rows, self._pad)


@dataclass(frozen=True, slots=True)
class Choices:
    """How an utterance is drawn.

    penalty_window: how many of the last frames the repetition penalty sees; 0: all.
    max_frames: exactly this bound, and no guard against endless speech; None: bounded by the text.
    """

    talker: Sampling
    code_predictor: Sampling
    penalty_window: int = 0
    max_frames: int | None = None


class FrameGenerator:
    """Draws frame after frame. One thread at a time."""

    def __init__(
        self, description: VoiceDescription, prompts: PromptBuilder, talker: TalkerSession, predictor: CodePredictor
    ) -> None:
        self._eos = description.ids["codec_eos"]
        self._pad = prompts.pad
        self._talker = talker
        self._predictor = predictor
        suppressed = np.arange(_FIRST_SPECIAL, description.talker.vocab)
        self._suppressed = suppressed[suppressed != self._eos]
        self.stop: Stop = "eos"
        self.times = Times()

    def course(self, speech: Speech, seed: int, choices: Choices) -> Course:
        """An utterance at its beginning, for whoever steps the models."""
        room = self._talker.n_positions - len(speech.prompt)
        return Course(self._eos, self._suppressed, self._pad, speech, seed, choices, room)

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
            penalty_window, max_frames: see Choices.
            silent: set by who hears the sound when nothing is left to hear.
        Raises:
            InferenceError: a model failed.
        """
        self.times = times = Times()
        began = time.perf_counter()
        course = self.course(speech, seed, Choices(talker, code_predictor, penalty_window, max_frames))
        self._predictor.take_times_ns()
        try:
            hidden, logits = self._talker.prefill(speech.prompt, speech.n_prefix)
            times.prefill = time.perf_counter() - began
            self._talker.take_times_s()
            while True:
                mark = time.perf_counter()
                code0 = course.code0(logits)
                times.talker_sampling += time.perf_counter() - mark
                if code0 is None:
                    self.stop = course.stop
                    return
                mark = time.perf_counter()
                others = self._predictor.predict(hidden, code0, course.draw_others, course.random)
                times.code_predictor += time.perf_counter() - mark
                frame = np.concatenate([np.array([code0], np.int32), others])
                mark = time.perf_counter()
                yield frame
                times.waiting += time.perf_counter() - mark
                if cancel.is_set():
                    self.stop = "cancel"
                    return
                if not course.goes_on(silent.is_set()):
                    self.stop = course.stop
                    return
                embed = self._predictor.frame_embedding(frame, course.row())
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
            times.talker_head = self._talker.take_times_s()[1]
            times.total = time.perf_counter() - began


def _options(sampling: Sampling) -> SamplerOptions:
    return SamplerOptions(sampling.temperature, sampling.top_k, sampling.top_p, sampling.repetition_penalty)
