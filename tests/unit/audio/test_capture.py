"""The microphone: frames, formats, and the watchdog."""

from collections.abc import Iterator

import numpy as np
import pytest

from kazeia_desktop.audio.capture import Capture, _Usual
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.events import Event, Notice
from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, AudioFrame
from kazeia_desktop.settings.schema import AudioSettings
from tests.unit.audio.fake_portaudio import Clock, FakePortAudio

pytestmark = pytest.mark.unit

SOUND = np.full(512, 0.25, np.float32)


class Rig:
    """A microphone under test and what it tells."""

    def __init__(self, sound: FakePortAudio, clock: Clock, wanted: str = "") -> None:
        self.sound = sound
        self.clock = clock
        self.events: list[Event] = []
        self.capture = Capture(AudioSettings(input_device=wanted), self.events.append, clock)

    @property
    def told(self) -> list[str]:
        return [e.template.format(**e.values) for e in self.events if isinstance(e, Notice)]

    def live(self, seconds: float, level: float | None = 0.25, name: str = "") -> list[AudioFrame]:
        """Time passes; open devices (or the named one) bring sound of a level, or nothing at all."""
        frames = []
        for _ in range(round(seconds / 0.032)):
            self.clock.sleep(0.032)
            for stream in self.sound.open_streams:
                if level is not None and stream.active and (not name or stream.name == name):
                    stream.bring(np.full(round(0.032 * stream.samplerate), level, np.float32))
            frame = self.capture.read(0.0)
            frames += [] if frame is None else [frame]
        return frames


@pytest.fixture
def rig(sound: FakePortAudio, clock: Clock) -> Iterator[Rig]:
    sound.add("built-in", inputs=2)
    sound.add("headset", inputs=1)
    made = Rig(sound, clock)
    yield made
    made.capture.stop()
    assert sound.open_streams == []


def wanting(rig: Rig, name: str) -> None:
    rig.capture.apply(AudioSettings(input_device=name))
    rig.capture._changed = False


def test_frames_are_512_samples_stamped_with_their_last_ones_arrival(rig: Rig) -> None:
    rig.capture.start()
    rig.sound.stream.bring(np.arange(1200, dtype=np.float32) / 2000)
    first, second = rig.capture.read(0.0), rig.capture.read(0.0)
    assert first is not None
    assert second is not None
    assert rig.capture.read(0.0) is None  # 176 samples wait
    assert np.array_equal(np.concatenate([first.samples, second.samples]), np.arange(1024, dtype=np.float32) / 2000)
    assert second.time_s == pytest.approx(rig.clock() - 176 / 16_000)
    assert second.time_s - first.time_s == pytest.approx(0.032)
    assert rig.capture.device_name == "built-in"


def test_a_device_with_another_rate_and_two_channels_is_mixed_and_resampled(rig: Rig) -> None:
    rig.sound.accepted_hz["built-in"] = {48_000}
    rig.capture.start()
    rig.sound.stream.channels = 2
    t = np.arange(48_000) / 48_000
    tone = np.sin(2 * np.pi * 440 * t).astype(np.float32)
    rig.sound.stream.bring(np.stack([tone, np.zeros_like(tone)], axis=1))
    frames = []
    while (frame := rig.capture.read(0.0)) is not None:
        frames.append(frame.samples)
    heard = np.concatenate(frames)
    assert len(heard) > 15_000
    assert np.abs(heard[1000:-1000]).max() == pytest.approx(0.5, abs=0.01)
    assert np.argmax(np.abs(np.fft.rfft(heard[:8000]))) == 220  # 440 Hz in half a second


def test_what_is_no_number_becomes_zero_and_is_counted(rig: Rig) -> None:
    rig.capture.start()
    bad = SOUND.copy()
    bad[[3, 5, 7]] = np.nan, np.inf, -np.inf
    bad[9] = 7.0
    rig.sound.stream.bring(bad)
    frame = rig.capture.read(0.0)
    assert frame is not None
    assert frame.samples[[3, 5, 7, 9, 11]].tolist() == [0, 0, 0, 1, 0.25]
    assert rig.capture.bad_samples == 3


def test_when_nobody_reads_the_oldest_is_lost_and_counted(rig: Rig) -> None:
    rig.capture.start()
    for second in range(6):
        rig.sound.stream.bring(np.full(16_000, second / 10, np.float32))
    frame = rig.capture.read(0.0)
    assert frame is not None
    assert frame.samples[0] == pytest.approx(0.2)
    assert rig.capture.dropped_samples == 2 * 16_000


def test_after_stop_reading_ends(rig: Rig) -> None:
    rig.capture.start()
    rig.capture.stop()
    rig.capture.stop()
    with pytest.raises(EOFError):
        rig.capture.read(10.0)
    assert rig.capture.device_name == ""


def test_without_a_microphone_start_says_so(sound: FakePortAudio, clock: Clock) -> None:
    with pytest.raises(AudioDeviceError, match="There is no microphone"):
        Rig(sound, clock).capture.start()


def test_a_wanted_device_that_is_missing_at_the_start_is_replaced(rig: Rig) -> None:
    wanting(rig, "studio")
    rig.capture.start()
    assert rig.told == ["The microphone studio is not there: built-in is used."]
    assert len(rig.live(0.32)) == 10


def test_a_wanted_device_that_gives_nothing_is_left_after_a_second(rig: Rig) -> None:
    wanting(rig, "headset")
    rig.capture.start()
    rig.live(1.0)
    assert rig.told == []
    rig.live(0.9, None)
    assert rig.told == []
    rig.live(0.2, None)
    assert rig.told == ["The microphone headset gives no sound: built-in is used."]
    assert rig.capture.device_name == "built-in"


