"""A clause begins to sound when the rest of it will come in time: no gap, and no later than that."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kazeia_desktop.events import Notice
from kazeia_desktop.frames import Clause, SpeechFrame
from kazeia_desktop.pipeline.cushion import LONGEST_WAIT_S, Cushion
from kazeia_desktop.tts.base import Pace

pytestmark = pytest.mark.unit

RATE_HZ = 24_000
FRAME_S = 0.08
CHARACTERS_PER_S = 15.0
RAMP = (1, 2, 4)


class World:
    """A clock that a voice of a given speed moves on, and a loudspeaker that plays what it was given."""

    def __init__(self) -> None:
        self.now = 100.0
        self.over = 0.0  # when the loudspeaker is through with what was written
        self.first: dict[int, float] = {}
        self.gaps: dict[int, float] = {}  # clause -> seconds of silence inside it
        self.told: list[Notice] = []

    def clock(self) -> float:
        return self.now

    def cushion(self) -> Cushion:
        return Cushion(self.told.append, self.clock)

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def ahead_s(self) -> float:
        return max(0.0, self.over - self.now)

    def play(self, frame: SpeechFrame) -> None:
        seconds = len(frame.samples) / frame.sample_rate_hz
        if not seconds:
            return
        at = frame.clause_index
        if at not in self.first:
            self.first[at] = max(self.now, self.over)
        else:
            self.gaps[at] = self.gaps.get(at, 0.0) + max(0.0, self.now - self.over)
        self.over = max(self.now, self.over) + seconds

    def voice(
        self, index: int, seconds: float, rtf: float, ramp: Sequence[int] = RAMP, noise: Sequence[float] = (1.0,)
    ) -> Iterator[SpeechFrame]:
        """A clause of so many seconds. The clock moves on while a piece is made, and not while it is held.

        noise: factors of the pieces' times, one after the other.
        """
        frames, number = round(seconds / FRAME_S), 0
        done_at = self.now
        while frames:
            size = min(frames, ramp[min(number, len(ramp) - 1)])
            done_at += size * FRAME_S * rtf * noise[number % len(noise)]
            self.now = max(self.now, done_at)  # it goes on making while its sound is held back
            frames -= size
            number += 1
            yield SpeechFrame(1, index, np.zeros(round(size * FRAME_S * RATE_HZ), np.float32), RATE_HZ)
        yield SpeechFrame(1, index, np.zeros(0, np.float32), RATE_HZ, end_of_clause=True)

    def say(
        self, cushion: Cushion, index: int, made: Iterator[SpeechFrame], text_s: float, known: Pace | None
    ) -> float:
        """Speak a clause; returns when it began to be made."""
        began = self.now
        clause = Clause(1, index, "", "a" * round(text_s * CHARACTERS_PER_S))
        for frame in cushion.frames(clause, made, known, self.ahead_s, self.wait):
            self.play(frame)
        return began


def known(rtf: float, ramp: Sequence[int] = RAMP) -> Pace:
    return Pace(rtf, ramp[-1] * FRAME_S)


def earliest_s(seconds: float, rtf: float, ramp: Sequence[int]) -> float:
    """When the clause may begin: no piece may come later than the sound before it is over."""
    world, told, begin = World(), 0.0, 0.0
    for frame in world.voice(0, seconds, rtf, ramp):
        if len(frame.samples):
            begin = max(begin, world.now - World().now - told)
            told += len(frame.samples) / RATE_HZ
    return begin


def formula_s(seconds: float, rtf: float) -> float:
    """When the clause may begin: B = T (1 - 1/r) of it are there, which takes r B."""
    return max(0.0, seconds * (1 - 1 / rtf)) * rtf


@pytest.mark.parametrize("ramp", [(1, 2, 4), (1,), (2, 4), (1, 2, 4, 8)])
@pytest.mark.parametrize("rtf", [0.5, 0.8, 1.0, 1.2, 2.0, 4.0])
@pytest.mark.parametrize("seconds", [0.8, 2.4, 4.8])
def test_no_gap_inside_a_clause_and_no_later_than_that(rtf: float, seconds: float, ramp: tuple[int, ...]) -> None:
    world = World()
    began = world.say(world.cushion(), 0, world.voice(0, seconds, rtf, ramp), seconds, known(rtf, ramp))
    assert world.gaps.get(0, 0.0) == pytest.approx(0.0, abs=1e-6)
    earliest = earliest_s(seconds, rtf, ramp)
    assert formula_s(seconds, rtf) <= earliest + 1e-6 <= formula_s(seconds, rtf) + ramp[-1] * FRAME_S * rtf + 1e-3
    # The margin of the speed, and half the time of a piece: two frames, or four where pieces have eight.
    late = world.first[0] - began - earliest
    assert -1e-6 <= late <= 0.03 * rtf * seconds + 0.5 * ramp[-1] * FRAME_S * rtf + 1e-6


@pytest.mark.parametrize("rtf", [0.2, 0.4, 0.5])
def test_a_fast_voice_is_heard_at_once(rtf: float) -> None:
    world = World()
    began = world.say(world.cushion(), 0, world.voice(0, 3.2, rtf), 3.2, known(rtf))
    assert world.first[0] - began == pytest.approx(FRAME_S * rtf, abs=0.02)


def test_without_a_cushion_there_would_be_gaps() -> None:
    world = World()
    for frame in world.voice(0, 2.4, 2.0):
        world.play(frame)
    assert world.gaps[0] > 1.0


@pytest.mark.parametrize("rtf", [0.8, 1.2, 2.0, 4.0])
def test_an_unknown_voice_tells_by_its_first_pieces(rtf: float) -> None:
    world = World()
    began = world.say(world.cushion(), 0, world.voice(0, 2.4, rtf), 2.4, None)
    assert world.gaps.get(0, 0.0) == pytest.approx(0.0, abs=1e-6)
    assert world.first[0] - began <= earliest_s(2.4, rtf, RAMP) + 0.03 * rtf * 2.4 + 2 * FRAME_S * rtf


def test_what_still_plays_counts() -> None:
    world = World()
    world.over = world.now + 60.0
    began = world.say(world.cushion(), 0, world.voice(0, 2.4, 2.0), 2.4, known(2.0))
    assert world.first[0] == began + 60.0
    assert world.gaps.get(0, 0.0) == 0.0


def test_clauses_follow_and_the_speed_is_learned() -> None:
    """Measured alone at 1.2; beside the language model it is 1.6."""
    world = World()
    cushion = world.cushion()
    for index in range(6):
        world.say(cushion, index, world.voice(index, 2.4, 1.6), 2.4, known(1.2))
    assert [world.gaps.get(index, 0.0) for index in range(1, 6)] == pytest.approx([0.0] * 5, abs=1e-6)


def test_clauses_made_together_come_more_slowly_each_and_the_last_ones_at_once() -> None:
    """Four of 2.4 s at a speed of 0.8 altogether: the second of them takes three times as long as alone."""
    world = World()
    cushion = world.cushion()
    world.say(cushion, 0, world.voice(0, 2.4, 1.2), 2.4, known(1.2))
    world.say(cushion, 1, world.voice(1, 2.4, 2.4), 2.4, known(1.2))
    world.say(cushion, 2, world.voice(2, 2.4, 0.0), 2.4, known(1.2))
    assert [world.gaps.get(index, 0.0) for index in (0, 1, 2)] == pytest.approx([0.0] * 3, abs=1e-6)


def test_what_came_at_once_is_not_learned() -> None:
    world = World()
    cushion = world.cushion()
    for index, rtf in enumerate((1.6, 0.0, 0.0, 0.0, 0.0, 1.6)):
        world.over = world.now
        world.say(cushion, index, world.voice(index, 2.4, rtf), 2.4, known(1.6))
    assert world.gaps.get(5, 0.0) == pytest.approx(0.0, abs=1e-6)
    assert len(cushion._paces) == 2


def test_a_voice_that_speaks_slowly_is_learned() -> None:
    """Ten characters a second instead of fifteen: the second clause has no gap."""
    world = World()
    cushion = world.cushion()
    for index in range(2):
        world.say(cushion, index, world.voice(index, 3.6, 2.0), 2.4, known(2.0))
    assert world.gaps[0] > 0.1
    assert world.gaps.get(1, 0.0) == pytest.approx(0.0, abs=1e-6)


@given(
    st.floats(0.3, 4.0), st.floats(0.5, 4.0), st.lists(st.floats(0.9, 1.1), min_size=1, max_size=7),
    st.sampled_from([(1, 2, 4), (1, 4, 8), (2, 4)]),
)  # fmt: skip
@settings(deadline=None, max_examples=80)
def test_every_sample_is_heard_once_and_in_order(
    rtf: float, seconds: float, noise: list[float], ramp: tuple[int, ...]
) -> None:
    world = World()
    made = list(world.voice(0, seconds, rtf, ramp, noise))
    clause = Clause(1, 0, "", "a" * 20)
    world = World()
    cushion = world.cushion()
    heard = list(
        cushion.frames(clause, world.voice(0, seconds, rtf, ramp, noise), known(rtf), world.ahead_s, world.wait)
    )
    assert [len(frame.samples) for frame in heard] == [len(frame.samples) for frame in made]
    assert [frame.end_of_clause for frame in heard] == [False] * (len(made) - 1) + [True]


@given(st.floats(1.05, 3.0), st.lists(st.floats(0.97, 1.03), min_size=1, max_size=5))
@settings(deadline=None, max_examples=60)
def test_a_voice_that_is_not_quite_even_has_no_gaps(rtf: float, noise: list[float]) -> None:
    world = World()
    world.say(world.cushion(), 0, world.voice(0, 3.2, rtf, RAMP, noise), 3.2, known(rtf))
    assert world.gaps.get(0, 0.0) <= 0.005


def test_a_short_wait_is_not_told() -> None:
    world = World()
    world.say(world.cushion(), 0, world.voice(0, 2.4, 1.5), 2.4, known(1.5))
    assert not world.told


def test_another_voice_is_learned_anew() -> None:
    world = World()
    cushion = world.cushion()
    for index in range(3):
        world.say(cushion, index, world.voice(index, 2.4, 4.0), 2.4, known(4.0))
    cushion.forget()
    world.over = world.now
    began = world.say(cushion, 3, world.voice(3, 2.4, 0.4), 2.4, known(0.4))
    assert world.first[3] - began < 0.1


def test_nobody_waits_for_ever() -> None:
    world = World()
    cushion = world.cushion()
    began = world.say(cushion, 0, world.voice(0, 16.0, 8.0), 16.0, known(8.0))
    assert world.first[0] - began <= LONGEST_WAIT_S + 4 * FRAME_S * 8.0
    assert [notice.values["seconds"] for notice in world.told] == [20]
    world.say(cushion, 1, world.voice(1, 16.0, 8.0), 16.0, known(8.0))
    assert len(world.told) == 1


def test_a_stop_while_it_is_held_back_is_heard_by_nobody() -> None:
    world = World()
    whole = world.voice(0, 4.8, 4.0)
    clause = Clause(1, 0, "", "a" * 72)

    def stopped() -> Iterator[SpeechFrame]:
        for number, frame in enumerate(whole):
            if number == 4:
                return  # as a voice ends that was cancelled
            yield frame

    assert not list(world.cushion().frames(clause, stopped(), known(4.0), world.ahead_s, world.wait))


def test_an_empty_clause_passes() -> None:
    world = World()
    frames = [SpeechFrame(1, 0, np.zeros(0, np.float32), RATE_HZ, end_of_clause=True)]
    assert list(world.cushion().frames(Clause(1, 0, "", ""), frames, None, world.ahead_s, world.wait)) == frames


def test_a_last_frame_with_sound_lets_everything_go() -> None:
    world = World()
    sound = np.zeros(RATE_HZ, np.float32)
    frames = [SpeechFrame(1, 0, sound, RATE_HZ), SpeechFrame(1, 0, sound, RATE_HZ, end_of_clause=True)]
    clause = Clause(1, 0, "", "a" * 300)
    assert list(world.cushion().frames(clause, frames, known(3.0), world.ahead_s, world.wait)) == frames
