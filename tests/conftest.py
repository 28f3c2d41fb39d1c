"""Rules for every test: an unexpected warning in the log or a thread left behind is a failure."""

import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_unexpected_warning(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fails on a WARNING of ours that the test did not announce with @pytest.mark.expects_warning."""
    yield
    if request.node.get_closest_marker("expects_warning"):
        return
    said = [
        r.getMessage()
        for when in ("setup", "call")
        for r in caplog.get_records(when)
        if r.levelno >= logging.WARNING and r.name.startswith("kazeia")
    ]
    assert not said, f"unexpected warnings: {said}"


@pytest.fixture(autouse=True)
def no_leaked_thread() -> Iterator[None]:
    """Fails when a thread that the test started still runs a second after it."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + 1.0
    while True:
        left = [t for t in threading.enumerate() if t not in before and t.is_alive() and not t.daemon]
        if not left or time.monotonic() > deadline:
            break
        time.sleep(0.01)
    assert not left, f"threads left running: {[t.name for t in left]}"


@pytest.fixture
def kazeia_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home; its name has a space and accents, as users' have."""
    home = tmp_path / "maison été"
    monkeypatch.setenv("KAZEIA_HOME", str(home))
    return home
