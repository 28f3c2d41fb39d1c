"""Language models with other types: through llama.cpp, whole or not at all."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop.errors import (
    Cancelled,
    KazeiaError,
    ModelCorruptError,
    ModelError,
    ModelIncompatibleError,
    UsageError,
)
from kazeia_desktop.formats.ggml_types import GgmlType
from kazeia_desktop.formats.gguf import GgufFile
from kazeia_desktop.formats.gguf_writer import GgufWriter, Key, TensorPlan
from kazeia_desktop.models.convert import requantize as module
from kazeia_desktop.models.convert.quant_types import FILE_TYPES, FOUR_BITS, WITH_IMATRIX, plan_quant
from kazeia_desktop.models.convert.requantize import is_language_model, requantize, requantized_bytes
from kazeia_desktop.models.fetch import Progress
from kazeia_desktop.runtime.cancel import CancelToken
from tests.fakes.tiny_llms import ARCHITECTURES, tiny_llm, tool
from tests.realmodels import require_model

pytestmark = pytest.mark.unit

_TABLES = ("token_embd.weight", "output.weight")
_F32, _F16, _Q4_0, _Q8_0 = 0, 1, 2, 8


def write(path: Path, *extra: Key, layers: GgmlType = GgmlType.Q4_0, architecture: str = "qwen3") -> Path:
    """A tiny model whose layers are of one type, a third of them of 8 bits, and whose tables are of 32."""
    keys, tensors = tool().MODELS["qwen3"]()
    vocabulary, n_tokens = tool().tokenizer_keys(None)
    keys = [key for key in keys if key.name != "general.architecture"]
    keys = [Key("general.architecture", "string", architecture), *keys, *vocabulary, *extra]
    tensors = [("token_embd.weight", (n_tokens, 64)), *tensors, ("output.weight", (n_tokens, 64))]
    plans = []
    for name, shape in tensors:
        kind = GgmlType.F32 if len(shape) == 1 or name in _TABLES else layers
        plans.append(TensorPlan(name, shape, GgmlType.Q8_0 if kind is layers and "ffn_down" in name else kind))
    rng = np.random.Generator(np.random.PCG64(1))
    with GgufWriter(path, keys, plans) as writer:
        for plan in plans:
            writer.append(tool()._values(plan.name, plan.shape, rng))
        writer.finish()
    return path


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("modèle été") / "mixed.gguf")


def types(path: Path) -> dict[str, int]:
    return {name: tensor.type for name, tensor in GgufFile(path).tensors.items()}


def test_the_tables_get_the_files_own_type_and_all_else_stays_bit_by_bit(mixed: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    made = requantize(mixed, tmp_path / "sortie été.gguf", threads=1, report=seen.append)
    assert (made.path, made.dtype) == (tmp_path / "sortie été.gguf", "q4_0")
    assert made.bytes == made.path.stat().st_size < mixed.stat().st_size
    before, after = GgufFile(mixed), GgufFile(made.path)
    assert types(made.path) == types(mixed) | dict.fromkeys(_TABLES, _Q4_0)
    assert set(types(made.path).values()) == {_F32, _Q4_0, _Q8_0}
    for name in before.tensors:
        if name not in _TABLES:
            assert after.raw(name).tobytes() == before.raw(name).tobytes(), name
    assert set(before) <= set(after)  # the vocabulary and all
    assert after.texts("tokenizer.ggml.tokens") == before.texts("tokenizer.ggml.tokens")
    table = np.concatenate(list(after.tensor("output.weight").blocks()))
    was = np.concatenate(list(before.tensor("output.weight").blocks()))
    assert 0.01 < np.sqrt(np.mean((table - was) ** 2)) / np.std(was) < 0.15
    assert seen[-1].done_bytes == seen[-1].total_bytes == sum(t.n_bytes for t in before.tensors.values())


def test_nothing_to_do_is_told(mixed: Path, tmp_path: Path) -> None:
    made = requantize(mixed, tmp_path / "a.gguf", threads=1)
    with pytest.raises(ModelIncompatibleError, match="already, of its type q4_0"):
        requantize(made.path, tmp_path / "b.gguf", threads=1)
    with pytest.raises(ModelIncompatibleError, match="no 4-bit type of its own"):
        requantize(tiny_llm("qwen3"), tmp_path / "b.gguf", threads=1)
    assert [path.name for path in tmp_path.iterdir()] == ["a.gguf"]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture(architecture: str, tmp_path: Path) -> None:
    made = requantize(tiny_llm(architecture), tmp_path / "x.gguf", "q4_0", threads=1)
    found = types(made.path)
    assert {found[name] for name in _TABLES if name in found} == {_Q4_0}
    assert found["blk.0.attn_norm.weight"] == _F32


@pytest.mark.parametrize("dtype", ["bf16", "q8_0", "q6_k", "q4_k_m", "q4_1", "iq4_nl", "iq4_xs", "q2_k"])
def test_every_type(dtype: str, tmp_path: Path) -> None:
    """Rows of 64 values fit no block of 256: such types fall back, and llama.cpp asserts for the tables."""
    made = requantize(tiny_llm("qwen3"), tmp_path / "x.gguf", dtype.upper(), threads=1)
    assert made.dtype == dtype
    found = types(made.path)
    number, kind = FILE_TYPES[dtype]
    assert GgufFile(made.path).integer("general.file_type", 0, 99) == number
    if kind in FOUR_BITS:
        assert {found[name] for name in _TABLES} == {kind if kind in (2, 3, 20) else _Q4_0}


def test_pure(tmp_path: Path) -> None:
    made = requantize(tiny_llm("qwen3"), tmp_path / "x.gguf", "q8_0", pure=True, threads=1)
    matrices = {tensor.type for tensor in GgufFile(made.path).tensors.values() if len(tensor.shape) > 1}
    assert matrices == {_Q8_0}


@pytest.mark.parametrize("dtype", [*WITH_IMATRIX, "q4", "", "été"])
def test_types_that_cannot_be(dtype: str, mixed: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="q4_k_m") as told:
        requantize(mixed, tmp_path / "x.gguf", dtype)
    assert ("importance matrix" in str(told.value)) == (dtype in WITH_IMATRIX)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("architecture", ["qwen3tts", "clip", "kazeia-code-predictor"])
def test_a_voices_part_is_refused(architecture: str, tmp_path: Path) -> None:
    path = write(tmp_path / "talker.gguf", architecture=architecture)
    with pytest.raises(ModelIncompatibleError, match="part of a voice"):
        requantize(path, tmp_path / "x.gguf", "q4_0")


def test_llama_cpps_reason(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", architecture="nothing-known")
    with pytest.raises(ModelIncompatibleError, match=r"cannot convert .*nothing-known"):
        requantize(path, tmp_path / "x.gguf", "q4_0", threads=1)
    path = write(tmp_path / "b.gguf", Key("split.count", "u32", 3))
    with pytest.raises(ModelIncompatibleError, match="one of 3 parts"):
        requantize(path, tmp_path / "x.gguf", "q4_0", threads=1)
    assert not (tmp_path / "x.gguf").exists()


def test_damage(mixed: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(mixed.read_bytes()[:-100])
    (tmp_path / "no.gguf").write_bytes(b"no model")
    for name in ("cut.gguf", "no.gguf"):
        with pytest.raises(ModelCorruptError, match=name):
            requantize(tmp_path / name, tmp_path / "x.gguf", "q4_0")
    data = bytearray(mixed.read_bytes())
    tensor = GgufFile(mixed).tensors["blk.0.attn_q.weight"]
    data[tensor.offset : tensor.offset + 2] = np.float16("nan").tobytes()
    (tmp_path / "nan.gguf").write_bytes(data)
    with pytest.raises(ModelIncompatibleError, match=r"nan\.gguf: .*blk\.0\.attn_q"):
        requantize(tmp_path / "nan.gguf", tmp_path / "x.gguf", "q4_1", threads=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.gguf", "nan.gguf", "no.gguf"]


def test_the_target(mixed: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.gguf"
    target.write_bytes(b"mine")
    with pytest.raises(ModelError, match="--force"):
        requantize(mixed, target)
    with pytest.raises(ModelError, match="no converted model"):
        requantize(mixed, target, force=True)
    with pytest.raises(ModelError, match="no converted model"):
        requantize(mixed, tmp_path, force=True)
    target.write_bytes(mixed.read_bytes())
    requantize(target, target, force=True, threads=1)
    assert types(target)["output.weight"] == _Q4_0
    with pytest.raises(ModelError, match=r"Not enough disk space .* MB needed"):
        requantize(mixed, tmp_path / "y.gguf", free_bytes=lambda _: 32_000_000)
    requantize(mixed, tmp_path / "y.gguf", free_bytes=lambda _: 32_000_000 + mixed.stat().st_size, threads=1)


def test_cancel_leaves_nothing(mixed: Path, tmp_path: Path) -> None:
    cancel = CancelToken()
    with pytest.raises(Cancelled):
        requantize(mixed, tmp_path / "x.gguf", threads=1, report=lambda _: cancel.set(), cancel=cancel)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_leaves_nothing(mixed: Path, tmp_path: Path) -> None:
    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        requantize(mixed, tmp_path / "x.gguf", threads=1, report=interrupt)
    assert not list(tmp_path.iterdir())


def test_a_child_that_dies_is_one_line(mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHILD", "kazeia_desktop.no_such_module")
    with pytest.raises(ModelIncompatibleError, match=r"breaks down over .*exit code 1"):
        requantize(mixed, tmp_path / "x.gguf", threads=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="no limits there")
def test_a_full_disk_is_told(mixed: Path, tmp_path: Path) -> None:
    """llama.cpp goes on writing into nothing; a limit of the file's size stands for the disk."""
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from kazeia_desktop.errors import ModelError\n"
        "from kazeia_desktop.models.convert.requantize import requantize\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
        "try: requantize(Path(sys.argv[1]), Path(sys.argv[2]), threads=1)\n"
        "except ModelError as error: print(error)\n"
    )
    words = [sys.executable, "-c", code, str(mixed), str(tmp_path / "x.gguf")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == f"The model cannot be written to {tmp_path / 'x.gguf'} (disk full?).\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    """Its end of the pipe closes, whatever ended the parent."""
    source = tiny_llm("qwen3")
    job = {"source": str(source), "target": str(tmp_path / "x.gguf"), "threads": 1, "dry_run": False}
    job |= {"file_type": 2, "tables": 2, "pure": False, "keep": []}
    with module._child(job) as process:
        assert process.stdin is not None
        os.kill(process.pid, signal.SIGSTOP)
        process.stdin.close()
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait(30) in (0, 1)


def test_what_a_language_model_is(mixed: Path, tmp_path: Path) -> None:
    assert is_language_model(mixed)
    (tmp_path / "any").write_bytes(mixed.read_bytes())
    assert is_language_model(tmp_path / "any")
    assert not is_language_model(tmp_path)
    assert not is_language_model(tmp_path / "none.gguf")


def test_patterns_hold_for_one_name(tmp_path: Path) -> None:
    plan = plan_quant(GgufFile(write(tmp_path / "a.gguf")), None)
    assert dict(plan.keep)[r"^blk\.0\.ffn_down\.weight$"] == _Q8_0
    assert len(plan.keep) == 6  # four of 8 bits, and the tables


def test_a_real_model(tmp_path: Path) -> None:
    """SmolLM2, 4 bits with an 8-bit table that is the output too."""
    source = next(require_model("smollm2-135m").glob("*.gguf"))
    made = requantize(source, tmp_path / "x.gguf", threads=1)
    assert made.dtype == "q4_1"
    assert types(made.path) == types(source) | {"token_embd.weight": 3}
    assert made.bytes < 0.9 * source.stat().st_size


def test_errors_are_ours() -> None:
    with pytest.raises(KazeiaError, match=r"no model file|There is no"):
        requantize(Path("nowhere.gguf"), Path("x.gguf"), "q4_0")


@pytest.mark.parametrize("dtype", ["q4_0", "q8_0"])
def test_the_size_is_known_before_anything_is_written(mixed: Path, tmp_path: Path, dtype: str) -> None:
    told = requantized_bytes(mixed, dtype, pure=True)
    assert list(tmp_path.iterdir()) == []
    made = requantize(mixed, tmp_path / "made.gguf", dtype, pure=True)
    assert abs(told - made.bytes) < 16_384  # llama.cpp tells hundredths of a MiB
