"""Names, folded constants and geometry of the codec's weights."""

from dataclasses import replace

import numpy as np
import pytest

from kazeia_desktop.errors import ModelCorruptError
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert.codec_weights import (
    CodecGeometry,
    official_codec_sources,
    official_codec_weights,
)
from tests.codec_reference import GEOMETRY, official_config, official_tensors

pytestmark = pytest.mark.unit


def test_constants_are_folded() -> None:
    raw = official_tensors()
    got = dict(official_codec_weights(raw.__getitem__, official_config()))
    book = "decoder.quantizer.rvq_rest.vq.layers.1._codebook"
    usage = raw[f"{book}.cluster_usage"]
    assert usage[0] == 0
    want = raw[f"{book}.embedding_sum"] / np.maximum(usage, 1e-5)[:, None]
    assert got["a.gen.wav.quant.rest.codebook.weight"].shape == (3, 16, 6)
    np.testing.assert_allclose(got["a.gen.wav.quant.rest.codebook.weight"][1], want, rtol=1e-6)
    assert got["a.gen.wav.quant.first.codebook.weight"].shape == (16, 6)
    assert got["a.gen.wav.quant.first.out_proj.weight"].shape == (10, 6)
    snake = "decoder.decoder.2.block.3.act2"
    np.testing.assert_allclose(got["a.gen.wav.dac.blk.1.res.1.act2.alpha"], np.exp(raw[f"{snake}.alpha"]), rtol=1e-6)
    beta = 1 / (np.exp(raw[f"{snake}.beta"].astype(float)) + 1e-9)
    np.testing.assert_allclose(got["a.gen.wav.dac.blk.1.res.1.act2.beta"], beta, rtol=1e-6)
    assert {value.dtype for value in got.values()} == {np.dtype(np.float32)}


def test_every_official_tensor_is_used_once() -> None:
    raw, asked = official_tensors(), []

    def get(name: str) -> FloatArray:
        asked.append(name)
        return raw[name]

    for _ in official_codec_weights(get, official_config()):
        pass
    assert sorted(asked) == sorted(raw)


def test_nothing_is_read_before_it_is_asked_for() -> None:
    def get(name: str) -> FloatArray:
        raise AssertionError(name)

    assert "a.gen.wav.dac.post_conv.bias" in official_codec_sources(get, official_config())


def test_the_shapes_tell_the_geometry() -> None:
    shapes = {name: v.shape for name, v in official_codec_weights(official_tensors().__getitem__, official_config())}
    g = GEOMETRY
    told = CodecGeometry.from_shapes(
        shapes, head_dim=g.head_dim, sliding_window=g.sliding_window, rope_theta=g.rope_theta
    )
    assert told == g == CodecGeometry.from_config(official_config())
    assert g.samples_per_frame == 48


@pytest.mark.parametrize("missing", ["quant.rest.codebook.weight", "tfm.blk.0.attn_q.weight", "dac.blk.2.conv.weight"])
def test_shapes_that_lack_one(missing: str) -> None:
    shapes = {name: v.shape for name, v in official_codec_weights(official_tensors().__getitem__, official_config())}
    del shapes[f"a.gen.wav.{missing}"]
    with pytest.raises(ModelCorruptError, match="codec"):
        CodecGeometry.from_shapes(shapes, head_dim=8)


@pytest.mark.parametrize("key", sorted(official_config()["decoder_config"]))
@pytest.mark.parametrize("value", [None, "x", -1, 0, [], 10**9, float("nan")])
def test_a_config_that_cannot_be(key: str, value: object) -> None:
    config = official_config()
    config["decoder_config"][key] = value
    if key == "hidden_size" or (key == "head_dim" and not value) or (key == "rope_theta" and value == 10**9):
        return  # the tensors say it, or a default stands for it, or it is possible
    with pytest.raises(ModelCorruptError, match=r"config\.json is incomplete"):
        CodecGeometry.from_config(config)


def test_a_config_without_a_key() -> None:
    config = official_config()
    del config["decoder_config"]["rms_norm_eps"]
    with pytest.raises(ModelCorruptError, match="rms_norm_eps"):
        CodecGeometry.from_config(config)
    assert CodecGeometry.from_config(official_config()["decoder_config"]) == GEOMETRY


def test_the_head_size_where_the_config_leaves_it_out() -> None:
    config = official_config()
    del config["decoder_config"]["head_dim"]
    assert CodecGeometry.from_config(config) == replace(GEOMETRY, head_dim=6)
