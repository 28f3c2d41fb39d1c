"""Model files that would end the process end a child instead, and are told in one line."""

import random
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from kazeia_desktop.errors import KazeiaError, ModelCorruptError, ModelError, ModelIncompatibleError
from kazeia_desktop.llm import trial
from kazeia_desktop.llm.gguf import check_header
from kazeia_desktop.llm.trial import try_model
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import LlmSettings
from tests.fakes.gguf_parts import GgufParts
from tests.fakes.tiny_llms import tiny_llm

pytestmark = pytest.mark.unit

_SETTINGS = LlmSettings(threads=1)


@pytest.fixture
def paths(kazeia_home: Path) -> Paths:
    return Paths.from_environment()


def altered(folder: Path, architecture: str, key: str, payload: bytes) -> Path:
    """A tiny model with another value of one key."""
    parts = GgufParts.split(tiny_llm(architecture).read_bytes())
    path = folder / "x.gguf"
    path.write_bytes(parts.change_key(key, lambda part: replace(part, payload=payload)).build())
    return path


def test_a_sound_model_is_tried_once(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    ask = trial.ask_child
    monkeypatch.setattr(trial, "ask_child", lambda *job: (asked.append(job), ask(*job))[1])
    for _ in range(2):
        try_model(tiny_llm("qwen35"), _SETTINGS, paths)
    assert len(asked) == 1
    try_model(tiny_llm("qwen35"), _SETTINGS.model_copy(update={"flash_attention": True}), paths)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("architecture", "key", "payload", "said"),
    [
        ("qwen3", "qwen3.block_count", struct.pack("<I", 0), "block_count"),
        ("qwen3", "qwen3.block_count", struct.pack("<I", 513), "block_count"),
        ("qwen3", "qwen3.attention.layer_norm_rms_epsilon", struct.pack("<f", -1.0), "epsilon"),
        ("qwen3", "qwen3.attention.layer_norm_rms_epsilon", struct.pack("<f", float("nan")), "epsilon"),
        ("qwen35", "qwen35.ssm.inner_size", struct.pack("<I", 7), "GGML_ASSERT"),
        ("qwen35", "qwen35.full_attention_interval", struct.pack("<I", 0), "SIG"),
        ("qwen35", "qwen35.rope.dimension_count", struct.pack("<I", 17), "GGML_ASSERT"),
        ("qwen3", "general.architecture", struct.pack("<Q", 5) + b"qwen9", "qwen9"),
    ],
)
def test_what_llama_cpp_does_not_survive_is_one_line(
    paths: Paths, tmp_path: Path, architecture: str, key: str, payload: bytes, said: str
) -> None:
    path = altered(tmp_path, architecture, key, payload)
    with pytest.raises(ModelError, match=said) as told:
        try_model(path, _SETTINGS, paths)
    assert "\n" not in str(told.value)
    assert "x.gguf" in str(told.value)
    assert len(str(told.value)) < 400
    with pytest.raises(ModelError):
        try_model(path, _SETTINGS, paths)  # not on record


def test_a_context_of_a_few_tokens_is_no_end(paths: Paths, tmp_path: Path) -> None:
    for n in (1, 3, 17):
        path = altered(tmp_path, "qwen3", "qwen3.context_length", struct.pack("<I", n))
        try:
            try_model(path, _SETTINGS, paths)
        except ModelError as error:
            assert "breaks down" not in str(error)


def test_one_that_does_not_end_is_ended(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_PATIENCE_S", 0.0)
    with pytest.raises(ModelIncompatibleError, match="no end"):
        try_model(tiny_llm("qwen3"), _SETTINGS, paths)


def test_a_template_without_end_is_ended(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_PATIENCE_S", 3.0)
    rounds = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    with pytest.raises(ModelIncompatibleError, match="no end"):
        try_model(tiny_llm("qwen3", rounds), _SETTINGS, paths)
    try_model(tiny_llm("qwen3", "{{ unknown.thing.here }}"), _SETTINGS, paths)  # no model to converse with, but sound


def test_cancelled_is_neither_good_nor_bad(paths: Paths) -> None:
    cancel = CancelToken()
    cancel.set()
    try_model(tiny_llm("qwen3"), _SETTINGS, paths, cancel)
    assert not (paths.cache_dir / "trials").exists()


def test_a_row_in_another_type_is_refused(tmp_path: Path) -> None:
    parts = GgufParts.split(tiny_llm("mamba2").read_bytes())
    for name in ("blk.0.ssm_dt.bias", "blk.3.ssm_dt.bias"):
        (tmp_path / "x.gguf").write_bytes(parts.change_tensor(name, lambda part: replace(part, kind=1)).build())
        with pytest.raises(ModelIncompatibleError, match=name):
            check_header(tmp_path / "x.gguf")


@pytest.mark.parametrize("seed", range(60))
def test_flipped_bytes_are_told_or_harmless(tmp_path: Path, seed: int) -> None:
    """The header's reader: whatever is written there, an error of ours or a file that can be tried."""
    rng = random.Random(seed)
    raw = bytearray(tiny_llm(rng.choice(["qwen3", "lfm2", "mamba2"])).read_bytes())
    for _ in range(rng.choice([1, 1, 3])):
        raw[rng.randrange(12_000)] ^= 1 << rng.randrange(8)
    path = tmp_path / "x.gguf"
    path.write_bytes(raw[: rng.randrange(24, len(raw))] if seed % 5 == 0 else raw)
    try:
        check_header(path)
    except KazeiaError as error:
        assert "\n" not in str(error)
        assert seed % 5 or isinstance(error, ModelCorruptError | ModelIncompatibleError)
