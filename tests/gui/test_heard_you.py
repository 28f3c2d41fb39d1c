"""From the first sample of speech at the microphone to "Hearing you" on the screen: at most 150 ms."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QObject

from kazeia_desktop.audio.resampler import resample
from kazeia_desktop.audio.wav import read_wav
from kazeia_desktop.events import Event, State
from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, CAPTURE_RATE_HZ, AudioFrame, FloatArray
from kazeia_desktop.pipeline.conversation import Conversation
from kazeia_desktop.pipeline.parts import Makers, Parts
from kazeia_desktop.settings.schema import AudioSettings, Settings
from kazeia_desktop.vad.endpointing import SpeechDetector
from kazeia_desktop.vad.silero import SileroScorer
from kazeia_desktop.vad.webrtc import make_gate
from tests.fakes.fake_engine import FakeHost
from tests.fakes.stages import FakeRecognizer, FakeSession, FakeSynthesizer
from tests.gui.conftest import Opener
from tests.realmodels import require_model

pytestmark = pytest.mark.gui

CLIPS = Path("/usr/share/asterisk/sounds/fr_CA_f_June")
NAMES = (
    "activated",
    "conf-getpin",
    "demo-nogo",
    "vm-sorry",
    "queue-callswaiting",
    "vm-savefolder",
    "transfer",
    "hello",
)
LOUD = 0.02
LIMIT_MS = 150.0


def onset(sound: FloatArray) -> int:
    """The sample with which 30 ms begin that are loud throughout: a breath or a click before is no speech."""
    pieces = sound[: len(sound) // 160 * 160].reshape(-1, 160)
    loud = np.sqrt(np.mean(np.square(pieces), axis=1)) > LOUD
    return 160 * int(np.argmax(loud[:-2] & loud[1:-1] & loud[2:]))


class LiveSource:
    """A microphone that hears the clips at the speed of life, with a quiet room around each."""

    def __init__(self, clips: Sequence[FloatArray]) -> None:
        room = np.random.default_rng(0).normal(0, 1e-4, CAPTURE_RATE_HZ).astype(np.float32)
        parts: list[FloatArray] = []
        self.onsets: list[int] = []  # sample of the first sound of each clip
        at = 0
        for clip in clips:
            self.onsets.append(at + len(room) + onset(clip))
            parts += [room, clip]
            at += len(room) + len(clip)
        self._sound = np.concatenate([*parts, room])
        self._at = 0
        self._stopped = threading.Event()
        self.began_s = 0.0

    def start(self) -> None: ...

    def apply(self, settings: AudioSettings) -> None: ...

    def read(self, timeout_s: float) -> AudioFrame | None:
        self.began_s = self.began_s or time.monotonic()
        end = self._at + CAPTURE_FRAME_SAMPLES
        due_s = self.began_s + end / CAPTURE_RATE_HZ
        if self._stopped.wait(max(0.0, due_s - time.monotonic())) or end > len(self._sound):
            raise EOFError
        frame = AudioFrame(self._sound[self._at : end], due_s)
        self._at = end
        return frame

    def stop(self) -> None:
        self._stopped.set()


class ListeningHost(FakeHost):
    """A conversation that listens for real and answers nothing worth hearing."""

    def __init__(self, source: LiveSource) -> None:
        super().__init__()
        self.source = source

    def build(self, settings: Settings, emit: Callable[[Event], None]) -> Conversation:  # type: ignore[override]
        recognizer, session, voice = FakeRecognizer([""] * 50), FakeSession(""), FakeSynthesizer()
        makers = Makers(lambda s: recognizer, lambda s: session, lambda s: voice)
        scorer = SileroScorer(require_model("silero-vad") / "silero_vad.onnx")
        detector = SpeechDetector(make_gate(), scorer, settings.vad)
        parts = Parts(self.source, detector, recognizer, session, None, None, lambda audio: False, {}, makers)
        made = Conversation(parts, settings, emit)
        self.engines.append(made)  # type: ignore[arg-type]
        return made


class Painted(QObject):
    """When the ring was first painted in the state of hearing, each time anew."""

    def __init__(self, state: Callable[[], State]) -> None:
        super().__init__()
        self._state = state
        self._before = State.LOADING
        self.times_s: list[float] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            state = self._state()
            if state is State.HEARING and self._before is not State.HEARING:
                self.times_s.append(time.monotonic())
            self._before = state
        return False


def clip(name: str) -> FloatArray:
    samples, rate_hz = read_wav(CLIPS / f"{name}.wav")
    return resample(samples, rate_hz, CAPTURE_RATE_HZ)[:CAPTURE_RATE_HZ]


def test_it_is_shown_within_150_ms(opened: Opener) -> None:
    """The median over clips that begin in many ways; other programs of a busy machine may delay a single one."""
    source = LiveSource([clip(name) for name in NAMES if (CLIPS / f"{name}.wav").exists()])
    assert len(source.onsets) >= 5
    one = opened(ListeningHost(source))
    presence = one.window.presence
    painted = Painted(lambda: presence.state)
    presence.meter.installEventFilter(painted)
    one.bot.waitUntil(lambda: presence.state is State.IDLE, timeout=25_000)  # the source is at its end
    delays_ms = []
    for onset in source.onsets:
        onset_s = source.began_s + onset / CAPTURE_RATE_HZ
        after = [at for at in painted.times_s if onset_s - 0.05 < at < onset_s + 1.0]
        assert after, f"not shown; painted {painted.times_s}, wanted {onset_s}"
        delays_ms.append(1000 * (after[0] - onset_s))
    told = ", ".join(f"{delay:.0f}" for delay in delays_ms)
    assert np.median(delays_ms) <= LIMIT_MS and min(delays_ms) >= -32, f"ms: {told}"
    assert sum(delay <= LIMIT_MS for delay in delays_ms) >= len(delays_ms) - 1, f"ms: {told}"
    print(f"shown after {told} ms")  # noqa: T201 - a figure for -s
