"""One sound at a time, and the microphone given back when its job has really ended."""

import threading

import pytest

from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.gui.jobs import Report
from kazeia_desktop.gui.quiet_microphone import QuietMicrophone, Use
from kazeia_desktop.gui.sound_job import SoundJob
from kazeia_desktop.runtime.cancel import CancelToken
from tests.gui.conftest import Opened, Opener

pytestmark = pytest.mark.gui


class Device:
    """Opened by one at a time; the one that has it lets it go when the test says so."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.go = threading.Event()
        self.open = 0
        self.most = 0

    def use(self, name: str, fails: bool = False):  # type: ignore[no-untyped-def]  # noqa: ANN201
        def work(cancel: CancelToken, report: Report) -> str:
            self.open += 1
            self.most = max(self.most, self.open)
            report(name)
            cancel.wait(5)
            self.go.wait(5)
            self.open -= 1
            if fails:
                raise AudioDeviceError("There is no loudspeaker: plug one in.")
            cancel.raise_if_set()
            return name

        return work


def sound(one: Opened, device: Device, waits: bool) -> SoundJob:
    return SoundJob(one.window._context, "sound", Use.RECORD, lambda: device.told.append("ended"), waits)


def quiet(one: Opened) -> QuietMicrophone:
    return QuietMicrophone.of(one.window._context)


def test_what_waits_begins_when_the_one_before_has_let_the_device_go(opened: Opener) -> None:
    one, device = opened(), Device()
    job = sound(one, device, waits=True)
    job.start(device.use("first", fails=True), failed=lambda _: device.told.append("first failed"))
    one.until(lambda: device.open == 1)
    job.start(device.use("lost"))
    job.start(device.use("second"), progressed=device.told.append)
    one.settle()
    assert job.running and device.open == 1 and device.told == []
    device.go.set()
    one.until(lambda: device.told == ["second"])  # nobody hears of the one that was replaced
    assert device.most == 1 and quiet(one).use is Use.RECORD
    job.stop()
    assert job.running
    one.until(lambda: device.told == ["second", "ended"])
    assert quiet(one).use is None and not job.running


def test_what_is_stopped_counts_no_more_but_holds_the_microphone_until_it_has_ended(opened: Opener) -> None:
    one, device = opened(), Device()
    job = sound(one, device, waits=False)
    job.start(device.use("first"), done=device.told.append, progressed=device.told.append)
    one.until(lambda: device.told == ["first"])
    job.stop()
    assert device.told == ["first", "ended"] and not job.running and quiet(one).use is Use.RECORD
    job.stop()
    device.go.set()
    one.until(lambda: quiet(one).use is None)
    assert device.told == ["first", "ended"]
    one.until(lambda: one.engine.called("set_muted") == [("set_muted", True), ("set_muted", False)])


def test_the_last_use_is_told_and_each_ends_once(opened: Opener) -> None:
    one = opened()
    told: list[Use | None] = []
    quiet(one).changed.connect(told.append)
    page = quiet(one).begin(Use.PAUSE)
    test = quiet(one).begin(Use.TEST)
    page()
    page()
    test()
    assert told == [Use.PAUSE, Use.TEST, Use.TEST, None]
