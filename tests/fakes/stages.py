"""A conversation without a model or a device: every stage stands still until the test lets it go on."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from kazeia_desktop.audio.base import Heard
from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.events import Event
from kazeia_desktop.frames import CAPTURE_FRAME_SAMPLES, AudioFrame, Clause, FloatArray, SpeechFrame, Transcript
from kazeia_desktop.llm.base import Message, ReplyStats
from kazeia_desktop.pipeline.conversation import Conversation
from kazeia_desktop.pipeline.errands import Errands
from kazeia_desktop.pipeline.parts import Makers, Parts
from kazeia_desktop.pipeline.remembering import Memory
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.channel import Channel, ChannelClosed
from kazeia_desktop.settings.schema import AudioSettings, LlmSettings, Settings, SttSettings, TtsSettings
from kazeia_desktop.vad.endpointing import SpeechDetector

FRAME_S = CAPTURE_FRAME_SAMPLES / 16_000
RATE_HZ = 24_000
CLAUSE_SAMPLES = RATE_HZ  # every fake clause lasts one second
WAIT_S = 5.0


class Gate:
    """Open at first; `shut` makes whoever passes wait until `open`."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self.reached = threading.Event()

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def passing(self, cancel: CancelToken) -> None:
        self.reached.set()
        deadline = time.monotonic() + WAIT_S
        while not self._open.wait(0.005):
            if cancel.is_set():
                return
            assert time.monotonic() < deadline, "a gate was never opened"


class FakeSource:
    """A microphone that hears what the test says, as fast as it is read."""

    def __init__(self) -> None:
        self._frames: Channel[AudioFrame] = Channel(10_000)
        self._time_s = time.monotonic()

    def start(self) -> None: ...

    def apply(self, settings: AudioSettings) -> None: ...

    def say(self, seconds: float, level: float = 0.5) -> None:
        for _ in range(round(seconds / FRAME_S)):
            self._time_s += FRAME_S
            self._frames.put(AudioFrame(np.full(CAPTURE_FRAME_SAMPLES, level, np.float32), self._time_s))

    def silence(self, seconds: float) -> None:
        self.say(seconds, 0.0)

    def read(self, timeout_s: float) -> AudioFrame | None:
        try:
            return self._frames.get(timeout_s)
        except TimeoutError:
            return None
        except ChannelClosed:
            raise EOFError from None

    def stop(self) -> None:
        self._frames.close()


class FakeGate:
    def is_open(self, samples: FloatArray) -> bool:
        return bool(samples.any())


class FakeScorer:
    """Loud is speech."""

    def probability(self, samples: FloatArray) -> float:
        return 0.95 if float(np.abs(samples).max()) > 0.1 else 0.02

    def reset(self) -> None: ...


