"""The peer's files: the layout is what its loader asks for, and the values never end a sentence."""

import json
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.gguf_writer import TensorPlan
from tests.tool_script import tool_script

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return tool_script("make_qwentts_models")


def test_the_layout_has_the_published_size(tool: ModuleType) -> None:
    talker, codec = tool.talker_plan(GgmlType.Q8_0), tool.codec_plan()
    for plan, count, types in (
        (talker, 478, {GgmlType.Q8_0: 266, GgmlType.F32: 212}),
        (codec, 398, {GgmlType.Q8_0: 110, GgmlType.F16: 50, GgmlType.F32: 238}),
    ):
        assert len({tensor.name for tensor in plan}) == count
        assert Counter(tensor.type for tensor in plan) == types
    values = sum(int(np.prod(t.shape)) for t in talker if t.name.startswith("talker.blk."))
    assert values == 28 * (15_728_640 + 2 * 1024 + 2 * 128)


def test_q4_0_and_f16_change_the_matrices_only(tool: ModuleType) -> None:
    base = tool.talker_plan(GgmlType.Q8_0)
    for name in ("q4_0", "f16"):
        other = tool.talker_plan(tool.TYPES[name])
        assert [t.shape for t in other] == [t.shape for t in base]
        assert {t.type for t in other} == {tool.TYPES[name], GgmlType.F32}


def test_the_end_is_never_drawn_and_a_seed_is_a_model(tool: ModuleType) -> None:
    head = TensorPlan("talker.codec_head.weight", (3072, 32), GgmlType.F32)
    (rows,) = tool.random_blocks(np.random.default_rng(1), head)
    assert not rows[2150].any()
    assert np.abs(rows).sum(axis=1).astype(bool).sum() == 3071
    again = next(tool.random_blocks(np.random.default_rng(1), head))
    assert np.array_equal(rows, again)


def test_a_file_reads_back(tool: ModuleType, tmp_path: Path) -> None:
    plan = [
        TensorPlan("talker.blk.0.attn_q.weight", (9000, 64), GgmlType.Q8_0),
        TensorPlan("talker.output_norm.weight", (64,), GgmlType.F32),
        TensorPlan("talker.text_proj.fc1.bias", (64,), GgmlType.F32),
    ]
    file = tmp_path / "talker.gguf"
    file.write_bytes(b"an older one")
    tool.write_model(file, "qwen3-tts", tool.TALKER_KEYS, plan, seed=1)
    read = GgufFile(file)
    assert read.text("general.architecture") == "qwen3-tts"
    assert read.integer("qwen3-tts.codec.eos_id", 0, 9999) == 2150
    assert read.integers("qwen3-tts.talker.rope.mrope_section") == [24, 20, 20]
    assert read.number("generation.temperature", 0, 1) == pytest.approx(0.9)
    assert read.tensor("talker.blk.0.attn_q.weight").array().std() == pytest.approx(1 / 8, rel=0.02)
    assert read.tensor("talker.output_norm.weight").array().mean() == pytest.approx(1, abs=0.05)
    assert read.tensor("talker.text_proj.fc1.bias").array().mean() == pytest.approx(0, abs=0.05)


def test_the_vocabulary_comes_from_the_official_files(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps({"b": 1, "a": 0, "Ġc": 2}), "utf-8")
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n# #\n", "utf-8")
    added = {"4": {"content": "<|end|>"}, "3": {"content": "<|start|>"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}), "utf-8")
    assert tool.vocabulary_keys(tmp_path) == {
        "tokenizer.ggml.tokens": ["a", "b", "Ġc", "<|start|>", "<|end|>"],
        "tokenizer.ggml.token_type": [1, 1, 1, 3, 3],
        "tokenizer.ggml.merges": ["a b", "# #"],
    }
