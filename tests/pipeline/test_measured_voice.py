"""The voice is measured while nothing else happens, its slowness is told once, and a stop ends a silent cushion."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import kazeia_desktop.pipeline.speaking as speaking
from kazeia_desktop.errors import InferenceError
from kazeia_desktop.events import Event, Failed, Notice, State, StateChanged, TurnEnded
from kazeia_desktop.frames import Clause, SpeechFrame
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.tts.base import MeasuredVoice, Pace, SpeechFigures
from tests.fakes.stages import RATE_HZ, WAIT_S, FakeConversation, FakeSynthesizer, until

pytestmark = pytest.mark.pipeline

SLOW = "It takes {rtf} times as long."


class MeasuredFake(FakeSynthesizer):
    """Measures until the test lets it end, or somebody speaks."""

    model = "fake, q8_0"

    def __init__(self, rtf: float = 1.5) -> None:
        super().__init__()
        self.rtf = rtf
        self.pace: Pace | None = None
        self.wants_measuring = True
        self.fails: InferenceError | None = None
        self.measuring = threading.Semaphore(0)
        self.may_end = threading.Event()
        self.idles: list[CancelToken] = []

    def measure(self, idle: CancelToken) -> None:
        self.idles.append(idle)
        self.measuring.release()
        if self.fails is not None:
            self.wants_measuring = False
            raise self.fails
        for _ in range(int(WAIT_S / 0.005)):
            if idle.wait(0.005):
                return
            if self.may_end.is_set():
                self.pace, self.wants_measuring = Pace(self.rtf, 0.32), False
                return
        raise AssertionError("it was never let go")

    def slowness(self, rtf: float | None = None) -> Notice | None:
        told = rtf or (self.pace.rtf if self.pace is not None else 0.0)
        return Notice(SLOW, {"rtf": told}) if told > 1.0 else None

    def began(self) -> None:
        assert self.measuring.acquire(timeout=WAIT_S), "no measuring began"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaking, "_PAUSE_S", 0.01)


@pytest.fixture
def voice() -> MeasuredFake:
    return MeasuredFake()


@pytest.fixture
def fake(voice: MeasuredFake) -> Iterator[FakeConversation]:
    made = FakeConversation(instant=True)
    made.conversation._speak.synthesizer = voice
    made.voice = voice
    with made:
        yield made


def slow_notices(fake: FakeConversation) -> list[Event]:
    return [event for event in fake.watcher.events if isinstance(event, Notice) and event.template == SLOW]


def test_the_fake_is_a_measured_voice(voice: MeasuredFake) -> None:
    assert isinstance(voice, MeasuredVoice)
    assert not isinstance(FakeSynthesizer(), MeasuredVoice)


def test_it_is_measured_at_the_first_quiet_moment_and_its_slowness_told(
    fake: FakeConversation, voice: MeasuredFake
) -> None:
    voice.began()
    voice.may_end.set()
    fake.watcher.wait_for(Notice, template=SLOW)
    fake.conversation.send_text("Bonjour")
    fake.watcher.wait_for(TurnEnded, reason="done")
    assert len(voice.idles) == 1
    assert len(slow_notices(fake)) == 1


def test_a_typed_turn_ends_the_measuring_which_is_tried_again(fake: FakeConversation, voice: MeasuredFake) -> None:
    voice.began()
    fake.conversation.send_text("Bonjour")
    assert voice.idles[0].is_set()
    assert fake.watcher.wait_for(TurnEnded, reason="done")
    voice.began()
    voice.may_end.set()
    until(lambda: not voice.wants_measuring, "it is measured after the turn")


def test_it_ends_as_soon_as_the_user_is_heard(fake: FakeConversation, voice: MeasuredFake) -> None:
    voice.began()
    fake.source.say(0.5)
    fake.watcher.wait_for(StateChanged, state=State.HEARING)
    until(voice.idles[0].is_set, "the measuring ends")
    assert len(voice.idles) == 1  # and none begins while somebody speaks


def test_nothing_is_measured_during_a_turn(fake: FakeConversation, voice: MeasuredFake) -> None:
    voice.began()
    fake.session.gate_at = 0
    fake.session.gate.shut()
    fake.conversation.send_text("Bonjour")
    until(fake.session.gate.reached.is_set, "the model begins")
    assert not voice.measuring.acquire(timeout=0.1)
    fake.session.gate.open()
    fake.watcher.wait_for(TurnEnded, reason="done")
    voice.began()


def test_a_changed_setting_ends_it(fake: FakeConversation, voice: MeasuredFake) -> None:
    voice.began()
    tts = fake.settings.tts.model_copy(update={"speed": 1.5})
    fake.conversation.apply(fake.settings.model_copy(update={"tts": tts}))
    assert voice.idles[0].is_set()


def test_a_voice_that_fails_is_told(fake: FakeConversation, voice: MeasuredFake) -> None:
    voice.began()
    voice.fails = InferenceError("It failed with {value}.", value=3)
    fake.conversation.send_text("Bonjour")
    assert fake.watcher.wait_for(Failed, template="It failed with {value}.", fatal=False)


def test_closing_does_not_wait_for_it(voice: MeasuredFake) -> None:
    fake = FakeConversation(instant=True)
    fake.conversation._speak.synthesizer = voice
    fake.conversation.start()
    voice.began()
    fake.conversation.close()
    assert voice.idles[0].is_set() and voice.closed


def test_without_a_loudspeaker_nothing_is_measured(voice: MeasuredFake) -> None:
    fake = FakeConversation(with_sink=False)
    fake.conversation._speak.synthesizer = voice
    with fake:
        assert not voice.measuring.acquire(timeout=0.1)


class Crawling(FakeSynthesizer):
    """Never makes enough for its clause: it stands still after each piece until the turn is stopped."""

    model, wants_measuring = "slow, q8_0", False
    pace = Pace(4.0, 0.32)
    figures: SpeechFigures | None = None  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.made = threading.Event()
        self.ended = threading.Event()

    def synthesize(self, clause: Clause, cancel: CancelToken) -> Iterator[SpeechFrame]:
        sound = np.full(round(0.32 * RATE_HZ), 0.1, np.float32)
        try:
            for _ in range(3):
                yield SpeechFrame(clause.turn_id, clause.index, sound, RATE_HZ)
            self.made.set()
            cancel.wait(WAIT_S)
        finally:
            self.ended.set()

    def apply(self, settings: TtsSettings) -> None: ...

    def measure(self, idle: CancelToken) -> None:
        raise AssertionError("it does not want to be")

    def slowness(self, rtf: float | None = None) -> Notice | None:
        return None


def test_a_stop_ends_the_cushion_and_nothing_of_it_was_said() -> None:
    fake = FakeConversation(reply="Une très longue proposition qui demande beaucoup de temps à cette voix si lente.")
    voice = Crawling()
    assert isinstance(voice, MeasuredVoice)
    fake.conversation._speak.synthesizer = voice
    with fake:
        fake.conversation.send_text("Bonjour")
        assert voice.made.wait(WAIT_S)
        assert fake.sink.queued_s() == 0.0
        fake.conversation.interrupt()
        assert fake.watcher.wait_for(TurnEnded, reason="interrupted", reply="")
        assert voice.ended.wait(WAIT_S)
        assert fake.sink.queued_s() == 0.0
        until(lambda: fake.session.said == [], "the history has nothing of it")


def test_a_long_silence_is_explained_once() -> None:
    fake = FakeConversation(reply="Une très longue proposition qui demande beaucoup de temps à cette voix si lente.")
    voice = Crawling()
    fake.conversation._speak.synthesizer = voice
    with fake:
        fake.conversation.send_text("Bonjour")
        notice = fake.watcher.wait_for(Notice)
        assert isinstance(notice, Notice)
        assert "made ahead" in notice.template
        assert isinstance(notice.values["seconds"], int) and notice.values["seconds"] >= 5
        fake.conversation.send_text("Et encore")
        until(lambda: voice.made.is_set(), "the second clause is made")
        fake.conversation.interrupt()
        notices = [event for event in fake.watcher.events if isinstance(event, Notice)]
        assert len(notices) == 1


class Timed(Crawling):
    """Tells figures of its clauses."""

    def __init__(self, rtf: float, frames: int) -> None:
        super().__init__()
        self.rtf, self.frames = rtf, frames

    def synthesize(self, clause: Clause, cancel: CancelToken) -> Iterator[SpeechFrame]:
        self.figures = SpeechFigures(self.frames, self.rtf, 1.0, 1.0, 1.0, 0)
        sound = np.zeros(round(0.08 * self.frames * RATE_HZ), np.float32)
        yield SpeechFrame(clause.turn_id, clause.index, sound, RATE_HZ, end_of_clause=True)

    def slowness(self, rtf: float | None = None) -> Notice | None:
        return Notice(SLOW, {"rtf": rtf}) if rtf is not None and rtf > 1.0 else None


@pytest.mark.parametrize(("rtf", "frames", "told"), [(1.4, 30, 1), (0.9, 30, 0), (1.4, 5, 0)])
def test_a_slow_clause_is_told_once_a_model(rtf: float, frames: int, told: int) -> None:
    """And none from which nothing can be told."""
    fake = FakeConversation(instant=True)
    voice = Timed(rtf, frames)
    fake.conversation._speak.synthesizer = voice
    with fake:
        for _ in range(2):
            fake.conversation.send_text("Bonjour")
            fake.watcher.wait_for(TurnEnded, reason="done")
        assert len(slow_notices(fake)) == told
        voice.model = "another, q8_0"
        fake.conversation.send_text("Bonjour")
        fake.watcher.wait_for(TurnEnded, reason="done")
        assert len(slow_notices(fake)) == 2 * told
