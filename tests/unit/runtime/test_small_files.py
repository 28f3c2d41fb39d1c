"""Records and notes: whole or not at all."""

import json
from pathlib import Path

import pytest

from kazeia_desktop.runtime.small_files import read_record, write_atomically, write_record

pytestmark = pytest.mark.unit


def test_an_atomic_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(OSError, match="no"):
        write_atomically(tmp_path / "f", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["f"] and (tmp_path / "f").read_text() == "old"


def test_a_record_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "new folder" / "record.json"
    write_record(file, 3, {"été": [1, {"a": None}]})
    assert read_record(file, 3) == {"version": 3, "été": [1, {"a": None}]}
    assert read_record(file, 4) == {}
    write_record(file, 4, {})
    assert read_record(file, 4) == {"version": 4}
    assert [p.name for p in file.parent.iterdir()] == ["record.json"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[1]",
        b'{"version": 2}',
        b"[" * 100_000,
        json.dumps({"version": 1, "a": " " * (1 << 20)}).encode(),
    ],
    ids=["empty", "no text", "a list", "another version", "deep", "huge"],
)
def test_what_is_no_record_is_empty(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "record.json"
    assert read_record(file, 1) == {}
    file.write_bytes(content)
    assert read_record(file, 1) == {}
    assert read_record(tmp_path, 1) == {}
