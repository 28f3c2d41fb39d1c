"""States have a place, go with their conversation, and never fill the disk."""

import os
from pathlib import Path

import pytest

from kazeia_desktop.memory.states import StateFiles

pytestmark = pytest.mark.unit


def save(states: StateFiles, conversation: int, raw: bytes = b"state") -> bool:
    return states.save(conversation, lambda path, most: path.write_bytes(raw) > 0)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_state_is_read_back(tmp_path: Path) -> None:
    states = StateFiles(tmp_path / "states", 1000)
    read: list[bytes] = []
    assert not states.load(1, lambda path: pytest.fail("there is none"))
    assert save(states, 1, b"old") and save(states, 1)

    def note(path: Path) -> bool:
        read.append(path.read_bytes())
        return True

    assert states.load(1, note)
    assert read == [b"state"] and names(tmp_path / "states") == ["1.state"]


def test_a_state_that_is_refused_is_removed(tmp_path: Path) -> None:
    states = StateFiles(tmp_path, 1000)
    save(states, 1)
    assert not states.load(1, lambda path: False)
    assert names(tmp_path) == []


def test_the_states_used_longest_ago_go_first(tmp_path: Path) -> None:
    states = StateFiles(tmp_path, 100)
    for conversation in (1, 2, 3):
        save(states, conversation, b"x" * 30)
        os.utime(tmp_path / f"{conversation}.state", (conversation, conversation))
    assert states.load(1, lambda path: True)  # used: now the youngest
    assert save(states, 4, b"x" * 30)
    assert names(tmp_path) == ["1.state", "3.state", "4.state"]
    states.max_bytes = 30
    states.trim()
    assert names(tmp_path) == ["4.state"]


def test_a_state_too_large_or_unwanted_is_not_kept(tmp_path: Path) -> None:
    states = StateFiles(tmp_path / "states", 10)
    assert not save(states, 1, b"x" * 11) and names(tmp_path / "states") == []
    assert not save(StateFiles(tmp_path / "none", 0), 1)
    assert not (tmp_path / "none").exists()


def test_a_failed_save_leaves_nothing(tmp_path: Path) -> None:
    states = StateFiles(tmp_path, 1000)
    save(states, 1)

    def full(path: Path, max_bytes: int) -> bool:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    assert not states.save(1, full)
    assert names(tmp_path) == []
    assert not states.save(1, lambda path, most: False)
    assert not StateFiles(tmp_path / "file", 10).save(1, lambda path, most: True)


def test_what_an_interrupted_save_left_goes_too(tmp_path: Path) -> None:
    states = StateFiles(tmp_path, 1000)
    (tmp_path / "7.123.tmp").write_bytes(b"x" * 2000)
    os.utime(tmp_path / "7.123.tmp", (1, 1))
    save(states, 1)
    assert names(tmp_path) == ["1.state"]
    states.remove_all()
    assert names(tmp_path) == []
