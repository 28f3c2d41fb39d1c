from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kazeia_desktop.errors import Cancelled
from kazeia_desktop.models.part_file import PartFile
from kazeia_desktop.runtime.cancel import CancelToken
from tests.unit.models.conftest import CUTS, WEIGHTS, part, sha256

pytestmark = pytest.mark.unit
PARTS = [part(1), part(2), part(3)]


def test_appends_hash_and_finish(tmp_path: Path) -> None:
    with PartFile(tmp_path / "a.part", CancelToken()) as target:
        target.append(b"hello ")
        target.append(b"world")
        assert (target.size, target.sha256) == (11, sha256(b"hello world"))
        target.finish(tmp_path / "a")
    assert [p.name for p in tmp_path.iterdir()] == ["a"] and (tmp_path / "a").read_bytes() == b"hello world"


def test_short_writes_are_completed(tmp_path: Path) -> None:
    with PartFile(tmp_path / "a.part", CancelToken()) as target:
        real = target._stream

        class Slow:
            def write(self, block: memoryview) -> int:
                return real.write(block[:3])

        target._stream = Slow()  # type: ignore[assignment]
        target.append(b"0123456789")
        target._stream = real
        assert (tmp_path / "a.part").read_bytes() == b"0123456789" and target.sha256 == sha256(b"0123456789")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(st.integers(0, len(WEIGHTS) + 5), st.none() | st.integers(0, len(WEIGHTS)))
def test_only_whole_right_parts_are_kept(tmp_path: Path, length: int, flipped: int | None) -> None:
    content = bytearray((WEIGHTS + b"extra")[:length])
    if flipped is not None and flipped < length:
        content[flipped] ^= 1
    else:
        flipped = length
    (tmp_path / "a.part").write_bytes(content)
    right = sum(1 for cut in CUTS[1:] if cut <= min(length, flipped))
    with PartFile(tmp_path / "a.part", CancelToken()) as target:
        assert target.keep_parts(PARTS) == right
        assert (target.size, target.sha256) == (CUTS[right], sha256(WEIGHTS[: CUTS[right]]))
        target.append(WEIGHTS[CUTS[right] :])
        assert target.sha256 == sha256(WEIGHTS)
    assert (tmp_path / "a.part").read_bytes() == WEIGHTS


def test_keep_all_and_its_limit(tmp_path: Path) -> None:
    (tmp_path / "a.part").write_bytes(b"12345")
    with PartFile(tmp_path / "a.part", CancelToken()) as target:
        target.keep_all(5)
        assert target.size == 5
        target.append(b"6")
        target.keep_all(5)
        assert target.size == 0
    assert (tmp_path / "a.part").read_bytes() == b""


def test_hashing_what_is_there_can_be_cancelled(tmp_path: Path) -> None:
    (tmp_path / "a.part").write_bytes(WEIGHTS)
    cancel = CancelToken()
    cancel.set()
    with PartFile(tmp_path / "a.part", cancel) as target:
        with pytest.raises(Cancelled):
            target.keep_all(None)
        with pytest.raises(Cancelled):
            target.keep_parts(PARTS)
    assert (tmp_path / "a.part").read_bytes() == WEIGHTS, "cancelling loses nothing"


def test_rewind(tmp_path: Path) -> None:
    with PartFile(tmp_path / "a.part", CancelToken()) as target:
        target.append(b"keep")
        mark = target.mark()
        target.append(b"drop")
        target.rewind_to(mark)
        target.append(b"!")
        assert target.sha256 == sha256(b"keep!")
    assert (tmp_path / "a.part").read_bytes() == b"keep!"
