"""The codec decoder against the official implementation's audio, whole and in every chunking.

Each set in data/qwen3tts/ holds checkpoint/speech_tokenizer/{config.json,model.safetensors}, of which the decoder's
tensors are read, and golden.npz with codec_codes (n, 16) int32 and codec_audio (n * 1920,) float32.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.formats.safetensors import SafetensorsFile
from kazeia_desktop.frames import FloatArray, IntArray
from kazeia_desktop.models.convert.codec_graph import write_codec_graph
from kazeia_desktop.models.convert.codec_weights import CodecGeometry, official_codec_sources
from kazeia_desktop.tts.codec import CodecDecoder

pytestmark = pytest.mark.golden

DATA = Path(__file__).parent / "data" / "qwen3tts"
SETS = sorted(file.parent for file in DATA.glob("*/golden.npz") if (file.parent / "checkpoint").is_dir())


Case = tuple[CodecDecoder, IntArray, FloatArray]


@pytest.fixture(scope="module", params=SETS, ids=lambda path: path.name)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """(decoder, codes, audio)."""
    directory = request.param / "checkpoint" / "speech_tokenizer"
    config = json.loads((directory / "config.json").read_text("utf-8"))
    weights = SafetensorsFile(directory / "model.safetensors")
    sources = official_codec_sources(lambda name: weights.tensor(name).array(), config)
    out = tmp_path_factory.mktemp(request.param.name)
    write_codec_graph(out / "codec.onnx", lambda name: sources[name](), CodecGeometry.from_config(config))
    with np.load(request.param / "golden.npz") as golden:
        return CodecDecoder.load(out, threads=2), golden["codec_codes"], golden["codec_audio"]


def streamed(decoder: CodecDecoder, codes: IntArray, plan: str) -> FloatArray:
    rng = np.random.default_rng(0)
    stream, parts, at, step = decoder.stream(), [], 0, 1
    while at < len(codes):
        k = {"one": 1, "ramp": step, "random": int(rng.integers(1, 17))}[plan]
        parts.append(stream.push(codes[at : at + k]))
        at, step = at + k, min(step * 2, 8)
    return np.concatenate(parts)


def test_the_whole_is_the_official_audio(case: Case) -> None:
    """Random weights amplify the last digit of the first layers a thousandfold: 2e-4 is float32's own noise here."""
    decoder, codes, audio = case
    np.testing.assert_allclose(decoder.decode(codes), audio, rtol=0, atol=2e-4)


@pytest.mark.parametrize("plan", ["one", "ramp", "random"])
def test_every_chunking_is_the_whole(case: Case, plan: str) -> None:
    decoder, codes, audio = case
    got = streamed(decoder, codes, plan)
    np.testing.assert_allclose(got, audio, rtol=0, atol=2e-4)
    np.testing.assert_allclose(got, decoder.decode(codes), rtol=0, atol=1e-5)
