"""Microphone and loudspeaker on a real sound server."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.audio import devices
from kazeia_desktop.audio.capture import Capture
from kazeia_desktop.audio.playback import Playback
from kazeia_desktop.audio.wav import read_wav, write_wav
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.events import Event, Notice
from kazeia_desktop.frames import AudioFrame, FloatArray, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import AudioSettings
from tests.device.virtual_audio import VirtualAudio, virtual_audio

pytestmark = pytest.mark.device

RATE_HZ = 24_000


def noise(seconds: float) -> FloatArray:
    """Low-passed noise: nothing in it repeats, so that a gap or a repetition shows in the correlation."""
    white = np.random.default_rng(3).normal(0, 0.1, int(seconds * RATE_HZ)).astype(np.float32)
    smooth: FloatArray = np.convolve(white, np.ones(8, np.float32) / 4, "same").astype(np.float32)
    return smooth


def test_the_microphone_hears_what_is_played_into_it(here: VirtualAudio, tmp_path: Path) -> None:
    write_wav(tmp_path / "tone.wav", np.sin(np.arange(48_000) * 0.05).astype(np.float32) * 0.5, 48_000)
    events: list[Event] = []
    capture = Capture(AudioSettings(), events.append)
    capture.start()
    try:
        player = here.play(tmp_path / "tone.wav")
        loud = 0
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and loud < 25:
            frame = capture.read(1.0)
            if frame is not None:
                assert frame.samples.shape == (512,) and frame.samples.dtype == np.float32
                loud += float(np.abs(frame.samples).max()) > 0.3
        player.wait(10)
    finally:
        capture.stop()
    assert loud >= 25
    assert events == []
    with pytest.raises(EOFError):
        capture.read(0.1)


def test_what_is_said_is_what_is_heard_without_a_gap(here: VirtualAudio, tmp_path: Path) -> None:
    sound = noise(2.0)
    playback = Playback(AudioSettings(), lambda event: None)
    playback.start()
    cancel = CancelToken()
    with here.record(tmp_path / "heard.wav"):
        for at in range(0, len(sound), 3000):
            last = at + 3000 >= len(sound)
            playback.write(SpeechFrame(1, 0, sound[at : at + 3000], RATE_HZ, last, last), cancel)
        playback.wait_played(1, cancel)
        time.sleep(0.3)  # the recorder's own buffer
    playback.stop()
    (heard,) = playback.heard(1)
    assert (heard.played_samples, heard.total_samples, heard.complete) == (len(sound), len(sound), True)
    assert playback.first_sample_time(1) is not None
    recorded, rate_hz = read_wav(tmp_path / "heard.wav")
    halved = recorded[: len(recorded) // 2 * 2].reshape(-1, 2).mean(axis=1)  # 48 to 24 kHz, good enough for a match
    assert rate_hz == 2 * RATE_HZ
    spectrum = np.fft.rfft(halved, 1 << 18) * np.conj(np.fft.rfft(sound, 1 << 18))
    lag = int(np.argmax(np.fft.irfft(spectrum)))
    piece = halved[lag : lag + len(sound)]
    assert np.corrcoef(piece, sound[: len(piece)])[0, 1] > 0.95


def test_flush_silences_at_once_and_nothing_comes_after(here: VirtualAudio, tmp_path: Path) -> None:
    playback = Playback(AudioSettings(), lambda event: None)
    playback.start()
    cancel = CancelToken()
    with here.record(tmp_path / "heard.wav"):
        playback.write(SpeechFrame(1, 0, noise(3.0), RATE_HZ, True, True), cancel)
        while playback.first_sample_time(1) is None:
            time.sleep(0.001)
        time.sleep(0.5)
        began = time.monotonic()
        cancel.set()
        playback.flush()
        took_s = time.monotonic() - began
        playback.write(SpeechFrame(1, 1, noise(1.0), RATE_HZ, True, True), cancel)
        time.sleep(0.6)
    playback.stop()
    assert took_s < 0.15
    recorded, rate_hz = read_wav(tmp_path / "heard.wav")
    loud = np.flatnonzero(np.abs(recorded) > 0.01) / rate_hz
    assert 0.3 < loud[-1] - loud[0] < 0.5 + 0.45  # what was queued (3 s) is gone; 150 ms times 3
    (heard,) = playback.heard(1)
    assert 0.2 * RATE_HZ < heard.played_samples < 0.8 * RATE_HZ


def test_a_turn_after_a_flush_is_heard_whole(here: VirtualAudio) -> None:
    playback = Playback(AudioSettings(), lambda event: None)
    playback.start()
    first, second = CancelToken(), CancelToken()
    playback.write(SpeechFrame(1, 0, noise(1.0), RATE_HZ, True, True), first)
    first.set()
    playback.flush()
    playback.write(SpeechFrame(2, 0, noise(0.5), RATE_HZ, True, True), second)
    playback.wait_played(2, second)
    assert playback.all_played(2)
    assert playback.heard(2)[0].played_samples == RATE_HZ // 2
    playback.stop()


def test_volume_scales_and_clips(here: VirtualAudio, tmp_path: Path) -> None:
    playback = Playback(AudioSettings(volume=0.5), lambda event: None)
    playback.start()
    cancel = CancelToken()
    square = np.full(RATE_HZ // 2, 0.8, np.float32)
    with here.record(tmp_path / "heard.wav"):
        playback.write(SpeechFrame(1, 0, square, RATE_HZ, True, True), cancel)
        playback.wait_played(1, cancel)
        time.sleep(0.3)
    playback.stop()
    assert float(np.abs(read_wav(tmp_path / "heard.wav")[0]).max()) == pytest.approx(0.4, abs=0.05)


def test_a_microphone_that_is_not_there_gives_the_default_one_and_says_so(here: VirtualAudio) -> None:
    events: list[Event] = []
    capture = Capture(AudioSettings(input_device="no such microphone"), events.append)
    capture.start()
    try:
        deadline = time.monotonic() + 3
        frame = None
        while frame is None and time.monotonic() < deadline:
            frame = capture.read(0.5)
        assert frame is not None
        assert len(events) == 1
    finally:
        capture.stop()


def test_an_unknown_device_is_told_with_those_there_are(here: VirtualAudio) -> None:
    with pytest.raises(AudioDeviceError, match=r"'x-none'.*default"):
        devices.find("output", "x-none")


def test_a_null_sink_is_virtual_so_duplex_is_full(here: VirtualAudio) -> None:
    devices._duplex = None
    assert devices.effective_duplex(AudioSettings()) == "full"
    assert devices.effective_duplex(AudioSettings(duplex="half")) == "half"


def frames_until(capture: Capture, enough: Callable[[AudioFrame | None], bool], timeout_s: float) -> None:
    """Read until `enough` says so."""
    deadline = time.monotonic() + timeout_s
    while not enough(capture.read(0.1)):
        assert time.monotonic() < deadline, "nothing came of it"


def test_a_microphone_that_falls_silent_is_left_and_taken_again(here: VirtualAudio, tmp_path: Path) -> None:
    write_wav(tmp_path / "tone.wav", np.sin(np.arange(48_000 * 20) * 0.05).astype(np.float32) * 0.5, 48_000)
    sink = here.load("module-null-sink", "sink_name=plugged_sink", "rate=48000")
    source = here.load("module-remap-source", "master=plugged_sink.monitor", "source_name=plugged_mic")
    events: list[Event] = []
    capture = Capture(AudioSettings(input_device="plugged_mic"), events.append)
    capture.start()
    try:
        assert capture.device_name == "plugged_mic"
        frames_until(capture, lambda frame: capture.device_name == "default", 10.0)  # nobody speaks: exact zeros
        (left,) = events
        assert isinstance(left, Notice)
        assert left.values == {"lost": "plugged_mic", "used": "default"}
        player = here.play(tmp_path / "tone.wav", "plugged_sink")
        frames_until(capture, lambda frame: capture.device_name == "plugged_mic", 20.0)
        frames_until(capture, lambda frame: frame is not None and float(np.abs(frame.samples).max()) > 0.3, 5.0)
        player.terminate()
        player.wait(5)
        assert len(events) == 2
    finally:
        capture.stop()
        here.unload(source)
        here.unload(sink)


def test_a_microphone_pulled_out_while_it_listens_is_replaced(here: VirtualAudio, tmp_path: Path) -> None:
    write_wav(tmp_path / "tone.wav", np.sin(np.arange(48_000 * 8) * 0.05).astype(np.float32) * 0.5, 48_000)
    sink = here.load("module-null-sink", "sink_name=plugged_sink", "rate=48000")
    source = here.load("module-remap-source", "master=plugged_sink.monitor", "source_name=plugged_mic")
    players = [here.play(tmp_path / "tone.wav", "plugged_sink"), here.play(tmp_path / "tone.wav")]
    events: list[Event] = []
    capture = Capture(AudioSettings(input_device="plugged_mic"), events.append)
    capture.start()

    def is_loud(frame: AudioFrame | None) -> bool:
        return frame is not None and float(np.abs(frame.samples).max()) > 0.3

    try:
        frames_until(capture, is_loud, 5.0)
        here.unload(source)
        pulled_s = time.monotonic()
        # Either the sound server moves the stream to its default source, or Kazeia goes there after a second.
        frames_until(capture, lambda frame: time.monotonic() > pulled_s + 0.5 and is_loud(frame), 5.0)
    finally:
        capture.stop()
        for player in players:
            player.terminate()
            player.wait(5)
        here.unload(sink)


def test_a_loudspeaker_pulled_out_while_it_speaks_is_replaced(here: VirtualAudio, tmp_path: Path) -> None:
    sink = here.load("module-null-sink", "sink_name=plugged_speaker", "rate=48000")
    playback = Playback(AudioSettings(output_device="plugged_speaker"), lambda event: None)
    playback.start()
    cancel = CancelToken()
    with here.record(tmp_path / "heard.wav"):
        playback.write(SpeechFrame(1, 0, noise(3.5), RATE_HZ, True, True), cancel)
        while playback.first_sample_time(1) is None:
            time.sleep(0.001)
        here.unload(sink)
        playback.wait_played(1, cancel)
        time.sleep(0.3)
    assert playback.all_played(1)
    playback.stop()
    assert playback.heard(1)[0].complete
    recorded, rate_hz = read_wav(tmp_path / "heard.wav")
    assert np.count_nonzero(np.abs(recorded) > 0.01) / rate_hz > 0.3  # the rest came out of the default one


DYING = """
import sys, time
import numpy as np
from kazeia_desktop.audio.capture import Capture
from kazeia_desktop.audio.playback import Playback
from kazeia_desktop.errors import AudioDeviceError
from kazeia_desktop.frames import SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import AudioSettings

