"""`kazeia split`: think filter, splitter and normaliser together."""

import io
import json
import sys
from pathlib import Path

import pytest

from kazeia_desktop.cli import main
from kazeia_desktop.settings.store import SettingsStore, with_value

pytestmark = pytest.mark.unit


class Standard:
    """Stands for sys.stdin: bytes behind `.buffer`."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str | bytes, *words: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "stdin", Standard(text if isinstance(text, bytes) else text.encode()))
    code = main(["split", *words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture(autouse=True)
def home(kazeia_home: Path) -> Path:
    return kazeia_home


def test_spoken_clauses(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = "<think>Il veut l'heure. Voyons.</think>Il est 14h30. **Voilà** !\n---\n😀"
    assert run(monkeypatch, capsys, text) == (0, "Il est quatorze heures trente.\nVoilà!\n", "")


@pytest.mark.parametrize("piece", [(), ("--piece", "1"), ("--piece", "3")])
def test_raw_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], piece: tuple[str, ...]) -> None:
    text = "<think>non</think>Bien sûr mon ami, il est 14h30. **Voilà** !"
    code, out, _ = run(monkeypatch, capsys, text, "--raw", "--json", *piece)
    assert code == 0
    assert json.loads(out) == {"clauses": ["Bien sûr mon ami, il est 14h30.", "**Voilà** !"]}


def test_the_first_clause_is_cut_early(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(monkeypatch, capsys, "Bien sûr mon ami, il est midi.", "--json")
    assert json.loads(out)["clauses"] == ["Bien sûr mon ami,", "il est midi."]


def test_language_is_the_voices_or_as_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    assert run(monkeypatch, capsys, "3 + 4")[1] == "trois plus quatre\n"
    assert run(monkeypatch, capsys, "3 + 4", "--language", "en")[1] == "three plus four\n"
    from kazeia_desktop.paths import Paths

    store = SettingsStore(Paths.from_environment().settings_file)
    store.save(with_value(store.load(), "tts.language", "en"))
    assert run(monkeypatch, capsys, "3 + 4")[1] == "three plus four\n"


@pytest.mark.parametrize("text", ["", "   \n", "<think>rien"])
def test_nothing_to_say(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert run(monkeypatch, capsys, text) == (0, "", "")
    assert run(monkeypatch, capsys, text, "--json") == (0, '{"clauses": []}\n', "")


def test_bytes_that_are_no_utf8(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, capsys, b"caf\xe9 noir.") == (0, "caf noir.\n", "")


@pytest.mark.parametrize("words", [("--piece", "-1"), ("--piece", "x"), ("--language", "de"), ("extra",)])
def test_bad_usage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    code, out, err = run(monkeypatch, capsys, "Oui.", *words)
    assert code == 2
    assert out == ""
    assert err.strip()
