"""`kazeia models convert` and `make-random`."""

import argparse
import json
import sys
from pathlib import Path

import pytest

from kazeia_desktop.cli import models
from kazeia_desktop.errors import KazeiaError, ModelIncompatibleError, ModelMissingError, UsageError
from kazeia_desktop.formats.gguf_writer import GgufWriter, Key
from kazeia_desktop.formats.voice_manifest import DTYPES, load_manifest
from kazeia_desktop.models.convert import convert, random_model, requantize
from kazeia_desktop.models.convert.random_config import SIZES
from tests.fakes.micro_voice import write_checkpoint, write_pair
from tests.fakes.tiny_llms import tiny_llm

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("cli") / "source")


def call(*words: str | Path) -> int:
    parser = argparse.ArgumentParser()
    models.register(parser.add_subparsers())
    options = parser.parse_args(["models", *map(str, words)])
    code: int = options.run(options)
    return code


def test_convert_tells_what_it_made(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("convert", checkpoint, tmp_path / "voix été", "--dtype", "f16", "--json") == 0
    said, bar = capsys.readouterr()
    told = json.loads(said)
    assert (told["target"], told["dtype"]) == (str(tmp_path / "voix été"), "f16")
    assert told["name"] == "Qwen3-TTS-12Hz-0.6B-Base"
    assert told["seconds"] > 0
    files = load_manifest(tmp_path / "voix été", verify=True).files
    assert told["files"] == {name: {"bytes": file.bytes, "sha256": file.sha256} for name, file in files.items()}
    assert told["bytes"] == sum(file.bytes for file in files.values())
    assert "100 %" in bar


def test_convert_says_one_line_to_a_person(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("convert", checkpoint, tmp_path / "out") == 0
    assert capsys.readouterr().out == f"Qwen3-TTS-12Hz-0.6B-Base: ready in {tmp_path / 'out'}\n"
    assert load_manifest(tmp_path / "out").dtype == "q8_0"
    with pytest.raises(KazeiaError, match="--force"):
        call("convert", checkpoint, tmp_path / "out")
    assert call("convert", checkpoint, tmp_path / "out", "--force", "--dtype", "q4_0") == 0
    assert load_manifest(tmp_path / "out").dtype == "q4_0"


def test_convert_takes_two_files(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("convert", checkpoint, tmp_path / "direct", "--dtype", "f32") == 0
    pair = write_pair(tmp_path / "pair", checkpoint, tmp_path / "direct" / "talker.gguf")
    assert call("convert", pair / "talker.gguf", pair / "mmproj.gguf", tmp_path / "out", "--dtype", "f32") == 0
    assert load_manifest(tmp_path / "out").files == load_manifest(tmp_path / "direct").files
    with pytest.raises(UsageError, match="two GGUF files"):
        call("convert", pair, pair, pair, tmp_path / "other")
    with pytest.raises(ModelIncompatibleError, match="no Qwen3-TTS model"):
        call("convert", tmp_path, tmp_path / "other")
    capsys.readouterr()


def test_an_interrupt_ends_with_one_line(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(convert, "talker_keys", interrupt)
    assert call("convert", checkpoint, tmp_path / "out") == 130
    assert capsys.readouterr().err.endswith("Stopped. Nothing was written.\n")
    assert not list(tmp_path.iterdir())


def test_the_choices_are_those_of_the_converter() -> None:
    from kazeia_desktop.cli import models_convert

    assert models_convert.DTYPES == DTYPES
    assert set(models_convert.SIZES) <= set(SIZES)


def test_make_random_needs_the_starter_model(kazeia_home: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match=r"kazeia models get qwen2\.5-coder-0\.5b"):
        call("make-random", tmp_path / "out", "--size", "tiny")


def test_make_random(
    kazeia_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = kazeia_home / "data" / "models" / "qwen2.5-coder-0.5b"
    folder.mkdir(parents=True)
    keys = [
        Key("tokenizer.ggml.tokens", "string", [*(f"t{i}" for i in range(151643)), *random_model._ADDED[:22]]),
        Key("tokenizer.ggml.merges", "string", ["a b"]),
    ]
    with GgufWriter(folder / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", keys, []) as writer:
        writer.finish()
    assert call("make-random", tmp_path / "out", "--size", "tiny", "--seed", "4", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["target"], told["size"], told["seed"]) == (str(tmp_path / "out"), "tiny", 4)
    on_disk = sum(file.stat().st_size for file in (tmp_path / "out").rglob("*") if file.is_file())
    assert told["bytes"] == on_disk


@pytest.mark.parametrize("seed", ["-1", "x", str(2**63)])
def test_a_seed_is_a_natural_number(seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        call("make-random", "out", f"--seed={seed}")
    assert stop.value.code == 2
    assert "--seed" in capsys.readouterr().err


def test_listing_models_loads_no_converter() -> None:
    """`kazeia models list` stays quick."""
    import subprocess

    code = "import sys; from kazeia_desktop.cli import models; print([m for m in sys.modules if 'convert' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['kazeia_desktop.cli.models_convert']"


def test_one_gguf_is_a_language_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tiny_llm("qwen3"), tmp_path / "sortie été.gguf"
    assert call("convert", source, target, "--dtype", "q4_0", "--json") == 0
    said, bar = capsys.readouterr()
    told = json.loads(said)
    assert (told["target"], told["dtype"], told["bytes"]) == (str(target), "q4_0", target.stat().st_size)
    assert "100 %" in bar
    assert call("convert", source, target, "--dtype", "q4_1", "--pure", "--force") == 0
    assert capsys.readouterr().out == f"{target.name}: ready in {tmp_path}\n"
    with pytest.raises(UsageError, match="importance matrix"):
        call("convert", source, target, "--dtype", "iq2_xs", "--force")


def test_an_interrupted_language_model_ends_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(requantize, "staged_file", interrupt)
    assert call("convert", tiny_llm("qwen3"), tmp_path / "x.gguf", "--dtype", "q4_0") == 130
    assert capsys.readouterr().err.endswith("Stopped. Nothing was written.\n")


def test_a_voice_has_its_own_types(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="q4_k_m: choose one of f32, f16, q8_0, q4_0"):
        call("convert", checkpoint, tmp_path / "out", "--dtype", "q4_k_m")
    with pytest.raises(UsageError, match="--pure"):
        call("convert", checkpoint, tmp_path / "out", "--pure")
