"""From an utterance to clauses: recognise, reply, split. One class a stage, one thread each."""

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kazeia_desktop.errors import Cancelled, KazeiaError
from kazeia_desktop.events import Notice, ReplyDelta, State, UserPartial, UserText
from kazeia_desktop.frames import CAPTURE_RATE_HZ, Clause, FloatArray, TextDelta
from kazeia_desktop.llm.base import ChatSession
from kazeia_desktop.llm.tools.base import Tools
from kazeia_desktop.log import where
from kazeia_desktop.pipeline.desk import TurnDesk
from kazeia_desktop.pipeline.items import (
    Amend,
    Draft,
    Forget,
    Hearing,
    PartT,
    Prompt,
    ReadAhead,
    Reload,
    Said,
    Saying,
    WithSession,
    Work,
)
from kazeia_desktop.pipeline.ledger import Ledger
from kazeia_desktop.pipeline.remembering import Memory
from kazeia_desktop.pipeline.turn import Turn
from kazeia_desktop.runtime.channel import Channel, ChannelClosed
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.stt.base import SpeechRecognizer
from kazeia_desktop.text.clause_splitter import ClauseSplitter
from kazeia_desktop.text.normalizer import normalize
from kazeia_desktop.text.think_filter import ThinkFilter

_log = logging.getLogger(__name__)

_PAUSE_S: Final = 2.0
"""Without a turn, before the session works ahead."""


def reloaded(desk: TurnDesk, old_close: Callable[[], None], reload: Reload[PartT]) -> PartT:
    """The new part, or the old one again when it cannot be had (told to the user).

    The old one is closed first: two models may not fit into memory together. The stage calls `settled` when it has
    taken the new one.
    """
    old_close()
    try:
        return reload.make()
    except KazeiaError as error:
        desk.fail(error, "settings")
        return reload.undo()


def settled(desk: TurnDesk, part: PartT, reload: Reload[PartT]) -> None:
    """Apply to a part what has changed while it was loaded; a value that does not fit is told."""
    try:
        reload.settle(part)
    except KazeiaError as error:
        desk.fail(error, "settings")


class RecognizeStage:
    """Utterance -> words of the user."""

    def __init__(
        self,
        desk: TurnDesk,
        inbox: Channel[Hearing],
        prompts: Channel[Work],
        recognizer: SpeechRecognizer,
        is_echo: Callable[[FloatArray, float, str], bool],
        give_up: Callable[[Turn, str], None],
        fail: Callable[[Turn, KazeiaError, str], None],
    ) -> None:
        self._desk = desk
        self._inbox = inbox
        self._prompts = prompts
        self.recognizer = recognizer
        self._is_echo = is_echo
        self._give_up = give_up
        self._fail = fail

    def run(self) -> None:
        """Until the inbox is closed."""
        with contextlib.suppress(ChannelClosed):
            for item in self._inbox:
                if isinstance(item, Reload):
                    if item.is_needed():
                        self.recognizer = reloaded(self._desk, self.recognizer.close, item)
                    settled(self._desk, self.recognizer, item)
                elif isinstance(item, Draft):
                    self._recognize_draft(item)
                elif (turn := self._desk.turn(item.utterance.turn_id)) is not None:
                    self._recognize(turn, item)

    def _recognize_draft(self, draft: Draft) -> None:
        """A fault is not told: it is met again, and told, where the utterance has ended."""
        started_s = time.monotonic()
        try:
            transcript = self.recognizer.transcribe(draft.samples, 0, draft.cancel)
            draft.took_ms = (time.monotonic() - started_s) * 1000
            draft.transcript = transcript
            text = transcript.text.strip()
            if text and not draft.cancel.is_set() and not self._is_echo(draft.samples, draft.speech_end_s, text):
                self._desk.emit(UserPartial(text))
                if draft.paused and not len(self._prompts):
                    self._prompts.put(ReadAhead(text, draft.cancel))
        except (KazeiaError, ChannelClosed):  # Cancelled is one too
            pass
        except Exception as error:  # noqa: BLE001 - as a fault that is expected: what was said is not lost by it
            _log.warning("a draft failed: %s", where(error))
        finally:
            draft.done = True

    def _recognize(self, turn: Turn, said: Said) -> None:
        utterance, draft = said.utterance, said.draft
        try:
            if draft is not None and draft.transcript is not None:
                # Only silence has followed; what of it was left to do when the utterance ended is what was waited for.
                turn.marks.set("stt_start", min(utterance.ended_s, time.monotonic()))
                transcript, took_ms, n_samples = draft.transcript, draft.took_ms, len(draft.samples)
            else:
                turn.marks.set("stt_start", time.monotonic())
                started_s = time.monotonic()
                transcript = self.recognizer.transcribe(utterance.samples, turn.id, turn.cancel)
                took_ms, n_samples = (time.monotonic() - started_s) * 1000, len(utterance.samples)
        except Cancelled:
            return
        except KazeiaError as error:
            self._fail(turn, error, "retry")
            return
        turn.marks.set("stt_end", time.monotonic())
        if n_samples:
            turn.figures["stt_ms_per_s"] = round(took_ms * CAPTURE_RATE_HZ / n_samples, 1)
        text = transcript.text.strip()
        if not text:
            self._give_up(turn, "nothing")
        elif self._is_echo(utterance.samples, utterance.speech_end_s, text):
            self._give_up(turn, "echo")
        elif self._desk.emit_of(turn, UserText(turn.id, text, transcript.language)):
            turn.marks.set("prompt", time.monotonic())  # here: the rest of what is read ahead is waited for, too
            self._prompts.put(Prompt(turn.id, text))


