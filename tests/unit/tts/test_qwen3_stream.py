"""Frames to sound on a scripted codec: pieces, silence, failures, a stop at any time."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.errors import InferenceError
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.tts.codec import CodecStream
from kazeia_desktop.tts.qwen3_guard import SILENT_FRAMES
from kazeia_desktop.tts.qwen3_stream import SpeechStream

pytestmark = pytest.mark.unit

PER_FRAME = 4
WAIT_S = 5.0
Frames = Callable[[CancelToken, CancelToken], Iterator[IntArray]]


class FakeCodec:
    """A frame sounds as loud as its code 0, in thousandths."""

    stopped = False

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.during: Callable[[int], object] = lambda call: None

    def push(self, codes: IntArray, cancel: CancelToken | None = None) -> FloatArray:
        self.during(len(self.sizes))
        self.sizes.append(len(codes))
        return np.repeat(codes[:, 0].astype(np.float32) / 1000, PER_FRAME)

    def stop(self) -> None:
        self.stopped = True


def frame(code: int) -> IntArray:
    return np.full(16, code, np.int32)


def saying(*codes: int) -> Frames:
    return lambda stop, silent: (frame(code) for code in codes)


def stream(
    frames: Frames,
    codec: FakeCodec,
    stream_frames: int = 4,
    interrupt: Callable[[], None] = lambda: None,
    in_turn: bool = False,
) -> SpeechStream:
    return SpeechStream(frames, cast(CodecStream, codec), PER_FRAME, stream_frames, interrupt, in_turn=in_turn)


def test_without_a_ramp_all_pieces_are_of_one_size() -> None:
    codec = FakeCodec()
    made = SpeechStream(saying(*[700] * 9), cast(CodecStream, codec), PER_FRAME, 4, lambda: None, ())
    assert sum(len(sound) for sound in made.sound(CancelToken())) == 9 * PER_FRAME
    assert codec.sizes == [4, 4, 1]


@pytest.mark.parametrize(
    ("stream_frames", "sizes"),
    [
        (0, [13]),
        (1, [1] * 13),
        (2, [1, 2, 2, 2, 2, 2, 2]),
        (4, [1, 2, 4, 4, 2]),
        (8, [1, 2, 4, 6]),
    ],
)
def test_the_sizes_of_the_pieces(stream_frames: int, sizes: list[int]) -> None:
    codec = FakeCodec()
    pieces = list(stream(saying(*range(100, 113)), codec, stream_frames).sound(CancelToken()))
    assert codec.sizes == sizes == [len(piece) // PER_FRAME for piece in pieces]


@given(st.lists(st.integers(0, 2047), max_size=70), st.integers(0, 8), st.booleans())
def test_every_frame_sounds_once_and_in_order(codes: list[int], stream_frames: int, in_turn: bool) -> None:
    speech = stream(saying(*codes), FakeCodec(), stream_frames, in_turn=in_turn)
    sound = list(speech.sound(CancelToken()))
    want = np.repeat(np.array(codes, np.float32) / 1000, PER_FRAME)
    np.testing.assert_array_equal(np.concatenate([np.zeros(0, np.float32), *sound]), want)
    assert [int(row[0]) for row in speech.codes] == codes
    assert speech.audible == any(code >= 3 for code in codes)


def test_nothing_to_say() -> None:
    speech = stream(saying(), FakeCodec())
    assert list(speech.sound(CancelToken())) == []
    assert not speech.audible


def test_the_first_frame_waits_for_no_other() -> None:
    heard = threading.Event()

    def frames(stop: CancelToken, silent: CancelToken) -> Iterator[IntArray]:
        yield frame(500)
        assert heard.wait(WAIT_S)
        yield frame(600)

    sound = stream(frames, FakeCodec()).sound(CancelToken())
    assert len(next(sound)) == PER_FRAME
    heard.set()
    assert len(next(sound)) == PER_FRAME
    assert list(sound) == []


def test_in_turn_the_generator_rests_while_the_codec_works() -> None:
    made = 0
    more = threading.Event()

    def frames(stop: CancelToken, silent: CancelToken) -> Iterator[IntArray]:
        nonlocal made
        for _ in range(20):
            made += 1
            more.set()
            yield frame(500)

    def during(call: int) -> None:
        """Before the call's size is told."""
        more.clear()
        found.append(made - sum(codec.sizes))
        if made < 20:
            assert not more.wait(0.03)

    found: list[int] = []
    codec = FakeCodec()
    codec.during = during
    list(stream(frames, codec, 4, in_turn=True).sound(CancelToken()))
    assert codec.sizes == [1, 2, 4, 4, 4, 4, 1]
    assert found[0] == 1 and all(there >= taken for there, taken in zip(found, codec.sizes, strict=True))


def test_in_turn_a_caller_that_is_away_does_not_hold_the_generator_back() -> None:
    made = threading.Semaphore(0)

    def frames(stop: CancelToken, silent: CancelToken) -> Iterator[IntArray]:
        for _ in range(12):
            made.release()
            yield frame(500)

    sound = stream(frames, FakeCodec(), 1, in_turn=True).sound(CancelToken())
    next(sound)
    assert all(made.acquire(timeout=WAIT_S) for _ in range(12))
    assert len(list(sound)) == 11


