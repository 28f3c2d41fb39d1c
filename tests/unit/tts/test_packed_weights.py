"""Packed weights on disk: the same bits with and without them, whatever has become of the file."""

import errno
import logging
import os
import shutil
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kazeia_desktop._native import PACKED_ALIGNMENT, pack
from kazeia_desktop.errors import ModelMissingError
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.voice_manifest import CODE_PREDICTOR, TALKER, load_manifest
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.tts import packed_weights
from kazeia_desktop.tts.packed_weights import TYPES, PackedWeights
from kazeia_desktop.tts.qwen3 import Qwen3Tts
from tests.fakes.micro_voice import write_checkpoint

pytestmark = pytest.mark.native

HEADER = 80
Packed = dict[str, bytes]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("packed") / "checkpoint")


@pytest.fixture(scope="module")
def converted(checkpoint: Path) -> Path:
    return convert(OfficialSource(checkpoint), checkpoint.with_name("q8_0"), "q8_0").directory


@pytest.fixture
def model(converted: Path, tmp_path: Path, kazeia_home: Path) -> Path:
    assert not kazeia_home.exists()
    return Path(shutil.copytree(converted, tmp_path / "model"))


def weights(model: Path, file: str = CODE_PREDICTOR) -> PackedWeights:
    opened = GgufFile(model / file)
    matrices = [name for name in opened.tensors if len(opened.info(name).shape) == 2 and "embd" not in name]
    return PackedWeights(opened, load_manifest(model).files[file], matrices)


def loaded(model: Path, file: str = CODE_PREDICTOR) -> Packed:
    tensors = weights(model, file).load()
    for kind, rows, columns, content, packed in tensors.values():
        assert packed
        assert content.ctypes.data % PACKED_ALIGNMENT == 0
        assert kind in TYPES.values() and rows % 8 == 0 and columns % 32 == 0
    return {name: content.tobytes() for name, (_, _, _, content, _) in tensors.items()}


def expected(model: Path, file: str = CODE_PREDICTOR) -> Packed:
    """Packed matrix by matrix."""
    source, found = GgufFile(model / file), {}
    for name in weights(model, file).load():
        info = source.info(name)
        out = np.zeros(info.n_bytes, np.uint8)
        rows, columns = info.shape
        pack(TYPES[info.type], rows, columns, source.raw(name), out)
        found[name] = out.tobytes()
    return found


def packed_file(model: Path, file: str = CODE_PREDICTOR) -> Path:
    return model / f"{file}.packed"


