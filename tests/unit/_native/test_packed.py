"""Weights that were packed before: the same figures, from memory that is kept as long as it is read."""

import gc
import weakref
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from kazeia_desktop._native import _core
from tests.golden.code_predictor_reference import SETS, Tensor, load, packed
from tests.unit._native import test_core
from tests.unit._native.test_core import GOLDEN, TALKER, VOCAB, predict, shape_of

pytestmark = pytest.mark.native

TYPES = ("f32", "f16", "q8_0", "q4_0")
Bytes = NDArray[np.uint8]
Repacked = tuple[str, int, int, Bytes, bool]


def aligned(size: int, offset: int = 0) -> Bytes:
    raw = np.zeros(size + 128, np.uint8)
    start = -raw.ctypes.data % _core.PACKED_ALIGNMENT + offset
    return raw[start : start + size]


def model_of(tensors: Mapping[str, Tensor | Repacked]) -> _core.CodePredictorModel:
    return _core.CodePredictorModel(shape_of(GOLDEN), GOLDEN.shape.talker_hidden, GOLDEN.shape.talker_vocab, tensors)


def repacked(tensor: Tensor, offset: int = 0) -> Repacked:
    kind, rows, columns, content = tensor
    out = aligned(content.nbytes, offset)
    _core.pack(kind, rows, columns, content, out)
    return kind, rows, columns, out, True


def talker_tensors(kind: str) -> dict[str, Tensor]:
    values = {name: t[3].view(np.float32).reshape(t[1], t[2]) for name, t in test_core.talker_tensors().items()}
    return packed({name: v[0] if len(v) == 1 else v for name, v in values.items()}, kind)


@pytest.mark.parametrize("kind", TYPES)
def test_the_talker_says_the_same(kind: str) -> None:
    tensors = talker_tensors(kind)
    embeds = np.random.default_rng(2).normal(size=(9, 64)).astype(np.float32)
    want = _core.NativeTalker(_core.NativeTalkerModel(TALKER, VOCAB, tensors), _core.ThreadTeam(1), 20).forward(embeds)
    given = {name: repacked(t) if t[1] > 1 else t for name, t in tensors.items()}
    kept = [weakref.ref(t[3]) for t in given.values() if len(t) == 5]
    assert len(kept) == 15
    model = _core.NativeTalkerModel(TALKER, VOCAB, given)
    del given
    talker = _core.NativeTalker(model, _core.ThreadTeam(2), 20)
    del model
    gc.collect()
    _ = [np.full(1 << 12, 255, np.uint8) for _ in range(200)]
    assert all(ref() is not None for ref in kept)
    for found, expected in zip(talker.forward(embeds), want, strict=True):
        assert np.array_equal(found, expected)
    del talker
    gc.collect()
    assert not any(ref() is not None for ref in kept)


@pytest.mark.parametrize("kind", TYPES)
def test_the_code_predictor_says_the_same(kind: str) -> None:
    tensors = packed(load(SETS[0]).weights, kind)
    want = _core.CodePredictor(model_of(tensors), _core.ThreadTeam(1))
    given = {name: repacked(t) if t[1] > 1 and "embd" not in name else t for name, t in tensors.items()}
    predictor = _core.CodePredictor(model_of(given), _core.ThreadTeam(1))
    del given
    for frame in range(3):
        assert np.array_equal(predict(predictor, frame, 5), predict(want, frame, 5))


def test_what_cannot_be_used_is_named() -> None:
    tensors = packed(load(SETS[0]).weights, "q8_0")
    for name, wrong in (
        ("codec_embd.2.weight", repacked(tensors["codec_embd.2.weight"])),
        ("blk.0.attn_norm.weight", (*tensors["blk.0.attn_norm.weight"], True)),
    ):
        with pytest.raises(ValueError, match=r"packed"):
            model_of({**tensors, name: wrong})
    name = "blk.0.attn_q.weight"
    with pytest.raises(ValueError, match="not aligned"):
        model_of({**tensors, name: repacked(tensors[name], offset=8)})
    kind, rows, columns, content, _ = repacked(tensors[name])
    with pytest.raises(ValueError, match=r"attn_q\.weight"):
        model_of({**tensors, name: (kind, rows, columns, content[:-64], True)})
    with pytest.raises(ValueError, match=name):
        model_of({**tensors, name: (kind, rows, columns, content, True, 1)})  # type: ignore[dict-item]


def test_pack_refuses_other_sizes_and_places() -> None:
    rows = np.zeros(8 * 64 * 4, np.uint8)
    for wrong in (rows[:-1], rows[:-4]):
        with pytest.raises(ValueError, match="8 x 64 f32 has"):
            _core.pack("f32", 8, 64, wrong, wrong.copy())
    with pytest.raises(ValueError, match="as many bytes"):
        _core.pack("f32", 8, 64, rows, rows[:-1].copy())
    with pytest.raises(ValueError, match="multiple of 8"):
        _core.pack("f32", 4, 128, rows, rows.copy())
    with pytest.raises(ValueError, match="no weight type"):
        _core.pack("q5_0", 8, 64, rows, rows.copy())
    fixed = rows.copy()
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match=r"writeable|read-only"):
        _core.pack("f32", 8, 64, rows, fixed)
    _core.pack("f32", 8, 64, fixed, rows)
    for other in (rows.view(np.int8), np.zeros(2 * rows.size, np.uint8)[::2]):
        with pytest.raises(TypeError):
            _core.pack("f32", 8, 64, rows, other)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            _core.checksum(other)  # type: ignore[arg-type]


def test_a_checksum_goes_on_from_another() -> None:
    content = np.random.default_rng(3).integers(0, 256, 1000).astype(np.uint8)
    assert _core.checksum(content) == _core.checksum(content.copy()) != _core.checksum(content[:-1])
    parts = _core.checksum(content[500:], _core.checksum(content[:500]))
    assert parts != _core.checksum(content[:500], _core.checksum(content[500:]))
    assert _core.checksum(content[:0]) != _core.checksum(content[:0], 1)
    with pytest.raises(TypeError):
        _core.checksum(content, -1)
