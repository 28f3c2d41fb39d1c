"""Devices that were plugged in after the start are offered too."""

import subprocess
from types import SimpleNamespace

import pytest

from kazeia_desktop.audio import devices, portaudio, present

pytestmark = pytest.mark.unit


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What PortAudio lists in this process."""
    names = ["old"]
    for call in ("list_inputs", "list_outputs"):
        monkeypatch.setattr(devices, call, lambda: tuple(SimpleNamespace(name=name) for name in names))
    return names


def test_without_a_stream_portaudio_looks_anew(known: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refresh() -> bool:
        known.append("new")
        return True

    monkeypatch.setattr(portaudio, "refresh", refresh)
    assert present.names("input") == ("old", "new")


def test_beside_an_open_stream_another_process_looks(known: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        asked.append(command)
        return SimpleNamespace(stdout=b'["old", "new"]')

    monkeypatch.setattr(portaudio, "refresh", lambda: False)
    monkeypatch.setattr(subprocess, "run", run)
    assert present.names("output") == ("old", "new")
    assert asked[0][-1] == "output"


@pytest.mark.parametrize("answer", [b"", b"{}", b"nonsense"])
def test_where_that_fails_the_old_list_counts(known: list[str], monkeypatch: pytest.MonkeyPatch, answer: bytes) -> None:
    monkeypatch.setattr(portaudio, "refresh", lambda: False)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=answer))
    assert present.names("input") == ("old",)


def test_a_process_that_cannot_be_run(known: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("python", 10)

    monkeypatch.setattr(portaudio, "refresh", lambda: False)
    monkeypatch.setattr(subprocess, "run", run)
    assert present.names("input") == ("old",)
