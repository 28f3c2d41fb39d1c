"""The choice of threads and pieces, from figures that a test makes up."""

import dataclasses

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kazeia_desktop.runtime.cores import Cores
from kazeia_desktop.settings.schema import TtsSettings
from kazeia_desktop.tts.qwen3_tuning import (
    DEFAULT_RAMP,
    RAMPS,
    Plan,
    Team,
    Trial,
    Tuning,
    best_trial,
    choose,
    default_team,
    first_sound_ms,
    generator_share,
    is_automatic,
    plan,
    teams,
)  # fmt: skip

pytestmark = pytest.mark.unit

CALLS = {1: 40.0, 2: 60.0, 4: 100.0, 8: 190.0}


def trial(generator: int, codec: int, rtf: float, first_ms: float = 200.0) -> Trial:
    return Trial(Team(generator, codec), rtf, first_ms, generator_ms=60.0 * rtf, codec_ms=30.0 * rtf)


def test_the_fastest_team_wins() -> None:
    assert best_trial([trial(2, 2, 1.3), trial(2, 1, 1.1), trial(1, 1, 1.4)]).team == Team(2, 1)


def test_of_equal_ones_the_fewest_threads_win() -> None:
    assert best_trial([trial(2, 2, 1.00), trial(2, 1, 1.01), trial(1, 1, 1.029)]).team == Team(1, 1)
    assert best_trial([trial(2, 2, 1.00), trial(1, 1, 1.031)]).team == Team(2, 2)


def test_of_equal_ones_with_equal_threads_the_first_sound_wins() -> None:
    assert best_trial([trial(2, 1, 1.00, 300.0), trial(1, 2, 1.02, 200.0)]).team == Team(1, 2)


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(1, 4), st.floats(0.1, 9.0)), min_size=1, max_size=6))
@example([(1, 2, 1.0), (2, 1, 1.0)])
def test_the_choice_does_not_depend_on_the_order(made: list[tuple[int, int, float]]) -> None:
    trials = [trial(generator, codec, rtf, 100.0 * rtf) for generator, codec, rtf in made]
    chosen, other = best_trial(trials), best_trial(trials[::-1])
    assert dataclasses.astuple(chosen) == dataclasses.astuple(other)
    assert chosen.rtf <= 1.03 * min(t.rtf for t in trials)


def test_the_generators_part_is_threads_times_time() -> None:
    assert generator_share(Trial(Team(2, 1), 1.0, 0.0, 60.0, 40.0)) == pytest.approx(120 / 160)
    assert generator_share(Trial(Team(2, 1), 1.0, 0.0, 0.0, 0.0)) == 0.5


def test_without_calls_the_ramp_stays() -> None:
    assert choose([trial(2, 2, 1.0)], {}, 2).ramp == DEFAULT_RAMP


def test_larger_pieces_win_where_they_are_much_cheaper() -> None:
    calls = {1: 40.0, 2: 60.0, 4: 110.0, 8: 140.0}
    slow = Trial(Team(2, 2), 1.2, 100.0, generator_ms=60.0, codec_ms=40.0)
    assert choose([slow], calls, 2).ramp[-1] == 8
    # Where any ramp is fast enough, the first sound decides.
    fast = Trial(Team(4, 2), 0.7, 100.0, generator_ms=50.0, codec_ms=20.0)
    assert choose([fast], calls, 2).ramp[-1] == 4


def test_equal_ramps_are_told_apart_by_the_first_sound() -> None:
    fast = Trial(Team(4, 2), 0.4, 100.0, generator_ms=30.0, codec_ms=10.0)
    chosen = choose([fast], {1: 12.0, 2: 20.0, 4: 40.0, 8: 80.0}, 2)
    assert chosen.ramp[0] == 1
    assert chosen.first_ms == min(
        first_sound_ms(30.0, {1: 12.0, 2: 20.0, 4: 40.0, 8: 80.0}, ramp) for ramp in RAMPS
    )  # fmt: skip


def test_sizes_that_were_not_measured_are_not_chosen() -> None:
    calls = {2: 60.0, 4: 100.0}
    assert choose([trial(2, 2, 1.7)], calls, 2).ramp == (2, 4)


def test_the_speed_is_corrected_by_the_pieces() -> None:
    """Measured with pieces of two: pieces of four cost the codec 100 instead of 120, and it has a third of the work."""
    chosen = choose([trial(1, 1, 1.2)], {2: 60.0, 4: 100.0}, 2)
    assert chosen.rtf == pytest.approx(1.2 * (2 / 3 + 1 / 3 * 100 / 120))


def test_a_first_sound_leaves_no_gap() -> None:
    # Frames at 20, 40, ... ms, calls of 10 ms a frame: the first sound is there at 30 ms, the second after 70 ...
    assert first_sound_ms(20.0, {1: 10.0, 2: 20.0, 4: 40.0}, (1, 2, 4)) == 30.0
    # At the speed of sound the third piece is there at 560 + 40 ms, when 240 ms were heard.
    assert first_sound_ms(80.0, {1: 10.0, 2: 20.0, 4: 40.0}, (1, 2, 4)) == 360.0


@pytest.mark.parametrize(
    ("cores", "first"),
    [
        (Cores("x", 1, 1, 1), Team(1, 1)),
        (Cores("x", 2, 2, 2), Team(2, 2)),
        (Cores("x", 8, 8, 4), Team(4, 2)),
        (Cores("x", 32, 16, 16), Team(8, 2)),
    ],
)
def test_what_is_tried(cores: Cores, first: Team) -> None:
    tried = teams(cores)
    assert tried[0] == first
    assert 1 <= len(tried) <= 6 and len(set(tried)) == len(tried)
    assert all(1 <= n <= cores.n_physical for team in tried for n in (team.generator, team.codec))
    codecs = [team.codec for team in tried]
    assert codecs == sorted(codecs, reverse=True)  # the codec is opened anew for each number of threads
    assert default_team(cores).generator <= cores.n_fast


def test_two_cores_try_every_team() -> None:
    assert set(teams(Cores("x", 2, 2, 2))) == {Team(g, c) for g in (1, 2) for c in (1, 2)}


def test_settings_override_what_was_measured() -> None:
    cores = Cores("x", 4, 4, 4)
    tuning = Tuning(Team(3, 1), (1, 2, 4, 8), 0.7, 0.6, 90.0)
    assert plan(TtsSettings(), tuning, cores) == Plan(3, 3, 1, (1, 2, 4, 8), 8)
    assert plan(TtsSettings(), None, cores) == Plan(4, 4, 2, (1, 2, 4), 4)
    chosen = TtsSettings(talker_threads=2, code_predictor_threads=1, codec_threads=4, ramp="2-4", stream_frames=3)
    assert plan(chosen, tuning, cores) == Plan(2, 1, 4, (2, 4), 3)
    assert plan(TtsSettings(stream_frames=0), tuning, cores).stream_frames == 0
    assert not is_automatic(chosen)
    assert is_automatic(TtsSettings(talker_threads=2, code_predictor_threads=2, codec_threads=2))
    assert is_automatic(chosen.model_copy(update={"codec_threads": 0}))


def test_the_settings_offer_the_ramps_that_are_tried() -> None:
    for ramp in RAMPS:
        assert plan(TtsSettings(ramp="-".join(map(str, ramp))), None, Cores("x", 1, 1, 1)).ramp == ramp  # type: ignore[arg-type]