@pytest.mark.parametrize("by", ["cancel", "close"])
def test_a_stop_in_the_codecs_turn(by: str) -> None:
    cancel, codec = CancelToken(), FakeCodec()

    def frames(stop: CancelToken, silent: CancelToken) -> Iterator[IntArray]:
        while True:
            yield frame(500)

    def during(call: int) -> None:
        if call == 2 and by == "cancel":
            cancel.set()

    codec.during = during
    sound = stream(frames, codec, 4, in_turn=True).sound(cancel)
    began = time.monotonic()
    assert [len(next(sound)), len(next(sound))] == [PER_FRAME, 2 * PER_FRAME]
    if by == "cancel":
        assert list(sound) == []
    sound.close()
    assert time.monotonic() - began < WAIT_S


def test_the_generator_does_not_run_far_ahead() -> None:
    made = []

    def frames(stop: CancelToken, silent: CancelToken) -> Iterator[IntArray]:
        for n in range(200):
            made.append(n)
            yield frame(500)

    codec = FakeCodec()
    ahead = [len(made) - sum(codec.sizes) for _ in stream(frames, codec, 1).sound(CancelToken())]
    assert len(made) == 200 and max(ahead) <= 16 + 2  # that wait, and one in hand


def test_a_long_silence_is_told_to_the_generator() -> None:
    said: list[int] = []

    def frames(stop: CancelToken, silent: CancelToken) -> Iterator[IntArray]:
        yield frame(500)
        for n in range(1000):
            if silent.is_set():
                return
            said.append(n)
            yield frame(0)

    speech = stream(frames, FakeCodec(), 1)
    list(speech.sound(CancelToken()))
    assert SILENT_FRAMES <= len(said) <= SILENT_FRAMES + 18
    assert speech.audible


def test_pauses_do_not_add_up() -> None:
    told = []

    def frames(stop: CancelToken, silent: CancelToken) -> Iterator[IntArray]:
        for _ in range(5):
            yield frame(500)
            for _ in range(SILENT_FRAMES - 1):
                yield frame(0)
        told.append(silent.is_set())

    list(stream(frames, FakeCodec(), 1).sound(CancelToken()))
    assert told == [False]


@pytest.mark.parametrize("stream_frames", [0, 4])
def test_a_generator_that_fails(stream_frames: int) -> None:
    def frames(stop: CancelToken, silent: CancelToken) -> Iterator[IntArray]:
        yield frame(500)
        raise InferenceError("The voice failed ({reason}).", reason="x")

    speech = stream(frames, FakeCodec(), stream_frames)
    with pytest.raises(InferenceError, match="x"):
        list(speech.sound(CancelToken()))


def test_a_codec_that_fails_ends_the_generator() -> None:
    stopped, calls = threading.Event(), []

    def frames(stop: CancelToken, silent: CancelToken) -> Iterator[IntArray]:
        while not stop.is_set():
            yield frame(500)
        stopped.set()

    def fail(call: int) -> None:
        if call == 2:
            raise InferenceError("The codec failed ({reason}).", reason="y")

    codec = FakeCodec()
    codec.during = fail
    with pytest.raises(InferenceError, match="y"):
        list(stream(frames, codec, 4, lambda: calls.append(1)).sound(CancelToken()))
    assert calls in ([], [1])  # it may have ended already, at the closed channel


def test_a_stop_while_the_generator_computes() -> None:
    """`interrupt` ends the call that is under way."""
    cancel, computing, interrupted = CancelToken(), threading.Event(), threading.Event()

    def frames(stop: CancelToken, silent: CancelToken) -> Iterator[IntArray]:
        yield frame(500)
        computing.set()
        assert interrupted.wait(WAIT_S)
        assert stop.is_set()

    sound = stream(frames, FakeCodec(), 4, interrupted.set).sound(cancel)
    next(sound)
    assert computing.wait(WAIT_S)
    cancel.set()
    assert list(sound) == []


def test_a_stop_before_the_first_frame() -> None:
    cancel = CancelToken()
    cancel.set()
    codec = FakeCodec()
    assert list(stream(saying(*range(50)), codec).sound(cancel)) == []
    assert codec.sizes == []


@pytest.mark.parametrize("stream_frames", [0, 4])
def test_what_was_decoded_during_a_stop_is_not_heard(stream_frames: int) -> None:
    cancel, codec = CancelToken(), FakeCodec()
    codec.during = lambda call: cancel.set()
    assert list(stream(saying(*range(100, 150)), codec, stream_frames).sound(cancel)) == []
    assert len(codec.sizes) == 1


@pytest.mark.parametrize("n_frames", [5, 500])
def test_a_stop_ends_the_call_of_the_codec_under_way(n_frames: int) -> None:
    """Also while the generator waits for room."""
    cancel, codec = CancelToken(), FakeCodec()

    def during(call: int) -> None:
        cancel.set()
        deadline = time.monotonic() + 5
        while not codec.stopped and time.monotonic() < deadline:
            cancel.wait(0)

    codec.during = during
    assert list(stream(saying(*range(100, 100 + n_frames)), codec, 1).sound(cancel)) == []
    assert codec.stopped


def test_a_listener_who_leaves_ends_the_thread() -> None:
    """Closing waits for the generator's thread: another utterance may begin at once."""
    ended = threading.Event()

    def frames(stop: CancelToken, silent: CancelToken) -> Iterator[IntArray]:
        try:
            while True:
                yield frame(500)
        finally:
            ended.set()

    sound = stream(frames, FakeCodec()).sound(CancelToken())
    next(sound)
    sound.close()
    assert ended.is_set()
