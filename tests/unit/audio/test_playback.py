"""The loudspeaker: cushion, flush, what was heard, and devices that vanish."""

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from kazeia_desktop.audio import playback as playback_module
from kazeia_desktop.audio.base import Heard
from kazeia_desktop.audio.playback import Playback
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.events import Event, Notice
from kazeia_desktop.frames import SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import AudioSettings
from tests.unit.audio.fake_portaudio import Clock, FakePortAudio

pytestmark = pytest.mark.unit

RATE_HZ = 24_000


class Rig:
    """A loudspeaker under test and what it tells."""

    def __init__(self, sound: FakePortAudio, clock: Clock, wanted: str = "") -> None:
        self.sound = sound
        self.clock = clock
        self.events: list[Event] = []
        self.playback = Playback(AudioSettings(output_device=wanted), self.events.append)
        self.cancel = CancelToken()

    @property
    def told(self) -> list[str]:
        return [e.template.format(**e.values) for e in self.events if isinstance(e, Notice)]

    def say(
        self, seconds: float, turn: int = 1, clause: int = 0, end: str = "", rate_hz: int = RATE_HZ, level: float = 0.5
    ) -> None:
        samples = np.full(round(seconds * rate_hz), level, np.float32)
        frame = SpeechFrame(turn, clause, samples, rate_hz, bool(end), end == "turn")
        self.playback.write(frame, self.cancel)

    def play(self, seconds: float) -> np.ndarray:
        """The device takes so much, in pieces of 10 ms; returns its first channel."""
        pieces = []
        for _ in range(round(seconds * 100)):
            stream = self.sound.stream
            pieces.append(stream.ask(stream.samplerate // 100)[:, 0])
            self.clock.sleep(0.01)
        return np.concatenate(pieces)


@pytest.fixture
def rig(sound: FakePortAudio, clock: Clock) -> Iterator[Rig]:
    sound.add("speaker", outputs=2)
    sound.add("headset", outputs=2, rate_hz=44_100)
    made = Rig(sound, clock)
    made.playback.start()
    yield made
    made.playback.stop()
    assert sound.open_streams == []


def test_no_device_is_held_before_and_after_something_is_said(rig: Rig) -> None:
    assert rig.sound.streams == []
    rig.say(0.5, end="turn")
    assert rig.sound.stream.active
    rig.play(0.5)
    assert not rig.playback.all_played(1)  # 50 ms are still in the device
    rig.clock.sleep(0.06)
    assert rig.playback.all_played(1)
    assert rig.playback.all_played(1)
    assert rig.sound.open_streams == []
    assert rig.playback.heard(1) == (Heard(0, 12_000, 12_000, True),)


def test_without_a_loudspeaker_start_says_so(sound: FakePortAudio, clock: Clock) -> None:
    with pytest.raises(AudioDeviceError, match="There is no loudspeaker"):
        Rig(sound, clock).playback.start()


def test_a_wanted_device_that_is_missing_is_replaced_and_told(sound: FakePortAudio, clock: Clock) -> None:
    sound.add("speaker", outputs=2)
    rig = Rig(sound, clock, "studio")
    rig.playback.start()
    assert rig.told == ["The loudspeaker studio is gone: speaker is used."]
    assert rig.playback.device_name == "speaker"


def test_it_starts_when_the_cushion_is_filled_or_the_clause_ends(rig: Rig) -> None:
    rig.say(0.06)
    assert not rig.sound.stream.active
    assert rig.playback.first_sample_time(1) is None
    rig.say(0.06)
    assert rig.sound.stream.active
    rig.play(0.02)
    assert rig.playback.first_sample_time(1) is not None
    rig.playback.flush()
    rig.say(0.01, turn=2, end="clause")
    assert rig.sound.stream.active


def test_the_cushion_grows_after_an_underrun(rig: Rig) -> None:
    rig.say(0.1)
    assert rig.play(0.2)[-1] == 0.0
    rig.say(0.15)  # more than the first cushion, less than twice
    assert rig.playback.underruns == 1
    assert not rig.play(0.05).any()
    rig.say(0.05)
    assert rig.play(0.2).all()
    assert [part.total_samples for part in rig.playback.heard(1)] == [7200]


def test_a_pause_between_clauses_is_no_underrun(rig: Rig) -> None:
    rig.say(0.1, end="clause")
    rig.play(0.3)
    rig.say(0.1, clause=1)
    assert rig.playback.underruns == 0
    assert rig.play(0.1).all()


def test_flush_drops_what_is_queued_and_what_the_device_holds(rig: Rig) -> None:
    rig.say(2.0, end="turn")
    rig.play(0.5)
    stream = rig.sound.stream
    rig.cancel.set()
    rig.playback.flush()
    assert stream.aborted
    assert rig.sound.open_streams == []
    (heard,) = rig.playback.heard(1)
    assert heard == Heard(0, pytest.approx(0.46 * RATE_HZ, abs=240), 48_000, True)  # type: ignore[arg-type]
    rig.say(1.0, clause=1)  # comes late, of a cancelled turn
    assert rig.sound.open_streams == []
    assert len(rig.playback.heard(1)) == 1
    rig.playback.flush()  # nothing to drop is harmless


def test_the_turn_after_a_flush_is_played_from_its_beginning(rig: Rig) -> None:
    rig.say(1.0, end="turn")
    rig.play(0.1)
    rig.playback.flush()
    rig.cancel = CancelToken()
    rig.say(0.3, turn=2, end="turn", level=0.25)
    assert np.allclose(rig.play(0.3), 0.25)
    rig.clock.sleep(0.06)
    assert rig.playback.all_played(2)
    assert rig.playback.heard(2)[0].complete
    assert rig.playback.heard(1)[0].played_samples < RATE_HZ // 5


def test_heard_is_told_clause_by_clause(rig: Rig) -> None:
    rig.say(0.2, end="clause")
    rig.say(0.3, clause=1)
    rig.play(0.3)
    first, second = rig.playback.heard(1)
    assert first == Heard(0, 4800, 4800, True)
    assert second == Heard(1, pytest.approx(0.06 * RATE_HZ, abs=240), 7200, False)  # type: ignore[arg-type]
    assert rig.playback.heard(99) == ()


def test_write_waits_for_room_until_the_turn_is_cancelled(rig: Rig) -> None:
    begun = threading.Event()

    def speak() -> None:
        begun.set()
        rig.say(10.0)

    writer = threading.Thread(target=speak)
    writer.start()
    begun.wait()
    writer.join(0.1)
    assert writer.is_alive()
    assert sum(part.total_samples for part in rig.playback.heard(1)) == 4 * RATE_HZ
    rig.play(1.0)
    writer.join(0.1)
    assert writer.is_alive()
    assert sum(part.total_samples for part in rig.playback.heard(1)) == 5 * RATE_HZ
    rig.cancel.set()
    writer.join(2.0)
    assert not writer.is_alive()


@pytest.mark.parametrize("how", ["flush", "stop"])
def test_a_waiting_write_returns_on(how: str, rig: Rig) -> None:
    writer = threading.Thread(target=rig.say, args=(10.0,))
    writer.start()
    while not rig.playback.heard(1):
        time.sleep(0.001)
    getattr(rig.playback, how)()
    writer.join(2.0)
    assert not writer.is_alive()
    assert rig.sound.open_streams == []


def test_wait_played_returns_on_cancel_and_stop(rig: Rig) -> None:
    rig.say(1.0, end="turn")
    waiter = threading.Thread(target=rig.playback.wait_played, args=(1, rig.cancel))
    waiter.start()
    rig.cancel.set()
    waiter.join(2.0)
    assert not waiter.is_alive()
    waiter = threading.Thread(target=rig.playback.wait_played, args=(1, CancelToken()))
    waiter.start()
    rig.playback.stop()
    waiter.join(2.0)
    assert not waiter.is_alive()


def test_a_device_that_refuses_the_voices_rate_gets_its_own(rig: Rig) -> None:
    rig.sound.accepted_hz["speaker"] = {48_000}
    rig.say(0.5, end="turn")
    played = rig.play(0.5)
    assert len(played) == 24_000
    assert np.abs(played[1000:-1000] - 0.5).max() < 0.01
    rig.clock.sleep(0.06)
    assert rig.playback.all_played(1)
    assert rig.playback.heard(1) == (Heard(0, 12_000, 12_000, True),)


def test_another_voice_with_another_rate_follows(rig: Rig) -> None:
    rig.say(0.2, end="turn")
    rig.play(0.2)
    rig.clock.sleep(0.06)
    rig.say(0.2, turn=2, end="turn", rate_hz=22_050)
    assert rig.sound.stream.samplerate == 22_050
    rig.play(0.21)
    rig.clock.sleep(0.06)
    assert rig.playback.all_played(2)
    assert rig.playback.heard(1) == (Heard(0, 4800, 4800, True),)
    assert rig.playback.heard(2) == (Heard(0, 4410, 4410, True),)


def test_what_was_heard_before_the_rate_changed_within_a_turn_stays_known(rig: Rig) -> None:
    rig.say(0.2, end="clause")
    rig.play(0.2)
    rig.clock.sleep(0.06)
    rig.say(0.2, clause=1, end="turn", rate_hz=22_050)
    rig.play(0.1)
    first, second = rig.playback.heard(1)
    assert first == Heard(0, 4800, 4800, True)
    assert second.clause_index == 1 and 0 < second.played_samples < 4410 == second.total_samples
    rig.playback.flush()
    assert [part.clause_index for part in rig.playback.heard(1)] == [0, 1]


def test_what_is_no_number_is_not_played(rig: Rig) -> None:
    samples = np.array([np.nan, np.inf, -np.inf, 3.0, 0.5] * 1000, np.float32)
    rig.playback.write(SpeechFrame(1, 0, samples, RATE_HZ, True, True), rig.cancel)
    played = rig.play(0.2)
    assert played[:5].tolist() == [0, 1, -1, 1, 0.5]


def test_the_volume_changes_what_is_already_queued(rig: Rig) -> None:
    rig.say(1.0, end="turn")
    assert np.allclose(rig.play(0.1), 0.5)
    rig.playback.apply(AudioSettings(volume=0.5))
    assert np.allclose(rig.play(0.1), 0.25)
    assert rig.playback.rms == pytest.approx(0.25, abs=0.01)


def test_an_empty_turn_is_played_at_once(rig: Rig) -> None:
    rig.say(0.0, end="turn")
    assert rig.playback.all_played(1)
    assert not rig.playback.all_played(2)
    assert rig.sound.streams == []
    assert rig.playback.first_sample_time(1) is None
    assert rig.playback.rms == 0.0


def test_a_device_that_vanishes_goes_on_with_the_default_one(rig: Rig) -> None:
    rig.playback.apply(AudioSettings(output_device="headset"))
    rig.say(0.5, level=0.3)
    assert rig.sound.stream.name == "headset"
    rig.play(0.2)
    rig.sound.remove("headset")
    rig.say(0.1, end="turn", level=0.3)
    assert rig.told == ["The loudspeaker headset is gone: speaker is used."]
    assert np.allclose(rig.play(0.4), 0.3)
    rig.clock.sleep(0.06)
    assert rig.playback.all_played(1)
    assert rig.playback.heard(1) == (Heard(0, 14_400, 14_400, True),)


def test_the_new_device_may_have_another_rate(rig: Rig) -> None:
    rig.playback.apply(AudioSettings(output_device="headset"))
    rig.sound.accepted_hz = {"speaker": {48_000}}
    rig.say(0.5, level=0.3)
    rig.play(0.2)
    rig.sound.remove("headset")
    rig.say(0.1, end="turn", level=0.3)
    assert rig.sound.stream.samplerate == 48_000
    played = rig.play(0.4)
    assert np.count_nonzero(np.abs(played - 0.3) > 0.02) < 20  # at the seams
    rig.clock.sleep(0.06)
    assert rig.playback.all_played(1)
    assert rig.playback.heard(1)[0].total_samples == pytest.approx(14_400, abs=2)


def test_a_device_that_asks_for_nothing_is_left(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.say(0.5, end="turn")
    rig.play(0.1)
    stuck = rig.sound.stream
    now_s = time.monotonic()
    monkeypatch.setattr(playback_module.time, "monotonic", lambda: now_s + 10.0)
    assert not rig.playback.all_played(1)
    assert stuck.closed
    assert rig.sound.stream.active
    assert rig.told == []  # it is the same one, opened again


def test_the_last_device_vanishes(rig: Rig) -> None:
    rig.sound.devices.pop()
    rig.say(1.0, end="clause")
    rig.play(0.5)
    rig.sound.remove("speaker")
    with pytest.raises(AudioDeviceError, match="There is no loudspeaker"):
        rig.say(0.1, clause=1)
    (heard,) = rig.playback.heard(1)
    assert 0.4 * RATE_HZ < heard.played_samples < 0.55 * RATE_HZ


def test_the_last_device_vanishes_after_the_last_frame(rig: Rig) -> None:
    rig.sound.devices.pop()
    rig.say(1.0, end="turn")
    rig.play(0.5)
    rig.sound.remove("speaker")
    assert rig.playback.all_played(1)  # nothing more will be
    assert rig.told == ["There is no loudspeaker: plug one in. Replies are shown as text."]
    assert 0.4 * RATE_HZ < rig.playback.heard(1)[0].played_samples < 0.55 * RATE_HZ


def test_a_device_that_does_not_start_is_an_error(rig: Rig) -> None:
    rig.sound.refusing_to_start = {"speaker"}
    with pytest.raises(AudioDeviceError, match="speaker cannot be opened"):
        rig.say(0.5)
    assert rig.sound.open_streams == []
    rig.sound.refusing_to_start = set()
    rig.say(0.5, turn=2)
    assert rig.sound.stream.active


def test_a_device_that_ran_empty_gets_a_longer_buffer_next_time(rig: Rig) -> None:
    rig.say(1.0, end="turn")
    rig.play(0.1)
    for _ in range(3):
        rig.sound.stream.ask(240, late=True)
    before_s = rig.playback._latency_s
    rig.playback.flush()
    assert rig.playback._latency_s == 2 * before_s


def test_after_stop_nothing_is_played(rig: Rig) -> None:
    rig.playback.stop()
    rig.playback.stop()
    rig.say(1.0)
    assert rig.sound.streams == []
