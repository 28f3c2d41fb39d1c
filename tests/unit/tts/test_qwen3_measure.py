"""The measurement keeps to its time, ends at once when somebody speaks, and feeds the choice."""

import pytest

from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.runtime.cores import Cores
from kazeia_desktop.tts.qwen3_measure import BUDGET_S, measure
from kazeia_desktop.tts.qwen3_tuning import Team, Trial, teams

pytestmark = pytest.mark.unit

TEAMS = teams(Cores("x", 2, 2, 2))


class FakeProbe:
    """A machine of known speed, on a clock of its own. stops_at: number of the step during which somebody speaks."""

    def __init__(self, rtfs: dict[Team, float], idle: CancelToken, stops_at: int = -1) -> None:
        self.rtfs, self.idle, self.stops_at = rtfs, idle, stops_at
        self.now = 0.0
        self.steps: list[object] = []
        self.opened: list[int] = []

    def _step(self, what: object, seconds: float) -> bool:
        self.steps.append(what)
        if len(self.steps) - 1 == self.stops_at:
            self.idle.set()
            self.now += 0.01
        else:
            self.now += seconds
        return not self.idle.is_set()

    def trial(self, team: Team, frames: int, idle: CancelToken) -> Trial | None:
        rtf = self.rtfs[team]
        if not self._step((team, frames), 0.08 * frames * rtf):
            return None
        return Trial(team, rtf, 100.0, 60.0 * rtf, 30.0 * rtf)

    def call_ms(self, frames: int, idle: CancelToken) -> float | None:
        return (20.0 + 40.0 * frames) if self._step(frames, (20.0 + 40.0 * frames) / 1000) else None

    def use_codec(self, threads: int) -> None:
        if self.opened[-1:] != [threads]:
            self.opened.append(threads)


def test_the_best_team_is_found_and_the_codec_left_with_its_threads() -> None:
    idle = CancelToken()
    rtfs = {Team(2, 2): 0.9, Team(1, 2): 1.2, Team(2, 1): 0.7, Team(1, 1): 1.1}
    probe = FakeProbe(rtfs, idle)
    tuning = measure(probe, TEAMS, idle, lambda: probe.now)
    assert tuning is not None
    assert tuning.team == Team(2, 1)
    assert probe.opened == [2, 1]
    assert {step for step in probe.steps if isinstance(step, int)} == {1, 2, 4, 8}


@pytest.mark.parametrize("rtf", [0.1, 0.5, 1.2])
def test_it_takes_about_three_seconds(rtf: float) -> None:
    idle = CancelToken()
    probe = FakeProbe(dict.fromkeys(TEAMS, rtf), idle)
    assert measure(probe, TEAMS, idle, lambda: probe.now) is not None
    assert probe.now <= BUDGET_S + 0.5


def test_a_slow_machine_leaves_out_the_last_ones() -> None:
    idle = CancelToken()
    probe = FakeProbe(dict.fromkeys(TEAMS, 6.0), idle)
    tuning = measure(probe, TEAMS, idle, lambda: probe.now)
    assert tuning is not None
    assert len([step for step in probe.steps if isinstance(step, tuple)]) == 2
    assert tuning.team == Team(1, 2)  # as fast, with fewer threads


@pytest.mark.parametrize("step", range(8))
def test_it_ends_at_once_when_somebody_speaks(step: int) -> None:
    idle = CancelToken()
    probe = FakeProbe(dict.fromkeys(TEAMS, 1.0), idle, stops_at=step)
    assert measure(probe, TEAMS, idle, lambda: probe.now) is None
    assert len(probe.steps) == step + 1
