"""One sentence said twice, with different settings, and what each took."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.frames import Clause, FloatArray, IntArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.text.normalizer import normalize
from kazeia_desktop.tts.base import SpeechFigures, SpeechSynthesizer

_TURN = 1
_WARM_UP = "Oui."


@dataclass(frozen=True, slots=True)
class Spoken:
    """What came of one side.

    voice: as its engine calls it. samples: (n,) float32 mono. load_ms: of its model; None where the other side's was
    used. first_ms: to the first sound. rtf: time to make / length of the sound. figures: of a voice that has some.
    codes: (frames, groups) int32 of a voice that works with codes.
    """

    voice: str
    samples: FloatArray
    rate_hz: int
    load_ms: float | None
    first_ms: float
    rtf: float
    figures: SpeechFigures | None
    codes: IntArray | None

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate_hz


@dataclass(frozen=True, slots=True)
class Voices:
    """How the two voices are come by.

    make: loads one. Raises KazeiaError. shared: whether one model serves both settings. room: whether it fits into
    memory. quiet: waits until the conversation needs no processor, or the token is set.
    """

    make: Callable[[Settings], SpeechSynthesizer]
    shared: Callable[[Settings, Settings], bool]
    room: Callable[[Settings], bool]
    quiet: Callable[[CancelToken], None]


def compare(
    text: str,
    sides: tuple[Settings, Settings],
    voices: Voices,
    cancel: CancelToken,
    report: Callable[[int, float], None],
) -> tuple[Spoken, Spoken]:
    """Say `text` with either settings, one after the other; at most one model more is in memory than before.

    Args:
        report: hears the side (0, 1) and how many seconds of it are there.
    Raises:
        KazeiaError: a voice is not there or fails, or memory does not suffice.
        Cancelled: `cancel` was set.
    """
    made: list[Spoken] = []
    voice: SpeechSynthesizer | None = None
    try:
        for at, settings in enumerate(sides):
            cancel.raise_if_set()
            voices.quiet(cancel)
            load_ms = None
            if voice is not None and voices.shared(sides[0], settings):
                voice.apply(settings.tts)
            else:
                if voice is not None:
                    voice.close()
                    voice = None
                if not voices.room(settings):
                    raise InferenceError(
                        "There is not enough memory for another voice beside the one that speaks: close other "
                        "programs, or compare the light voice."
                    )
                report(at, 0.0)
                began = time.monotonic()
                voice = voices.make(settings)
                load_ms = (time.monotonic() - began) * 1000
                _warm_up(voice, cancel)
            made.append(_said(voice, text, settings, load_ms, voices, cancel, lambda s, at=at: report(at, s)))  # type: ignore[misc]
    finally:
        if voice is not None:
            voice.close()
    return made[0], made[1]


def equal_codes(one: Spoken, other: Spoken) -> float | None:
    """The share of codes that are the same at the same place, of the longer; None where one has none."""
    a, b = one.codes, other.codes
    if a is None or b is None or not a.size or not b.size or a.shape[1] != b.shape[1]:
        return None
    frames = min(len(a), len(b))
    same = int(np.count_nonzero(a[:frames] == b[:frames]))
    return same / int(max(len(a), len(b)) * a.shape[1])


def _warm_up(voice: SpeechSynthesizer, cancel: CancelToken) -> None:
    """The first run of a model makes its buffers: that is no figure of the sentence."""
    token = CancelToken()
    for _ in voice.synthesize(Clause(_TURN, 0, _WARM_UP, _WARM_UP, False), token):
        token.set()
    cancel.raise_if_set()


def _said(
    voice: SpeechSynthesizer,
    text: str,
    settings: Settings,
    load_ms: float | None,
    voices: Voices,
    cancel: CancelToken,
    report: Callable[[float], None],
) -> Spoken:
    clause = Clause(_TURN, 0, text, normalize(text, settings.tts.language), True)
    parts: list[FloatArray] = []
    first_ms, took_s = 0.0, 0.0
    rate_hz, n = voice.sample_rate_hz, 0
    began = time.monotonic()
    for frame in voice.synthesize(clause, cancel):
        took_s += time.monotonic() - began
        if len(frame.samples):
            first_ms = first_ms or took_s * 1000
            parts.append(frame.samples)
            n += len(frame.samples)
            report(n / rate_hz)
        voices.quiet(cancel)  # what is waited here is not the voice's time
        began = time.monotonic()
    cancel.raise_if_set()
    if not n:
        raise InferenceError("The sentence has nothing that can be said: write another one.")
    samples = np.concatenate(parts)
    codes = voice.stats.codes if isinstance(voice, _Coded) else None
    return Spoken(
        voice.name, samples, rate_hz, load_ms, first_ms, took_s * rate_hz / n, voice.figures,
        codes if codes is not None and codes.size else None,
    )  # fmt: skip


class _Stats(Protocol):
    @property
    def codes(self) -> IntArray: ...


@runtime_checkable
class _Coded(Protocol):
    """A voice that works with codes, and keeps those of the last clause."""

    @property
    def stats(self) -> _Stats: ...