class ReplyStage:
    """Prompt -> a tool's answer, or the model's text, reasoning removed.

    Args:
        tools: asked first; None: there are none.
        memory: gives the session what is known of the user.
    """

    def __init__(
        self,
        desk: TurnDesk,
        inbox: Channel[Work],
        deltas: Channel[TextDelta],
        session: ChatSession,
        fail: Callable[[Turn, KazeiaError, str], None],
        tools: Tools | None = None,
        memory: Memory | None = None,
    ) -> None:
        self._desk = desk
        self._inbox = inbox
        self._deltas = deltas
        self.session = session
        self._fail = fail
        self._tools = tools
        self._memory = memory
        self._answered = 0  # the last turn that entered the session's history
        self._by_model = True  # not by a tool
        self._undo: Callable[[], None] | None = None  # what a tool did in that turn
        self._ledger = Ledger()
        self._told_full = False
        self._may_rest = False  # something has happened since the last rest

    def run(self) -> None:
        """Until the inbox is closed."""
        with contextlib.suppress(ChannelClosed):
            while True:
                item = self._next()
                self._may_rest = True
                if isinstance(item, Reload):
                    if item.is_needed():
                        self._reload(item)
                    settled(self._desk, self.session, item)
                elif isinstance(item, Amend):
                    if item.turn_id == self._answered:
                        self._amend(item.heard)
                elif isinstance(item, ReadAhead):
                    self._read_ahead(item)
                elif isinstance(item, WithSession):
                    self._do(item)
                elif isinstance(item, Forget):
                    self._forget(item.first, item.last)
                else:
                    if item.replaces:  # also when it was interrupted meanwhile: its place is known to be gone
                        self._forget(item.replaces, item.turn_id - 1)
                    if (turn := self._desk.turn(item.turn_id)) is not None:
                        self._reply(turn, item.text)

    def _next(self) -> Work:
        """What comes next; in a pause the session works ahead."""
        while self._may_rest:
            try:
                return self._inbox.get(_PAUSE_S)
            except TimeoutError:
                idle = self._desk.idle()
                if idle.is_set():
                    continue
                try:
                    self.session.rest(idle)
                except KazeiaError as error:  # told when somebody asks
                    _log.debug("at rest: %s", error)
                self._may_rest = idle.is_set()
        return self._inbox.get()

    def _reload(self, item: Reload[ChatSession]) -> None:
        history = self.session.history
        self.session = reloaded(self._desk, self.session.close, item)
        self.session.restore(history)  # read again with the next reply
        if self._memory is not None:
            self._memory.new_session(self.session)

    def amend(self, left: Iterable[Work]) -> None:
        """Of what was left when `run` ended: let the session remember only what was heard, before it is kept."""
        for item in left:
            if isinstance(item, Amend) and item.turn_id == self._answered:
                self.session.amend_last_reply(item.heard)

    def _amend(self, heard: str) -> None:
        self.session.amend_last_reply(heard)
        if not heard:  # the question goes on, or was withdrawn
            self._ledger.drop(self._answered, self._answered)
            self._take_back()

    def _read_ahead(self, item: ReadAhead) -> None:
        if item.cancel.is_set():
            return
        try:
            if self._memory is not None:
                self._memory.before_reply(self.session)
            self.session.read_ahead(item.text, item.cancel)
        except KazeiaError as error:  # told when it is asked
            _log.debug("ahead: %s", error)

    def _take_back(self) -> None:
        """What a tool did in the last turn."""
        if self._undo is not None:
            self._undo()
        self._undo = None

    def _forget(self, first: int, last: int) -> None:
        span = self._ledger.span(self.session.history, first, last)
        if span is not None:
            self.session.forget(*span)
        self._ledger.drop(first, last)
        if first <= self._answered <= last:
            self._take_back()
            self._answered = 0
        if self._memory is not None:
            self._memory.removed()

    def _do(self, item: WithSession) -> None:
        try:
            self._ledger.replace(item.do(self.session))
        except KazeiaError as error:
            self._desk.fail(error, "")
        self._answered, self._undo = 0, None

    def _reply(self, turn: Turn, text: str) -> None:
        self._answered, self._undo = turn.id, None
        self._ledger.add(turn.id, text)
        self._told_full = self._told_full and bool(self.session.history)
        turn.marks.set("prompt", time.monotonic())
        try:
            for piece in self._visible(turn, text):
                self._desk.emit_of(turn, ReplyDelta(turn.id, piece))
                self._deltas.put(TextDelta(turn.id, piece))
        except Cancelled:
            return
        except KazeiaError as error:
            self._fail(turn, error, "retry")
            return
        tokens_per_s = self.session.stats.tokens_per_s if self._by_model else None
        if tokens_per_s:
            turn.figures["llm_token_ms"] = round(1000 / tokens_per_s, 2)
        if turn.cancel.is_set():
            return
        if self._by_model and self.session.stats.dropped_turns and not self._told_full:
            self._told_full = True  # once a conversation
            self._desk.emit(Notice("The conversation is long: its oldest part was forgotten.", {}))
        self._deltas.put(TextDelta(turn.id, "", last=True))

    def _visible(self, turn: Turn, text: str) -> Iterator[str]:
        if self._memory is not None:
            self._memory.before_reply(self.session)
        outcome = None if self._tools is None else self._tools.answer(text, self.session.aside, turn.cancel)
        self._by_model = outcome is None
        if outcome is None:
            yield from self._written(turn, text)
            return
        self._undo = outcome.undo
        self.session.record(text, outcome.said)
        turn.marks.set("first_token", time.monotonic())
        if not turn.cancel.is_set():
            yield outcome.said

    def _written(self, turn: Turn, text: str) -> Iterator[str]:
        thoughts = ThinkFilter()
        begun = False
        for raw in self.session.reply(text, turn.cancel):
            turn.marks.set("first_token", time.monotonic())
            if turn.cancel.is_set():
                continue  # the session ends by itself and keeps its history whole
            piece = thoughts.push(raw)
            piece = piece if begun else piece.lstrip()
            if piece:
                begun = True
                yield piece
        if not turn.cancel.is_set() and (rest := thoughts.finish()):
            yield rest


