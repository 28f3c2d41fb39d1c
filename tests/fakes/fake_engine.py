"""An engine for the window without models or devices: it records what is asked and says what the test says."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kazeia_desktop.errors import KazeiaError
from kazeia_desktop.events import (
    ClauseStarted,
    ConversationOpened,
    Event,
    LoadProgress,
    Notice,
    ReplayStarted,
    ReplyDelta,
    State,
    StateChanged,
    TurnEnded,
    TurnsRemoved,
    TurnStarted,
    UserText,
)
from kazeia_desktop.gui.engine import Choice, Host
from kazeia_desktop.pipeline.errands import Errands
from kazeia_desktop.pipeline.remembering import Memory
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings

METRICS: Mapping[str, float | None] = {
    "endpoint_ms": 640.0,
    "stt_ms": 412.0,
    "llm_ttft_ms": 96.0,
    "first_clause_ms": 310.0,
    "tts_ttfa_ms": 402.0,
    "first_audio_ms": 1790.0,
    "total_ms": 5210.0,
}


class FakeEngine:
    """Follows the protocol `gui.bridge.Engine`. Every call takes `delay_s` and is kept in `calls`."""

    def __init__(self, settings: Settings, emit: Callable[[Event], None], delay_s: float = 0.0) -> None:
        self.settings = settings
        self.emit = emit
        self.delay_s = delay_s
        self.calls: list[tuple[object, ...]] = []
        self.threads: set[str] = set()
        self.error: KazeiaError | Exception | None = None
        self.voice_name = "Kokoro, ff_siwis"
        self.placement: Mapping[str, str] = {
            "stt": "whisper-base, int8, CPU",
            "llm": "qwen2.5-coder-0.5b, CPU",
            "tts": "Kokoro, ff_siwis, CPU",
        }
        self.rest = State.LISTENING
        self.asked: dict[int, str] = {}  # turn -> question
        self.memory: Memory | None = None
        self.errands: Errands | None = None
        self._turn = 0

    def _call(self, *call: object) -> None:
        self.threads.add(threading.current_thread().name)
        if self.delay_s:
            time.sleep(self.delay_s)
        self.calls.append(call)
        if self.error is not None:
            raise self.error

    def called(self, name: str) -> list[tuple[object, ...]]:
        """The calls of that name so far."""
        return [call for call in self.calls if call[0] == name]

    # The protocol

    def start(self) -> None:
        self._call("start")
        self.emit(StateChanged(self.rest))

    def close(self) -> None:
        self._call("close")

    def send_text(self, text: str) -> None:
        self._call("send_text", text)
        self._turn += 1
        self.emit(TurnStarted(self._turn, True))
        self.emit(UserText(self._turn, text, "fr"))
        self.emit(StateChanged(State.THINKING))

    def interrupt(self) -> None:
        self._call("interrupt")

    def send_now(self) -> None:
        self._call("send_now")

    def set_muted(self, muted: bool) -> None:
        self._call("set_muted", muted)
        self.emit(StateChanged(State.MUTED if muted else self.rest))

    def regenerate(self) -> None:
        self._call("regenerate")
        self.edit(self._turn, self.asked[self._turn])

    def edit(self, turn_id: int, text: str) -> None:
        self._call("edit", turn_id, text)
        gone, self._turn = self._turn, self._turn + 1
        self.emit(TurnStarted(self._turn, True))
        self.emit(TurnsRemoved(turn_id, gone))
        self.asked[self._turn] = text
        self.emit(UserText(self._turn, text, "fr"))
        self.emit(StateChanged(State.THINKING))

    def delete_turn(self, turn_id: int) -> None:
        self._call("delete_turn", turn_id)
        self.emit(TurnsRemoved(turn_id, turn_id))

    def replay(self, turn_id: int, text: str = "") -> None:
        self._call("replay", turn_id, text)
        self._turn += 1
        self.emit(TurnStarted(self._turn, True))
        self.emit(ReplayStarted(self._turn, turn_id))
        self.emit(StateChanged(State.SPEAKING))

    def apply(self, settings: Settings) -> None:
        self._call("apply", settings)
        self.settings = settings

    def open_conversation(self, conversation: int) -> None:
        self._call("open_conversation", conversation)

    def new_conversation(self) -> None:
        self._call("new_conversation")
        self.emit(ConversationOpened(None, ""))

    def delete_conversation(self, conversation: int) -> None:
        self._call("delete_conversation", conversation)

    # What the test lets happen

    def hears(self, text: str) -> int:
        """The user says `text`; returns the turn."""
        self._turn += 1
        self.emit(StateChanged(State.HEARING))
        self.emit(TurnStarted(self._turn, False))
        self.emit(StateChanged(State.THINKING))
        self.asked[self._turn] = text
        self.emit(UserText(self._turn, text, "fr"))
        return self._turn

    def replies(self, turn: int, text: str, clauses: Sequence[str]) -> None:
        """Stream `text` word by word, then begin to say `clauses`."""
        for at, word in enumerate(text.split(" ")):
            self.emit(ReplyDelta(turn, word if at == 0 else f" {word}"))
        for index, clause in enumerate(clauses):
            self.emit(StateChanged(State.SPEAKING))
            self.emit(ClauseStarted(turn, index, clause))

    def ends(self, turn: int, reply: str, reason: str = "done") -> None:
        self.emit(TurnEnded(turn, reply, reason, METRICS))
        self.emit(StateChanged(self.rest))

    def exchange(self, question: str, answer: str) -> None:
        """A whole turn."""
        turn = self.hears(question)
        self.replies(turn, answer, [answer])
        self.ends(turn, answer)


@dataclass
class FakeHost:
    """Makes engines; `hold` shut keeps a build waiting until it is opened."""

    delay_s: float = 0.0
    half_duplex: bool = False
    error: Exception | None = None
    save_error: KazeiaError | None = None
    rest: State = State.LISTENING
    engines: list[FakeEngine] = field(default_factory=list)
    saved: list[Settings] = field(default_factory=list)
    fetched: list[Settings] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)
    measured: Notice | None = None
    hold: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.hold.set()

    @property
    def engine(self) -> FakeEngine:
        return self.engines[-1]

    def host(self) -> Host:
        return Host(
            self.build, self.save, self.choices, lambda settings: self.half_duplex, self.fetch,
            lambda settings: self.measured,
        )  # fmt: skip

    def build(self, settings: Settings, emit: Callable[[Event], None]) -> FakeEngine:
        emit(LoadProgress("stt", 0.1))
        while not self.hold.wait(0.01):
            emit(LoadProgress("llm", 0.4))
        if self.error is not None:
            raise self.error
        emit(LoadProgress("ready", 1.0))
        engine = FakeEngine(settings, emit, self.delay_s)
        engine.rest = self.rest
        self.engines.append(engine)
        return engine

    def save(self, settings: Settings) -> None:
        if self.save_error is not None:
            raise self.save_error
        self.saved.append(settings)

    def choices(self, kind: str) -> Sequence[Choice]:
        self.looked_up.append(kind)
        return {
            "inputs": [Choice("usb", "Micro USB"), Choice("pulse", "PulseAudio")],
            "outputs": [Choice("hdmi", "HDMI")],
            "stt_models": [Choice("whisper-base", "whisper-base")],
            "llm_models": [Choice("qwen2.5-coder-0.5b", "qwen2.5-coder-0.5b"), Choice("smollm2-135m", "smollm2-135m")],
            "tts_models": [],
            "compute_devices": [Choice("cpu", "CPU")],
            "voices": [Choice("ff_siwis", "Siwis")],
        }[kind]

    def fetch(self, settings: Settings, report: Callable[[str, float], None], cancel: CancelToken) -> None:
        report("whisper-base", 0.5)
        self.fetched.append(settings)
        self.error = None