def test_a_device_that_wakes_slowly_is_given_time(rig: Rig) -> None:
    wanting(rig, "headset")
    rig.capture.start()
    rig.live(2.5, None)
    assert rig.told == []
    assert rig.live(0.32)
    rig.live(1.1, None)
    assert len(rig.told) == 1


def test_exact_zeros_are_left_after_two_seconds_and_the_device_taken_again_when_it_sounds(rig: Rig) -> None:
    wanting(rig, "headset")
    rig.capture.start()
    rig.live(1.9, 0.0)
    assert rig.told == []
    rig.live(0.3, 0.0)
    assert rig.told == ["The microphone headset gives no sound: built-in is used."]
    # It stays silent: it is listened to beside the other, which goes on, and nothing is told again and again.
    frames = rig.live(30.0, 0.25, "built-in")
    assert len(frames) >= 930
    assert len(rig.told) == 1
    rig.live(60.0, 0.25)  # now both give sound
    assert rig.told[1:] == ["The microphone headset is back."]
    assert rig.capture.device_name == "headset"
    assert len(rig.sound.open_streams) == 1


def test_zeros_of_the_default_device_are_kept(rig: Rig) -> None:
    rig.capture.start()
    stream = rig.sound.stream
    assert len(rig.live(10.0, 0.0)) == 312
    assert rig.sound.stream is stream
    wanting(rig, "built-in")  # the same, by its name
    assert len(rig.live(10.0, 0.0)) >= 311
    assert rig.sound.stream is stream
    assert rig.told == []


def test_a_default_device_that_dies_is_opened_again_and_told_once(rig: Rig) -> None:
    rig.capture.start()
    rig.live(1.0)
    first = rig.sound.stream
    rig.live(1.1, None)
    assert rig.sound.stream is not first
    assert rig.told == []  # the sound server may only have moved us
    rig.live(60.0, None)
    assert rig.told == ["The microphone built-in gives no sound: check that it is plugged in."]
    assert rig.live(1.0)


def test_the_only_device_is_pulled_out_and_comes_back(rig: Rig) -> None:
    rig.sound.devices.pop()
    rig.capture.start()
    rig.live(1.0)
    rig.sound.remove("built-in")
    rig.live(2.0)
    assert rig.told == ["There is no microphone: plug one in. Typing works without."]
    assert rig.sound.open_streams == []
    assert rig.live(20.0) == []
    rig.sound.plugged = []
    rig.sound._initialize()
    rig.sound.add("new", inputs=1)
    rig.sound.default["input"] = 0
    assert len(rig.live(60.0)) > 100
    assert rig.told[1:] == ["The microphone new is back."]


def test_a_wanted_device_plugged_in_later_is_found_in_a_pause(rig: Rig) -> None:
    wanting(rig, "usb")
    rig.capture.start()
    rig.sound.plugged = [*rig.sound.devices, {**rig.sound.devices[1], "name": "usb", "index": 2}]
    restarts = rig.sound.n_restarts
    rig.live(30.0, 0.25)  # somebody speaks all the time
    assert rig.sound.n_restarts == restarts
    rig.live(30.0, 0.001)
    assert rig.capture.device_name == "usb"
    assert rig.told[-1] == "The microphone usb is back."


def test_another_device_is_taken_over_by_the_next_read(rig: Rig) -> None:
    rig.capture.start()
    rig.live(0.32)
    rig.capture.apply(AudioSettings(input_device="headset", volume=0.3))
    assert rig.live(0.32)
    assert rig.capture.device_name == "headset"
    assert len(rig.sound.open_streams) == 1
    rig.capture.apply(AudioSettings(input_device="headset", volume=0.9))
    rig.live(0.32)
    assert len(rig.sound.streams) == 2  # the volume opens nothing


def test_a_stop_while_a_device_is_being_opened_leaves_nothing_open(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.capture.start()
    rig.live(0.32)
    opening = rig.sound.InputStream

    def stop_meanwhile(**words: object) -> object:
        monkeypatch.setattr(rig.sound, "InputStream", opening)
        rig.capture.stop()
        return opening(**words)  # type: ignore[arg-type]

    monkeypatch.setattr(rig.sound, "InputStream", stop_meanwhile)
    rig.capture.apply(AudioSettings(input_device="headset"))
    rig.capture.read(0.0)
    assert rig.sound.open_streams == []
    with pytest.raises(EOFError):
        rig.capture.read(0.0)


def test_a_frame_is_never_longer_than_what_silero_takes(rig: Rig) -> None:
    rig.capture.start()
    assert {len(frame.samples) for frame in rig.live(1.0)} == {CAPTURE_FRAME_SAMPLES}


def test_what_is_always_heard_is_usual_and_a_voice_is_not() -> None:
    usual = _Usual()
    rng = np.random.default_rng(0)

    def fan(n: int) -> list[float]:
        return [float(np.sum(rng.normal(0, 0.018, 512) ** 2)) for _ in range(n)]

    assert all(usual.is_louder(energy) for energy in fan(64))  # not known yet
    assert not any(usual.is_louder(energy) for energy in fan(1000))
    assert usual.is_louder(2.0 * 512 * 0.018**2)  # a voice 0 dB above it
    assert not any(usual.is_louder(energy) for energy in fan(100))
    later = [usual.is_louder(energy * 10) for energy in fan(300)]  # a louder fan
    assert later[0] and not any(later[200:])
    assert not usual.is_louder(0.0)
