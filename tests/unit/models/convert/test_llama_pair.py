"""llama.cpp's pair of files gives the model that the official directory gives."""

import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.errors import ModelCorruptError, ModelError, ModelIncompatibleError, ModelMissingError
from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.voice_manifest import load_manifest
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.detect import open_source
from kazeia_desktop.models.convert.official import OfficialSource
from tests.fakes.micro_voice import write_checkpoint, write_pair

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def pair(checkpoint: Path, converted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The float32 pair of `checkpoint`."""
    return write_pair(tmp_path_factory.mktemp("pair") / "f32", checkpoint, converted / "talker.gguf")


def test_a_float32_pair_gives_the_same_files(pair: Path, converted: Path, tmp_path: Path) -> None:
    made = convert(open_source([pair]), tmp_path / "out", "f32").manifest
    expected = load_manifest(converted)
    assert {n: f.sha256 for n, f in made.files.items()} == {n: f.sha256 for n, f in expected.files.items()}
    a, b = made.description, expected.description
    assert (a.talker, a.code_predictor, a.codec, a.ids, a.languages) == (
        b.talker, b.code_predictor, b.codec, b.ids, b.languages,
    )  # fmt: skip
    assert (a.name, a.model_type, a.speaker_encoder) == (b.name, b.model_type, b.speaker_encoder)


def test_two_widths(projected: Path, tmp_path: Path) -> None:
    direct = convert(OfficialSource(projected), tmp_path / "direct", "f32")
    files = write_pair(tmp_path / "pair", projected, direct.directory / "talker.gguf")
    made = convert(open_source([files]), tmp_path / "out", "f32").manifest
    assert made.description.code_predictor.projection
    assert {n: f.sha256 for n, f in made.files.items()} == {n: f.sha256 for n, f in direct.manifest.files.items()}


def test_custom_voices_are_found_by_their_tokens(tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "source", kind="custom_voice")
    direct = convert(OfficialSource(source), tmp_path / "direct", "f32")
    files = write_pair(tmp_path / "pair", source, direct.directory / "talker.gguf")
    told = convert(open_source([files]), tmp_path / "out", "f32").manifest.description
    assert told.model_type == "custom_voice"
    assert told.speakers == direct.manifest.description.speakers
    assert told.speaker_dialects == {"dylan": "beijing_dialect"}
    assert told.speaker_encoder is None


@pytest.mark.parametrize(("kind", "bound"), [(GgmlType.F16, 1e-3), (GgmlType.Q8_0, 0.01)])
def test_quantised_pairs_keep_their_precision(
    kind: GgmlType, bound: float, checkpoint: Path, converted: Path, tmp_path: Path
) -> None:
    dtype = {GgmlType.F16: "f16", GgmlType.Q8_0: "q8_0"}[kind]
    talker = convert(OfficialSource(checkpoint), tmp_path / "talker", dtype).directory / "talker.gguf"
    files = write_pair(tmp_path / "pair", checkpoint, talker, kind)
    made = convert(open_source([files / "mmproj.gguf", files / "talker.gguf"]), tmp_path / "out", dtype).directory
    for name in ("talker.gguf", "code_predictor.gguf"):
        exact, found = GgufFile(converted / name), GgufFile(made / name)
        assert exact.tensors.keys() == found.tensors.keys()
        for tensor in exact.tensors:
            a, b = exact.tensor(tensor).array(), found.tensor(tensor).array()
            assert np.abs(a - b).max() <= bound * np.abs(a).max(), tensor


def test_quantising_again_changes_nothing(checkpoint: Path, tmp_path: Path) -> None:
    direct = convert(OfficialSource(checkpoint), tmp_path / "direct", "q8_0")
    files = write_pair(tmp_path / "pair", checkpoint, direct.directory / "talker.gguf", GgmlType.Q8_0)
    made = convert(open_source([files]), tmp_path / "out", "q8_0")
    a, b = GgufFile(direct.directory / "talker.gguf"), GgufFile(made.directory / "talker.gguf")
    for name in a.tensors:
        np.testing.assert_array_equal(a.raw(name), b.raw(name), err_msg=name)


def test_each_tensor_of_the_mmproj_is_needed(pair: Path, tmp_path: Path) -> None:
    """A name with one letter changed: the tensor is missing, and named."""
    work = tmp_path / "pair"
    shutil.copytree(pair, work)
    raw = (pair / "mmproj.gguf").read_bytes()
    names = list(GgufFile(pair / "mmproj.gguf").tensors)
    assert len(names) > 250
    for name in names[::9]:
        at = raw.index(name.encode())
        (work / "mmproj.gguf").write_bytes(raw[:at] + b"X" + raw[at + 1 :])
        if name == "a.conv1d.0.weight":
            continue  # then there is no speaker encoder at all
        with pytest.raises(ModelError) as error:
            convert(open_source([work]), tmp_path / "out", "q8_0")
        assert name.removesuffix(".weight") in str(error.value)
        assert "mmproj.gguf" in str(error.value)
        assert not (tmp_path / "out").exists()


def test_what_is_no_pair_is_told(pair: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match="nowhere"):
        open_source([tmp_path / "nowhere"])
    for paths in ([tmp_path], [pair / "talker.gguf"], [pair / "talker.gguf", pair / "talker.gguf"]):
        with pytest.raises(ModelIncompatibleError, match="no Qwen3-TTS model"):
            open_source(paths)
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelError, match=r"x\.gguf"):
        open_source([tmp_path / "x.gguf", pair / "mmproj.gguf"])


def test_too_few_tokens(pair: Path, tmp_path: Path) -> None:
    """The codec's 3,072 rows come last; a file without text rows has none to speak."""
    raw = (pair / "talker.gguf").read_bytes()
    renamed = raw.replace(b"tokenizer.ggml.tokens", b"tokenizer.ggml.nekots").replace(
        b"tokenizer.ggml.merges", b"tokenizer.ggml.tokens"
    )
    (tmp_path / "talker.gguf").write_bytes(renamed)
    with pytest.raises(ModelCorruptError, match=r"tokenizer\.ggml\.tokens: length is 3"):
        open_source([tmp_path / "talker.gguf", pair / "mmproj.gguf"])


def entries(path: Path) -> Iterator[tuple[str, int, int]]:
    """Name, place of the value and its length of every key, then of every tensor's entry."""
    raw, file = path.read_bytes(), GgufFile(path)
    for name in [*file, *file.tensors]:
        at = raw.index(struct.pack("<Q", len(name)) + name.encode()) + 8 + len(name)
        yield name, at, 4 + 8 * len(file.tensors[name].shape) + 12 if name in file.tensors else 12


def patch(path: Path, spot: int, data: bytes) -> None:
    """In place: the file is large."""
    with path.open("r+b") as file:
        file.seek(spot)
        file.write(data)


@pytest.mark.parametrize("name", ["mmproj.gguf", "talker.gguf"])
def test_every_entry_altered(pair: Path, tmp_path: Path, name: str) -> None:
    """Each field of each key and tensor: an error of one line that names a file, or a finite model."""
    work = tmp_path / "pair"
    shutil.copytree(pair, work)
    raw = (pair / name).read_bytes()
    tried = taken = 0
    for index, (_, at, length) in enumerate(entries(pair / name)):
        for spot in range(at, at + length, 4):
            value = (0, 1, 8, 26, 2**31, 2**32 - 1)[(index + spot) % 6]
            patch(work / name, spot, struct.pack("<I", value))
            tried += 1
            try:
                source = open_source([work])
                for tensor in (source.talker["output_norm.weight"], source.code_predictor["head.3.weight"]):
                    assert np.isfinite(tensor.array()).all()
                taken += 1
            except ModelError as error:
                assert "\n" not in str(error)
                assert str(work) in str(error)
            patch(work / name, spot, raw[spot : spot + 4])
    assert tried > (2000 if name == "mmproj.gguf" else 200)
    assert taken < tried / 5
