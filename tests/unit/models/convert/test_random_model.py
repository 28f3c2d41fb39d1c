"""Random checkpoints: reproducible, of the published shapes, and loadable."""

import hashlib
from math import prod
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.errors import Cancelled, ModelError, ModelIncompatibleError
from kazeia_desktop.formats.gguf_writer import GgufWriter, Key
from kazeia_desktop.formats.safetensors import Checkpoint
from kazeia_desktop.models.convert import random_config, random_model
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.models.convert.random_model import END_OF_SPEECH, make_random, random_blocks
from kazeia_desktop.runtime.cancel import CancelToken
from tests.fakes.micro_voice import byte_alphabet

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stand-in for the starter model: as many tokens as Qwen2 has."""
    tokens = [*byte_alphabet(), *(f"t{i}" for i in range(256, 151643)), *random_model._ADDED[:22]]
    path = tmp_path_factory.mktemp("vocabulary") / "llm.gguf"
    keys = [
        Key("general.architecture", "string", "qwen2"),
        Key("tokenizer.ggml.tokens", "string", tokens),
        Key("tokenizer.ggml.merges", "string", ["a b", "c d"]),
    ]
    with GgufWriter(path, keys, []) as writer:
        writer.finish()
    return path


@pytest.fixture(scope="module")
def made(vocabulary: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_random(tmp_path_factory.mktemp("random") / "tiny", "tiny", 5, vocabulary).directory


def test_it_opens_as_an_official_checkpoint(made: Path) -> None:
    source = OfficialSource(made)
    assert source.description.talker.text_vocab == 151936
    assert source.tokens.tokens[151671:151674] == ["<tts_pad>", "<tts_text_bos>", "<tts_text_eod>"]
    assert source.tokens.types[151657] == 4  # <tool_call> is not special
    assert source.tokens.types[151644] == 3
    assert source.description.ids["assistant"] == 77091


def test_the_end_of_speech_is_never_drawn(made: Path) -> None:
    head = Checkpoint(made).tensor("talker.codec_head.weight").array()
    assert not head[END_OF_SPEECH].any()
    assert np.abs(np.delete(head, END_OF_SPEECH, axis=0)).max(axis=1).min() > 0


def digest(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_seed_decides_every_byte(made: Path, vocabulary: Path, tmp_path: Path) -> None:
    make_random(tmp_path / "again", "tiny", 5, vocabulary)
    assert digest(tmp_path / "again") == digest(made)
    make_random(tmp_path / "other", "tiny", 6, vocabulary)
    differing = {name for name, value in digest(tmp_path / "other").items() if digest(made)[name] != value}
    assert differing == {"model.safetensors", "speech_tokenizer/model.safetensors"}


@pytest.mark.parametrize("name", ["talker.model.layers.0.mlp.up_proj.weight", "talker.codec_head.weight"])
def test_values_do_not_depend_on_the_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shape = (3072, 64)
    whole = np.concatenate(list(random_blocks(name, shape, 1)))
    monkeypatch.setattr(random_model, "BLOCK_VALUES", 1000)
    assert len(list(random_blocks(name, shape, 1))) > 100
    np.testing.assert_array_equal(np.concatenate(list(random_blocks(name, shape, 1))), whole)


def test_matrices_keep_a_vectors_length() -> None:
    draw = np.concatenate(list(random_blocks("x.mlp.up_proj.weight", (512, 256), 1))).reshape(512, 256)
    vector = np.random.default_rng(1).standard_normal(256)
    assert 0.8 < np.std(draw @ vector) < 1.2


@pytest.mark.parametrize(("size", "millions"), [("0.6b", 900), ("1.7b", 1900)])
def test_the_published_sizes(size: str, millions: int) -> None:
    shapes = random_config.main_shapes(size)
    assert millions <= sum(map(prod, shapes.values())) / 1e6 < millions * 1.1
    projection = "talker.code_predictor.small_to_mtp_projection.weight"
    assert shapes.get(projection) == (None if size == "0.6b" else (1024, 2048))


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    keys = [
        Key("tokenizer.ggml.tokens", "string", ["a", "b"]),
        Key("tokenizer.ggml.merges", "string", ["a b"]),
    ]
    with GgufWriter(tmp_path / "x.gguf", keys, []) as writer:
        writer.finish()
    with pytest.raises(ModelIncompatibleError, match="Qwen2"):
        make_random(tmp_path / "out", "tiny", 1, tmp_path / "x.gguf")


def test_nothing_is_overwritten_and_nothing_left(made: Path, vocabulary: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="already"):
        make_random(made, "tiny", 1, vocabulary)
    token = CancelToken()
    token.set()
    with pytest.raises(Cancelled):
        make_random(tmp_path / "out", "tiny", 1, vocabulary, cancel=token)
    assert not list(tmp_path.iterdir())
