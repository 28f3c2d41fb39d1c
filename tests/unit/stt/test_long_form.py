"""Recordings of any length: windows cut at pauses, nothing lost, nothing kept."""

import itertools
import weakref
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kazeia_desktop.errors import AudioFormatError, Cancelled
from kazeia_desktop.frames import FloatArray, Segment, Transcript
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.stt.long_form import transcribe_long
from kazeia_desktop.stt.whisper import WhisperRecognizer

pytestmark = pytest.mark.unit

RATE = 16_000


class Heard:
    """A recogniser that keeps what it was given."""

    def __init__(self) -> None:
        self.windows: list[FloatArray] = []

    def transcribe(self, samples: FloatArray, turn_id: int, cancel: CancelToken) -> Transcript:
        cancel.raise_if_set()
        self.windows.append(samples.copy())
        text = f"phrase {len(self.windows)}"
        return Transcript(turn_id, text, "en", (Segment(0.0, len(samples) / RATE, text),), 10.0, 2.0, 5)


def run(blocks: list[FloatArray], cancel: CancelToken | None = None) -> tuple[Heard, list[Transcript]]:
    heard = Heard()
    found = transcribe_long(cast(WhisperRecognizer, heard), iter(blocks), cancel or CancelToken())
    return heard, list(found)


def noise(n: int, seed: int = 1) -> FloatArray:
    return np.random.default_rng(seed).uniform(-0.5, 0.5, n).astype(np.float32)


@given(
    n=st.integers(0, 100 * RATE),
    cuts=st.lists(st.integers(0, 100 * RATE), max_size=8),
)
@settings(max_examples=30, deadline=None)
def test_every_sample_is_heard_once_in_order(n: int, cuts: list[int]) -> None:
    sound = noise(n)
    edges = [0, *sorted(min(cut, n) for cut in cuts), n]
    heard, found = run([sound[a:b] for a, b in itertools.pairwise(edges)])
    np.testing.assert_array_equal(np.concatenate([np.zeros(0, np.float32), *heard.windows]), sound)
    assert all(0 < len(window) <= 30 * RATE for window in heard.windows)
    segments = [segment for transcript in found for segment in transcript.segments]
    assert len(segments) == len(heard.windows)
    if n:
        assert segments[0].start_s == 0.0
        assert segments[-1].end_s == pytest.approx(n / RATE)
    assert all(a.end_s == b.start_s for a, b in itertools.pairwise(segments))


def test_a_window_ends_in_a_pause() -> None:
    sound = noise(80 * RATE)
    for pause_s in (22.0, 41.0, 63.0):
        sound[int(pause_s * RATE) : int((pause_s + 0.5) * RATE)] = 0.0
    _, found = run([sound])
    ends = [transcript.segments[0].end_s for transcript in found]
    assert [round(end) for end in ends] == [22, 41, 63, 80]
    assert [transcript.text for transcript in found] == [f"phrase {i}" for i in (1, 2, 3, 4)]
    assert all((transcript.language, transcript.n_tokens) == ("en", 5) for transcript in found)


def test_silence_is_not_given_to_the_model() -> None:
    quiet = np.full(70 * RATE, 1e-3, np.float32)
    heard, found = run([quiet])
    assert heard.windows == []
    assert {transcript.text for transcript in found} == {""}
    assert found[-1].segments[-1].end_s == pytest.approx(70.0)


@pytest.mark.parametrize("blocks", [[], [np.zeros(0, np.float32)] * 3])
def test_nothing_gives_nothing(blocks: list[FloatArray]) -> None:
    assert run(blocks)[1] == []


def test_blocks_are_let_go() -> None:
    alive: list[Any] = []

    def blocks() -> Iterator[FloatArray]:
        for seed in range(300):
            block = noise(RATE, seed)
            alive.append(weakref.ref(block))
            yield block

    most = 0
    for _ in transcribe_long(cast(WhisperRecognizer, Heard()), blocks(), CancelToken()):
        most = max(most, sum(ref() is not None for ref in alive))
    assert len(alive) == 300
    assert most <= 2


def test_cancelled_between_windows() -> None:
    cancel, heard = CancelToken(), Heard()
    found = transcribe_long(cast(WhisperRecognizer, heard), iter([noise(100 * RATE)]), cancel)
    next(found)
    cancel.set()
    with pytest.raises(Cancelled):
        next(found)
    assert len(heard.windows) == 1


def test_an_error_of_the_file_reaches_the_caller_after_what_came_before() -> None:
    def blocks() -> Iterator[FloatArray]:
        yield noise(40 * RATE)
        raise AudioFormatError("{path} is damaged.", path="x.wav")

    found = transcribe_long(cast(WhisperRecognizer, Heard()), blocks(), CancelToken())
    assert next(found).text == "phrase 1"
    with pytest.raises(AudioFormatError):
        next(found)
