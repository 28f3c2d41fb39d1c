"""Closing in the middle of what takes long: a download, pages at work, a voice that really speaks or is measured."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kazeia_desktop.audio.wav_sink import WavSink
from kazeia_desktop.gui.jobs import Report
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings
from tests.fakes.fake_engine import FakeHost
from tests.fakes.micro_voice import write_checkpoint
from tests.gui.conftest import Opened, Opener
from tests.gui.test_event_loop import SpeakingHost

pytestmark = pytest.mark.gui

LIMIT_S = 2.0


@pytest.fixture(scope="module")
def voice_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("voice")
    return convert(OfficialSource(write_checkpoint(base / "c")), base / "voice", "q8_0").directory


def closes_in_time(one: Opened, before: set[threading.Thread]) -> None:
    """Within two seconds nothing runs that did not run before the window."""
    started = time.monotonic()
    one.close()
    took_s = time.monotonic() - started
    left = [t.name for t in threading.enumerate() if t not in before and t.is_alive() and not t.daemon]
    assert took_s < LIMIT_S and not left and one.window.ended_in_time, f"{took_s:.2f} s, still running: {left}"


class DownloadingHost(FakeHost):
    """A download that only its token stops."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()

    def fetch(self, settings: Settings, report: Callable[[str, float], None], cancel: CancelToken) -> None:
        self.begun.set()
        while True:
            report("whisper-base", 0.3)
            cancel.wait(0.01)
            cancel.raise_if_set()


def test_in_a_download(opened: Opener) -> None:
    before = set(threading.enumerate())
    host = DownloadingHost()
    one = opened(host)
    one.window._help("models")
    one.until(host.begun.is_set)
    one.until(lambda: "30" in one.window.presence.hint.text())
    closes_in_time(one, before)


def test_while_jobs_of_pages_run(opened: Opener) -> None:
    before = set(threading.enumerate())
    one = opened()
    begun = threading.Barrier(4)

    def work(cancel: CancelToken, report: Report) -> None:
        begun.wait(5)
        while not cancel.wait(0.01):
            report(0.5)
        cancel.raise_if_set()

    for number in range(3):
        one.window.jobs.run(f"job-{number}", work)
    begun.wait(5)
    closes_in_time(one, before)


def test_while_a_voice_speaks(opened: Opener, voice_dir: Path, tmp_path: Path) -> None:
    before = set(threading.enumerate())
    host = SpeakingHost(voice_dir, tmp_path)
    one = opened(host)
    one.window.presence.field.setText("Raconte.")
    one.window.presence.send.click()
    one.bot.waitUntil(lambda: host.sink.seconds > 0.1, timeout=20_000)
    assert host.ended == 0  # it is in the middle
    closes_in_time(one, before)
    assert isinstance(host.sink, WavSink)


def test_while_a_voice_is_measured(opened: Opener, voice_dir: Path, tmp_path: Path) -> None:
    before = set(threading.enumerate())
    one = opened(SpeakingHost(voice_dir, tmp_path))
    one.bot.wait(1300)  # it begins after a second without a turn
    closes_in_time(one, before)
