"""The gate: closed in silence, open for a voice."""

import sys

import numpy as np
import pytest

from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES
from kazeia_desktop.vad.webrtc import AlwaysOpenGate, WebRtcGate, make_gate

pytestmark = pytest.mark.unit

SILENCE = np.zeros(CAPTURE_FRAME_SAMPLES, np.float32)


def vowel(n_frames: int) -> np.ndarray:
    """Something like a sung "a": a buzz at 120 Hz with formants at 700 and 1200 Hz."""
    t = np.arange(n_frames * CAPTURE_FRAME_SAMPLES) / 16_000
    sound = sum(np.sin(2 * np.pi * 120 * k * t) / (1 + abs(120 * k - 700) / 200) for k in range(1, 30))
    return (0.2 * sound / np.abs(sound).max()).astype(np.float32).reshape(n_frames, -1)


def test_silence_keeps_it_closed_and_a_voice_opens_it() -> None:
    gate = WebRtcGate()
    assert [gate.is_open(SILENCE) for _ in range(50)][10:] == [False] * 40
    assert any(gate.is_open(frame) for frame in vowel(10))


def test_samples_beyond_full_scale_or_without_value_do_no_harm() -> None:
    gate = WebRtcGate()
    gate.is_open(SILENCE + 7.0)
    gate.is_open(SILENCE - 7.0)


def test_without_webrtc_the_gate_is_always_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "webrtcvad", None)
    gate = make_gate()
    assert isinstance(gate._inner, AlwaysOpenGate)
    assert gate.is_open(SILENCE)


def test_where_it_is_there_it_is_taken() -> None:
    assert isinstance(make_gate()._inner, WebRtcGate)
