"""Whatever is done, and whenever: what was said is answered or told once and whole, and everything ends."""

import random
import threading
import time
from collections import Counter

import pytest

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.events import Event, Failed, State, TurnEnded, TurnStarted, UserPartial, UserText
from kazeia_desktop.frames import FloatArray, Transcript
from kazeia_desktop.runtime.cancel import CancelToken
from tests.fakes.stages import FRAME_S, FakeConversation, FakeRecognizer, until

pytestmark = [pytest.mark.pipeline, pytest.mark.expects_warning]

RATE = 16_000
STEPS = 60


class Counting(FakeRecognizer):
    """Answers with how much was said (the seconds of sound that are not silence), at times late, or not at all."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__([""])
        self.draw = draw

    def transcribe(self, samples: FloatArray, turn_id: int, cancel: CancelToken) -> Transcript:
        loud = int((abs(samples) > 0.01).sum())
        what = self.draw.random()
        if what < 0.2 and cancel.wait(self.draw.uniform(0.0, 0.02)):
            cancel.raise_if_set()
        if 0.2 < what < 0.23:
            raise InferenceError("The recogniser failed.")
        cancel.raise_if_set()
        return Transcript(turn_id, f"{loud} échantillons", "fr")


def _soften(fake: FakeConversation) -> None:
    """What is said softly is speech, but interrupts nobody."""
    detector = fake.conversation._parts.detector
    assert detector is not None
    detector._scorer.probability = _likely  # type: ignore[method-assign]


def _likely(samples: FloatArray) -> float:
    loudest = float(abs(samples).max())
    return 0.95 if loudest > 0.2 else 0.55 if loudest > 0.1 else 0.02


def _act(fake: FakeConversation, draw: random.Random, said: Counter[str]) -> None:
    source, conversation = fake.source, fake.conversation
    match draw.choices(
        ["question", "cough", "half", "soft", "type", "stop", "mute", "send", "apply", "pause", "long", "play"],
        [8, 3, 4, 2, 2, 3, 1, 2, 2, 4, 0.3, 3],
    )[0]:
        case "question":
            source.say(draw.uniform(0.3, 1.5))
            source.silence(draw.uniform(0.65, 1.0))
        case "cough":
            source.say(draw.uniform(0.03, 0.2))
            source.silence(draw.choice([0.1, 0.7]))
        case "half":
            source.say(draw.uniform(0.3, 1.2))
            source.silence(draw.uniform(0.15, 0.55))
        case "soft":
            source.say(draw.uniform(0.3, 0.8), level=0.12)
            source.silence(0.7)
        case "type":
            conversation.send_text("Écrit.")
            said["typed"] += 1
        case "stop":
            conversation.interrupt()
        case "mute":
            conversation.set_muted(True)
            source.silence(0.2)
            _wait(draw)
            conversation.set_muted(False)
        case "send":
            source.say(draw.uniform(0.2, 0.5))
            conversation.send_now()
        case "apply":
            _turn_a_knob(fake, draw)
        case "pause":
            source.silence(draw.uniform(0.2, 1.2))
        case "long":
            source.say(31.0)
        case "play":
            fake.sink.play(draw.uniform(0.1, 4.0))
    _wait(draw)


def _wait(draw: random.Random) -> None:
    if draw.random() < 0.5:
        time.sleep(draw.uniform(0.0, 0.01))


def _turn_a_knob(fake: FakeConversation, draw: random.Random) -> None:
    old = fake.settings
    part: dict[str, object]
    what = draw.choice(["hangover", "shortest", "whisper", "llm", "language", "voice"])
    if what == "hangover":
        part = {"vad": old.vad.model_copy(update={"hangover_ms": draw.choice([200, 600, 3000])})}
    elif what == "shortest":
        part = {"vad": old.vad.model_copy(update={"min_speech_ms": draw.choice([64, 250, 2000])})}
    elif what == "whisper":
        part = {"stt": old.stt.model_copy(update={"model": draw.choice(["whisper-base", "whisper-small"])})}
    elif what == "language":
        part = {"stt": old.stt.model_copy(update={"language": draw.choice(["fr", "en"])})}
    elif what == "llm":
        part = {"llm": old.llm.model_copy(update={"model": draw.choice(["un", "deux"])})}
    else:
        part = {"tts": old.tts.model_copy(update={"language": draw.choice(["fr", "en"])})}
    fake.settings = old.model_copy(update=part)
    fake.conversation.apply(fake.settings)


def _judge(events: list[Event], fake: FakeConversation) -> None:
    begun = [event.turn_id for event in events if isinstance(event, TurnStarted)]
    ended = Counter(event.turn_id for event in events if isinstance(event, TurnEnded))
    assert len(begun) == len(set(begun))
    assert ended == Counter(begun), "each turn ends, and ends once"
    over: set[int] = set()
    spoken = 0
    for event in events:
        turn_id = getattr(event, "turn_id", None)
        assert turn_id not in over, f"after its end: {event}"
        match event:
            case TurnEnded():
                over.add(event.turn_id)
                assert event.reason in ("done", "interrupted", "error"), event
            case UserText(text=text) if text != "Écrit.":
                spoken += 1
            case Failed():
                assert event.template == "The recogniser failed.", event
            case UserPartial():
                pass
    texts = Counter(event.turn_id for event in events if isinstance(event, UserText))
    assert not texts or max(texts.values()) == 1, "a question is shown once"
    done = [event.turn_id for event in events if isinstance(event, TurnEnded) and event.reason == "done"]
    assert all(texts[turn_id] == 1 for turn_id in done)
    assert sum(isinstance(e, Failed) for e in events) == sum(
        isinstance(e, TurnEnded) and e.reason == "error" for e in events
    ), "a fault is told once"


def _stressed(seed: int) -> None:
    draw = random.Random(seed)
    fake = FakeConversation(instant=draw.random() < 0.5, half_duplex=draw.random() < 0.3)
    made = Counting(draw)
    fake.recognizer = made
    fake.conversation._recognize.recognizer = made
    _soften(fake)
    fake.make_recognizer = lambda settings: Counting(draw)
    said: Counter[str] = Counter()
    fake.conversation.start()
    for _ in range(STEPS):
        _act(fake, draw, said)
    if draw.random() < 0.5:  # let it come to rest: then a question is answered, and whole
        fake.conversation.apply(fake.settings.model_copy(update={"vad": type(fake.settings.vad)()}))
        fake.source.silence(4.0)
        until(lambda: not len(fake.source._frames), "the microphone was read")
        fake.conversation.interrupt()
        fake.source.silence(1.0)
        until(lambda: not len(fake.source._frames), "the microphone was read")
        until(lambda: fake.conversation.state is State.LISTENING, f"it listens again: {fake.conversation.state}")
        fake.sink.instant = True
    started_s = time.monotonic()
    fake.conversation.close()
    assert time.monotonic() - started_s < 2.0
    _judge(list(fake.watcher.events), fake)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_done_everything_said_ends_once(seed: int) -> None:
    before = threading.active_count()
    _stressed(seed)
    until(lambda: threading.active_count() <= before, "its threads ended")


@pytest.mark.parametrize("seed", range(6))
def test_what_is_said_with_pauses_reaches_the_model_whole(seed: int) -> None:
    """The model answers nothing before the last part: every part is in the text of the last turn, and none twice."""
    draw = random.Random(seed)
    fake = FakeConversation(instant=True)
    made = Counting(random.Random(1))
    made.draw.random = lambda: 1.0  # type: ignore[method-assign]  # neither late nor broken
    fake.recognizer = made
    fake.conversation._recognize.recognizer = made
    _soften(fake)
    fake.session.gate_at = 0
    fake.session.gate.shut()
    with fake:
        frames = 0
        for part in range(draw.randint(2, 6)):
            n = draw.randint(12, 60)
            soft = part > 0 and draw.random() < 0.3
            frames += n
            fake.source.say(n * FRAME_S, level=0.12 if soft else 0.5)
            fake.source.silence(draw.choice([0.25, 0.4, 0.8, 1.2]))
            _wait(draw)
        fake.source.silence(1.5)
        until(lambda: not len(fake.source._frames), "the microphone was read")
        fake.session.gate.open()
        whole = fake.watcher.wait(lambda e: isinstance(e, TurnEnded) and e.reason == "done")
        assert isinstance(whole, TurnEnded)
        told = [e.text for e in fake.watcher.events if isinstance(e, UserText) and e.turn_id == whole.turn_id]
        assert told == [f"{frames * 512} échantillons"]