class FakeRecognizer:
    """Hears the texts of `texts`, one an utterance; the last one again and again."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.gate = Gate()
        self.heard: list[int] = []  # samples of each utterance
        self.error: KazeiaError | None = None
        self.applied: list[SttSettings] = []
        self.closed = False

    def transcribe(self, samples: FloatArray, turn_id: int, cancel: CancelToken) -> Transcript:
        self.heard.append(len(samples))
        self.gate.passing(cancel)
        cancel.raise_if_set()
        if self.error is not None:
            raise self.error
        text = self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]
        return Transcript(turn_id, text, "fr")

    def apply(self, settings: SttSettings) -> None:
        self.applied.append(settings)

    def close(self) -> None:
        self.closed = True


class FakeSession:
    """Answers every question with `reply`, word by word, and remembers the exchange."""

    def __init__(self, reply: str) -> None:
        self.answer = reply
        self.gate = Gate()
        self.gate_at = -1  # index of the word before which the gate stands
        self.said: list[tuple[str, str]] = []  # the history: question, answer
        self.error: KazeiaError | None = None
        self.closed = False
        self.applied: list[LlmSettings] = []
        self.dropped_turns = 0
        self.rests = 0
        self.rested = threading.Event()
        self.rests_long = False
        self.ahead: list[str] = []  # what was read before it was asked
        self.ahead_gate = Gate()

    def reply(self, user_text: str, cancel: CancelToken) -> Iterator[str]:
        said = ""
        self.said.append((user_text, said))
        for at, word in enumerate(self.answer.split(" ")):
            if at == self.gate_at:
                self.gate.passing(cancel)
            if cancel.is_set():
                return
            if self.error is not None:
                raise self.error
            piece = word if at == 0 else f" {word}"
            said += piece
            self.said[-1] = (user_text, said)
            yield piece

    def read_ahead(self, user_text: str, cancel: CancelToken) -> None:
        self.ahead.append(user_text)
        self.ahead_gate.passing(cancel)
        if self.error is not None:
            raise self.error

    def apply_facts(self, text: str) -> None: ...

    def rest(self, cancel: CancelToken) -> None:
        self.rests += 1
        self.rested.set()
        if self.rests_long:
            assert cancel.wait(WAIT_S), "a rest was not given up"

    def save_state(self, path: Path, max_bytes: int | None = None) -> bool:
        return False

    def load_state(self, path: Path) -> bool:
        return False

    def record(self, user_text: str, answer: str) -> None:
        self.said.append((user_text, answer))

    def aside(
        self, messages: Sequence[Message], cancel: CancelToken, max_tokens: int = 64, grammar: str | None = None
    ) -> str:
        return "none"

    def amend_last_reply(self, heard: str) -> None:
        question, _ = self.said.pop()
        if heard:
            self.said.append((question, heard))

    @property
    def history(self) -> list[Message]:
        roles = ("user", "assistant")
        return [Message(role, text) for pair in self.said for role, text in zip(roles, pair, strict=True)]

    def forget(self, first: int, end: int) -> None:
        assert first % 2 == end % 2 == 0 and first < end <= 2 * len(self.said)
        del self.said[first // 2 : end // 2]

    def restore(self, history: Sequence[Message]) -> None:
        texts = [message.text for message in history]
        self.said = list(zip(texts[::2], texts[1::2], strict=True))

    def reset(self) -> None:
        self.said.clear()

    @property
    def stats(self) -> ReplyStats:
        return ReplyStats(0, 0, None, None, self.dropped_turns)

    def apply(self, settings: LlmSettings) -> None:
        self.applied.append(settings)

    def close(self) -> None:
        self.closed = True


class FakeSynthesizer:
    """One second of a constant a clause, in two frames."""

    name = "fake voice"
    sample_rate_hz = RATE_HZ
    figures = None

    def __init__(self) -> None:
        self.gate = Gate()
        self.spoken: list[str] = []
        self.error: KazeiaError | None = None
        self.closed = False
        self.applied: list[TtsSettings] = []

    def synthesize(self, clause: Clause, cancel: CancelToken) -> Iterator[SpeechFrame]:
        self.gate.passing(cancel)
        if cancel.is_set():
            return
        if self.error is not None:
            raise self.error
        self.spoken.append(clause.spoken)
        half = np.full(CLAUSE_SAMPLES // 2 if clause.spoken else 0, 0.1, np.float32)
        yield SpeechFrame(clause.turn_id, clause.index, half, RATE_HZ)
        yield SpeechFrame(clause.turn_id, clause.index, half, RATE_HZ, end_of_clause=True)

    def apply(self, settings: TtsSettings) -> None:
        self.applied.append(settings)

    def close(self) -> None:
        self.closed = True


class FakeSink:
    """A loudspeaker that plays when the test calls `play`, or at once when `instant`."""

    def __init__(self, instant: bool = False) -> None:
        self._lock = threading.Lock()
        self._written: dict[int, dict[int, list[int]]] = {}  # turn -> clause -> [samples, complete]
        self._played: dict[int, int] = {}
        self._ended: set[int] = set()
        self._first: dict[int, float] = {}
        self.instant = instant
        self.queue: list[SpeechFrame] = []  # not yet played
        self.flushes = 0
        self.rms = 0.1

    def start(self) -> None: ...

    def write(self, frame: SpeechFrame, cancel: CancelToken) -> None:
        with self._lock:
            if cancel.is_set():
                return
            clause = self._written.setdefault(frame.turn_id, {}).setdefault(frame.clause_index, [0, 0])
            clause[0] += len(frame.samples)
            clause[1] = int(frame.end_of_clause)
            if frame.end_of_turn:
                self._ended.add(frame.turn_id)
            self.queue.append(frame)
        if self.instant:
            self.play(1e9)

    def play(self, seconds: float) -> None:
        """Let this much of what is queued be heard."""
        left = int(seconds * RATE_HZ)
        with self._lock:
            while self.queue and left > 0:
                frame = self.queue.pop(0)
                n = min(left, len(frame.samples))
                left -= n
                if n:
                    self._first.setdefault(frame.turn_id, time.monotonic())
                self._played[frame.turn_id] = self._played.get(frame.turn_id, 0) + n
                if n < len(frame.samples):
                    rest = frame.samples[n:]
                    self.queue.insert(0, SpeechFrame(frame.turn_id, frame.clause_index, rest, RATE_HZ))
                    break

    def queued_s(self) -> float:
        with self._lock:
            return sum(len(f.samples) for f in self.queue) / RATE_HZ

    def heard(self, turn_id: int) -> tuple[Heard, ...]:
        with self._lock:
            left = self._played.get(turn_id, 0)
            parts = []
            for index, (total, complete) in sorted(self._written.get(turn_id, {}).items()):
                played = min(left, total)
                left -= played
                parts.append(Heard(index, played, total, bool(complete)))
            return tuple(parts)

    def all_played(self, turn_id: int) -> bool:
        with self._lock:
            return turn_id in self._ended and not any(len(f.samples) for f in self.queue)

    def wait_played(self, turn_id: int, cancel: CancelToken) -> None:
        while not self.all_played(turn_id) and not cancel.wait(0.005):
            pass

    def flush(self) -> None:
        with self._lock:
            self.flushes += 1
            self.queue.clear()

    def first_sample_time(self, turn_id: int) -> float | None:
        return self._first.get(turn_id)

    def apply(self, settings: AudioSettings) -> None: ...

    def stop(self) -> None:
        self.flush()


class Watcher:
    """Collects events; `wait` returns the next one that fits, or fails the test."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.events: list[Event] = []
        self._at = 0

    def __call__(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait(self, fits: Callable[[Event], bool]) -> Event:
        deadline = time.monotonic() + WAIT_S
        with self._changed:
            while True:
                while self._at < len(self.events):
                    event = self.events[self._at]
                    self._at += 1
                    if fits(event):
                        return event
                left = deadline - time.monotonic()
                assert left > 0, f"no such event; the last ones: {self.events[-12:]}"
                self._changed.wait(left)

    def wait_for(self, kind: type[Event], **values: object) -> Event:
        return self.wait(lambda e: _is(e, kind, values))

    def seen(self, kind: type[Event], **values: object) -> bool:
        """Whether there was such an event so far."""
        with self._changed:
            return any(_is(e, kind, values) for e in self.events)


def _is(event: Event, kind: type[Event], values: dict[str, object]) -> bool:
    return isinstance(event, kind) and all(getattr(event, name) == value for name, value in values.items())


class FakeConversation:
    """Everything a test of the pipeline turns and looks at."""

    def __init__(
        self,
        texts: list[str] | None = None,
        reply: str = "Bonjour à vous. Il fait beau. Au revoir.",
        half_duplex: bool = False,
        instant: bool = False,
        with_source: bool = True,
        with_sink: bool = True,
        memory: Memory | None = None,
        errands: Errands | None = None,
    ) -> None:
        self.source = FakeSource()
        self.recognizer = FakeRecognizer(texts or ["Quel temps fait-il ?"])
        self.session = FakeSession(reply)
        self.voice = FakeSynthesizer()
        self.sink = FakeSink(instant)
        self.watcher = Watcher()
        self.settings = Settings()
        self.make_recognizer: Callable[[Settings], FakeRecognizer] = self._recognizer
        self.make_session: Callable[[Settings], FakeSession] = self._session
        self.make_voice: Callable[[Settings], FakeSynthesizer] = lambda s: self.voice
        self.engine: Callable[[Settings], str] = lambda s: s.tts.engine
        self.room_for_two = True
        parts = Parts(
            self.source if with_source else None,
            SpeechDetector(FakeGate(), FakeScorer(), self.settings.vad) if with_source else None,
            self.recognizer,
            self.session,
            self.voice,
            self.sink if with_sink else None,
            lambda audio: half_duplex or audio.duplex == "half",
            {},
            Makers(
                lambda s: self.make_recognizer(s),
                lambda s: self.make_session(s),
                lambda s: self.make_voice(s),
                lambda s: self.engine(s),
                lambda s: self.room_for_two,
            ),
            memory,
            errands,
        )
        self.conversation = Conversation(parts, self.settings, self.watcher)

    def _recognizer(self, settings: Settings) -> FakeRecognizer:
        self.recognizer = FakeRecognizer(["Après le changement."])
        return self.recognizer

    def _session(self, settings: Settings) -> FakeSession:
        self.session = FakeSession(self.session.answer)
        return self.session

    def ask(self, seconds: float = 1.0) -> None:
        """Speak, then pause long enough to be answered."""
        self.source.say(seconds)
        self.source.silence(1.0)

    def __enter__(self) -> "FakeConversation":
        self.conversation.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.conversation.close()


def until(fits: Callable[[], bool], what: str) -> None:
    """Wait for something that no event tells."""
    deadline = time.monotonic() + WAIT_S
    while not fits():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.002)
