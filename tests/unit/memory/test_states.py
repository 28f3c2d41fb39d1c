"""A state is used only where it fits, and states never fill the disk."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from kazeia_desktop.memory.states import StateFiles, StateKey, fingerprint

pytestmark = pytest.mark.unit

KEY = StateKey("abc", "b1", "f16", 4096, False)


def writes(raw: bytes = b"state") -> object:
    return lambda path: path.write_bytes(raw)


def save(states: StateFiles, conversation: int, raw: bytes = b"state") -> bool:
    return states.save(conversation, KEY, lambda path: path.write_bytes(raw))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_state_that_fits_is_read(tmp_path: Path) -> None:
    states = StateFiles(tmp_path / "states", 1000)
    read: list[bytes] = []
    assert not states.load(1, KEY, lambda path: True)
    assert save(states, 1)
    assert states.load(1, KEY, lambda path: read.append(path.read_bytes()) is None)
    assert read == [b"state"] and names(tmp_path / "states") == ["1.json", "1.state"]


@pytest.mark.parametrize(
    "other",
    [
        replace(KEY, model="abd"), replace(KEY, build="b2"), replace(KEY, kv_type="q8_0"), replace(KEY, n_ctx=512),
        replace(KEY, flash_attention=True),
    ],
)  # fmt: skip
def test_a_state_that_does_not_fit_is_removed_unread(tmp_path: Path, other: StateKey) -> None:
    states = StateFiles(tmp_path, 1000)
    save(states, 1)
    assert not states.load(1, other, lambda path: pytest.fail("read"))
    assert names(tmp_path) == []


@pytest.mark.parametrize("damage", [b"", b"stat", b"statf", b"state!"])
def test_a_damaged_state_is_removed_unread(tmp_path: Path, damage: bytes) -> None:
    states = StateFiles(tmp_path, 1000)
    save(states, 1)
    (tmp_path / "1.state").write_bytes(damage)
    assert not states.load(1, KEY, lambda path: pytest.fail("read"))
    assert names(tmp_path) == []


@pytest.mark.parametrize("header", ["", "[]", "{}", "null", "\x00", '{"version": 1}'])
def test_a_damaged_header_is_no_header(tmp_path: Path, header: str) -> None:
    states = StateFiles(tmp_path, 1000)
    save(states, 1)
    (tmp_path / "1.json").write_text(header)
    assert not states.load(1, KEY, lambda path: pytest.fail("read"))
    assert names(tmp_path) == []


def test_a_state_that_the_model_refuses_is_removed(tmp_path: Path) -> None:
    states = StateFiles(tmp_path, 1000)
    save(states, 1)
    assert not states.load(1, KEY, lambda path: False)
    assert names(tmp_path) == []


def test_the_states_used_longest_ago_go_first(tmp_path: Path) -> None:
    states = StateFiles(tmp_path, 100)
    for conversation in (1, 2, 3):
        save(states, conversation, b"x" * 30)
        os.utime(tmp_path / f"{conversation}.json", (conversation, conversation))
    assert states.load(1, KEY, lambda path: True)  # used: now the youngest
    assert save(states, 4, b"x" * 30)
    assert names(tmp_path) == ["1.json", "1.state", "3.json", "3.state", "4.json", "4.state"]
    states.max_bytes = 30
    states.trim()
    assert names(tmp_path) == ["4.json", "4.state"]


def test_a_state_too_large_or_unwanted_is_not_kept(tmp_path: Path) -> None:
    states = StateFiles(tmp_path / "states", 10)
    assert not save(states, 1, b"x" * 11) and names(tmp_path / "states") == []
    states.max_bytes = 0
    assert not save(StateFiles(tmp_path / "none", 0), 1)
    assert not (tmp_path / "none").exists()


def test_a_failed_save_leaves_nothing(tmp_path: Path) -> None:
    states = StateFiles(tmp_path, 1000)
    save(states, 1)

    def full(path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    assert not states.save(1, KEY, full)
    assert names(tmp_path) == []


def test_what_an_interrupted_save_left_is_removed(tmp_path: Path) -> None:
    states = StateFiles(tmp_path, 1000)
    (tmp_path / "7.state").write_bytes(b"x")
    save(states, 1)
    assert names(tmp_path) == ["1.json", "1.state"]
    states.remove_all()
    assert names(tmp_path) == []


def test_a_fingerprint_tells_files_apart(tmp_path: Path) -> None:
    one, other = tmp_path / "a.gguf", tmp_path / "b.gguf"
    one.write_bytes(os.urandom(3_000_000))
    raw = bytearray(one.read_bytes())
    other.write_bytes(raw)
    assert fingerprint(one) == fingerprint(other)
    raw[2_900_000] ^= 1
    other.write_bytes(raw)
    assert fingerprint(one) != fingerprint(other)
    with pytest.raises(OSError):
        fingerprint(tmp_path / "none")
