"""Conversion: every value where the engine looks for it, nothing left behind when it fails."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kazeia_desktop.errors import Cancelled, ModelCorruptError, ModelError, ModelIncompatibleError
from kazeia_desktop.formats.ggml_types import GgmlType, n_bytes
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.lazy_tensor import BLOCK_VALUES, LazyTensor
from kazeia_desktop.formats.safetensors import Checkpoint
from kazeia_desktop.formats.voice_manifest import load_manifest
from kazeia_desktop.frames import FloatArray
from kazeia_desktop.models.convert.convert import convert
from kazeia_desktop.models.convert.official import OfficialSource
from kazeia_desktop.models.fetch import Progress
from kazeia_desktop.runtime.cancel import CancelToken
from tests.fakes.micro_voice import FIRST_ADDED, N_TEXT, write_checkpoint

pytestmark = pytest.mark.unit


def array(file: GgufFile, name: str) -> FloatArray:
    return file.tensor(name).array()


def test_the_text_rows_went_through_the_projection(checkpoint: Path, converted: Path) -> None:
    weights = Checkpoint(checkpoint)
    raw = weights.tensor("talker.model.text_embedding.weight").array().astype(np.float64)
    w1, b1, w2, b2 = (
        weights.tensor(f"talker.text_projection.linear_fc{name}").array().astype(np.float64)
        for name in ("1.weight", "1.bias", "2.weight", "2.bias")
    )
    inner = raw @ w1.T + b1
    expected = (inner / (1 + np.exp(-inner))) @ w2.T + b2
    table = array(GgufFile(converted / "talker.gguf"), "token_embd.weight")
    assert table.shape == (N_TEXT + 3072, 64)
    np.testing.assert_allclose(table[:N_TEXT], expected, atol=1e-6)
    np.testing.assert_array_equal(table[N_TEXT:], weights.tensor("talker.model.codec_embedding.weight").array())


@pytest.mark.parametrize(
    ("ours", "official"),
    [
        ("blk.1.attn_q.weight", "talker.model.layers.1.self_attn.q_proj.weight"),
        ("blk.0.attn_output.weight", "talker.model.layers.0.self_attn.o_proj.weight"),
        ("blk.0.ffn_norm.weight", "talker.model.layers.0.post_attention_layernorm.weight"),
        ("blk.1.ffn_down.weight", "talker.model.layers.1.mlp.down_proj.weight"),
        ("output_norm.weight", "talker.model.norm.weight"),
        ("output.weight", "talker.codec_head.weight"),
    ],
)
def test_the_talkers_tensors_are_the_sources(checkpoint: Path, converted: Path, ours: str, official: str) -> None:
    found = array(GgufFile(converted / "talker.gguf"), ours)
    np.testing.assert_array_equal(found, Checkpoint(checkpoint).tensor(official).array())


@pytest.mark.parametrize(
    ("ours", "official"),
    [
        ("blk.1.attn_k_norm.weight", "model.layers.1.self_attn.k_norm.weight"),
        ("blk.0.ffn_gate.weight", "model.layers.0.mlp.gate_proj.weight"),
        ("output_norm.weight", "model.norm.weight"),
        ("head.1.weight", "lm_head.0.weight"),
        ("head.15.weight", "lm_head.14.weight"),
        ("codec_embd.1.weight", "model.codec_embedding.0.weight"),
        ("codec_embd.15.weight", "model.codec_embedding.14.weight"),
        ("input_proj.weight", "small_to_mtp_projection.weight"),
        ("input_proj.bias", "small_to_mtp_projection.bias"),
    ],
)
def test_the_code_predictors_tensors_are_the_sources(projected: Path, tmp_path: Path, ours: str, official: str) -> None:
    convert(OfficialSource(projected), tmp_path / "out", "f32")
    found = array(GgufFile(tmp_path / "out" / "code_predictor.gguf"), ours)
    np.testing.assert_array_equal(found, Checkpoint(projected).tensor(f"talker.code_predictor.{official}").array())


def test_codebook_0_is_the_talkers_table(checkpoint: Path, converted: Path) -> None:
    predictor = GgufFile(converted / "code_predictor.gguf")
    assert "input_proj.weight" not in predictor.tensors
    expected = Checkpoint(checkpoint).tensor("talker.model.codec_embedding.weight").array()
    np.testing.assert_array_equal(array(predictor, "codec_embd.0.weight"), expected)


def test_the_manifest_says_what_the_source_says(converted: Path) -> None:
    manifest = load_manifest(converted, verify=True)
    told = manifest.description
    assert (told.name, told.model_type, told.model_size) == ("Qwen3-TTS-12Hz-0.6B-Base", "base", "0b6")
    assert (told.talker.hidden, told.talker.text_vocab, told.talker.rope_theta) == (64, N_TEXT, 1e6)
    assert (told.code_predictor.codebooks, told.code_predictor.projection) == (15, False)
    assert (told.codec.samples_per_frame, told.codec.head_dim, told.codec.sliding_window) == (1920, 64, 72)
    assert told.ids["tts_eos"] == FIRST_ADDED + 5
    assert told.ids["codec_eos"] == 2150
    assert told.languages["french"] == 2061
    assert told.speaker_encoder is not None
    assert told.speaker_encoder.width == 64
    assert (told.talker_sampling.temperature, told.talker_sampling.repetition_penalty) == (0.8, 1.05)
    assert told.code_predictor_sampling.temperature == 0.9
    raw = json.loads((converted / "manifest.json").read_text("utf-8"))
    assert raw["sampling"]["code_predictor"] == {"temperature": 0.9, "top_k": 50, "top_p": 1.0}
    assert set(manifest.files) == {path.name for path in converted.iterdir()} - {"manifest.json"}


def test_a_custom_voice_model_has_speakers_and_no_encoder(tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "source", kind="custom_voice")
    convert(OfficialSource(source), tmp_path / "out", "q8_0")
    told = load_manifest(tmp_path / "out").description
    assert told.speakers == {"vivian": 3065, "dylan": 2878}
    assert told.speaker_dialects == {"dylan": "beijing_dialect"}
    assert told.speaker_encoder is None
    assert not (tmp_path / "out" / "speaker_encoder.onnx").exists()


@pytest.mark.parametrize("dtype", ["f16", "q8_0", "q4_0"])
def test_each_tensor_has_its_type(checkpoint: Path, converted: Path, tmp_path: Path, dtype: str) -> None:
    convert(OfficialSource(checkpoint), tmp_path / "out", dtype)
    matrix = {"f16": GgmlType.F16, "q8_0": GgmlType.Q8_0, "q4_0": GgmlType.Q4_0}[dtype]
    error = {"f16": 1e-3, "q8_0": 0.01, "q4_0": 0.15}
    for file in ("talker.gguf", "code_predictor.gguf"):
        exact, made = GgufFile(converted / file), GgufFile(tmp_path / "out" / file)
        for name, info in made.tensors.items():
            if len(info.shape) == 1:
                expected = GgmlType.F32
            elif "embd" in name:
                expected = GgmlType.F16
            elif name == "output.weight" and dtype == "q4_0":
                expected = GgmlType.Q8_0
            else:
                expected = matrix
            assert info.type == expected, name
            a, b = array(exact, name), array(made, name)
            bound = error["f16" if expected == GgmlType.F16 else "q8_0" if expected == GgmlType.Q8_0 else dtype]
            assert np.abs(a - b).max() <= bound * np.abs(a).max(), name


def test_shards_give_the_same_bytes(checkpoint: Path, converted: Path, tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "source", shards=3)
    made = convert(OfficialSource(source), tmp_path / "out", "f32")
    assert made.manifest.files == load_manifest(converted).files


def test_reads_are_bounded(checkpoint: Path, tmp_path: Path) -> None:
    """Whatever the tensor's size, no more than a block is asked for."""
    source, largest = OfficialSource(checkpoint), 0
    wide = source.talker["token_embd.weight"]

    def read(start: int, stop: int) -> FloatArray:
        nonlocal largest
        largest = max(largest, (stop - start) * 4096)
        return np.zeros((stop - start, 4096), np.float32)

    blocks = sum(len(block) for block in LazyTensor(wide.file, wide.name, (100_000, 4096), read).blocks())
    assert blocks == 100_000
    assert 0 < largest <= BLOCK_VALUES


