"""Graphs are written once, whole or not at all, and again when the weights change."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import onnx
import pytest

from kazeia_desktop.errors import ModelCorruptError, ModelError, ModelIncompatibleError, ModelMissingError
from kazeia_desktop.stt import export
from kazeia_desktop.stt.export import PRECISIONS, VERSION, ensure_graphs
from tests.unit.stt.test_ctranslate2_file import packed, write
from tests.unit.stt.tiny_whisper import tiny_model, tiny_tensors

pytestmark = pytest.mark.unit


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny_model(tmp_path / "petit modèle")


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def entries(model: Path) -> list[str]:
    return sorted(entry.name for entry in model.iterdir())


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_graphs_are_written_once(model: Path, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    folder = ensure_graphs(model, precision, told.append)
    assert folder == model / f"onnx-{precision}-v{VERSION}"
    assert told == ["encoder", "decoder"]
    assert entries(model) == ["config.json", "model.bin", folder.name]
    assert set(contents(folder)) == {"encoder.onnx", "decoder.onnx", "source.txt"}
    for name in ("encoder", "decoder"):
        kinds = {node.op_type for node in onnx.load(str(folder / f"{name}.onnx")).graph.node}
        assert ("MatMulInteger" in kinds) == (name in PRECISIONS[precision])

    def never(*_: Any) -> None:  # noqa: ANN401
        raise AssertionError("exported again")

    monkeypatch.setattr(export, "WhisperWeights", never)
    assert ensure_graphs(model, precision, told.append) == folder
    assert told == ["encoder", "decoder"]


def test_finished_graphs_are_used_without_onnx(model: Path) -> None:
    """It costs a tenth of a second and 12 MB."""
    ensure_graphs(model, "float32")
    program = (
        "import sys; sys.modules['onnx'] = None\n"
        "from pathlib import Path; from kazeia_desktop.settings.schema import SttSettings\n"
        "import kazeia_desktop.stt.whisper; from kazeia_desktop.stt.export import ensure_graphs\n"
        f"ensure_graphs(Path({str(model)!r}), 'float32')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_same_weights_give_the_same_bytes(tmp_path: Path) -> None:
    once, again = (ensure_graphs(tiny_model(tmp_path / name), "mixed") for name in ("a", "b"))
    for name in ("encoder.onnx", "decoder.onnx"):
        assert contents(once)[name] == contents(again)[name]


def test_other_weights_are_exported_anew(model: Path) -> None:
    before = contents(ensure_graphs(model, "float32"))
    write(model, packed(tiny_tensors(seed=2)))
    after = contents(ensure_graphs(model, "float32"))
    assert all(after[name] != before[name] for name in before)
    assert entries(model) == ["config.json", "model.bin", f"onnx-float32-v{VERSION}"]


@pytest.mark.parametrize("name", ["encoder.onnx", "decoder.onnx"])
@pytest.mark.parametrize("damage", ["truncated", "emptied", "flipped", "removed"])
def test_damaged_graphs_are_made_again(model: Path, name: str, damage: str) -> None:
    folder = ensure_graphs(model, "float32")
    whole = contents(folder)
    raw = bytearray(whole[name])
    raw[len(raw) // 2] ^= 0xFF
    made = {"truncated": whole[name][:-7], "emptied": b"", "flipped": bytes(raw), "removed": None}[damage]
    (folder / name).unlink()
    if made is not None:
        (folder / name).write_bytes(made)
    assert contents(ensure_graphs(model, "float32"))[name] == whole[name]


def test_graphs_that_were_copied_are_believed(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restored backup has other times."""
    folder = ensure_graphs(model, "float32")
    for file in folder.iterdir():
        os.utime(file, (1, 1))
    monkeypatch.setattr(export, "WhisperWeights", None)
    assert ensure_graphs(model, "float32") == folder


