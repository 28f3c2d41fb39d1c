"""A talker and a code predictor that follow a script."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import numpy as np

from kazeia_desktop._native import CodePredictor, Pcg32, SamplerOptions, TalkerError
from kazeia_desktop.formats.voice_description import VoiceDescription
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.tts.qwen3_generator import FrameGenerator
from kazeia_desktop.tts.qwen3_prompt import PromptBuilder
from kazeia_desktop.tts.qwen3_talker import TalkerSession

EOS = 2150
VOCAB = 3072
PAD: FloatArray = np.array([0.5], np.float32)
N_POSITIONS = 400


def wanting(*codes: int, second: int = 0) -> FloatArray:
    """Logits that want each of the codes, the first most; then `second`."""
    logits = np.full(VOCAB, -5.0, np.float32)
    for rank, code in enumerate((*codes, second)):
        logits[code] = 9.0 - rank
    return logits


class FakeTalker:
    """Says `logits(step)`. embeds: all that it heard."""

    def __init__(self, logits: Callable[[int], FloatArray], fails_at: int | None = None) -> None:
        self.n_positions = N_POSITIONS
        self.embeds: list[FloatArray] = []
        self._logits, self._fails_at = logits, fails_at

    def prefill(self, embeds: FloatArray, n_prefix: int = 0) -> tuple[FloatArray, FloatArray]:
        self.embeds = []
        self.prompt, self.n_prefix = embeds, n_prefix
        return self._step()

    def decode(self, embed: FloatArray) -> tuple[FloatArray, FloatArray]:
        self.embeds.append(embed)
        return self._step()

    def take_times_s(self) -> tuple[float, float]:
        return 0.004, 0.005

    def _step(self) -> tuple[FloatArray, FloatArray]:
        step = len(self.embeds)
        if step == self._fails_at:
            raise TalkerError("cancelled")
        return np.array([step], np.float32), self._logits(step).copy()


class FakePredictor:
    """Codes 1 to 15 are the frame's number."""

    def __init__(self, fails_at: int | None = None) -> None:
        self._fails_at = fails_at

    def predict(self, hidden: FloatArray, code0: int, options: SamplerOptions, random: Pcg32) -> IntArray:
        if hidden[0] == self._fails_at:
            raise RuntimeError("not finite")
        return np.full(15, int(hidden[0]), np.int32)

    def frame_embedding(self, codes: IntArray, text: FloatArray) -> FloatArray:
        return np.array([codes[0]], np.float32) + text

    def take_times_ns(self) -> tuple[int, int, int]:
        return 1_000_000, 2_000_000, 3_000_000


def generator(talker: FakeTalker, predictor: FakePredictor | None = None) -> FrameGenerator:
    description = SimpleNamespace(ids={"codec_eos": EOS}, talker=SimpleNamespace(vocab=VOCAB))
    return FrameGenerator(
        cast(VoiceDescription, description),
        cast(PromptBuilder, SimpleNamespace(pad=PAD)),
        cast(TalkerSession, talker),
        cast(CodePredictor, predictor or FakePredictor()),
    )
