"""From clauses to the loudspeaker, and what was heard of them."""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

from kazeia_desktop.audio.base import SpeechSink
from kazeia_desktop.errors import AudioDeviceError, Cancelled, KazeiaError
from kazeia_desktop.events import ClauseStarted, Level, State, VoiceChanged
from kazeia_desktop.frames import Clause, SpeechFrame
from kazeia_desktop.pipeline.answering import reloaded, settled
from kazeia_desktop.pipeline.cushion import Cushion
from kazeia_desktop.pipeline.desk import TurnDesk
from kazeia_desktop.pipeline.items import Look, Reload, Replay, Saying
from kazeia_desktop.pipeline.reply_audio import ReplyAudio
from kazeia_desktop.pipeline.turn import Turn
from kazeia_desktop.runtime.channel import Channel, ChannelClosed
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.tts.base import BatchVoice, MeasuredVoice, SpeechSynthesizer

_WATCH_PERIOD_S: Final = 0.05
_SURE_FRAMES: Final = 12
"""A second of sound: the start of a shorter one weighs too much."""
_REPLAYED_S: Final = 0.25
"""Sound that is handed on at once: a stop waits for no more."""
_PAUSE_S: Final = 1.0
"""Nothing to say for so long: time to measure."""


class SpeakStage:
    """Clause -> sound in the loudspeaker's queue, which holds it back when it is far ahead."""

    def __init__(
        self,
        desk: TurnDesk,
        inbox: Channel[Saying],
        watched: Channel[Turn],
        synthesizer: SpeechSynthesizer | None,
        sink: SpeechSink | None,
        finish: Callable[[Turn], None],
        fail: Callable[[Turn, KazeiaError, str], None],
        remember: Callable[[Clause], None],
        audio: ReplyAudio,
    ) -> None:
        self._desk = desk
        self._inbox = inbox
        self._watched = watched
        self._remember = remember
        self._audio = audio
        self.synthesizer = synthesizer
        self._sink = sink
        self._finish = finish
        self._fail = fail
        self._cushion = Cushion(desk.emit)
        self._lock = threading.Lock()
        self._coming: Reload[SpeechSynthesizer] | None = None  # from the next clause on
        self._told: set[str] = set()  # models whose slowness was told
        self._playing = 0  # turn that the watcher was told of

    def run(self) -> None:
        """Until the inbox is closed."""
        with contextlib.suppress(ChannelClosed):
            while True:
                item = self._next()
                self._change_voice()
                if isinstance(item, Look):
                    continue
                if isinstance(item, Reload):
                    self._reload(item)
                elif (turn := self._desk.turn(item.turn_id)) is not None:
                    if isinstance(item, Replay):
                        self._replay(turn, item)
                    else:
                        self._speak(turn, item)

    def take_over(self, coming: Reload[SpeechSynthesizer]) -> None:
        """Another voice from the next clause on, before what waits. From any thread; the last one told counts."""
        self.drop_coming(coming)
        with contextlib.suppress(ChannelClosed, TimeoutError):
            self._inbox.put(Look(), timeout_s=0.0)  # where the channel is full the stage is awake

    def drop_coming(self, instead: Reload[SpeechSynthesizer] | None = None) -> None:
        """Close a voice that was loaded and not yet taken over."""
        with self._lock:
            dropped, self._coming = self._coming, instead
        if dropped is not None and dropped.made is not None:
            dropped.made.close()

    def apply(self, settings: TtsSettings) -> None:
        """Take over what needs no other voice. From any thread.

        Raises:
            KazeiaError: a value does not fit; the one before stays.
        """
        with self._lock:
            coming, voice = self._coming, self.synthesizer
        if coming is not None and coming.made is not None:
            voice = coming.made
        if voice is not None:
            voice.apply(settings)

    def _change_voice(self) -> None:
        with self._lock:
            coming, self._coming = self._coming, None
        if coming is not None:
            self._reload(coming)

    def _reload(self, item: Reload[SpeechSynthesizer]) -> None:
        if item.is_needed():
            close = self.synthesizer.close if self.synthesizer is not None else lambda: None
            self.synthesizer = reloaded(self._desk, close, item)
            self._cushion.forget()
            if self.synthesizer is not None:
                self._desk.emit(VoiceChanged(self.synthesizer.name))
        if self.synthesizer is not None:
            settled(self._desk, self.synthesizer, item)

    def _next(self) -> Saying:
        """The next item; while none comes, the voice may find out how fast it is."""
        while True:
            voice = self.synthesizer
            measures = self._sink is not None and isinstance(voice, MeasuredVoice) and voice.wants_measuring
            try:
                return self._inbox.get(_PAUSE_S if measures else None)
            except TimeoutError:
                if isinstance(voice, MeasuredVoice):
                    self._measure(voice)

    def _measure(self, voice: MeasuredVoice) -> None:
        idle = self._desk.idle()
        if idle.is_set():
            return
        try:
            voice.measure(idle)
        except KazeiaError as error:
            self._desk.fail(error, "settings")
        if not voice.wants_measuring:
            self._tell_slow(voice)

    def _speak(self, turn: Turn, clause: Clause) -> None:
        if self._sink is None or self.synthesizer is None:  # text only
            if clause.last:
                self._finish(turn)
            return
        if clause.spoken:
            turn.marks.set("tts_start", time.monotonic())
        voice, sink = self.synthesizer, self._sink
        try:
            if isinstance(voice, BatchVoice):
                self._speak_all(turn, clause, voice, sink)
            else:
                self._say(turn, clause, voice.synthesize(clause, turn.cancel), voice, sink)
        except Cancelled:
            return
        except AudioDeviceError as error:
            self._fail(turn, error, "devices")
        except KazeiaError as error:
            self._fail(turn, error, "retry")

    def _replay(self, turn: Turn, replay: Replay) -> None:
        sink = self._sink
        if sink is None:
            return
        try:
            for at, kept in enumerate(replay.clauses):
                clause = replace(kept.clause, turn_id=turn.id, last=at == len(replay.clauses) - 1)
                self._remember(clause)
                step = max(1, int(kept.rate_hz * _REPLAYED_S))
                samples = kept.samples
                for start in range(0, len(samples), step):
                    part = samples[start : start + step]
                    ends = start + step >= len(samples)
                    self._write(turn, clause, SpeechFrame(turn.id, clause.index, part, kept.rate_hz, ends), sink)
                    if turn.cancel.is_set():
                        return
        except AudioDeviceError as error:
            self._fail(turn, error, "devices")

    def _speak_all(self, turn: Turn, first: Clause, voice: "_Several", sink: SpeechSink) -> None:
        """The clause, and those of its turn that come while it is spoken: the voice makes them together."""
        taken = deque([first])

        def more() -> Clause | None:
            if self._coming is not None:
                return None  # another voice says it
            item = self._inbox.take_if(lambda item: isinstance(item, Clause) and item.turn_id == turn.id)
            if not isinstance(item, Clause):
                return None
            taken.append(item)
            return item

        with contextlib.closing(voice.synthesize_all(first, more, turn.cancel)) as made:
            while (frame := next(made, None)) is not None:
                self._say(turn, taken.popleft(), _until_end(frame, made), voice, sink)

    def _say(
        self, turn: Turn, clause: Clause, frames: Iterator[SpeechFrame], voice: SpeechSynthesizer, sink: SpeechSink
    ) -> None:
        """One clause's frames, to the loudspeaker."""
        made = self._made(turn, frames, voice)
        if isinstance(voice, MeasuredVoice):
            ahead_s = partial(_ahead_s, sink, turn, voice.sample_rate_hz)
            made = self._cushion.frames(clause, made, voice.pace, ahead_s, turn.cancel.wait)
        for frame in made:
            if not turn.cancel.is_set():
                self._audio.add(clause, frame)
            self._write(turn, clause, frame, sink)

    def _made(self, turn: Turn, frames: Iterator[SpeechFrame], voice: SpeechSynthesizer) -> Iterator[SpeechFrame]:
        """The clause's frames as they are made, and what they took."""
        made_s = sound_s = 0.0
        began = time.monotonic()
        for frame in frames:
            made_s += time.monotonic() - began
            sound_s += len(frame.samples) / frame.sample_rate_hz
            if len(frame.samples):
                turn.marks.set("first_sample", time.monotonic())
            if frame.end_of_clause:
                turn.spoken.append((made_s, sound_s))
                self._account(turn, voice)
            yield frame
            began = time.monotonic()

    def _account(self, turn: Turn, voice: SpeechSynthesizer) -> None:
        """Keep the clause's figures; tell when this machine is too slow for the voice."""
        figures = voice.figures
        if figures is None:
            return
        turn.clauses.append(figures)
        if figures.frames >= _SURE_FRAMES and isinstance(voice, MeasuredVoice):
            self._tell_slow(voice, figures.rtf)

    def _tell_slow(self, voice: MeasuredVoice, rtf: float | None = None) -> None:
        """Once a model."""
        notice = None if voice.model in self._told else voice.slowness(rtf)
        if notice is not None:
            self._told.add(voice.model)
            self._desk.emit(notice)

    def _write(self, turn: Turn, clause: Clause, frame: SpeechFrame, sink: SpeechSink) -> None:
        ends = frame.end_of_clause and clause.last
        if ends:
            frame = SpeechFrame(
                frame.turn_id, frame.clause_index, frame.samples, frame.sample_rate_hz, True, end_of_turn=True
            )
        if self._playing != turn.id and (len(frame.samples) or ends):
            self._playing = turn.id
            self._watched.put(turn)
        sink.write(frame, turn.cancel)


