"""The number of threads follows what tokens take, on a made-up machine."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.llm.pace import Pace

pytestmark = pytest.mark.unit

_QUIET = {1: 18.0, 2: 12.5}
_BESIDE_ONE = {1: 18.0, 2: 40.0}  # measured: a 0.5B model at q4_0 on 2 cores
_EIGHT = {1: 80.0, 2: 42.0, 3: 30.0, 4: 23.0, 6: 17.0, 8: 14.0}


class _Machine:
    """Tokens one after the other; `pace` hears what each took."""

    def __init__(self) -> None:
        self.pace = Pace()

    def write(self, n: int, most: int, ms: Callable[[int], float]) -> list[int]:
        """n tokens; with how many threads."""
        used = []
        for _ in range(n):
            used.append(threads := self.pace.threads(most))
            self.pace.took(ms(threads) / 1000)
        return used


def test_a_quiet_machine_tries_fewer_once_and_goes_on_with_all() -> None:
    machine = _Machine()
    assert machine.write(300, 2, _QUIET.__getitem__) == [2] * 3 + [1] * 2 + [2] * 295


def test_a_taken_core_is_left_and_taken_again_when_free() -> None:
    machine = _Machine()
    machine.write(40, 2, _QUIET.__getitem__)
    beside = machine.write(200, 2, _BESIDE_ONE.__getitem__)
    assert beside.index(1) <= 3, "seen after few tokens"
    assert beside.count(2) <= 18, "asked seldom, and less and less often"
    machine.pace.another_reply()
    after = machine.write(40, 2, _QUIET.__getitem__)
    assert after.index(2) <= 3, "another reply asks at once"
    assert after[6:] == [2] * 34


def test_without_a_pause_more_threads_come_back_too() -> None:
    machine = _Machine()
    machine.write(40, 2, _QUIET.__getitem__)
    machine.write(30, 2, _BESIDE_ONE.__getitem__)
    assert machine.write(200, 2, _QUIET.__getitem__)[140:] == [2] * 60


def test_a_core_taken_from_the_first_token_on() -> None:
    machine = _Machine()
    assert machine.write(40, 2, _BESIDE_ONE.__getitem__).count(1) >= 30


def test_one_slow_token_changes_nothing() -> None:
    machine = _Machine()
    machine.write(40, 2, _QUIET.__getitem__)
    assert machine.write(1, 2, lambda _: 90.0) + machine.write(30, 2, _QUIET.__getitem__) == [2] * 31


def test_many_threads_give_way_to_half_and_come_back_as_far_as_cores_are_free() -> None:
    machine = _Machine()
    machine.write(40, 8, _EIGHT.__getitem__)
    # Two of eight cores are taken: up to six threads find one.
    beside = machine.write(120, 8, lambda n: _EIGHT[n] * (1.0 if n <= 6 else 2.5))
    assert beside[40:].count(6) >= 70
    assert machine.write(200, 8, _EIGHT.__getitem__)[140:] == [8] * 60


def test_fewer_are_not_kept_where_they_are_no_quicker() -> None:
    machine = _Machine()
    machine.write(40, 8, _EIGHT.__getitem__)
    assert machine.write(300, 8, lambda n: _EIGHT[n] * 1.5).count(8) >= 285, "a slower machine, not a fuller one"


def test_one_thread_stays_one() -> None:
    machine = _Machine()
    assert machine.write(50, 1, lambda _: 20.0) == [1] * 50


@given(st.lists(st.tuples(st.integers(1, 16), st.floats(1e-4, 2.0), st.booleans()), max_size=200))
def test_never_more_than_allowed_nor_fewer_than_one(tokens: list[tuple[int, float, bool]]) -> None:
    machine = _Machine()
    for most, seconds, begins in tokens:
        if begins:
            machine.pace.another_reply()
        assert 1 <= machine.pace.threads(most) <= most
        machine.pace.took(seconds)
