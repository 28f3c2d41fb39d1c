"""Closed in a noise that stays as it is, open for whatever changes it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, CAPTURE_RATE_HZ, FloatArray
from kazeia_desktop.settings.schema import VadSettings
from kazeia_desktop.vad.endpointing import SpeechDetector, UtteranceEnded
from kazeia_desktop.vad.noise_gate import NoiseGate
from tests.unit.vad.test_webrtc import vowel

pytestmark = pytest.mark.unit

KNOWN = 5 * 32
"""Frames after which it knows a noise."""


class Inner:
    """A gate that is always open, and counts."""

    def __init__(self) -> None:
        self.asked = 0

    def is_open(self, samples: FloatArray) -> bool:
        self.asked += 1
        return True


def noise(n_frames: int, level_db: float = -35.0, seed: int = 0, color: float = 0.0) -> FloatArray:
    """(n_frames, 512); color: 0 white, 1 pink."""
    n = n_frames * CAPTURE_FRAME_SAMPLES
    white = np.fft.rfft(np.random.default_rng(seed).normal(size=n))
    made = np.fft.irfft(white * np.maximum(np.arange(len(white)), n / 500) ** (-color / 2), n)
    made *= 10 ** (level_db / 20) / np.sqrt(np.mean(np.square(made)))
    return made.astype(np.float32).reshape(n_frames, CAPTURE_FRAME_SAMPLES)


def used_to(frames: FloatArray) -> NoiseGate:
    gate = NoiseGate(Inner())
    for frame in frames[:KNOWN]:
        gate.is_open(frame)
    return gate


@pytest.mark.parametrize("color", [0.0, 1.0])
@pytest.mark.parametrize("level_db", [-80.0, -55.0, -35.0, -15.0])
def test_it_closes_in_a_steady_noise(level_db: float, color: float) -> None:
    frames = noise(KNOWN + 2000, level_db, color=color)
    gate = used_to(frames)
    assert sum(gate.is_open(frame) for frame in frames[KNOWN:]) <= 0.005 * 2000


def test_it_leaves_the_decision_to_the_other_until_it_knows_the_noise() -> None:
    gate = NoiseGate(Inner())
    assert all(gate.is_open(frame) for frame in noise(100))
    assert not NoiseGate(type("Shut", (), {"is_open": lambda self, samples: False})()).is_open(noise(1)[0])


@pytest.mark.parametrize("snr_db", [20.0, 10.0, 5.0, 0.0])
@pytest.mark.parametrize("color", [0.0, 1.0])
def test_the_first_frame_of_a_vowel_opens_it(snr_db: float, color: float) -> None:
    frames = noise(KNOWN + 4, color=color)
    spoken = np.stack(list(vowel(4)))
    spoken = spoken * np.float32(10 ** ((-35.0 + snr_db) / 20) / np.sqrt(np.mean(np.square(spoken))))
    gate = used_to(frames)
    assert all(gate.is_open(frame) for frame in frames[KNOWN:] + spoken)


def test_a_noise_that_ends_opens_it_for_what_is_softer() -> None:
    gate = used_to(noise(KNOWN, -30.0))
    assert gate.is_open(noise(1, -60.0)[0])  # at once: the floor is not known any more
    for frame in noise(60, -60.0):
        gate.is_open(frame)
    soft = np.stack(list(vowel(2)))
    soft = soft * np.float32(10 ** (-50 / 20) / np.sqrt(np.mean(np.square(soft))))
    assert all(gate.is_open(frame) for frame in soft + noise(2, -60.0, 1))


def test_long_speech_does_not_become_the_noise() -> None:
    """Twenty seconds with the gaps that sentences have; then a pause, then the same voice again."""
    gate = used_to(noise(KNOWN))
    voice = np.stack(list(vowel(32)))
    for second in range(20):
        loud = voice if second % 2 else voice[:20]
        for frame in noise(32, seed=second) + np.pad(loud, ((0, 32 - len(loud)), (0, 0))):
            gate.is_open(frame)
    for frame in noise(22, seed=99):  # the pause that ends an utterance
        gate.is_open(frame)
    assert all(gate.is_open(frame) for frame in voice[:4] + noise(4, seed=100))


def test_a_louder_noise_is_learnt_after_some_seconds() -> None:
    gate = used_to(noise(KNOWN, -50.0))
    louder = noise(KNOWN + 200, -30.0, 1)
    assert gate.is_open(louder[0])
    for frame in louder[:KNOWN]:
        gate.is_open(frame)
    assert sum(gate.is_open(frame) for frame in louder[KNOWN:]) < 10


def test_what_is_no_sound_opens_it_and_is_not_learnt() -> None:
    frames = noise(KNOWN + 400)
    gate = used_to(frames)
    for damaged in (np.full(512, np.nan, np.float32), np.full(512, np.inf, np.float32), np.zeros(100, np.float32)):
        assert gate.is_open(damaged)
    assert sum(gate.is_open(frame) for frame in frames[KNOWN:]) < 5


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-200, 40), min_size=1, max_size=40), st.integers(0, 2**31))
def test_any_levels_do_no_harm(levels_db: list[float], seed: int) -> None:
    gate = used_to(noise(KNOWN))
    for level_db, frame in zip(levels_db, noise(len(levels_db), 0.0, seed), strict=True):
        gate.is_open(frame * np.float32(10 ** (level_db / 20)))
    assert np.isfinite(gate._floor).all()


class Loudness:
    """A scorer that answers by loudness above the noise, and needs no memory."""

    def __init__(self) -> None:
        self.asked = 0

    def probability(self, samples: FloatArray) -> float:
        self.asked += 1
        return float(np.sqrt(np.mean(np.square(samples))) > 1.2 * 10 ** (-35 / 20))

    def reset(self) -> None:
        """It has none."""


@pytest.mark.parametrize("snr_db", [20.0, 10.0, 5.0])
def test_endpoints_are_the_same_with_it_and_the_scorer_rests(snr_db: float) -> None:
    from kazeia_desktop.frames import AudioFrame

    ends, asked = [], []
    spoken = np.stack(list(vowel(50)))
    spoken = spoken * np.float32(10 ** ((-35.0 + snr_db) / 20) / np.sqrt(np.mean(np.square(spoken))))
    sound = noise(1000)
    for at in (300, 420, 700):
        sound[at : at + 50] += spoken
    for gate in (Inner(), NoiseGate(Inner())):
        scorer = Loudness()
        detector = SpeechDetector(gate, scorer, VadSettings())
        events = [
            event
            for at, frame in enumerate(sound)
            for event in detector.push(AudioFrame(frame, at * CAPTURE_FRAME_SAMPLES / CAPTURE_RATE_HZ))
        ]
        ends.append([(e.speech_end_s, e.ended_s, len(e.samples)) for e in events if isinstance(e, UtteranceEnded)])
        asked.append(scorer.asked)
    assert ends[0] == ends[1] and len(ends[0]) == 3
    assert asked[1] < 0.7 * asked[0]
