"""The GGUF reader: what is there, and every way in which it can be wrong."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kazeia_desktop.errors import ModelCorruptError, ModelError, ModelIncompatibleError, ModelMissingError
from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.gguf_writer import GgufWriter, Key, TensorPlan, planned_bytes
from tests.unit.formats.gguf_bytes import Parts, array, info, key, sound, text

pytestmark = pytest.mark.unit


def opened(path: Path, raw: bytes) -> GgufFile:
    (path / "x.gguf").write_bytes(raw)
    return GgufFile(path / "x.gguf")


def test_keys_of_every_type(tmp_path: Path) -> None:
    file = opened(tmp_path, sound().build())
    assert [file.integer(f"k.{n}", -(2**63), 2**63) for n in (0, 1, 2, 3, 4, 5, 10, 11)] == [
        7, -7, 700, -700, 70000, -70000, 2**40, -(2**40),
    ]  # fmt: skip
    assert (file.number("k.6", 0, 1), file.number("k.12", 0, 1)) == (0.5, 0.25)
    assert (file.text("general.architecture"), file.text("empty"), file.text("absent", "x")) == ("test", "", "x")
    assert (file.texts("texts"), file.texts("none"), file.integers("numbers")) == (["a", "", "é"], [], [1, -2, 3])
    assert "texts" in file
    assert "absent" not in file
    assert len(list(file)) == 16


def test_tensors(tmp_path: Path) -> None:
    file = opened(tmp_path, sound().build())
    assert list(file.tensors) == ["a.weight", "b.weight", "c.bias"]
    np.testing.assert_array_equal(file.tensor("a.weight").array(), np.arange(12).reshape(3, 4))
    np.testing.assert_array_equal(file.tensor("a.weight", (3, 4)).rows(1, 2), [[4, 5, 6, 7]])
    np.testing.assert_array_equal(file.tensor("b.weight").rows(1, 2), np.arange(32)[None] / 2)
    np.testing.assert_array_equal(file.tensor("c.bias").array(), np.arange(5))
    np.testing.assert_array_equal(file.tensor("c.bias").rows(2, 4), [2, 3])
    raw = file.raw("b.weight")
    assert raw.size == 68
    assert raw[2:34].tolist() == list(range(32))
    with pytest.raises(ValueError, match="read-only"):
        raw[0] = 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda f: f.integer("absent", 0, 1),
        lambda f: f.integer("k.4", 0, 100),
        lambda f: f.integer("k.7", 0, 1),
        lambda f: f.integer("texts", 0, 1),
        lambda f: f.number("k.6", 1, 2),
        lambda f: f.number("empty", 1, 2),
        lambda f: f.text("k.4"),
        lambda f: f.texts("numbers"),
        lambda f: f.texts("empty"),
        lambda f: f.integers("texts"),
        lambda f: f.integers("k.4"),
        lambda f: f.tensor("absent"),
        lambda f: f.tensor("absent", (1,)),
        lambda f: f.tensor("a.weight", (4, 3)),
        lambda f: f.raw("absent"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, ask: Callable[[GgufFile], object]) -> None:
    file = opened(tmp_path, sound().build())
    with pytest.raises(ModelCorruptError, match=r"x\.gguf.*(absent|k\.|texts|numbers|empty|a\.weight)"):
        ask(file)


def with_keys(*keys: bytes) -> Parts:
    return Parts(keys=list(keys))


def with_tensors(*infos: bytes, data: int = 4096) -> Parts:
    return Parts(keys=[key("k", 4, bytes(4))], infos=list(infos), data=bytes(data))


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (Parts(magic=b"GGML"), "not a GGUF"),
        (Parts(keys=[], n_tensors=0), "n_keys is 0"),
        (Parts(n_keys=2**63), "n_keys"),
        (Parts(n_tensors=10**6, n_keys=1), "n_tensors is 1000000"),
        (with_keys(struct.pack("<Q", 2**63)), "key 0 length"),
        (with_keys(struct.pack("<Q", 60000)), "key 0 is"),
        (with_keys(key("k", 13, bytes(8))), "key k: type is 13"),
        (with_keys(key("k", 4, bytes(4)), key("k", 5, bytes(4))), "key k: count is 2"),
        (with_keys(key("k", 7, b"\2")), "key k: value is 2, expected 0..1"),
        (with_keys(key("k", 8, struct.pack("<Q", 2**64 - 1))), "key k: value length"),
        (with_keys(array("k", 9, 1, bytes(100))), "key k: array type is 9"),
        (with_keys(array("k", 99, 1, bytes(100))), "key k: array type is 99"),
        (with_keys(array("k", 12, 2**61, bytes(100))), "key k: array length"),
        (with_keys(array("k", 8, 3, struct.pack("<QQ", 0, 2**63))), "key k: value"),
        (with_keys(key("general.alignment", 4, struct.pack("<I", 48))), "general.alignment: value is 48"),
        (with_keys(key("general.alignment", 4, bytes(4))), "general.alignment: value is 0"),
        (with_keys(key("general.alignment", 8, text("32"))), "general.alignment"),
        (with_tensors(info("t", [], 0, 0)), "tensor t: n_dims is 0"),
        (with_tensors(info("t", [1] * 5, 0, 0)), "tensor t: n_dims is 5"),
        (with_tensors(info("t" * 64, [1], 0, 0)), "tensor 0 name length is 64"),
        (with_tensors(info("t", [0, 4], 0, 0)), "tensor t: shape"),
        (with_tensors(info("t", [2**32, 2**32], 0, 0)), "tensor t: shape"),
        (with_tensors(info("t", [2**63], 0, 0)), "tensor t: shape"),
        (with_tensors(info("t", [33], 8, 0)), r"tensor t: shape\[0\] is 33, expected k\*32"),
        (with_tensors(info("t", [32], 4, 0)), "tensor t: type is 4"),
        (with_tensors(info("t", [32], 1000, 0)), "tensor t: type is 1000"),
        (with_tensors(info("t", [8], 0, 32)), "tensor t: offset is 32, expected 0"),
        (with_tensors(info("t", [8], 0, 0), info("u", [8], 0, 16)), "tensor u: offset is 16, expected 32"),
        (with_tensors(info("t", [8], 0, 0), info("u", [8], 0, 0)), "tensor u: offset is 0, expected 32"),
        (with_tensors(info("t", [8], 0, 0), info("t", [8], 0, 32)), "tensor t: count is 2"),
        (with_tensors(info("t", [1025], 0, 0)), "tensor t: end is"),
    ],
)
def test_each_malformation_is_told_in_one_line(tmp_path: Path, parts: Parts, said: str) -> None:
    with pytest.raises(ModelCorruptError, match=said) as error:
        opened(tmp_path, parts.build())
    assert "\n" not in str(error.value)
    assert "x.gguf" in str(error.value)
    assert error.value.told_in("fr") != str(error.value)


@pytest.mark.parametrize("version", [0, 1, 4, 0x03000000])
def test_other_versions(tmp_path: Path, version: int) -> None:
    parts = sound()
    parts.version = version
    with pytest.raises(ModelIncompatibleError, match=f"version {version}"):
        opened(tmp_path, parts.build())


def test_version_2_and_another_alignment(tmp_path: Path) -> None:
    parts = Parts(version=2, alignment=64, data=bytes(64) + struct.pack("<f", 1.5))
    parts.keys = [key("general.alignment", 4, struct.pack("<I", 64))]
    parts.infos = [info("t", [3], 0, 0), info("u", [1], 0, 64)]
    assert opened(tmp_path, parts.build()).tensor("u").array().tolist() == [1.5]


def test_a_type_that_is_known_but_not_read(tmp_path: Path) -> None:
    parts = with_tensors(info("t", [256], 12, 0))
    file = opened(tmp_path, parts.build())
    assert file.info("t").n_bytes == 144
    with pytest.raises(ModelIncompatibleError, match="tensor t in type 12"):
        file.tensor("t")


def test_foreign_bytes_in_strings(tmp_path: Path) -> None:
    """An author's name in another encoding is no reason to refuse a model; asked for, it is."""
    file = opened(tmp_path, with_keys(key("author", 8, text(b"Ren\xe9")), array("names", 8, 1, text(b"\xff"))).build())
    with pytest.raises(ModelCorruptError, match="author"):
        file.text("author")
    with pytest.raises(ModelCorruptError, match=r"names\[0\]"):
        file.texts("names")


