"""One sound server for all device tests of a module, used by this process too."""

import os
from collections.abc import Iterator

import pytest

from tests.device.virtual_audio import VirtualAudio, virtual_audio


@pytest.fixture(scope="session")
def audio() -> Iterator[VirtualAudio]:
    """The server; programs get it by `audio.environment`."""
    with virtual_audio() as server:
        yield server


@pytest.fixture
def here(audio: VirtualAudio, monkeypatch: pytest.MonkeyPatch) -> VirtualAudio:
    """The server, with this process's PortAudio using it."""
    for name in ("XDG_RUNTIME_DIR", "HOME"):
        monkeypatch.setitem(os.environ, name, audio.environment[name])
    from kazeia_desktop.audio import devices

    devices.refresh()
    return audio
