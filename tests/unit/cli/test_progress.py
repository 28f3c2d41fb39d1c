"""The bar of downloads and conversions."""

import io
import sys

import pytest

from kazeia_desktop.cli.progress import ProgressBar
from kazeia_desktop.models.fetch import Progress

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


def _progress(done: int, speed: float | None = None, left: float | None = None, waiting: bool = False) -> Progress:
    return Progress("toy", "f", done, 200_000_000, speed, left, waiting)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    bar = ProgressBar("toy")
    bar.show(_progress(100_000_000, 12_345_678.0, 125.9))
    bar.show(_progress(200_000_000))
    bar.close()
    first, last = screen.getvalue().strip("\r\n").split("\r")
    assert first == "toy  [############............]  50 %  100 of 200 MB  12.3 MB/s  2:05 left"
    assert last.rstrip() == "toy  [########################] 100 %  200 of 200 MB"
    assert len(last) == len(first), "the rest of a longer line is wiped"


def test_plain_lines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    bar = ProgressBar("toy")
    bar.show(_progress(0, waiting=True))
    bar.show(_progress(0, waiting=True))
    for done in range(0, 200_000_001, 1_000_000):
        bar.show(_progress(done))
    bar.close()
    lines = screen.getvalue().splitlines()
    assert lines[0] == "toy: another Kazeia is downloading it; waiting…"
    assert len(lines) == 12 and lines[-1] == "toy  100 %  200 of 200 MB"
