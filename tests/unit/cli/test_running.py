"""`kazeia toggle | show | quit`, with a thread in the place of the app."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kazeia_desktop.cli import main, running
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.single_instance import Place, SingleInstance

pytestmark = pytest.mark.unit


@pytest.fixture
def place(kazeia_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path / "run", "test")
    monkeypatch.setattr("kazeia_desktop.cli.running.Place.of", lambda paths: made)
    return made


def serve_once(instance: SingleInstance, state: str, close: bool = False) -> threading.Thread:
    def serve() -> None:
        request = None
        while request is None:
            request = instance.accept()
        while request.read() is None and not request.ended:
            pass
        request.answer({"state": state, "window": "shown"})
        if close:
            instance.close()

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


@pytest.mark.parametrize("command", ["toggle", "show", "quit"])
def test_without_an_app(place: Place, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command]) == 1
    assert "kazeia" in capsys.readouterr().err


def test_toggle_tells_the_state(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    instance = SingleInstance.claim(place)
    assert instance is not None
    thread = serve_once(instance, "muted")
    assert main(["toggle", "--json"]) == 0
    thread.join(10)
    assert json.loads(capsys.readouterr().out) == {"state": "muted", "window": "shown"}
    thread = serve_once(instance, "listening")
    assert main(["toggle"]) == 0
    thread.join(10)
    assert capsys.readouterr().out.strip() in ("The microphone is on.", "Le micro est ouvert.")
    thread = serve_once(instance, "listening")
    assert main(["show"]) == 0
    thread.join(10)
    assert capsys.readouterr().out.strip() in ("Kazeia's window is shown.", "La fenêtre de Kazeia est affichée.")
    instance.close()


def test_quit_waits_for_the_end(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    instance = SingleInstance.claim(place)
    assert instance is not None
    thread = serve_once(instance, "closed", close=True)
    assert main(["quit", "--json"]) == 0
    thread.join(10)
    assert json.loads(capsys.readouterr().out)["state"] == "closed"
    assert not place.held()


def test_quit_tells_of_an_app_that_stays(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_END_S", 0.05)
    instance = SingleInstance.claim(place)
    assert instance is not None
    thread = serve_once(instance, "closed")
    assert main(["quit"]) == 1
    thread.join(10)
    assert capsys.readouterr().out == ""
    instance.close()


def test_it_needs_no_window(kazeia_home: Path) -> None:
    program = (
        "import sys; from kazeia_desktop.__main__ import main; code = main(['show']);"
        "print(code, [name for name in sys.modules if 'PySide6' in name])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ran.stdout.strip() == "1 []"


def test_places_differ_by_home(kazeia_home: Path) -> None:
    assert Place.of(Paths.from_environment()).lock.name.endswith(".lock")