class SplitStage:
    """Text -> clauses, as displayed and as spoken."""

    def __init__(
        self,
        desk: TurnDesk,
        inbox: Channel[TextDelta],
        clauses: Channel[Saying],
        remember: Callable[[Clause], None],
        settings: TtsSettings,
    ) -> None:
        self._desk = desk
        self._inbox = inbox
        self._clauses = clauses
        self._remember = remember
        self._settings = settings
        self._turn_id = 0
        self._index = 0
        self._splitter = ClauseSplitter(settings.early_comma, settings.language)

    def apply(self, settings: TtsSettings) -> None:
        """From any thread: language and early cut of what is split from now on."""
        self._settings = settings

    def run(self) -> None:
        """Until the inbox is closed."""
        with contextlib.suppress(ChannelClosed):
            for delta in self._inbox:
                if (turn := self._desk.turn(delta.turn_id)) is not None:
                    self._split(turn, delta)

    def _split(self, turn: Turn, delta: TextDelta) -> None:
        if turn.id != self._turn_id:
            self._turn_id, self._index = turn.id, 0
            self._splitter = ClauseSplitter(self._settings.early_comma, self._settings.language)
        texts = self._splitter.push(delta.text)
        if delta.last:
            texts += self._splitter.finish()
        for at, text in enumerate(texts):
            self._pass_on(turn, text, last=delta.last and at == len(texts) - 1)
        if delta.last and not texts:
            self._pass_on(turn, "", last=True)

    def _pass_on(self, turn: Turn, text: str, last: bool) -> None:
        spoken = normalize(text, self._settings.language)
        if spoken:
            turn.marks.set("first_clause", time.monotonic())
        clause = Clause(turn.id, self._index, text, spoken, last)
        self._index += 1
        self._remember(clause)
        self._desk.advance(turn, State.THINKING)
        self._clauses.put(clause)
