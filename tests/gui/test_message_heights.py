"""Where rows begin, against a plain sum."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kazeia_desktop.gui.message_heights import Heights

pytestmark = pytest.mark.gui

HEIGHTS = st.lists(st.integers(1, 50), max_size=40)


@given(
    HEIGHTS, st.lists(st.tuples(st.sampled_from(["set", "append", "remove"]), st.integers(0, 60), st.integers(1, 50)))
)
def test_against_a_plain_list(start: list[int], acts: list[tuple[str, int, int]]) -> None:
    heights, plain = Heights(start), list(start)
    for act, row, height in acts:
        if act == "append":
            heights.append(height)
            plain.append(height)
        elif plain and act == "set":
            heights.set(row % len(plain), height)
            plain[row % len(plain)] = height
        elif plain:
            first = row % len(plain)
            last = min(len(plain) - 1, first + height % 3)
            heights.remove(first, last)
            del plain[first : last + 1]
    assert len(heights) == len(plain) and heights.total == sum(plain)
    for row in range(len(plain)):
        assert heights.top(row) == sum(plain[:row]) and heights[row] == plain[row]
        for y in (heights.top(row), heights.top(row) + plain[row] - 1):
            assert heights.row_at(y) == row


def test_outside_is_the_nearest_row() -> None:
    assert Heights().row_at(10) == 0
    assert Heights([5, 5]).row_at(-3) == 0 and Heights([5, 5]).row_at(99) == 1
