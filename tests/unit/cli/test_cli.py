"""The command line as a whole: no Qt, one line for an error, the promised exit codes; settings and ask."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kazeia_desktop import cli
from kazeia_desktop.audio.wav import write_wav

pytestmark = pytest.mark.unit

COMMANDS = (
    "ask talk transcribe chat say split models voices devices settings bench doctor".split()  # noqa: SIM905
)


@pytest.fixture(autouse=True)
def home(kazeia_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    return kazeia_home


def test_commands_never_load_qt() -> None:
    program = (
        "import sys; from kazeia_desktop import cli; cli.parser(); import kazeia_desktop.pipeline.builder;"
        "sys.exit(any(name.startswith('PySide6') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, "--help"]) == 0
    assert "usage: kazeia" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["no-such-command"], ["ask"], ["settings"], ["models"], ["split", "--piece", "x"]])
def test_bad_usage_exits_2(words: list[str]) -> None:
    assert cli.main(words) == 2


def test_an_error_is_one_line_in_the_system_s_language(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["ask", "/nowhere/x.wav"]) == 1
    assert capsys.readouterr().err == "kazeia: There is no file /nowhere/x.wav.\n"
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
    assert cli.main(["ask", "/nowhere/x.wav"]) == 1
    assert capsys.readouterr().err == "kazeia: Il n'y a pas de fichier /nowhere/x.wav.\n"


def test_a_question_longer_than_a_minute_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_wav(tmp_path / "long.wav", np.zeros(61 * 4000, np.float32), 4000)
    assert cli.main(["ask", str(tmp_path / "long.wav")]) == 1
    told = capsys.readouterr().err
    assert "61 s" in told and "60 s" in told and told.count("\n") == 1


def test_settings_are_set_shown_and_reset(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["settings", "set", "llm.temperature", "0.25", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == 0.25
    assert cli.main(["settings", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["llm"]["temperature"] == 0.25
    assert cli.main(["settings", "show"]) == 0
    assert "llm.temperature = 0.25" in capsys.readouterr().out
    assert cli.main(["settings", "reset", "llm.temperature"]) == 0
    assert capsys.readouterr().out.splitlines() == ["llm.temperature = 0.3"]
    assert cli.main(["settings", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["llm"]["temperature"] != 0.25


@pytest.mark.parametrize("words", [["set", "llm.nope", "1"], ["set", "llm.temperature", "hot"], ["reset", "x.y"]])
def test_a_wrong_setting_exits_1_with_its_name(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["settings", *words]) == 1
    told = capsys.readouterr().err
    assert words[1] in told and told.count("\n") == 1


def test_a_broken_settings_file_is_told_by_settings_and_not_lost(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "settings.toml").write_text("[broken", "utf-8")
    assert cli.main(["settings", "show"]) == 1
    assert "settings.broken.toml" in capsys.readouterr().err
    assert (home / "config" / "settings.broken.toml").read_text("utf-8") == "[broken"


_PART_CASES = {
    "onnxruntime": ("say", "ask", "transcribe", "talk"),
    "llama_cpp": ("say", "ask", "chat", "talk", "devices"),
    "tokenizers": ("transcribe", "ask"),
    "jinja2": ("chat", "ask"),
    "num2words": ("say", "split"),
    "pydantic": ("say", "ask", "chat", "transcribe", "settings", "doctor", "devices", "models"),
    "numpy": ("say", "ask", "transcribe", "chat"),
    "tomli_w": ("settings", "chat"),
    "platformdirs": ("settings", "models"),
}
_WORDS = {
    "say": ["say", "Bonjour", "-o", "o.wav"], "ask": ["ask", "a.wav"], "transcribe": ["transcribe", "a.wav"],
    "chat": ["chat"], "talk": ["talk"], "devices": ["devices"], "split": ["split"], "doctor": ["doctor"],
    "settings": ["settings", "show"], "models": ["models", "list"],
}  # fmt: skip


@pytest.mark.parametrize("part", _PART_CASES)
def test_a_missing_library_is_one_line_in_every_command(part: str, tmp_path: Path) -> None:
    write_wav(tmp_path / "a.wav", np.zeros(16_000, np.float32), 16_000)
    program = (
        f"import sys, json; sys.modules[{part!r}] = None\n"
        "from kazeia_desktop import cli\n"
        "for words in json.loads(sys.argv[1]): sys.stderr.write(f'={cli.main(words)}\\n')"
    )
    commands = [_WORDS[name] for name in _PART_CASES[part]]
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(commands)],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    told = done.stderr.splitlines()
    assert len(told) == 2 * len(commands), done.stderr
    for line, code in zip(told[::2], told[1::2], strict=True):
        assert code == "=1"
        assert line.startswith("kazeia: ")
        assert part in line
        assert "make build" in line


@pytest.mark.parametrize("target", ["no folder/r.wav", "."])
def test_ask_tells_at_once_that_its_reply_cannot_be_written(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wav(tmp_path / "a.wav", np.zeros(16_000, np.float32), 16_000)
    assert cli.main(["ask", str(tmp_path / "a.wav"), "-o", str(tmp_path / target)]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"kazeia: {tmp_path / target} cannot be written")
    assert told.count("\n") == 1


_BROKEN = (b"[broken", b"\xff\xfe\0", b"", b"version = 99", b"version = 1\n[stt]\nthreads = 9999", None)


@pytest.mark.parametrize("content", _BROKEN)
def test_settings_that_cannot_be_used_are_told_and_the_command_goes_on(
    content: bytes | None, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home / "config" / "settings.toml"
    path.parent.mkdir(parents=True)
    if content is None:
        path.mkdir()  # cannot be read as a file, by root neither
    else:
        path.write_bytes(content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Bonjour.")))
    assert cli.main(["split"]) == 0
    said = capsys.readouterr()
    assert said.out == "Bonjour.\n"
    assert said.err.startswith("kazeia: The settings file ")
    assert said.err.endswith("\n")
    assert said.err.count("\n") == 1
    assert "defaults are used" in said.err
    if content is None:
        assert path.is_dir()
    else:
        assert (home / "config" / "settings.broken.toml").read_bytes() == content
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Bonjour.")))
        assert cli.main(["split"]) == 0  # once is enough
        assert capsys.readouterr().err == ""


def test_missing_models_are_told_with_the_command_that_gets_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wav(tmp_path / "a.wav", np.zeros(16_000, np.float32), 16_000)
    assert cli.main(["transcribe", str(tmp_path / "a.wav")]) == 1
    assert "kazeia models get whisper-base" in capsys.readouterr().err
