"""The manifest: there and back, and whatever else stands in it."""

import copy
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kazeia_desktop.errors import ModelCorruptError, ModelError, ModelIncompatibleError, ModelMissingError
from kazeia_desktop.formats.voice_description import (
    CodecShape,
    CodePredictorShape,
    Sampling,
    SpeakerEncoderShape,
    TalkerShape,
    VoiceDescription,
)
from kazeia_desktop.formats.voice_manifest import FILE, FileRecord, VoiceManifest, file_names, load_manifest

pytestmark = pytest.mark.unit

DESCRIPTION = VoiceDescription(
    name="Qwen3-TTS-12Hz-0.6B-Base",
    model_type="base",
    model_size="0b6",
    talker=TalkerShape(1024, 28, 16, 8, 128, 3072, 1e6, 1e-6, vocab=3072, text_vocab=151936, max_positions=32768),
    code_predictor=CodePredictorShape(
        1024, 5, 16, 8, 128, 3072, 1e6, 1e-6, vocab=2048, codebooks=15, projection=False
    ),
    codec=CodecShape(24000, 1920, 16, 2048, 8, 16, 16, 64, 72, 1e4, 1e-5, (2, 2), (8, 5, 4, 3)),
    speaker_encoder=SpeakerEncoderShape(24000, 1024),
    ids={
        "im_start": 151644, "im_end": 151645, "assistant": 77091, "tts_pad": 151671, "tts_bos": 151672,
        "tts_eos": 151673, "codec_pad": 2148, "codec_bos": 2149, "codec_eos": 2150, "codec_think": 2154,
        "codec_nothink": 2155, "codec_think_bos": 2156, "codec_think_eos": 2157,
    },
    languages={"french": 2061, "chinese": 2055, "beijing_dialect": 2074},
    speakers={"dylan": 2878},
    speaker_dialects={"dylan": "beijing_dialect"},
    talker_sampling=Sampling(0.9, 50, 1.0, 1.05),
    code_predictor_sampling=Sampling(0.9, 50, 1.0),
)  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with small stand-ins of the files."""
    folder = tmp_path_factory.mktemp("model")
    files = {}
    for name in file_names(DESCRIPTION):
        (folder / name).write_bytes(name.encode())
        files[name] = FileRecord(len(name), hashlib.sha256(name.encode()).hexdigest())
    (folder / FILE).write_text(VoiceManifest(DESCRIPTION, "q8_0", files).to_json(), "utf-8")
    return folder


@pytest.fixture
def raw(model: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((model / FILE).read_text("utf-8"))
    return loaded


@pytest.fixture
def work(model: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    for path in model.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_there_and_back(model: Path) -> None:
    manifest = load_manifest(model, verify=True)
    assert manifest.description == DESCRIPTION
    assert manifest.dtype == "q8_0"
    assert VoiceManifest(manifest.description, manifest.dtype, manifest.files).to_json() == (model / FILE).read_text()


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        ("format", "other", "key format: value is other"),
        ("talker.hidden", 0, r"talker\.hidden: value is 0, expected 1\.\.16384"),
        ("talker.hidden", 1024.0, r"talker\.hidden"),
        ("talker.vocab", 3071, r"talker\.vocab: value is 3071, expected 3072"),
        ("talker.kv_heads", 5, r"talker\.kv_heads: value is 5"),
        ("talker.head_dim", 127, r"talker\.head_dim"),
        ("talker.rope_theta", float("nan"), r"talker\.rope_theta"),
        ("code_predictor.hidden", 512, r"code_predictor\.projection: value is false, expected true"),
        ("code_predictor.codebooks", 16, r"code_predictor\.codebooks"),
        ("codec.upsample_rates", [8, 5, 4, 2], r"codec\.upsample_rates: value is 1280, expected 1920"),
        ("codec.upsample_rates", [1920] * 4, r"codec\.upsample_rates"),
        ("speaker_encoder.width", 2048, r"speaker_encoder\.width: value is 2048, expected 1024"),
        ("ids.codec_eos", 3072, r"ids\.codec_eos"),
        ("ids.tts_pad", 151936, r"ids\.tts_pad"),
        ("languages.french", "2061", r"languages\.french"),
        ("speaker_dialects.dylan", "klingon", r"speaker_dialects\.dylan"),
        ("speaker_dialects.nobody", "french", r"speaker_dialects\.nobody"),
        ("sampling.talker.temperature", -1, r"sampling\.talker\.temperature"),
        ("sampling.code_predictor.top_p", 1.5, r"sampling\.code_predictor\.top_p"),
        ("dtype", "q5_0", "key dtype"),
        ("model_type", [], "key model_type"),
        ("files.talker.gguf", None, r"files\.talker\.gguf"),
        ("files.extra.bin", {"bytes": 1, "sha256": "0" * 64}, r"files\.extra\.bin"),
    ],
)
def test_an_impossible_value_is_named(work: Path, raw: dict[str, Any], keys: str, value: object, said: str) -> None:
    table: dict[str, Any] = raw
    path = keys.split(".", 1) if keys.startswith("files.") else keys.split(".")
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    (work / FILE).write_text(json.dumps(raw), "utf-8")
    with pytest.raises(ModelCorruptError, match=said) as error:
        load_manifest(work)
    assert "manifest.json" in str(error.value)


def test_another_version(work: Path, raw: dict[str, Any]) -> None:
    raw["version"] = 2
    (work / FILE).write_text(json.dumps(raw), "utf-8")
    with pytest.raises(ModelIncompatibleError, match="kazeia models convert"):
        load_manifest(work)


def test_files_are_looked_at(work: Path) -> None:
    (work / "codec.onnx").write_bytes(b"CODEC.onnx")
    load_manifest(work)
    with pytest.raises(ModelCorruptError, match=r"codec\.onnx is damaged: sha256"):
        load_manifest(work, verify=True)
    (work / "codec.onnx").write_bytes(b"longer than before")
    with pytest.raises(ModelCorruptError, match=r"codec\.onnx is damaged: size is 18, expected 10"):
        load_manifest(work)
    (work / "codec.onnx").unlink()
    with pytest.raises(ModelMissingError, match=r"codec\.onnx"):
        load_manifest(work)
    (work / FILE).unlink()
    with pytest.raises(ModelMissingError, match=r"manifest\.json"):
        load_manifest(work)


NASTY = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**40, 0.5, 1e308, float("nan"), float("inf"), "", "x", "\ud800", [],
    [1], [1] * 100, [2**40, 2**40], {}, {"x": 1}, "a" * 5000, [[]],
]  # fmt: skip


def spoiled(raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every value at every depth, removed and replaced."""

    def walk(table: dict[str, Any], root: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for key in list(table):
            kept = table.pop(key)
            yield root
            for value in NASTY:
                table[key] = value
                yield root
            table[key] = kept
            if isinstance(kept, dict):
                yield from walk(kept, root)

    work = copy.deepcopy(raw)
    yield from walk(work, work)


def test_every_value_spoiled(work: Path, raw: dict[str, Any]) -> None:
    tried = taken = 0
    for changed in spoiled(raw):
        (work / FILE).write_text(json.dumps(changed), "utf-8")
        tried += 1
        try:
            load_manifest(work)
            taken += 1
        except ModelError as error:
            assert "\n" not in str(error)
            assert str(work) in str(error)
    assert tried > 2000
    assert taken < tried / 5


@settings(max_examples=200, deadline=None)
@given(text=st.binary(max_size=200) | st.text(max_size=50).map(lambda t: json.dumps({t: t}).encode()))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / FILE).write_bytes(text)
    with pytest.raises(ModelError):
        load_manifest(folder)