@settings(max_examples=80, deadline=None)
@given(items=st.lists(st.one_of(st.binary(max_size=6), st.text(max_size=300).map(str.encode)), max_size=30))
def test_any_list_of_strings(items: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    """As one by one: a NUL in a string, and a character cut by its end, are what they are."""
    folder = tmp_path_factory.mktemp("texts")
    file = opened(folder, with_keys(array("texts", 8, len(items), b"".join(text(item) for item in items))).build())
    wrong = next((i for i, item in enumerate(items) if item.decode("utf-8", "replace").encode() != item), None)
    if wrong is None:
        assert file.texts("texts") == [item.decode() for item in items]
    else:
        with pytest.raises(ModelCorruptError, match=rf"texts\[{wrong}\]"):
            file.texts("texts")


def test_every_cut_is_told(tmp_path: Path) -> None:
    raw = sound().build()
    for length in range(len(raw) - 22):  # the last tensor ends 22 bytes before the padding
        with pytest.raises(ModelError):
            opened(tmp_path, raw[:length])


def test_missing_and_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match="no model file"):
        GgufFile(tmp_path / "none.gguf")
    with pytest.raises(ModelMissingError, match="cannot be read"):
        GgufFile(tmp_path)


def test_a_file_that_shrank(tmp_path: Path) -> None:
    file = opened(tmp_path, sound().build())
    file.path.write_bytes(b"GGUF")
    for name in file.tensors:
        with pytest.raises(ModelMissingError, match=r"x\.gguf"):
            file.tensor(name).array()
        with pytest.raises(ModelMissingError, match=r"x\.gguf"):
            file.raw(name)


