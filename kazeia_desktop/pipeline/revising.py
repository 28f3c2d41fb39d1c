"""What the user does to what was said: ask again, edit, delete, hear again."""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from kazeia_desktop.events import ConversationOpened, Event, ReplayStarted, State, TurnsRemoved, UserText
from kazeia_desktop.frames import TextDelta
from kazeia_desktop.pipeline.desk import TurnDesk
from kazeia_desktop.pipeline.items import Forget, Prompt, Replay, Saying, Work
from kazeia_desktop.pipeline.remembering import Memory
from kazeia_desktop.pipeline.reply_audio import ReplyAudio
from kazeia_desktop.pipeline.turn import Turn
from kazeia_desktop.runtime.channel import Channel, ChannelClosed


@dataclass(frozen=True, slots=True)
class Lines:
    """Where work goes: to the language model, to the clause splitter, to the voice (None: nothing is spoken)."""

    prompts: Channel[Work]
    deltas: Channel[TextDelta]
    to_speak: Channel[Saying] | None


class Reviser:
    """Each method from any thread and in any state: what is being said or thought about stops first where it must.

    A turn that is unknown, or was in a conversation before this one, is left alone.

    Args:
        interrupt: stops a turn.
        language: of what is typed, "fr" or "en".
    """

    def __init__(
        self,
        desk: TurnDesk,
        lines: Lines,
        audio: ReplyAudio,
        memory: Memory | None,
        interrupt: Callable[[Turn], bool],
        language: Callable[[], str],
    ) -> None:
        self._desk = desk
        self._lines = lines
        self._audio = audio
        self._memory = memory
        self._interrupt = interrupt
        self._language = language
        self._lock = threading.Lock()
        self._questions: dict[int, str] = {}
        self._base = 0  # turns up to this one were in another conversation
        self._replay = (0, 0)  # the last turn that replayed, and whose reply

    def hear(self, event: Event) -> None:
        """Take notice of an event of the conversation; returns at once."""
        match event:
            case UserText(turn_id, text, _):
                with self._lock:
                    self._questions[turn_id] = text
            case TurnsRemoved(first, last):
                self._drop_questions(first, last)
            case ConversationOpened(_, _, exchanges):
                with self._lock:
                    self._base = exchanges[0].turn_id - 1 if exchanges else self._desk.last_id
                    self._questions = {one.turn_id: one.question for one in exchanges}
                self._audio.drop(0, self._base)

    def regenerate(self) -> None:
        """Answer the last question once more; its answer before is forgotten. Nothing when there is none."""
        with self._lock:
            last = max(self._questions, default=None)
            question = "" if last is None else self._questions[last]
        if last is not None:
            self._ask(last, question)

    def edit(self, turn_id: int, text: str) -> None:
        """Ask `text` in the place of what was said in a turn; the turn and all after it are forgotten."""
        if text.strip() and self._knows(turn_id):
            self._ask(turn_id, text.strip())

    def delete_turn(self, turn_id: int) -> None:
        """Forget a turn, its question and its answer, also where it is kept."""
        if not self._knows(turn_id):
            return
        current = self._desk.current
        if current is not None and (current.id == turn_id or self._replay == (current.id, turn_id)):
            self._interrupt(current)
        self._remove(turn_id, turn_id)
        with contextlib.suppress(ChannelClosed):
            self._lines.prompts.put(Forget(turn_id, turn_id))
        self._desk.end_idle()  # the session may be working ahead

    def replay(self, turn_id: int, text: str = "") -> None:
        """Say a reply once more. A turn like any other: Stop and the user's voice end it, nothing of it is remembered.

        Args:
            turn_id: 0: another engine's, whose sound is not known.
            text: spoken anew when the sound is no longer kept.
        """
        to_speak = self._lines.to_speak
        kept = self._audio.get(turn_id) if turn_id > 0 else ()
        if to_speak is None or not (kept or text.strip()):
            return
        turn = self._begin()
        with self._lock:
            self._replay = (turn.id, turn_id)
        self._desk.emit_of(turn, ReplayStarted(turn.id, turn_id))
        with contextlib.suppress(ChannelClosed):
            if kept:
                to_speak.put(Replay(turn.id, kept))
            else:
                if turn_id > 0:
                    self._audio.record_as(turn.id, turn_id)
                self._lines.deltas.put(TextDelta(turn.id, text))
                self._lines.deltas.put(TextDelta(turn.id, "", last=True))

    def _knows(self, turn_id: int) -> bool:
        return self._base < turn_id <= self._desk.last_id

    def _begin(self) -> Turn:
        turn = self._desk.begin_after(self._interrupt, typed=True)
        turn.marks.set("speech_end", time.monotonic())
        return turn

    def _ask(self, first: int, text: str) -> None:
        turn = self._begin()
        self._remove(first, turn.id - 1)
        self._desk.emit_of(turn, UserText(turn.id, text, self._language()))
        self._desk.advance(turn, State.THINKING)
        with contextlib.suppress(ChannelClosed):
            self._lines.prompts.put(Prompt(turn.id, text, replaces=first))

    def _drop_questions(self, first: int, last: int) -> None:
        with self._lock:
            for turn_id in [one for one in self._questions if first <= one <= last]:
                del self._questions[turn_id]

    def _remove(self, first: int, last: int) -> None:
        self._drop_questions(first, last)
        self._audio.drop(first, last)
        if self._memory is not None:
            self._memory.remove(first, last)
        self._desk.emit(TurnsRemoved(first, last))
