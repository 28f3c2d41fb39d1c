"""What models take on the disk, and giving it back."""

from pathlib import Path

import pytest

from kazeia_desktop.errors import ModelError
from kazeia_desktop.models.disk import discard_partial, free_bytes, partial_bytes, remove_model, used_bytes
from kazeia_desktop.runtime.cancel import CancelToken

pytestmark = pytest.mark.unit


def model(folder: Path, **files: int) -> Path:
    for name, size in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(size))
    return folder


def test_sizes_of_what_is_there(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", a=10, onnx__encoder=20)
    (folder / "b.part").write_bytes(bytes(7))
    assert (used_bytes(folder), partial_bytes(folder)) == (37, 7)
    assert (used_bytes(tmp_path / "no"), partial_bytes(tmp_path / "no")) == (0, 0)
    assert free_bytes(tmp_path / "not" / "yet" / "there") > 0


def test_a_model_goes_with_all_that_was_made_of_it(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", a=10, onnx__encoder=20)
    other = model(tmp_path / "n", a=1)
    remove_model(folder, CancelToken())
    remove_model(folder, CancelToken())
    assert not folder.exists() and other.exists()


def test_a_link_inside_is_removed_and_not_what_it_points_to(tmp_path: Path) -> None:
    kept = model(tmp_path / "mine", a=3)
    folder = model(tmp_path / "m", a=1)
    (folder / "link").symlink_to(kept)
    remove_model(folder, CancelToken())
    assert not folder.exists() and (kept / "a").exists()


def test_only_the_rest_of_a_stopped_download_goes(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", a=10)
    (folder / "b.part").write_bytes(bytes(7))
    model(folder / ".wheels", w=5)
    discard_partial(folder, CancelToken())
    assert [path.name for path in folder.iterdir() if path.name != ".lock"] == ["a"]
    empty = model(tmp_path / "e")
    empty.mkdir()
    (empty / "c.part").write_bytes(b"x")
    discard_partial(empty, CancelToken())
    assert not empty.exists()


def test_a_disk_that_refuses_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model(tmp_path / "m", a=10)

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(ModelError, match="Permission denied"):
        remove_model(folder, CancelToken())
