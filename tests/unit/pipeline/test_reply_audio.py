"""The sound of the last replies."""

import numpy as np
import pytest

from kazeia_desktop.audio.base import Heard
from kazeia_desktop.frames import Clause, SpeechFrame
from kazeia_desktop.pipeline.reply_audio import ReplyAudio

pytestmark = pytest.mark.unit

RATE = 24_000


def put(audio: ReplyAudio, turn: int, index: int, *values: float, n: int = 100) -> None:
    clause = Clause(turn, index, f"clause {index}", f"clause {index}")
    for value in values:
        audio.add(clause, SpeechFrame(turn, index, np.full(n, value, np.float32), RATE))


def sound(audio: ReplyAudio, turn: int) -> list[list[float]]:
    return [sorted({round(float(value), 3) for value in kept.samples}) for kept in audio.get(turn)]


def test_a_reply_is_kept_when_it_is_over() -> None:
    audio = ReplyAudio()
    put(audio, 1, 0, 0.1, 0.2)
    put(audio, 1, 1, float("nan"), 3.0)
    assert audio.get(1) == ()
    audio.end(1)
    assert sound(audio, 1) == [[0.1, 0.2], [0.0, 1.0]]
    assert [kept.clause.text for kept in audio.get(1)] == ["clause 0", "clause 1"]
    audio.drop(1, 1)
    assert audio.get(1) == () and audio.n_bytes == 0


def test_the_oldest_go_first_and_what_is_too_long_alone_is_not_kept() -> None:
    audio = ReplyAudio(max_bytes=500)
    for turn in (1, 2, 3):
        put(audio, turn, 0, 0.1)
        audio.end(turn)
    assert [bool(audio.get(turn)) for turn in (1, 2, 3)] == [False, True, True]
    put(audio, 4, 0, *[0.1] * 4)
    audio.end(4)
    assert audio.get(4) == () and audio.n_bytes <= 500


def test_of_an_interrupted_reply_what_was_heard_is_kept() -> None:
    audio = ReplyAudio()
    put(audio, 1, 0, 0.1)
    put(audio, 1, 1, 0.2)
    put(audio, 1, 2, 0.3)
    audio.end(1, [Heard(0, 100, 100, True), Heard(1, 40, 100, True), Heard(2, 0, 100, False)])
    put(audio, 1, 2, 0.3)  # was under way
    assert [len(kept.samples) for kept in audio.get(1)] == [100, 40]
    assert audio.n_bytes == 280


def test_spoken_anew_it_takes_the_place_only_when_it_is_whole() -> None:
    audio = ReplyAudio()
    audio.record_as(7, 1)
    put(audio, 7, 0, 0.1)
    audio.end(7)
    assert len(audio.get(1)) == 1 and audio.get(7) == ()
    audio.record_as(8, 1)
    put(audio, 8, 0, 0.1)
    audio.end(8, [Heard(0, 40, 100, False)])
    assert audio.get(1) == ()