events, cancel = [], CancelToken()
capture, playback = Capture(AudioSettings(), events.append), Playback(AudioSettings(), events.append)
capture.start()
playback.start()
sound = np.full(72_000, 0.1, np.float32)
playback.write(SpeechFrame(1, 0, sound, 24_000, True, True), cancel)
print("running", flush=True)
sys.stdin.readline()
began = time.monotonic()
playback.wait_played(1, cancel)
while not any("microphone" in getattr(event, "template", "") for event in events) and time.monotonic() < began + 20:
    capture.read(0.2)
try:
    playback.write(SpeechFrame(2, 0, sound, 24_000, True, True), cancel)
except AudioDeviceError as error:
    print("told", error, flush=True)
capture.stop()
playback.stop()
print("ended", flush=True)
"""


def test_a_sound_server_that_dies_is_an_error_and_not_a_hang() -> None:
    """In a process of its own: PortAudio may never recover from it."""
    with virtual_audio() as server:
        program = subprocess.Popen(
            [sys.executable, "-c", DYING],
            env=dict(server.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert program.stdin is not None and program.stdout is not None
        assert program.stdout.readline() == "running\n"
        server.stop()
        said, _ = program.communicate("go\n", timeout=90)
    assert [line.split(" ")[0] for line in said.splitlines()] == ["told", "ended"]
    assert program.returncode == 0