@pytest.mark.native
def test_stock_llama_cpp_loads_the_talker(converted: Path) -> None:
    import llama_cpp

    import kazeia_desktop._native  # noqa: F401 - silences llama.cpp

    for vocab_only in (True, False):
        params = llama_cpp.llama_model_default_params()
        params.vocab_only = vocab_only
        model = llama_cpp.llama_model_load_from_file(os.fsencode(converted / "talker.gguf"), params)
        assert model
        vocab = llama_cpp.llama_model_get_vocab(model)
        assert llama_cpp.llama_vocab_n_tokens(vocab) == N_TEXT + 3072
        assert llama_cpp.llama_vocab_eos(vocab) == N_TEXT + 2150
        text = b"<|im_start|>bon a"
        ids = (llama_cpp.llama_token * 16)()
        n = llama_cpp.llama_tokenize(vocab, text, len(text), ids, 16, False, True)
        assert list(ids[:n]) == [FIRST_ADDED + 1, 259, 256]  # merged: b+on, space+a
        assert llama_cpp.llama_vocab_get_text(vocab, N_TEXT + 2061) == b"<|codec_language_french|>"
        llama_cpp.llama_model_free(model)


def _remove(name: str) -> Callable[[dict[str, Any], dict[str, FloatArray]], None]:
    def change(_: dict[str, Any], tensors: dict[str, FloatArray]) -> None:
        del tensors[name]

    return change


