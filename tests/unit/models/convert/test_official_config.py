"""config.json is checked value by value; what is wrong is named by the file's own key."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kazeia_desktop.errors import ModelCorruptError, ModelError, ModelIncompatibleError
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.models.convert.official_config import model_name, read_config
from tests.fakes.micro_voice import write_checkpoint

pytestmark = pytest.mark.unit

NASTY: list[Any] = [
    None, True, 0, -1, 1, 1.5, 2**31, 2**63, 10**30, 1e308, float("nan"), float("inf"), "", "x", "\ud800", "24", [],
    [1], [2**40] * 3, {}, {"a": 1}, [[[]]],
]  # fmt: skip


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "source")


def alter(path: Path, keys: list[str], change: Callable[[dict[str, Any], str], None]) -> None:
    root = json.loads(path.read_text("utf-8"))
    table = root
    for key in keys[:-1]:
        table = table[key]
    change(table, keys[-1])
    path.write_text(json.dumps(root), "utf-8")


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        (["talker_config", "hidden_size"], 0, r"talker_config\.hidden_size: value is 0, expected 1\.\."),
        (["talker_config", "num_key_value_heads"], 3, r"talker_config\.num_key_value_heads"),
        (["talker_config", "vocab_size"], 3073, r"talker_config\.vocab_size: value is 3073, expected 3072"),
        (["talker_config", "codec_pad_id"], 3072, r"talker_config\.codec_pad_id: value is 3072, expected 0\.\.3071"),
        (["talker_config", "codec_language_id"], {"french": -1}, r"codec_language_id\.french"),
        (["talker_config", "spk_is_dialect"], {"nobody": "french"}, "nobody"),
        (["talker_config", "rope_scaling", "mrope_section"], [24, 20, 21], r"rope_scaling\.mrope_section"),
        (["talker_config", "code_predictor_config", "num_hidden_layers"], "5", r"code_predictor_config\.num_hidden"),
        (["im_end_token_id"], 700, r"im_end_token_id: value is 700, expected 0\.\.699"),
        (["speaker_encoder_config", "enc_dim"], 63, r"speaker_encoder_config\.enc_dim: value is 63, expected 64"),
        (["tts_model_type"], "other", "tts_model_type: value is other"),
    ],
)
def test_an_impossible_value_is_named(copy: Path, keys: list[str], value: object, said: str) -> None:
    alter(copy / "config.json", keys, lambda table, key: table.__setitem__(key, value))
    with pytest.raises(ModelCorruptError, match=said):
        OfficialSource(copy)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (["model_type"], "qwen3"),
        (["tokenizer_type"], "qwen3_tts_tokenizer_25hz"),
        (["talker_config", "hidden_act"], "gelu"),
        (["talker_config", "num_code_groups"], 32),
        (["talker_config", "attention_bias"], True),
        (["talker_config", "code_predictor_config", "use_sliding_window"], True),
    ],
)
def test_another_kind_of_model_is_told(copy: Path, keys: list[str], value: object) -> None:
    alter(copy / "config.json", keys, lambda table, key: table.__setitem__(key, value))
    with pytest.raises(ModelIncompatibleError, match=f"{keys[-1]} {value}: only"):
        OfficialSource(copy)


def test_the_official_defaults_fill_what_is_left_out(copy: Path) -> None:
    before = OfficialSource(copy).description
    for keys in (
        ["talker_config", "head_dim"],
        ["talker_config", "max_position_embeddings"],
        ["talker_config", "spk_id"],
        ["talker_config", "hidden_act"],
        ["talker_config", "rope_scaling", "mrope_section"],
        ["talker_config", "code_predictor_config", "head_dim"],
    ):
        alter(copy / "config.json", keys, lambda table, key: table.pop(key))
    alter(copy / "config.json", ["talker_config", "spk_is_dialect"], lambda table, key: table.__setitem__(key, None))
    assert OfficialSource(copy).description == before


def test_without_generation_config_the_published_sampling_holds(copy: Path) -> None:
    (copy / "generation_config.json").unlink()
    told = OfficialSource(copy).description
    assert (told.talker_sampling.temperature, told.talker_sampling.top_k) == (0.9, 50)


@pytest.mark.parametrize("file", ["config.json", "speech_tokenizer/config.json", "generation_config.json"])
def test_any_value_anywhere_is_refused_or_read(copy: Path, file: str) -> None:
    """Every key of every file, removed and replaced by each of NASTY: an error with one line, or a description."""
    root = json.loads((copy / file).read_text("utf-8"))
    tried = 0

    def walk(table: dict[str, Any]) -> None:
        nonlocal tried
        for key in list(table):
            kept = table.pop(key)
            for value in [*NASTY, ...]:
                if value is not ...:
                    table[key] = value
                (copy / file).write_text(json.dumps(root), "utf-8")
                tried += 1
                try:
                    read_config(copy, copy / "speech_tokenizer")
                except ModelError as error:
                    assert "\n" not in str(error)
                    assert "config.json" in str(error)
            table[key] = kept
            if isinstance(kept, dict):
                walk(kept)

    walk(root)
    assert tried >= 200


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b'{"a":1,"a":2}', b"\xff", b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}", b"nul"]
)
def test_what_is_no_json_is_told(copy: Path, text: bytes) -> None:
    (copy / "config.json").write_bytes(text)
    with pytest.raises(ModelCorruptError, match=r"config\.json"):
        OfficialSource(copy)


def test_names() -> None:
    assert model_name("1b7", "custom_voice") == "Qwen3-TTS-12Hz-1.7B-CustomVoice"
