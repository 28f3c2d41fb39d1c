import json
import os
from pathlib import Path

import pytest

from kazeia_desktop.errors import Cancelled, ModelCorruptError, ModelError, ModelMissingError
from kazeia_desktop.models import verify
from kazeia_desktop.models.verify import Verifier, file_sha256
from kazeia_desktop.runtime.cancel import CancelToken
from tests.unit.models.conftest import CONFIG, WEIGHTS, sha256, toy

pytestmark = pytest.mark.unit
ENTRY = toy()
FILE = ENTRY.files[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "dossier accentué"
    folder.mkdir()
    (folder / "weights.bin").write_bytes(WEIGHTS)
    (folder / "conf.json").write_bytes(CONFIG)
    return folder


def test_the_hash(folder: Path) -> None:
    assert file_sha256(folder / "weights.bin") == sha256(WEIGHTS)


def test_hashing_can_be_cancelled(folder: Path) -> None:
    cancel = CancelToken()
    cancel.set()
    with pytest.raises(Cancelled):
        file_sha256(folder / "weights.bin", cancel)


def test_a_check_is_recorded_and_then_reads_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Verifier(ENTRY, folder).is_verified(FILE)
    Verifier(ENTRY, folder).check(FILE)
    monkeypatch.setattr(verify, "file_sha256", lambda *_: pytest.fail("it was hashed again"))
    assert Verifier(ENTRY, folder).is_verified(FILE)


def test_a_touched_file_is_not_trusted_by_record(folder: Path) -> None:
    checker = Verifier(ENTRY, folder)
    checker.check(FILE)
    os.utime(folder / "weights.bin", ns=(1, 1))
    assert checker.is_present(FILE) and not checker.is_verified(FILE)


def test_one_flipped_byte(folder: Path) -> None:
    damaged = bytearray(WEIGHTS)
    damaged[150_000] ^= 1
    (folder / "weights.bin").write_bytes(damaged)
    with pytest.raises(ModelCorruptError) as caught:
        Verifier(ENTRY, folder).check(FILE)
    text = str(caught.value)
    assert "weights.bin" in text and sha256(bytes(damaged)) in text and "kazeia models get toy" in text
    assert "\n" not in text


def test_damage_that_keeps_the_time_is_found_and_not_forgotten(folder: Path) -> None:
    checker, path = Verifier(ENTRY, folder), folder / "weights.bin"
    checker.check(FILE)
    before = path.stat()
    path.write_bytes(bytes(len(WEIGHTS)))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert checker.is_verified(FILE), "the record cannot see this"
    with pytest.raises(ModelCorruptError):
        checker.check(FILE)
    assert not checker.is_verified(FILE)


def test_truncated(folder: Path) -> None:
    (folder / "weights.bin").write_bytes(WEIGHTS[:-1])
    with pytest.raises(ModelCorruptError, match="299999 bytes instead of 300000"):
        Verifier(ENTRY, folder).check(FILE)


def test_missing(folder: Path) -> None:
    (folder / "weights.bin").unlink()
    with pytest.raises(ModelMissingError, match=r"weights\.bin is missing. Run `kazeia models get toy`"):
        Verifier(ENTRY, folder).check(FILE)


def test_a_folder_in_the_file_s_place(folder: Path) -> None:
    (folder / "weights.bin").unlink()
    (folder / "weights.bin").mkdir()
    with pytest.raises(ModelError):
        Verifier(ENTRY, folder).check(FILE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"files": 3}',
        '{"files": {"weights.bin": {}}}',
        '{"files": {"weights.bin": {"bytes": "1"}}}',
        "[" * 99999,
    ],
)
def test_a_broken_record_means_checking_again(folder: Path, text: str) -> None:
    (folder / verify.RECORD_NAME).write_text(text)
    checker = Verifier(ENTRY, folder)
    assert not checker.is_verified(FILE)
    checker.check(FILE)
    assert checker.is_verified(FILE)


def test_a_forged_record_of_another_hash_is_not_believed(folder: Path) -> None:
    (folder / "weights.bin").write_bytes(bytes(len(WEIGHTS)))
    status = (folder / "weights.bin").stat()
    fields = {"bytes": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": sha256(bytes(len(WEIGHTS)))}
    (folder / verify.RECORD_NAME).write_text(json.dumps({"files": {"weights.bin": {**fields, "revision": ""}}}))
    assert not Verifier(ENTRY, folder).is_verified(FILE)


def test_a_read_only_folder_is_used_all_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(verify, "write_atomically", refuse)
    Verifier(ENTRY, folder).check(FILE)


def test_what_is_not_pinned_needs_a_record(folder: Path) -> None:
    entry = toy(hub=True, wheels=False, pinned=False)
    checker = Verifier(entry, folder)
    with pytest.raises(ModelMissingError, match="never checked"):
        checker.check(entry.files[0])
    checker.record(entry.files[0], sha256(WEIGHTS), "rev")
    assert checker.is_verified(entry.files[0])
    assert checker.expected(entry.files[0]) == (len(WEIGHTS), sha256(WEIGHTS))
    (folder / "weights.bin").write_bytes(bytes(len(WEIGHTS)))
    with pytest.raises(ModelCorruptError):
        checker.check(entry.files[0])