def use(file: GgufFile) -> None:
    """Read all that the file has."""
    for name in file:
        for ask in (file.text, file.texts, file.integers):
            try:
                ask(name)
            except ModelError:
                continue
    for name in file.tensors:
        file.raw(name)
        try:
            assert file.tensor(name).array().dtype == np.float32
        except ModelError:
            continue


def survives(tmp_path: Path, raw: bytes) -> bool:
    """Whether `raw` is taken; a ModelError is as good."""
    try:
        file = opened(tmp_path, raw)
    except ModelError as error:
        assert "\n" not in str(error)
        return False
    use(file)
    return True


def test_every_byte_altered(tmp_path: Path) -> None:
    raw = sound().build()
    taken = 0
    for at in range(len(raw) - 192):  # all but the tensors' data
        for mask in (0x01, 0x80, 0xFF):
            altered = bytearray(raw)
            altered[at] ^= mask
            taken += survives(tmp_path, bytes(altered))
    assert 0 < taken < 3 * len(raw)


def test_every_word_replaced(tmp_path: Path) -> None:
    raw = sound().build()
    for at in range(0, len(raw) - 200, 3):
        for value in (0, 2**31, 2**32 - 1, 2**63, 2**64 - 1, len(raw), len(raw) - at - 8):
            survives(tmp_path, raw[:at] + struct.pack("<Q", value) + raw[at + 8 :])


@settings(max_examples=500, deadline=None)
@given(data=st.data())
def test_random_damage(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    raw = bytearray(sound().build())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        piece = data.draw(st.binary(max_size=12))
        raw[at : at + data.draw(st.integers(0, 12))] = piece
        if not raw:
            break
    survives(tmp_path_factory.getbasetemp(), bytes(raw))


class TestWriter:
    KEYS = (
        Key("general.architecture", "string", "test"),
        Key("n", "u32", 7),
        Key("f", "f32", 0.5),
        Key("yes", "bool", True),
        Key("texts", "string", ["a", "é"]),
        Key("numbers", "i32", (1, -2)),
    )

    def test_there_and_back(self, tmp_path: Path) -> None:
        rows = np.random.default_rng(1).standard_normal((5, 64)).astype(np.float32)
        plans = [TensorPlan(kind.name, (5, 64), kind) for kind in (GgmlType.F32, GgmlType.Q8_0, GgmlType.Q4_0)]
        plans.append(TensorPlan("bias", (3,), GgmlType.F32))
        with GgufWriter(tmp_path / "w.gguf", self.KEYS, plans) as writer:
            for plan in plans[:3]:
                assert writer.tensor == plan
                writer.append(rows[:2])
                writer.append(rows[2:])
            writer.append(np.array([1, 2, 3], np.float32))
            written = writer.finish()
        raw = (tmp_path / "w.gguf").read_bytes()
        assert written.bytes == writer.total_bytes == len(raw)
        assert len(raw) > planned_bytes(plans)
        file = GgufFile(tmp_path / "w.gguf")
        assert file.version == 3
        assert (file.text("general.architecture"), file.integer("n", 0, 9), file.number("f", 0, 1)) == ("test", 7, 0.5)
        assert (file.texts("texts"), file.integers("numbers")) == (["a", "é"], [1, -2])
        np.testing.assert_array_equal(file.tensor("F32").array(), rows)
        np.testing.assert_allclose(file.tensor("Q8_0").array(), rows, atol=0.02)
        np.testing.assert_array_equal(file.tensor("bias").array(), [1, 2, 3])

    def test_a_row_of_no_whole_blocks(self, tmp_path: Path) -> None:
        with pytest.raises(ModelIncompatibleError, match="odd has rows of 40 values: q8_0 needs a multiple of 32"):
            GgufWriter(tmp_path / "w.gguf", self.KEYS, [TensorPlan("odd", (2, 40), GgmlType.Q8_0)])
        assert not list(tmp_path.iterdir())

    def test_too_many_and_too_few_rows(self, tmp_path: Path) -> None:
        plans = [TensorPlan("t", (2, 32), GgmlType.F32)]
        with GgufWriter(tmp_path / "w.gguf", self.KEYS, plans) as writer:
            with pytest.raises(ValueError, match="too many rows for t"):
                writer.append(np.zeros((3, 32), np.float32))
            writer.append(np.zeros((1, 32), np.float32))
            with pytest.raises(ValueError, match="rows of t are missing"):
                writer.finish()
