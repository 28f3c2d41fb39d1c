"""Endpointing with the real detectors on recorded speech, clean and in noise."""

import functools
import sys
import time
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from kazeia_desktop.audio.resampler import resample
from kazeia_desktop.audio.wav import read_wav
from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, CAPTURE_RATE_HZ, AudioFrame, FloatArray
from kazeia_desktop.settings.schema import VadSettings
from kazeia_desktop.vad.base import SpeechGate
from kazeia_desktop.vad.endpointing import SpeechDetector, SpeechHeard, UtteranceEnded, VadEvent
from kazeia_desktop.vad.silero import SileroScorer
from kazeia_desktop.vad.webrtc import AlwaysOpenGate, make_gate
from tests.realmodels import require_model

pytestmark = pytest.mark.golden

SOUNDS: Final = Path("/usr/share/asterisk/sounds/fr_CA_f_June")
LEAD_S: Final = 2.0
TAIL_S: Final = 2.0
SHORTEST_SPEECH_S: Final = 0.25
LOUD: Final = 0.02


@pytest.fixture(scope="module")
def scorer() -> SileroScorer:
    return SileroScorer(require_model("silero-vad") / "silero_vad.onnx")


@functools.cache
def clips() -> tuple[tuple[str, FloatArray], ...]:
    """Every eighth prompt of June's, at 16 kHz, without the pieces of words."""
    found = []
    for file in sorted(SOUNDS.glob("*.wav"))[::8]:
        samples, rate_hz = read_wav(file)
        samples = resample(samples, rate_hz, CAPTURE_RATE_HZ)
        if np.count_nonzero(envelope(samples) > LOUD) > SHORTEST_SPEECH_S * CAPTURE_RATE_HZ:
            found.append((file.stem, samples))
    assert len(found) > 30, "install asterisk-core-sounds-fr-wav"
    return tuple(found)


def envelope(samples: FloatArray) -> FloatArray:
    """RMS over 20 ms."""
    n = CAPTURE_RATE_HZ // 50
    smooth: FloatArray = np.sqrt(np.convolve(np.square(samples), np.ones(n, np.float32) / n, "same"))
    return smooth


def pink_noise(n: int, seed: int) -> FloatArray:
    """(n,) with an RMS of 1 and 3 dB less an octave, as rooms and streets have."""
    white = np.fft.rfft(np.random.default_rng(seed).normal(size=n))
    noise = np.fft.irfft(white / np.sqrt(np.maximum(np.arange(len(white)), 1)), n)
    pink: FloatArray = (noise / np.sqrt(np.mean(np.square(noise)))).astype(np.float32)
    return pink


def in_silence(speech: FloatArray, snr_db: float | None, seed: int) -> FloatArray:
    lead, tail = int(LEAD_S * CAPTURE_RATE_HZ), int(TAIL_S * CAPTURE_RATE_HZ)
    sound = np.pad(speech, (lead, tail))
    if snr_db is not None:
        level = float(np.sqrt(np.mean(np.square(speech[envelope(speech) > LOUD]))))
        sound = sound + pink_noise(len(sound), seed) * np.float32(level * 10 ** (-snr_db / 20))
    return np.clip(sound, -1.0, 1.0)


def hear(detector: SpeechDetector, sound: FloatArray) -> list[VadEvent]:
    events = []
    for at in range(0, len(sound) - CAPTURE_FRAME_SAMPLES + 1, CAPTURE_FRAME_SAMPLES):
        end = at + CAPTURE_FRAME_SAMPLES
        events += detector.push(AudioFrame(sound[at:end], end / CAPTURE_RATE_HZ))
    return events