@pytest.mark.parametrize("file", [TALKER, CODE_PREDICTOR])
@pytest.mark.parametrize("dtype", ["f32", "f16", "q8_0", "q4_0"])
def test_packed_once_and_mapped_afterwards(
    checkpoint: Path, tmp_path: Path, kazeia_home: Path, file: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = convert(OfficialSource(checkpoint), tmp_path / dtype, dtype).directory
    first = loaded(model, file)
    assert packed_file(model, file).stat().st_size == 4096 + sum(-(-len(part) // 64) * 64 for part in first.values())
    assert first == expected(model, file)
    monkeypatch.setattr(packed_weights, "pack", None)
    assert loaded(model, file) == first
    assert not kazeia_home.exists()


def test_the_voice_is_the_same_with_and_without_the_files(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoken() -> tuple[bytes, bytes]:
        tts = Qwen3Tts.load(model, 1)
        codes = tts.generate_codes("Bonjour.", greedy=False, max_frames=6, seed=5, language="auto")
        rows = np.random.default_rng(0).standard_normal((5, tts.manifest.description.talker.hidden), dtype=np.float32)
        return codes.tobytes(), b"".join(array.tobytes() for array in tts.talker_forward(rows))

    with monkeypatch.context() as patched:
        patched.setattr(PackedWeights, "_paths", lambda _: ())
        in_memory = spoken()
    assert not list(model.glob("*.packed"))
    assert spoken() == in_memory
    assert {path.name for path in model.glob("*.packed")} == {"talker.gguf.packed", "code_predictor.gguf.packed"}
    monkeypatch.setattr(packed_weights, "pack", None)
    assert spoken() == in_memory


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_made_again(model: Path, data: st.DataObject, caplog: pytest.LogCaptureFixture) -> None:
    path, good = packed_file(model), loaded(model)
    content = bytearray(path.read_bytes())
    kind = data.draw(st.sampled_from(["header", "weights", "page", "shorter", "longer", "empty", "other"]))
    if kind in ("header", "weights"):
        start, end = (0, HEADER) if kind == "header" else (4096, len(content))
        content[data.draw(st.integers(start, end - 1))] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "page":
        start = data.draw(st.integers(1, len(content) // 4096 - 1)) * 4096
        content[start : start + 4096] = bytes(4096)
    elif kind == "shorter":
        del content[data.draw(st.integers(1, len(content) - 1)) :]
    elif kind == "longer":
        content += b"\0"
    else:
        content = bytearray() if kind == "empty" else bytearray(os.urandom(len(content)))
    path.write_bytes(content)
    caplog.clear()
    with caplog.at_level(logging.INFO, "kazeia_desktop"):
        assert loaded(model) == good
    assert any("made again" in message for message in caplog.messages)
    caplog.clear()
    with caplog.at_level(logging.INFO, "kazeia_desktop"):
        assert loaded(model) == good
    assert not caplog.messages


def test_what_was_packed_from_another_state_of_the_model_is_not_used(model: Path) -> None:
    before = loaded(model)
    source, path = model / CODE_PREDICTOR, packed_file(model)
    times = source.stat()
    packed = path.read_bytes()
    # One weight changed, in the same number of bytes.
    content = bytearray(source.read_bytes())
    content[GgufFile(source).info("head.1.weight").offset + 2] ^= 1
    source.write_bytes(content)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    after = loaded(model)
    assert [name for name in before if before[name] != after[name]] == ["head.1.weight"]
    assert path.read_bytes() != packed
    # Of another model: its manifest has another hash.
    path.write_bytes(packed)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    manifest = (model / "manifest.json").read_text("utf-8")
    digest = load_manifest(model).files[CODE_PREDICTOR].sha256
    (model / "manifest.json").write_text(manifest.replace(digest, digest[::-1]), "utf-8")
    assert loaded(model) == after


def test_the_user_s_own_cache_serves_where_the_model_cannot_be_written(
    model: Path, kazeia_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make = tempfile.mkstemp

    def read_only(suffix: str, prefix: str, folder: Path) -> tuple[int, str]:
        if folder == model:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return make(suffix, prefix, folder)

    monkeypatch.setattr(tempfile, "mkstemp", read_only)
    with caplog.at_level(logging.INFO, "kazeia_desktop"):
        first = loaded(model)
    assert any("cannot be written" in message for message in caplog.messages)
    digest = load_manifest(model).files[CODE_PREDICTOR].sha256
    assert [path.relative_to(kazeia_home).as_posix() for path in kazeia_home.rglob("*.*")] == [
        f"cache/packed/{digest}.packed"
    ]
    assert not packed_file(model).exists()
    monkeypatch.setattr(packed_weights, "pack", None)
    assert loaded(model) == first


def full(*_: object) -> object:
    return SimpleNamespace(free=1000)


def no_room(self: PackedWeights, file: object) -> None:
    file.write(b"some of it")  # type: ignore[attr-defined]
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("what", ["little space", "no space", "a folder in its place"])
def test_without_a_place_they_are_packed_in_memory(
    model: Path, kazeia_home: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    good = expected(model)
    packed_file(model).unlink()
    before = {path.name for path in model.iterdir()}
    match what:
        case "little space":
            monkeypatch.setattr(shutil, "disk_usage", full)
        case "no space":
            monkeypatch.setattr(PackedWeights, "_fill", no_room)
        case _:
            digest = load_manifest(model).files[CODE_PREDICTOR].sha256
            before.add(packed_file(model).name)
            for path in (packed_file(model), kazeia_home / "cache" / "packed" / f"{digest}.packed"):
                (path / "within").mkdir(parents=True)
    assert loaded(model) == good
    assert {path.name for path in model.iterdir()} == before
    assert not list(kazeia_home.rglob("*.part"))


def test_many_at_once_write_no_torn_file(model: Path) -> None:
    good = expected(model)
    packed_file(model).unlink()
    found: list[bool] = []
    problems: list[Exception] = []
    n = 6
    start = threading.Barrier(n)

    def load() -> None:
        start.wait()
        try:
            found.extend(loaded(model) == good for _ in range(4))
        except Exception as error:  # noqa: BLE001 - told below
            problems.append(error)

    threads = [threading.Thread(target=load) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == [] and found == [True] * 4 * n
    assert [path.name for path in model.iterdir() if "packed" in path.name] == [packed_file(model).name]


def test_what_an_ended_process_left_is_removed(model: Path) -> None:
    old, new = (model / f".{CODE_PREDICTOR}.packed.{name}.part" for name in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (1e9, 1e9))
    loaded(model)
    assert (old.exists(), new.exists()) == (False, True)


def test_the_file_is_as_readable_as_its_source(model: Path) -> None:
    (model / CODE_PREDICTOR).chmod(0o604)
    loaded(model)
    assert packed_file(model).stat().st_mode & 0o777 == 0o604


def test_a_model_that_is_gone_is_told(model: Path) -> None:
    asked = weights(model)
    (model / CODE_PREDICTOR).unlink()
    with pytest.raises(ModelMissingError, match=r"code_predictor\.gguf"):
        asked.load()
    assert not packed_file(model).exists()
