"""`kazeia conversations`."""

import json
from pathlib import Path

import pytest

from kazeia_desktop.cli import main
from kazeia_desktop.memory.conversations import ConversationStore
from kazeia_desktop.paths import Paths

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def kept(kazeia_home: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    paths = Paths.from_environment()
    store = ConversationStore(paths.conversations_file)
    store.add(None, "Parle-moi de l'été", "Il fait chaud.", "fr").result()
    store.add(None, "Une blague ?", "Non.", "fr").result()
    store.close()
    paths.states_dir.mkdir(parents=True)
    (paths.states_dir / "1.state").write_bytes(b"x")
    return paths


def told(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main(["conversations", *words, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_list_and_search(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conversations", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("Une blague ?") and lines[1].endswith("Parle-moi de l'été") and len(lines) == 2
    assert main(["conversations", "search", "ETE"]) == 0
    assert "Parle-moi de l'été" in capsys.readouterr().out
    assert main(["conversations", "search", "hiver"]) == 0
    assert capsys.readouterr().out == "Nothing was found.\n"
    hits = told(["search", "été", "parle"], capsys)["conversations"]
    assert isinstance(hits, list) and [hit["id"] for hit in hits] == [1]


def test_show_and_rename(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conversations", "show", "1"]) == 0
    assert "**Kazeia:** Il fait chaud." in capsys.readouterr().out
    assert told(["rename", "1", "L'été"], capsys) == {"id": 1, "title": "L'été"}
    assert told(["show", "1"], capsys)["title"] == "L'été"


def test_delete_takes_the_state_along(kept: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(["delete", "1"], capsys) == {"deleted": 1}
    assert list(kept.states_dir.iterdir()) == []
    assert main(["conversations", "show", "1"]) == 1
    assert "no conversation 1" in capsys.readouterr().err
    assert told(["delete", "--all"], capsys) == {"deleted": 1}
    assert told(["list"], capsys) == {"conversations": []}
    assert main(["conversations", "list"]) == 0
    assert capsys.readouterr().out == "No conversation is kept.\n"


def test_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "été.json"
    assert main(["conversations", "export", "1", "-o", str(file)]) == 0
    assert json.loads(file.read_text("utf-8"))["messages"][0]["text"] == "Parle-moi de l'été"
    assert capsys.readouterr().out == ""
    assert main(["conversations", "export", "1"]) == 0
    assert capsys.readouterr().out.startswith("# Parle-moi de l'été")
    assert main(["conversations", "export", "1", "-o", str(tmp_path / "none" / "x.md")]) == 1


@pytest.mark.parametrize("words", [[], ["delete"], ["delete", "1", "--all"], ["show"], ["show", "x"], ["search"]])
def test_bad_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conversations", *words]) == 2
    assert capsys.readouterr().out == ""


def test_a_damaged_file_is_one_line(kept: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    kept.conversations_file.write_bytes(b"nonsense" * 1000)
    assert main(["conversations", "list"]) == 1
    told = [line for line in capsys.readouterr().err.splitlines() if " INFO " not in line]  # of a log on the terminal
    assert len(told) == 1
    assert main(["conversations", "list"]) == 0