@pytest.mark.parametrize("snr_db", [None, 10.0, 0.0])
@pytest.mark.parametrize("gate", [make_gate, AlwaysOpenGate])
def test_every_utterance_is_heard_from_its_first_word_and_ends(
    scorer: SileroScorer, snr_db: float | None, gate: type[SpeechGate]
) -> None:
    missed, open_ended, cut, false_starts, end_s, cpu_s, audio_s = [], [], [], [], [], 0.0, 0.0
    for seed, (name, speech) in enumerate(clips()):
        detector = SpeechDetector(gate(), scorer, VadSettings())
        sound = in_silence(speech, snr_db, seed)
        began_s = time.process_time()
        events = hear(detector, sound)
        cpu_s += time.process_time() - began_s
        audio_s += len(sound) / CAPTURE_RATE_HZ
        loud = np.flatnonzero(envelope(speech) > LOUD) / CAPTURE_RATE_HZ + LEAD_S
        said = [event for event in events if isinstance(event, UtteranceEnded)]
        if not said:
            missed.append(name)
            continue
        if detector.send_now():
            open_ended.append(name)
        if said[0].ended_s - len(said[0].samples) / CAPTURE_RATE_HZ > loud[0]:
            cut.append(name)
        if said[0].ended_s < loud[0]:
            false_starts.append(name)
        end_s.append(said[-1].ended_s - loud[-1])
    sys.stdout.write(
        f"{len(clips())} clips, noise {snr_db} dB, {gate.__name__}: {1000 * cpu_s / audio_s:.1f} ms per second of "
        f"audio, end of turn {np.median(end_s):.2f} s after the last sound\n"
    )
    assert (missed, open_ended, cut, false_starts) == ([], [], [], [])
    assert np.median(end_s) < 0.95


def test_speech_after_an_hour_of_silence_is_whole(scorer: SileroScorer) -> None:
    detector = SpeechDetector(make_gate(), scorer, VadSettings())
    speech = clips()[0][1]
    first_loud = int(np.flatnonzero(envelope(speech) > LOUD)[0])
    speech = speech[first_loud:]  # it begins without any breath
    nothing = AudioFrame(np.zeros(CAPTURE_FRAME_SAMPLES, np.float32), 0.0)
    for _ in range(3600 * 31 // 60):  # a minute stands for it
        assert detector.push(nothing) == []
    events = hear(detector, np.pad(speech, (0, 2 * CAPTURE_RATE_HZ)))
    said = next(event for event in events if isinstance(event, UtteranceEnded))
    at = int(np.flatnonzero(said.samples)[0])
    assert at >= 0.5 * CAPTURE_RATE_HZ  # the pre-roll
    assert np.array_equal(said.samples[at : at + 8000], speech[:8000])


def test_the_light_comes_on_soon_after_the_first_sound(scorer: SileroScorer) -> None:
    delays = []
    for _, speech in clips():
        detector = SpeechDetector(make_gate(), scorer, VadSettings())
        events = hear(detector, in_silence(speech, None, 0))
        heard = next(event for event in events if isinstance(event, SpeechHeard))
        delays.append(heard.time_s - LEAD_S - np.flatnonzero(envelope(speech) > LOUD)[0] / CAPTURE_RATE_HZ)
    sys.stdout.write(
        f"light {1000 * np.median(delays):.0f} ms after the first sound, at most {1000 * max(delays):.0f}\n"
    )
    assert np.median(delays) < 0.2


def test_a_damaged_frame_does_not_deafen(scorer: SileroScorer) -> None:
    scorer.reset()
    assert scorer.probability(np.full(CAPTURE_FRAME_SAMPLES, np.nan, np.float32)) < 0.1
    speech = clips()[0][1]
    frames = speech[: len(speech) // CAPTURE_FRAME_SAMPLES * CAPTURE_FRAME_SAMPLES].reshape(-1, CAPTURE_FRAME_SAMPLES)
    assert max(scorer.probability(frame) for frame in frames) > 0.9


def test_the_same_sound_scores_the_same_after_a_reset(scorer: SileroScorer) -> None:
    sound = clips()[1][1][: 40 * CAPTURE_FRAME_SAMPLES]
    frames = sound[: len(sound) // CAPTURE_FRAME_SAMPLES * CAPTURE_FRAME_SAMPLES].reshape(-1, CAPTURE_FRAME_SAMPLES)
    scorer.reset()
    first = [scorer.probability(frame) for frame in frames]
    scorer.reset()
    assert [scorer.probability(frame) for frame in frames] == first
