"""Audio devices that the test makes up."""

import pytest

from kazeia_desktop.audio import devices, portaudio
from tests.unit.audio.fake_portaudio import Clock, FakePortAudio


@pytest.fixture
def clock() -> Clock:
    """Time that stands still."""
    return Clock()


@pytest.fixture
def sound(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> FakePortAudio:
    """PortAudio without devices yet."""
    fake = FakePortAudio(clock)
    monkeypatch.setattr(portaudio, "sounddevice", lambda: fake)
    monkeypatch.setattr(portaudio, "_open_streams", set())
    monkeypatch.setattr(devices, "_duplex", None)
    return fake
