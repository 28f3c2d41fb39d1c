"""Several clauses at once: the models read each weight once for all, the codec makes sound of one after the other.

```
Spoken -> Part -> [talker -> code predictor, up to 4 parts a step] -> its codes -> codec, part by part -> sound
                   `tts-generator` thread                                          the caller's thread
```

Codes are small: 64 bytes a frame. What holds the generator back is the part that is being heard: while it is
generated, at most 16 of its frames wait. No more than 4 parts are begun before they were heard.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from threading import Condition
from typing import Final

import numpy as np

from kazeia_desktop._native import CodePredictor, TalkerError
from kazeia_desktop.errors import Cancelled, InferenceError, KazeiaError
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.worker import Worker
from kazeia_desktop.tts.codec import CodecStream
from kazeia_desktop.tts.qwen3_clause import Part, Spoken
from kazeia_desktop.tts.qwen3_generator import Course, Speech
from kazeia_desktop.tts.qwen3_guard import SILENT_FRAMES, frame_budget, silent_frames
from kazeia_desktop.tts.qwen3_talker import SIDE_BY_SIDE, TalkerSession

_AHEAD: Final = 16
"""Frames of the part that is being heard that may wait for the codec."""
_POLL_S: Final = 0.02
_JOIN_S: Final = 30.0
_ROOM: Final = 64
"""A sequence's room grows by so many positions: 7 MB in the 0.6B model."""


@dataclass(slots=True)
class _Lane:
    """A part that is being generated, in one of the talker's sequences."""

    part: Part
    sequence: int
    course: Course
    hidden: FloatArray
    logits: FloatArray


