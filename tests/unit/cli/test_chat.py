"""`kazeia chat` on a small real model."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.store import SettingsStore, with_value
from tests.fakes.gguf_parts import GgufParts
from tests.fakes.tiny_llms import tiny_llm
from tests.realmodels import require_model

pytestmark = pytest.mark.golden

_KEYS = {
    "reply", "ttft_ms", "tokens_per_s", "prefilled_tokens", "generated_tokens", "dropped_turns", "cancelled",
    "by_tool",
}  # fmt: skip


def chat(given: str, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "kazeia_desktop", "chat", *arguments],
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"LC_ALL": "C.UTF-8", "LANGUAGE": "en"} | environment,
    )


def test_one_json_line_a_message_and_a_failure_does_not_end_it(kazeia_home: Path) -> None:
    paths = Paths.from_environment()
    paths.models_dir.parent.mkdir(parents=True)
    paths.models_dir.symlink_to(require_model("smollm2-135m").parent, target_is_directory=True)
    store = SettingsStore(paths.settings_file)
    store.save(with_value(store.load(), "llm.max_reply_tokens", "16"))
    given = "Bonjour\n\n   \n" + "mot " * 6000 + "\nMerci\n"
    done = chat(given, "--model", "smollm2-135m", "--json", KAZEIA_HOME=str(kazeia_home))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "too long" in line
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(records) == 2
    for record in records:
        assert set(record) == _KEYS
        assert record["reply"]
        assert record["ttft_ms"] > 0
        assert 0 < record["generated_tokens"] <= 16
        assert record["cancelled"] is False
    assert records[1]["prefilled_tokens"] < 60


def test_no_message_is_no_reply() -> None:
    require_model("smollm2-135m")
    done = chat("", "--model", "smollm2-135m", "--json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["no-such-model", "/nowhere/x.gguf"])
def test_a_model_that_is_not_there_is_one_line(name: str) -> None:
    done = chat("Bonjour\n", "--model", name)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert name in line


def test_a_file_that_is_no_model_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + bytes(100))
    done = chat("Bonjour\n", "--model", str(tmp_path / "x.gguf"))
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "x.gguf" in line


def test_bad_usage_is_2() -> None:
    assert chat("", "--language", "de").returncode == 2


def test_raw_continues_what_any_model_is_given(kazeia_home: Path) -> None:
    store = SettingsStore(Paths.from_environment().settings_file)
    store.save(with_value(store.load(), "llm.max_reply_tokens", "16"))
    base = str(tiny_llm("lfm2", None))
    done = chat("Bonjour\n", "--model", base, KAZEIA_HOME=str(kazeia_home))
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "no chat template" in line
    done = chat("Le chat\nLa mer\n", "--model", base, "--raw", "--json", KAZEIA_HOME=str(kazeia_home))
    assert (done.returncode, done.stderr) == (0, "")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [set(record) for record in records] == [{"reply", "cancelled"}] * 2
    assert all(record["reply"] for record in records)


def test_a_model_that_llama_cpp_does_not_survive_is_one_line(kazeia_home: Path, tmp_path: Path) -> None:
    parts = GgufParts.split(tiny_llm("qwen35").read_bytes())
    broken = parts.change_key("qwen35.ssm.inner_size", lambda key: replace(key, payload=b"\x07\0\0\0"))
    (tmp_path / "x.gguf").write_bytes(broken.build())
    done = chat("Bonjour\n", "--model", str(tmp_path / "x.gguf"), KAZEIA_HOME=str(kazeia_home))
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "x.gguf" in line
    assert "GGML_ASSERT" in line