def _replace(name: str, with_: Callable[[FloatArray], FloatArray]) -> Callable[..., None]:
    def change(_: dict[str, Any], tensors: dict[str, FloatArray]) -> None:
        tensors[name] = with_(tensors[name].copy())

    return change


def _with(value: float) -> Callable[[FloatArray], FloatArray]:
    def put(values: FloatArray) -> FloatArray:
        values.flat[len(values.flat) // 2] = value
        return values

    return put


@pytest.mark.parametrize(
    "name",
    [
        "talker.codec_head.weight",
        "talker.model.codec_embedding.weight",
        "talker.text_projection.linear_fc2.bias",
        "talker.model.layers.1.self_attn.v_proj.weight",
        "talker.code_predictor.lm_head.7.weight",
        "talker.code_predictor.model.codec_embedding.14.weight",
        "speaker_encoder.fc.weight",
    ],
)
class TestABadTensorIsNamed:
    def test_missing(self, name: str, tmp_path: Path) -> None:
        self._refused(tmp_path, name, _remove(name))

    def test_of_another_shape(self, name: str, tmp_path: Path) -> None:
        self._refused(tmp_path, name, _replace(name, lambda values: values[..., :-1].copy()))

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_with_a_value_that_is_no_number(self, name: str, value: float, tmp_path: Path) -> None:
        self._refused(tmp_path, name, _replace(name, _with(value)))

    def _refused(self, folder: Path, name: str, change: Callable[..., None]) -> None:
        source = write_checkpoint(folder / "source", change=change)
        with pytest.raises(ModelCorruptError) as error:
            convert(OfficialSource(source), folder / "out", "q8_0")
        assert name in str(error.value)
        assert ".safetensors" in str(error.value)
        assert "\n" not in str(error.value)
        assert [path.name for path in folder.iterdir()] == ["source"]


@pytest.mark.parametrize(("dtype", "value"), [("f16", 7e4), ("q8_0", 1e7), ("q4_0", 6e5)])
def test_a_value_beyond_the_dtype_is_refused(dtype: str, value: float, tmp_path: Path) -> None:
    name = "talker.model.layers.0.mlp.up_proj.weight"
    source = write_checkpoint(tmp_path / "source", change=_replace(name, _with(value)))
    with pytest.raises(ModelIncompatibleError, match=f"{name}.*--dtype f32"):
        convert(OfficialSource(source), tmp_path / "out", dtype)
    convert(OfficialSource(source), tmp_path / "out", "f32")


@pytest.mark.parametrize("file", ["model.safetensors", "speech_tokenizer/model.safetensors"])
def test_a_cut_file_is_named(file: str, tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "source")
    os.truncate(source / file, (source / file).stat().st_size - 1)
    with pytest.raises(ModelCorruptError, match=r"model\.safetensors"):
        OfficialSource(source)


def test_a_file_that_shrinks_meanwhile_is_an_error(tmp_path: Path) -> None:
    source = write_checkpoint(tmp_path / "source")
    opened = OfficialSource(source)
    os.truncate(source / "model.safetensors", 100_000)
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        convert(opened, tmp_path / "out", "f32")
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


class Counting(CancelToken):
    """Set from the poll number `limit` on."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit, self.polls = limit, 0

    def raise_if_set(self) -> None:
        self.polls += 1
        if self.polls > self.limit:
            raise Cancelled


def test_cancelling_at_any_point_leaves_nothing(checkpoint: Path, tmp_path: Path) -> None:
    source, all_of_them = OfficialSource(checkpoint), Counting(10**6)
    convert(source, tmp_path / "out", "q4_0", cancel=all_of_them)
    shutil.rmtree(tmp_path / "out")
    assert all_of_them.polls > 100
    for limit in (0, 1, all_of_them.polls // 3, all_of_them.polls // 2, all_of_them.polls - 1):
        with pytest.raises(Cancelled):
            convert(source, tmp_path / "out", "q4_0", cancel=Counting(limit))
        assert not list(tmp_path.iterdir())


def test_an_interrupt_leaves_nothing(checkpoint: Path, tmp_path: Path) -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(OfficialSource(checkpoint), tmp_path / "out", "q4_0", report=interrupt)
    assert not list(tmp_path.iterdir())


def test_progress_ends_at_the_total(checkpoint: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    convert(OfficialSource(checkpoint), tmp_path / "out", "q8_0", report=seen.append)
    assert [p.done_bytes for p in seen] == sorted(p.done_bytes for p in seen)
    assert seen[-1].total_bytes is not None
    assert seen[-1].total_bytes - seen[-1].done_bytes < 32 * 300  # the tensors' padding


def test_what_is_there_is_kept(checkpoint: Path, tmp_path: Path) -> None:
    source, out = OfficialSource(checkpoint), tmp_path / "out"
    convert(source, out, "q8_0")
    before = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    with pytest.raises(ModelError, match="--force"):
        convert(source, out, "f16")
    assert {path: path.stat().st_mtime_ns for path in out.iterdir()} == before
    convert(source, out, "f16", force=True)
    assert load_manifest(out, verify=True).dtype == "f16"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_force_takes_no_foreign_directory(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work", "utf-8")
    with pytest.raises(ModelError, match="no converted model"):
        convert(OfficialSource(checkpoint), tmp_path / "out", "f16", force=True)
    assert (tmp_path / "out" / "thesis.txt").exists()


def test_space_is_looked_at_first(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"Not enough disk space.*5 MB free"):
        convert(OfficialSource(checkpoint), tmp_path / "out", "f16", free_bytes=lambda _: 5_000_000)
    assert not list(tmp_path.iterdir())


def test_a_target_that_cannot_be_written_is_told(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(ModelError, match="cannot be written"):
        convert(OfficialSource(checkpoint), tmp_path / "file" / "out", "f16")


def test_the_planned_sizes_are_the_real_ones(converted: Path) -> None:
    file = GgufFile(converted / "talker.gguf")
    for info in file.tensors.values():
        assert info.n_bytes == n_bytes(int(np.prod(info.shape)), info.type)
    last = max(info.offset + info.n_bytes for info in file.tensors.values())
    assert 0 <= (converted / "talker.gguf").stat().st_size - last < 32