class Batch:
    """Clauses from text to sound, several generated at once, heard in their order.

    Those of `given` begin together; when they are generated, others join as `more` has them. The time that passes is
    shared by the parts that were begun and are not heard to their end, so that the parts' times add up.

    Args:
        begun: a clause's prompt and its course; what it raises is told when all before it were heard.
        seed: the seed of a clause.
        more: the next clause if one waits, else None, at once; called from the generator's thread.
        per_frame, most_frames: samples of a codec frame, and frames of its largest call.
        in_turn: the generator waits while the codec works on a piece that the caller awaits.
    """

    def __init__(
        self,
        begun: Callable[[Spoken, int], tuple[Speech, Course]],
        talker: TalkerSession,
        predictor: CodePredictor,
        codec: CodecStream,
        given: Iterable[Spoken],
        seed: Callable[[Spoken], int],
        more: Callable[[], Spoken | None],
        per_frame: int,
        most_frames: int,
        in_turn: bool = False,
    ) -> None:
        self._begun, self._talker, self._predictor, self._codec = begun, talker, predictor, codec
        self._given = deque(given)
        self._seed, self._more = seed, more
        self._per_frame, self._most_frames = per_frame, most_frames
        self._in_turn = in_turn
        self._due: float = math.inf  # frames of the part heard from which on the codec has its turn
        self._changed = Condition()
        self._order: list[Part] = []  # all that were begun
        self._heard = 0  # of them, those that are over
        self._again: deque[Part] = deque()
        self._lanes: list[_Lane] = []
        self._idle = False  # the generator found nothing to do since the last part was over
        self._stop = CancelToken()
        self._generating = True
        self._error: Exception | None = None
        self._mark: float | None = None  # since when time is to be shared; None while the caller keeps a piece

    def sound(self, cancel: CancelToken) -> Generator[tuple[Part, FloatArray | None], None, None]:
        """Yields each part's pieces of sound, float32, in order, and then the part with None.

        Close it to end the thread. Ends early, without an error, when `cancel` is set.

        Raises:
            KazeiaError: a model failed, or a clause cannot be spoken so.
        """
        worker = Worker("tts-generator", lambda: self._generate(cancel), self._failed)
        self._mark = time.perf_counter()
        try:
            worker.start()  # an interrupt may come while it waits for the thread's beginning
            while (part := self._next(cancel)) is not None:
                for piece in self._pieces(part, cancel):
                    yield part, self._kept(piece)
                    self._mark = time.perf_counter()
                if not part.done:  # the generator failed
                    break
                yield part, self._kept(None)
                with self._changed:
                    self._heard += 1
                    self._idle = False
                    self._mark = time.perf_counter()
                    self._changed.notify_all()
        except Cancelled:
            pass
        finally:
            self._stop.set()
            if self._generating:
                self._talker.cancel()
            with self._changed:
                self._changed.notify_all()
            if not worker.join(_JOIN_S):
                raise InferenceError("The voice failed ({reason}).", reason="its thread does not end")
        if self._error is not None:
            raise self._error

    def _kept(self, piece: FloatArray | None) -> FloatArray | None:
        """The time that the caller keeps a piece is nobody's."""
        self._share_time()
        self._mark = None
        return piece

    def _share_time(self) -> None:
        with self._changed:
            now = time.perf_counter()
            at_work = self._order[self._heard :]
            if self._mark is not None and at_work:
                for part in at_work:
                    part.elapsed_s += (now - self._mark) / len(at_work)
                self._mark = now

    # The caller's thread.

    def _next(self, cancel: CancelToken) -> Part | None:
        with self._changed:
            while True:
                cancel.raise_if_set()
                if self._error is not None:
                    return None
                if self._heard < len(self._order):
                    return self._order[self._heard]
                if self._idle:
                    return None
                self._changed.wait(_POLL_S)

    def _pieces(self, part: Part, cancel: CancelToken) -> Iterator[FloatArray]:
        """A part's sound; begun again with another seed where it did not end by itself and nothing was heard."""
        began = time.perf_counter()
        options = part.spoken.options
        while True:
            self._codec.reset()
            held = []
            for codes in self._chunks(part, cancel):
                mark = time.perf_counter()
                piece = self._codec.push(codes, cancel)
                part.codec_s += time.perf_counter() - mark
                self._rest()
                cancel.raise_if_set()
                part.chunks += 1
                self._listen(part, piece)
                if not options.stream_frames:
                    held.append(piece)
                    continue
                if part.ttfa_ms is None:
                    part.ttfa_ms = (time.perf_counter() - began) * 1000
                yield piece
            if part.error is not None:
                raise part.error
            heard = part.audible and bool(options.stream_frames)
            if part.stop == "eos" or options.max_frames is not None or heard or part.retries or self._error:
                break
            with self._changed:
                part.again()
                self._again.append(part)
                self._changed.notify_all()
        for piece in held:
            part.ttfa_ms = (time.perf_counter() - began) * 1000
            yield piece

    def _chunks(self, part: Part, cancel: CancelToken) -> Iterator[IntArray]:
        """(k, 16) int32 each: as many frames as the ramp says, and more where more wait already."""
        options = part.spoken.options
        sizes = iter(options.ramp)
        while True:
            size = min(next(sizes, options.stream_frames), options.stream_frames) or None
            with self._changed:
                self._due = math.inf if size is None else part.taken + size
                while True:
                    cancel.raise_if_set()
                    over = part.silent and options.max_frames is None
                    waiting = 0 if over else len(part.codes) - part.taken
                    if part.done or self._error is not None or (size is not None and waiting >= size):
                        break
                    self._changed.wait(_POLL_S)
                if not waiting:
                    self._due = math.inf
                    part.stop = "silence" if over else part.stop
                    del part.codes[part.taken :]
                    return
                if size is not None:
                    size = max(size, min(waiting, options.stream_frames))
                    if waiting >= 2 * size:
                        size = max(size, min(waiting, self._most_frames))
                codes = part.codes[part.taken :][:size]
                part.taken += len(codes)
                self._due = 0
                self._changed.notify_all()
            yield np.stack(codes)

    def _rest(self) -> None:
        """The codec awaits nothing for now: the generator has the cores."""
        with self._changed:
            self._due = math.inf
            self._changed.notify_all()

    def _listen(self, part: Part, piece: FloatArray) -> None:
        tail, all_silent = silent_frames(piece, self._per_frame)
        part.silence = part.silence + tail if all_silent else tail
        part.audible = part.audible or not all_silent
        if part.silence >= SILENT_FRAMES:
            part.silent = True

    # The generator's thread.

    def _failed(self, error: Exception) -> None:
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def _generate(self, cancel: CancelToken) -> None:
        try:
            while not self._stop.is_set() and not cancel.is_set():
                self._admit()
                if self._lanes:
                    self._step(cancel)
                else:
                    with self._changed:
                        if not self._stop.is_set():
                            self._changed.wait(_POLL_S)
        except TalkerError as error:
            if not self._stop.is_set() and not cancel.is_set():
                raise InferenceError("The voice failed ({reason}).", reason=str(error)) from error
        except RuntimeError as error:  # figures that are not finite
            raise InferenceError("The voice failed ({reason}).", reason=str(error)) from error
        finally:
            self._generating = False
        if cancel.is_set():
            self._codec.stop()

    def _admit(self) -> None:
        """Begins what can join: one that begins again, those given, then those that wait."""
        while len(self._lanes) < SIDE_BY_SIDE:
            part = self._waiting()
            if part is None:
                return
            self._begin(part)

    def _waiting(self) -> Part | None:
        with self._changed:
            if self._again:
                return self._again.popleft()
            if len(self._order) - self._heard < SIDE_BY_SIDE:
                spoken = self._given.popleft() if self._given else None
                first = spoken is not None
                if spoken is None and not any(lane.part.first for lane in self._lanes):
                    spoken = self._more()
                if spoken is not None:
                    self._share_time()
                    part = Part(spoken, self._seed(spoken), first)
                    self._order.append(part)
                    self._changed.notify_all()
                    return part
            self._idle = not self._lanes and self._heard == len(self._order)
            self._changed.notify_all()
            return None

    def _begin(self, part: Part) -> None:
        """A part that cannot be spoken so leaves those before it as they are."""
        try:
            self._prefill(part)
        except TalkerError as error:
            if self._stop.is_set():
                raise
            part.error = InferenceError("The voice failed ({reason}).", reason=str(error))
        except KazeiaError as error:
            part.error = error
        if part.error is not None:
            with self._changed:
                part.done = True
                self._changed.notify_all()

    def _prefill(self, part: Part) -> None:
        began = time.perf_counter()
        speech, course = self._begun(part.spoken, part.seed)
        taken = {lane.sequence for lane in self._lanes}
        sequence = next(i for i in range(SIDE_BY_SIDE) if i not in taken)
        told = part.spoken.options.max_frames
        frames = told if told is not None else frame_budget(len(part.spoken.text.encode("utf-8", "replace")))
        room = -(-(len(speech.prompt) + frames) // _ROOM) * _ROOM
        hidden, logits = self._talker.begin(
            sequence, speech.prompt, speech.n_prefix, min(room, self._talker.n_positions)
        )
        self._lanes.append(_Lane(part, sequence, course, hidden, logits))
        self._talker.take_times_s()
        part.times.prefill = time.perf_counter() - began
        part.times.total += part.times.prefill

    def _step(self, cancel: CancelToken) -> None:
        """The next frame of all lanes."""
        began = time.perf_counter()
        going: list[_Lane] = []
        first_codes: list[int] = []
        for lane in self._lanes:
            mark = time.perf_counter()
            code0 = lane.course.code0(lane.logits)
            lane.part.times.talker_sampling += time.perf_counter() - mark
            if code0 is None:
                self._end(lane)
            else:
                going.append(lane)
                first_codes.append(code0)
        self._lanes = going
        if not going:
            return
        n = len(going)
        mark = time.perf_counter()
        others = self._predictor.predict_all(
            np.stack([lane.hidden for lane in going]), first_codes,
            [lane.course.draw_others for lane in going], [lane.course.random for lane in going],
        )  # fmt: skip
        predicted_s = (time.perf_counter() - mark) / n
        native = [ns * 1e-9 / n for ns in self._predictor.take_times_ns()]
        frames = [
            np.concatenate([np.array([code], np.int32), row]) for code, row in zip(first_codes, others, strict=True)
        ]
        with self._changed:
            for lane, frame in zip(going, frames, strict=True):
                lane.part.codes.append(frame)
            self._changed.notify_all()
        self._wait_for_room(cancel)  # before the talker: beside it, both take a third longer
        if self._stop.is_set() or cancel.is_set():
            return
        on: list[_Lane] = []
        embeds: list[FloatArray] = []
        for lane, frame in zip(going, frames, strict=True):
            if lane.course.goes_on(lane.part.silent):
                embeds.append(self._predictor.frame_embedding(frame, lane.course.row()))
                on.append(lane)
            else:
                self._end(lane)
        self._lanes = on
        mark = time.perf_counter()
        if on:
            hidden, logits = self._talker.decode_all([lane.sequence for lane in on], np.stack(embeds))
            for lane, state, row in zip(on, hidden, logits, strict=True):
                lane.hidden, lane.logits = state, row
        now = time.perf_counter()
        head_s = self._talker.take_times_s()[1] / n
        for lane in going:
            times = lane.part.times
            times.code_predictor += predicted_s
            times.layers += native[0]
            times.heads += native[1]
            times.code_predictor_sampling += native[2]
            times.talker += (now - mark) / n
            times.talker_head += head_s
            times.total += (now - began) / n

    def _end(self, lane: _Lane) -> None:
        with self._changed:
            lane.part.stop, lane.part.done = lane.course.stop, True
            self._changed.notify_all()

    def _wait_for_room(self, cancel: CancelToken) -> None:
        """While the part that is being heard is too far ahead of the codec, or it is the codec's turn."""
        began = time.perf_counter()
        with self._changed:
            while self._is_full() and not self._stop.is_set() and not cancel.is_set():
                self._changed.wait(_POLL_S)
        waited_s = time.perf_counter() - began
        for lane in self._lanes:
            lane.part.times.waiting += waited_s / len(self._lanes)

    def _is_full(self) -> bool:
        part = self._order[self._heard] if self._heard < len(self._order) else None
        if part is None or not part.spoken.options.stream_frames:
            return False
        if self._in_turn and not part.silent and len(part.codes) >= self._due:
            return True
        if part.done or part.silent or len(part.codes) < self._due < math.inf:  # the codec awaits more
            return False
        return len(part.codes) - part.taken >= _AHEAD
