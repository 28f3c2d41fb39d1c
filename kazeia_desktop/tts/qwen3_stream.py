"""Frames to sound while they are made: the generator has a thread of its own, the codec runs in the caller's.

Where each of the two takes all cores they work in turn: a piece's frames, then its sound. Threads of both on the same
cores would wait whole time slices for each other, at each of the four meetings a layer.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Final

import numpy as np

from kazeia_desktop.errors import Cancelled, InferenceError
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.channel import Channel, ChannelClosed
from kazeia_desktop.runtime.worker import Worker
from kazeia_desktop.tts.codec import CodecStream
from kazeia_desktop.tts.qwen3_guard import SILENT_FRAMES, silent_frames

_POLL_S: Final = 0.02
_AHEAD: Final = 16
"""Frames that may wait for the codec: more would be thrown away at a stop."""
_JOIN_S: Final = 30.0


class SpeechStream:
    """One utterance on its way from frames to sound.

    Args:
        frames: makes the frames; runs in the generator's thread, under the stream's own token.
        codec: reset, and used by this stream alone until `sound` ends.
        stream_frames: largest number of frames a call of the codec takes; 0: all at the end.
        interrupt: ends the generator's call under way; called from the caller's thread.
        ramp: frames of the codec's first calls, none more than stream_frames.
        in_turn: the generator waits while the codec works on a piece that the caller awaits.
    """

    def __init__(
        self,
        frames: Callable[[CancelToken, CancelToken], Iterator[IntArray]],
        codec: CodecStream,
        samples_per_frame: int,
        stream_frames: int,
        interrupt: Callable[[], None],
        ramp: Sequence[int] = (1, 2, 4),
        in_turn: bool = False,
    ) -> None:
        self._frames = frames
        self._codec = codec
        self._samples_per_frame = samples_per_frame
        self._stream_frames = stream_frames
        self._interrupt = interrupt
        self._ramp = ramp
        self._in_turn = in_turn
        self._due: float = math.inf  # frames from which on the codec has its turn
        self._decoded = threading.Event()
        self._stop = CancelToken()
        self._silent = CancelToken()
        self._channel: Channel[IntArray] = Channel(_AHEAD)
        self._error: Exception | None = None
        self._silence = 0
        self._generating = True
        self.codes: list[IntArray] = []
        self.codec_s = 0.0
        self.audible = False
        """Whether anything could be heard so far."""

    def sound(self, cancel: CancelToken) -> Generator[FloatArray, None, None]:
        """Yields pieces of sound, float32; ends early, without an error, when `cancel` is set.

        Raises:
            InferenceError: a model failed.
        """
        self._due = min(next(iter(self._ramp), self._stream_frames), self._stream_frames) or math.inf
        worker = Worker("tts-generator", lambda: self._generate(cancel), self._failed)
        try:
            worker.start()  # an interrupt may come while it waits for the thread's beginning
            for codes in self._chunks(cancel):
                began = time.perf_counter()
                sound = self._codec.push(codes, cancel)
                self.codec_s += time.perf_counter() - began
                self._due = math.inf
                self._decoded.set()
                cancel.raise_if_set()
                self._listen(sound)
                yield sound
        except Cancelled:
            pass
        finally:
            self._stop.set()
            self._channel.close()
            if self._generating:
                self._interrupt()
            if not worker.join(_JOIN_S):
                raise InferenceError("The voice failed ({reason}).", reason="its thread does not end")
        if self._error is not None:
            raise self._error

    def _generate(self, cancel: CancelToken) -> None:
        try:
            for frame in self._frames(self._stop, self._silent):
                self.codes.append(frame)
                if not self._put(frame, cancel) or not self._let_codec(cancel):
                    break
        except ChannelClosed:
            pass
        finally:
            self._generating = False
            self._channel.close()
        # The codec is at work in the other thread: a call of several frames would outlast a stop.
        while not self._stop.wait(_POLL_S):
            if cancel.is_set():
                self._codec.stop()
                return

    def _put(self, frame: IntArray, cancel: CancelToken) -> bool:
        """Hand a frame over, waiting for room; False when cancelled."""
        while not cancel.is_set():
            with contextlib.suppress(TimeoutError):
                self._channel.put(frame, _POLL_S)
                return True
        return False

    def _let_codec(self, cancel: CancelToken) -> bool:
        """Leave the cores to the codec until it has made what it can make now; False when cancelled."""
        while self._in_turn and len(self.codes) >= self._due:
            self._decoded.clear()
            if len(self.codes) >= self._due and not self._stop.is_set():  # again: it may have been made just now
                self._decoded.wait(_POLL_S)
            if cancel.is_set():
                return False
            if self._stop.is_set():
                break
        return True

    def _failed(self, error: Exception) -> None:
        self._error = error

    def _chunks(self, cancel: CancelToken) -> Iterator[IntArray]:
        """(k, 16) int32 each: as many frames as the ramp says, fewer at the end."""
        sizes = iter(self._ramp)
        waiting: list[IntArray] = []
        taken = 0
        while True:
            size = next(sizes, self._stream_frames) if self._stream_frames else 0
            size = min(size, self._stream_frames)
            self._due = taken + size if size else math.inf
            while not size or len(waiting) < size:
                try:
                    waiting.append(self._channel.get(_POLL_S))
                except TimeoutError:
                    pass
                except ChannelClosed:
                    if waiting:
                        yield np.stack(waiting)
                    return
                cancel.raise_if_set()
            taken += size
            yield np.stack(waiting)
            waiting = []

    def _listen(self, sound: FloatArray) -> None:
        tail, all_silent = silent_frames(sound, self._samples_per_frame)
        self._silence = self._silence + tail if all_silent else tail
        self.audible = self.audible or not all_silent
        if self._silence >= SILENT_FRAMES:
            self._silent.set()
