"""The process is gone two seconds after it was asked to end, whatever it does: real models, a real sound server.

A few states are tried; all of them with KAZEIA_ENDING=all, as `make soak` does.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kazeia_desktop.settings.store import SettingsStore
from tests.device.ending import DRIVER, WAYS, busy, end, prepare
from tests.device.ending_driver import STATES
from tests.device.virtual_audio import VirtualAudio
from tests.realmodels import require_model

pytestmark = pytest.mark.device

SAID = Path("/usr/share/asterisk/sounds/fr_CA_f_June/vm-intro.wav")
GONE_S = 3 * 2.0
"""Three times what is promised: fails where it hangs, not where a machine is busy."""
ALL = os.environ.get("KAZEIA_ENDING") == "all"
TRIED = STATES if ALL else ("loading:stt", "speaking", "converting", "stuck")
BUSY = ("loading:stt", "loading:llm", "reloading:stt", "speaking", "stuck") if ALL else ("loading:stt",)


@contextlib.contextmanager
def _server() -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    reading, writing = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(writing)], pass_fds=(writing,), stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            yield f":{told.readline().strip()}", server
    finally:
        server.kill()
        server.wait(10)


@pytest.fixture(scope="module", autouse=True)
def display(audio: VirtualAudio) -> Iterator[None]:
    """Of the module's own."""
    with _server() as (name, _), pytest.MonkeyPatch.context() as patch:
        patch.setitem(audio.environment, "DISPLAY", name)  # type: ignore[arg-type]
        patch.setitem(audio.environment, "QT_QPA_PLATFORM", "xcb")  # type: ignore[arg-type]
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for model in ("whisper-base", "kokoro-82m", "silero-vad", "smollm2-135m"):
        found = require_model(model)
    folder = tmp_path_factory.mktemp("home")
    prepare(folder, found.parent)
    return folder


@pytest.mark.parametrize("state", TRIED)
def test_it_is_gone_in_time(state: str, home: Path, audio: VirtualAudio) -> None:
    way = WAYS[STATES.index(state) % len(WAYS)]
    ended = end(state, way, home, audio, SAID)
    sys.stdout.write(f"{state} by {way}: gone in {ended.seconds:.2f} s\n")
    assert ended.seconds < GONE_S and ended.code == 0 and not ended.left, f"{way}: {ended}"
    settings = SettingsStore(home / "config" / "settings.toml").load()
    assert settings.llm.threads == 1  # whole, however it ended


@pytest.mark.parametrize("way", WAYS)
def test_each_way(way: str, home: Path, audio: VirtualAudio) -> None:
    ended = end("listening", way, home, audio)
    assert ended.seconds < GONE_S and ended.code == 0, ended


@pytest.mark.parametrize("state", BUSY)
def test_beside_programs_that_compute(state: str, home: Path, audio: VirtualAudio) -> None:
    with busy(2):
        ended = end(state, "terminate", home, audio, SAID)
    sys.stdout.write(f"{state} on a busy machine: gone in {ended.seconds:.2f} s\n")
    assert ended.seconds < GONE_S and ended.code == 0 and not ended.left, ended


@pytest.fixture
def screen() -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A display of its own, which can be taken away."""
    with _server() as found:
        yield found


@pytest.mark.parametrize("state", ["loading:llm", "speaking"])
def test_it_does_not_outlive_its_display(
    state: str, home: Path, audio: VirtualAudio, screen: tuple[str, "subprocess.Popen[bytes]"]
) -> None:
    """As when the session ends: without a window nothing may go on listening."""
    display, server = screen
    environment = {**audio.environment, "KAZEIA_HOME": str(home), "DISPLAY": display}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, str(DRIVER), state], env=environment, stdin=pipe, stdout=pipe) as process:
        try:
            assert process.stdout is not None
            assert b"there\n" in iter(process.stdout.readline, b"")
            server.kill()
            began_s = time.monotonic()
            process.wait(10)
            assert time.monotonic() - began_s < GONE_S
        finally:
            process.kill()