class _Several(SpeechSynthesizer, BatchVoice, Protocol):
    """A voice that makes several clauses at once."""


def _until_end(first: SpeechFrame, made: Iterator[SpeechFrame]) -> Iterator[SpeechFrame]:
    """The frames of one clause, of which the first was taken."""
    frame: SpeechFrame | None = first
    while frame is not None:
        yield frame
        frame = None if frame.end_of_clause else next(made, None)


def _ahead_s(sink: SpeechSink, turn: Turn, rate_hz: int) -> float:
    """How long the loudspeaker still has to play of the turn."""
    return sum(part.total_samples - part.played_samples for part in sink.heard(turn.id)) / rate_hz


class WatchStage:
    """Follows what the loudspeaker plays: states, captions, the level, and the end of the turn."""

    def __init__(
        self,
        desk: TurnDesk,
        inbox: Channel[Turn],
        sink: SpeechSink,
        clause_texts: Callable[[int], dict[int, str]],
        finish: Callable[[Turn], None],
    ) -> None:
        self._desk = desk
        self._inbox = inbox
        self._sink = sink
        self._clause_texts = clause_texts
        self._finish = finish

    def run(self) -> None:
        """Until the inbox is closed."""
        with contextlib.suppress(ChannelClosed):
            for turn in self._inbox:
                self._follow(turn)

    def _follow(self, turn: Turn) -> None:
        started = -1
        while not turn.cancel.is_set() and not self._inbox.closed:
            heard = self._sink.heard(turn.id)
            for part in heard:
                if part.clause_index > started and part.played_samples > 0:
                    started = part.clause_index
                    self._began(turn, started)
            if self._sink.all_played(turn.id):
                self._finish(turn)
                return
            if started >= 0:
                self._desk.emit(Level(self._sink.rms))
            turn.cancel.wait(_WATCH_PERIOD_S)

    def _began(self, turn: Turn, index: int) -> None:
        first = self._sink.first_sample_time(turn.id)
        if first is not None:
            turn.marks.set("first_audio", first)
        self._desk.advance(turn, State.SPEAKING)
        text = self._clause_texts(turn.id).get(index, "")
        if text and not turn.cancel.is_set():
            self._desk.emit_of(turn, ClauseStarted(turn.id, index, text))
