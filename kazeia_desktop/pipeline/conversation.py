"""The conversation: one worker a stage, joined by bounded channels, and the few calls a window needs.

Every public method may be called from any thread; `apply` may take as long as the settings need to
be taken over, all others return at once.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from kazeia_desktop.errors import InferenceError, KazeiaError
from kazeia_desktop.events import ConversationOpened, Event, Notice, ReplyDelta, SettingChanged, State, UserText
from kazeia_desktop.frames import CAPTURE_RATE_HZ, Clause, FloatArray, TextDelta
from kazeia_desktop.llm.base import ChatSession
from kazeia_desktop.log import where
from kazeia_desktop.pipeline.answering import RecognizeStage, ReplyStage, SplitStage
from kazeia_desktop.pipeline.desk import TurnDesk
from kazeia_desktop.pipeline.errands import Errands
from kazeia_desktop.pipeline.heard import heard_text, is_echo, without_cut
from kazeia_desktop.pipeline.items import Amend, Hearing, Prompt, Saying, WithSession, Work
from kazeia_desktop.pipeline.listening import ListenStage
from kazeia_desktop.pipeline.parts import Parts
from kazeia_desktop.pipeline.reloading import Reloader, needs_reload
from kazeia_desktop.pipeline.remembering import Memory
from kazeia_desktop.pipeline.reply_audio import ReplyAudio
from kazeia_desktop.pipeline.revising import Lines, Reviser
from kazeia_desktop.pipeline.speaking import SpeakStage, WatchStage
from kazeia_desktop.pipeline.turn import Turn
from kazeia_desktop.runtime.channel import Channel, ChannelClosed
from kazeia_desktop.runtime.worker import Worker
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import with_value

_log = logging.getLogger(__name__)

_JOIN_S: Final = 10.0
_SOON_S: Final = 0.6
"""Within this every thread ends that does not load a model just then."""
_COMMANDS: Final = 64
"""What may wait for the language model, while it is loaded anew for example, before whoever asks waits too."""
_ECHO_TAIL_S: Final = 1.5
"""Own speech heard back arrives while it plays or shortly after."""
_LEAD_S: Final = 2.0
_LEAD_WAIT_S: Final = 2.0
_POLL_S: Final = 0.05
_MAX_RESTARTS: Final = 3
_RESTARTS_S: Final = 300.0
"""More restarts than these within five minutes: it will not get better by itself."""


class Conversation:
    """Owns the parts and the threads; `close` releases both."""

    def __init__(self, parts: Parts, settings: Settings, emit: Callable[[Event], None]) -> None:
        self._parts = parts
        self._settings = settings
        self._audio = ReplyAudio()
        listener = emit if parts.memory is None else parts.memory.before(emit)

        def listen(event: Event) -> None:
            self._reviser.hear(event)
            listener(event)

        self._desk = TurnDesk(listen)
        self._restarts: list[float] = []  # when a stage was begun again
        self._closed = False
        self._apply_lock = threading.Lock()
        self._clauses: dict[int, str] = {}
        self._clauses_turn = 0
        self._echo: tuple[str, float] = ("", 0.0)  # what was spoken last, until when

        self._utterances: Channel[Hearing] = Channel(4)
        self._prompts: Channel[Work] = Channel(_COMMANDS)
        self._deltas: Channel[TextDelta] = Channel(64)
        self._to_speak: Channel[Saying] = Channel(8)
        self._watched: Channel[Turn] = Channel(4)

        desk = self._desk
        speaks = parts.sink is not None and parts.synthesizer is not None
        lines = Lines(self._prompts, self._deltas, self._to_speak if speaks else None)
        self._reviser = Reviser(
            desk, lines, self._audio, parts.memory, self._interrupt, lambda: self._settings.llm.language
        )
        self._listen: ListenStage | None = None
        if parts.source is not None and parts.detector is not None:
            self._listen = ListenStage(
                desk,
                parts.source,
                parts.detector,
                self._utterances,
                self._interrupt,
                lambda: parts.half_duplex(self._settings.audio),
            )
        self._recognize = RecognizeStage(
            desk, self._utterances, self._prompts, parts.recognizer, self._repeats_us, self._give_up, self._fail_turn
        )
        self._reply = ReplyStage(
            desk, self._prompts, self._deltas, parts.session, self._fail_turn, parts.errands, parts.memory
        )
        self._split = SplitStage(desk, self._deltas, self._to_speak, self._remember, settings.tts)
        self._speak = SpeakStage(
            desk, self._to_speak, self._watched, parts.synthesizer, parts.sink, self._finish, self._fail_turn,
            self._remember, self._audio,
        )  # fmt: skip
        makers = parts.makers
        self._recognizers = Reloader(
            makers.recognizer, settings, lambda: self._settings,
            lambda old, new: needs_reload(old.stt, new.stt), lambda part, new: part.apply(new.stt),
        )  # fmt: skip
        self._sessions = Reloader(
            makers.session, settings, lambda: self._settings, _other_model, lambda part, new: part.apply(new.llm)
        )
        self._voices = Reloader(
            makers.synthesizer, settings, lambda: self._settings, self._other_voice,
            lambda part, new: part.apply(new.tts),
        )  # fmt: skip
        self._workers = [
            self._worker("stt", self._recognize.run),
            self._worker("llm", self._reply.run),
            self._worker("text", self._split.run),
            self._worker("tts", self._speak.run),
        ]
        if parts.sink is not None:
            watch = WatchStage(desk, self._watched, parts.sink, self._texts_of, self._finish)
            self._workers.append(self._worker("playback", watch.run))
        if self._listen is not None:
            self._workers.append(self._worker("listen", self._listen.run))

    # What the window calls

    def start(self) -> None:
        """Begin to listen. The parts' devices are open already."""
        self._desk.set_resting(State.LISTENING if self._listen is not None else State.IDLE)
        for worker in self._workers:
            worker.start()
        if self._parts.errands is not None:
            self._parts.errands.start(self.announce, self._change)

    def close(self) -> None:
        """Stop everything and wait for every thread. Closing twice is harmless."""
        if self._closed:
            return
        self._closed = True
        self._desk.end_idle(closing=True)
        if self._parts.errands is not None:
            self._parts.errands.close()
        self._stop_answering()
        if self._parts.source is not None:
            self._parts.source.stop()
        for channel in (self._utterances, self._prompts, self._deltas, self._to_speak, self._watched):
            channel.close()
        left = self._prompts.drain()
        for waiting in (self._utterances, self._deltas, self._to_speak, self._watched):
            waiting.drain()
        if self._parts.sink is not None:
            self._parts.sink.stop()
        busy = self._join(_SOON_S)
        self._stop_answering()  # what was said last may have ended just then
        if "llm" not in busy:
            self._reply.amend(left)
        if self._parts.memory is not None:  # before what cannot be interrupted is waited for: the process may end
            if "llm" not in busy:
                self._parts.memory.leave(self._reply.session)
            self._parts.memory.close()
        for name in self._join(_JOIN_S) if busy else ():
            _log.error("the thread %s did not end within %.0f s", name, _JOIN_S)
        self._recognize.recognizer.close()
        self._reply.session.close()
        self._speak.drop_coming()
        if self._speak.synthesizer is not None:
            self._speak.synthesizer.close()

    def _join(self, timeout_s: float) -> list[str]:
        """Wait for the threads; which of them still run then."""
        deadline = time.monotonic() + timeout_s
        return [w.name for w in self._workers if not w.join(max(0.0, deadline - time.monotonic()))]

    def send_text(self, text: str) -> None:
        """A typed turn; whatever Kazeia was saying stops."""
        text = text.strip()
        if not text or self._closed:
            return
        language = self._settings.llm.language
        turn = self._desk.begin_after(self._interrupt, typed=True, asked=lambda turn: UserText(turn.id, text, language))
        turn.marks.set("speech_end", time.monotonic())
        self._desk.advance(turn, State.THINKING)
        self._prompts.put(Prompt(turn.id, text))

    def interrupt(self) -> None:
        """Stop thinking and speaking now."""
        if self._listen is not None:
            self._listen.withdraw()
        self._stop_answering()

    def _stop_answering(self) -> None:
        turn = self._desk.current
        if turn is not None:
            self._interrupt(turn)

    def announce(self, said: str) -> bool:
        """Say something of Kazeia's own accord; false: not now, somebody speaks or is being answered."""
        turn = self._desk.begin_if_idle()
        if turn is None:
            return False
        self._desk.emit_of(turn, ReplyDelta(turn.id, said))
        with contextlib.suppress(ChannelClosed):
            self._deltas.put(TextDelta(turn.id, said))
            self._deltas.put(TextDelta(turn.id, "", last=True))
        return True

    def regenerate(self) -> None:
        """Answer the last question once more; see Reviser."""
        if not self._closed:
            self._reviser.regenerate()

    def edit(self, turn_id: int, text: str) -> None:
        """Ask something else in the place of a turn, which is forgotten with all after it; see Reviser."""
        if not self._closed:
            self._reviser.edit(turn_id, text)

    def delete_turn(self, turn_id: int) -> None:
        """Forget a turn, also where it is kept; see Reviser."""
        if not self._closed:
            self._reviser.delete_turn(turn_id)

    def replay(self, turn_id: int, text: str = "") -> None:
        """Say a reply once more; see Reviser."""
        if not self._closed:
            self._reviser.replay(turn_id, text)

    @property
    def memory(self) -> Memory | None:
        """What is kept of conversations; None where nothing can be."""
        return self._parts.memory

    @property
    def errands(self) -> Errands | None:
        """Timers and alarms."""
        return self._parts.errands

    def open_conversation(self, conversation: int) -> None:
        """Go on with a kept conversation. ConversationOpened tells when it is done, Failed when it cannot be."""
        memory = self._parts.memory
        if memory is None:
            return

        def open_it(session: ChatSession) -> list[tuple[int, str]]:
            opened = memory.open(conversation, session, self._desk.reserve)
            self._desk.emit(opened)
            return [(one.turn_id, one.question) for one in opened.exchanges if one.answer]

        self._with_session(open_it)

    def new_conversation(self) -> None:
        """Forget what was said and begin anew; what was kept stays. ConversationOpened tells when it is done."""
        memory = self._parts.memory

        def begin(session: ChatSession) -> list[tuple[int, str]]:
            if memory is None:
                session.reset()
            opened = ConversationOpened(None, "") if memory is None else memory.begin(session)
            self._desk.emit(opened)
            return []

        self._with_session(begin)

    def delete_conversation(self, conversation: int) -> None:
        """Delete a kept conversation for good; when it is the one that grows now, the session forgets it too.

        Raises:
            StorageError: there is none.
        """
        memory = self._parts.memory
        if memory is not None:
            grows = memory.current == conversation
            memory.delete(conversation)
            if grows:
                self.new_conversation()

    def _with_session(self, do: Callable[[ChatSession], list[tuple[int, str]]]) -> None:
        self.interrupt()
        with contextlib.suppress(ChannelClosed):
            self._prompts.put(WithSession(do))
        self._desk.end_idle()  # the session may be working ahead

    def _change(self, key: str, value: float) -> None:
        """A tool changes a setting; whoever keeps the settings is told."""
        self._settings = with_value(self._settings, key, value)
        if self._parts.sink is not None:
            self._parts.sink.apply(self._settings.audio)
        if self._parts.errands is not None:
            self._parts.errands.apply(self._settings)
        self._desk.emit(SettingChanged(key, value))

    def send_now(self) -> None:
        """End the utterance that is being spoken, without waiting for a pause."""
        if self._listen is not None:
            self._listen.send_now()

    def set_muted(self, muted: bool) -> None:
        """Close or open the microphone."""
        if self._listen is None or self._desk.resting is State.ERROR:
            return
        self._listen.set_muted(muted)
        self._desk.set_resting(State.MUTED if muted else State.LISTENING)

    def apply(self, settings: Settings) -> None:
        """Take over changed settings, each when its schema says; what needs it is loaded anew."""
        with self._apply_lock, contextlib.suppress(ChannelClosed):
            if self._closed:
                return
            old, self._settings = self._settings, settings
            if self._parts.detector is not None:
                self._parts.detector.apply(settings.vad)
            if self._parts.source is not None:
                self._parts.source.apply(settings.audio)
            if self._parts.sink is not None:
                self._parts.sink.apply(settings.audio)
            self._split.apply(settings.tts)
            if self._parts.memory is not None:
                self._parts.memory.apply(settings.privacy)
            if self._parts.errands is not None:
                self._parts.errands.apply(settings)
            if needs_reload(old.stt, settings.stt):
                self._utterances.put(self._recognizers.reload())
            else:
                self._recognize.recognizer.apply(settings.stt)
            if _other_model(old, settings):
                self._stop_answering()
                self._desk.emit(Notice("The language model is loaded anew; the conversation goes on.", {}))
                self._prompts.put(self._sessions.reload())
                self._desk.end_idle()
            else:
                self._reply.session.apply(settings.llm)
            if self._speak.synthesizer is not None:
                self._desk.end_idle()
                if self._other_voice(old, settings):
                    self._change_voice(settings)
                else:
                    self._speak.apply(settings.tts)

    def _let_sound_lead(self) -> None:
        """Loading takes a core for half a second or more: better when that much is made ahead. Not waited for long."""
        sink, voice, turn = self._parts.sink, self._speak.synthesizer, self._desk.current
        if sink is None or voice is None or turn is None:
            return
        deadline = time.monotonic() + _LEAD_WAIT_S
        while time.monotonic() < deadline and not self._closed:
            heard = sink.heard(turn.id)
            ahead = sum(part.total_samples - part.played_samples for part in heard)
            made = all(part.complete for part in heard) and not len(self._to_speak)
            if made or ahead >= _LEAD_S * voice.sample_rate_hz or turn.cancel.wait(_POLL_S):
                return

    def _other_voice(self, old: Settings, new: Settings) -> bool:
        """Whether what speaks cannot speak as `new` says: another engine, model, or number of threads."""
        voices = old.tts.voice != new.tts.voice
        return needs_reload(old.tts, new.tts) or (voices and self._engine(old) != self._engine(new))

    def _engine(self, settings: Settings) -> str:
        """Which engine speaks; "" where what the settings name is not there, as loading it will tell."""
        try:
            return self._parts.makers.engine(settings)
        except KazeiaError:
            return ""

    def _change_voice(self, settings: Settings) -> None:
        """Load it while the one before still speaks, so that nothing is waited for; where memory does not allow it,
        between two clauses.
        """
        reload = self._voices.reload()
        if self._parts.makers.room_for_two(settings) and reload.is_needed():
            self._let_sound_lead()
            try:
                made = reload.make()
            except KazeiaError as error:
                self._desk.fail(error, "settings")
                return
            reload = replace(reload, make=lambda: made, made=made, is_needed=lambda: True)
        self._speak.take_over(reload)
        if self._closed:
            self._speak.drop_coming()

    @property
    def state(self) -> State:
        return self._desk.state

    @property
    def voice_name(self) -> str:
        """The voice that speaks, or "" when replies are text only."""
        synthesizer = self._speak.synthesizer
        return "" if synthesizer is None else synthesizer.name

    @property
    def placement(self) -> Mapping[str, str]:
        """Part -> what runs where now, as shown to the user."""
        return {part: self.voice_name if part == "tts" else what for part, what in self._parts.placement.items()}

    @property
    def session(self) -> ChatSession:
        """The chat session, for its figures."""
        return self._reply.session

    # How turns end; each may be called by any stage

    def _interrupt(self, turn: Turn) -> bool:
        """Barge-in. Returns whether any of the reply was heard."""
        turn.cancel.set()
        sink = self._parts.sink
        if sink is not None:
            sink.flush()
        if not self._desk.claim(turn):
            return True
        heard = self._heard_of(turn)
        self._audio.end(turn.id, () if sink is None else sink.heard(turn.id))
        with contextlib.suppress(ChannelClosed, TimeoutError):  # closing: no history is left to amend
            self._prompts.put(Amend(turn.id, without_cut(heard)), timeout_s=0.0 if self._closed else None)
        self._spoke(turn, heard)
        self._desk.close_turn(turn, heard, "interrupted")
        return bool(heard)

    def _heard_of(self, turn: Turn) -> str:
        sink, synthesizer = self._parts.sink, self._speak.synthesizer
        if sink is None or synthesizer is None:
            return ""
        return heard_text(self._texts_of(turn.id), sink.heard(turn.id), synthesizer.sample_rate_hz)

    def _finish(self, turn: Turn) -> None:
        """The whole reply was heard, or shown when nothing is spoken."""
        sink = self._parts.sink
        first = sink.first_sample_time(turn.id) if sink is not None else None
        if first is not None:
            turn.marks.set("first_audio", first)
        if self._desk.claim(turn):
            reply = " ".join(text.strip() for _, text in sorted(self._texts_of(turn.id).items()) if text.strip())
            self._audio.end(turn.id)
            self._spoke(turn, reply)
            self._desk.close_turn(turn, reply, "done")

    def _give_up(self, turn: Turn, reason: str) -> None:
        """Nothing to answer: no words, or our own."""
        if self._desk.claim(turn):
            self._desk.close_turn(turn, "", reason)

    def _fail_turn(self, turn: Turn, error: KazeiaError, action: str) -> None:
        turn.cancel.set()
        if self._parts.sink is not None:
            self._parts.sink.flush()
        if self._desk.claim(turn):
            self._desk.fail(error, action)
            self._desk.close_turn(turn, "", "error")

    # What stages need to know of each other

    def _remember(self, clause: Clause) -> None:
        if clause.turn_id != self._clauses_turn:
            self._clauses_turn, self._clauses = clause.turn_id, {}
        self._clauses[clause.index] = clause.text

    def _texts_of(self, turn_id: int) -> dict[int, str]:
        return dict(self._clauses) if turn_id == self._clauses_turn else {}

    def _spoke(self, turn: Turn, text: str) -> None:
        if text and self._parts.sink is not None:
            self._echo = (text, time.monotonic() + _ECHO_TAIL_S)

    def _repeats_us(self, samples: FloatArray, speech_end_s: float, text: str) -> bool:
        spoken, until_s = self._echo
        began_s = speech_end_s - len(samples) / CAPTURE_RATE_HZ
        return began_s < until_s and is_echo(text, spoken)

    def _worker(self, name: str, run: Callable[[], None]) -> Worker:
        def failed(error: Exception) -> None:
            _log.error("the stage %s failed: %s", name, where(error))
            told = InferenceError(
                "The part {part} failed unexpectedly ({reason}). The conversation goes on; see the log if it recurs.",
                part=name,
                reason=type(error).__name__,
            )
            turn = self._desk.current
            if turn is not None:
                self._fail_turn(turn, told, "retry")
            else:
                self._desk.fail(told, "retry")
            self._desk.rest()
            if self._closed:
                return
            now_s = time.monotonic()
            self._restarts = [at_s for at_s in self._restarts if now_s - at_s < _RESTARTS_S] + [now_s]
            if len(self._restarts) > _MAX_RESTARTS:
                self._desk.fail(told, "retry", fatal=True)
                return
            again = self._worker(name, run)
            self._workers.append(again)
            again.start()

        return Worker(name, run, failed)


def _other_model(old: Settings, new: Settings) -> bool:
    """Whether the language model has to be loaded anew."""
    return needs_reload(old.llm, new.llm) or needs_reload(old.backends, new.backends)