@pytest.mark.parametrize(
    "stamp", [b"", b"{", b"[]", b"null", b'{"source": 1}', b"\xff", b'{"source": "", "graphs": 3}', b"[" * 9000]
)
def test_a_stamp_that_is_none_is_no_stamp(model: Path, stamp: bytes) -> None:
    folder = ensure_graphs(model, "float32")
    (folder / "source.txt").write_bytes(stamp)
    told: list[str] = []
    ensure_graphs(model, "float32", told.append)
    assert told == ["encoder", "decoder"]
    ensure_graphs(model, "float32", told.append)
    assert told == ["encoder", "decoder"]


def test_graphs_of_an_older_version_are_removed(model: Path) -> None:
    for name in ("onnx-mixed-v0", "onnx-int8-v0"):
        (model / name).mkdir()
        (model / name / "encoder.onnx").write_bytes(b"old")
    ensure_graphs(model, "mixed")
    assert entries(model) == ["config.json", "model.bin", "onnx-int8-v0", f"onnx-mixed-v{VERSION}"]


@pytest.mark.parametrize("left", ["nothing", "graphs without the stamp", "a file"])
def test_what_an_interrupted_export_left_is_replaced(model: Path, left: str) -> None:
    target = model / f"onnx-float32-v{VERSION}"
    if left == "a file":
        target.write_bytes(b"x")
    else:
        target.mkdir()
        if left != "nothing":
            (target / "encoder.onnx").write_bytes(b"half")
    assert contents(ensure_graphs(model, "float32"))["encoder.onnx"] != b"half"


def test_two_at_once_both_get_whole_graphs(model: Path) -> None:
    n = 4
    together = threading.Barrier(n)
    got: list[object] = []

    def work() -> None:
        try:
            folder = ensure_graphs(model, "float32", lambda name: together.wait(30) if name == "decoder" else None)
            got.append(set(contents(folder)))
        except (ModelError, OSError) as error:
            got.append(error)

    threads = [threading.Thread(target=work) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert got == [{"encoder.onnx", "decoder.onnx", "source.txt"}] * n
    assert entries(model) == ["config.json", "model.bin", f"onnx-float32-v{VERSION}"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_no_room_or_no_right_is_told_and_leaves_nothing(
    model: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_model: Any, path: str) -> None:  # noqa: ANN401
        Path(path).write_bytes(b"half")
        raise OSError(code, "No way")

    monkeypatch.setattr(onnx, "save", fail)
    with pytest.raises(ModelError) as caught:
        ensure_graphs(model, "mixed")
    told = str(caught.value)
    assert "No way" in told
    assert str(model) in told
    assert "\n" not in told
    assert entries(model) == ["config.json", "model.bin"]


def test_damaged_weights_leave_nothing(model: Path) -> None:
    raw = (model / "model.bin").read_bytes()
    (model / "model.bin").write_bytes(raw[:-50])
    with pytest.raises(ModelCorruptError, match="decoder/layer_1"):
        ensure_graphs(model, "float32")
    assert entries(model) == ["config.json", "model.bin"]
    held = tiny_tensors()
    held["decoder/layer_1/attention/linear_2/weight"] = held["decoder/layer_1/attention/linear_2/weight"][:, :-1]
    write(model, packed(held))
    with pytest.raises(ModelCorruptError, match="decoder/layer_1/attention/linear_2/weight"):
        ensure_graphs(model, "float32")
    assert entries(model) == ["config.json", "model.bin"]


def test_a_missing_model_and_an_unknown_precision_are_told(model: Path) -> None:
    with pytest.raises(ModelIncompatibleError, match="int3"):
        ensure_graphs(model, "int3")
    (model / "model.bin").unlink()
    with pytest.raises(ModelMissingError, match=r"model\.bin"):
        ensure_graphs(model, "float32")


def test_what_a_killed_process_left_goes_with_the_next_export(model: Path) -> None:
    left = model / ".onnx-abc"
    left.mkdir()
    os.utime(left, (0, 0))
    ensure_graphs(model, "mixed")
    assert not left.exists()
