"""Closing in any state ends every thread in under two seconds; and the composition root."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from kazeia_desktop import app
from kazeia_desktop.events import Level, State, StateChanged
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import SettingsStore
from tests.fakes.fake_engine import FakeHost
from tests.gui.conftest import Opener

pytestmark = pytest.mark.gui


def engine_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name in ("engine", "control")]


@pytest.mark.parametrize("state", list(State))
def test_closing_in_each_state(opened: Opener, state: State) -> None:
    host = FakeHost()
    if state is State.LOADING:
        host.hold.clear()
    one = opened(host)
    if state is not State.LOADING:
        one.engine.emit(StateChanged(state))
        one.until(lambda: one.window.presence.state is state)
    assert len(engine_threads()) == 2
    started = time.monotonic()
    one.close()
    assert time.monotonic() - started < 2.0
    assert not engine_threads() and one.window.ended_in_time
    assert all(engine.calls[-1] == ("close",) for engine in host.engines)


def test_closing_while_a_slow_command_runs(opened: Opener) -> None:
    one = opened(FakeHost(delay_s=0.4))
    one.window.set_muted(True)
    one.window.presence.sent.emit("Bonjour")
    started = time.monotonic()
    one.close()
    assert time.monotonic() - started < 2.0 and one.window.ended_in_time
    assert not one.engine.called("send_text")  # what waited is dropped


@pytest.mark.expects_warning
def test_a_model_that_cannot_be_stopped_is_told() -> None:
    host = FakeHost()
    hold, begun = threading.Event(), threading.Event()
    bridge = EngineBridge(host.host(), Settings())
    build = host.build

    def stuck(*arguments: object) -> object:
        begun.set()
        hold.wait(5)
        return build(*arguments)  # type: ignore[arg-type]

    bridge._host = type(bridge._host)(stuck, *(getattr(bridge._host, n) for n in bridge._host.__slots__[1:]))  # type: ignore[arg-type]
    bridge.start()
    assert begun.wait(5)
    started = time.monotonic()
    assert not bridge.close(timeout_s=0.3)
    assert time.monotonic() - started < 1.0
    hold.set()
    while engine_threads():
        time.sleep(0.01)
    assert not host.engines or host.engine.called("close")


def test_events_after_the_end_do_no_harm(opened: Opener) -> None:
    one = opened()
    one.close()
    one.engine.emit(Level(0.5))
    one.engine.emit(StateChanged(State.SPEAKING))
    one.settle()
    assert one.window.presence.state is State.LISTENING


# The composition root


def test_without_a_display_one_plain_line_and_exit_1() -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
    command = [sys.executable, "-m", "kazeia_desktop"]
    ran = subprocess.run(command, env={**environment, "LC_ALL": "C"}, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1
    assert ran.stderr == "kazeia: there is no display; see `kazeia --help` for what works without one.\n"


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_the_window(kazeia_home: Path, kind: signal.Signals) -> None:
    program = (
        "import sys; from kazeia_desktop import app; from tests.fakes.fake_engine import FakeHost;"
        "app.host = lambda paths, store: FakeHost().host();"
        "from PySide6.QtCore import QTimer; import PySide6.QtWidgets as w;"
        "start = app.MainWindow.start;"
        "app.MainWindow.start = lambda self: (start(self), sys.stdout.write('ready\\n'), sys.stdout.flush());"
        "sys.exit(app.main())"
    )
    ran = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert ran.stdout is not None
    assert ran.stdout.readline() == "ready\n"
    started = time.monotonic()
    ran.send_signal(kind)
    _, said = ran.communicate(timeout=20)
    assert time.monotonic() - started < 4.0  # two seconds for the threads, and Python's own end on a busy machine
    assert ran.returncode == 0, said
    assert "Traceback" not in said


@pytest.mark.expects_warning
def test_faults_are_shown_and_logged(opened: Opener, caplog: pytest.LogCaptureFixture) -> None:
    one = opened()
    with app._faults_shown(one.window._bridge):
        try:
            raise RuntimeError("imprévu")
        except RuntimeError as error:
            sys.excepthook(type(error), error, error.__traceback__)
    one.until(lambda: one.window.banner.isVisible())
    assert "RuntimeError: imprévu" in one.window.banner.text.text()
    assert any(record.levelname == "CRITICAL" for record in caplog.records)


@pytest.mark.expects_warning
def test_a_log_directory_that_cannot_be_written_does_not_stop_the_window(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    app._log_to(Paths(tmp_path, tmp_path, tmp_path, blocker / "logs"))


def test_the_host_offers_what_is_on_this_machine(kazeia_home: Path) -> None:
    paths = Paths.from_environment()
    host = app.host(paths, SettingsStore(paths.settings_file))
    assert [choice.value for choice in host.choices("voices")] == ["ff_siwis"]
    assert list(host.choices("llm_models")) == []
    assert [choice.value for choice in host.choices("compute_devices")] == ["cpu", "auto"]
    host.save(Settings())
    assert paths.settings_file.exists()
    assert QApplication.instance() is not None


def test_no_full_collection_looks_at_what_loading_left(qtbot: QtBot) -> None:
    bridge = EngineBridge(FakeHost().host(), Settings())
    try:
        app._spare_collections(bridge)
        assert not gc.isenabled()
        bridge.state_changed.emit(State.LOADING)
        assert not gc.isenabled()
        bridge.state_changed.emit(State.LISTENING)
        assert gc.isenabled() and gc.get_freeze_count() > 10_000
        gc.unfreeze()
        bridge.state_changed.emit(State.IDLE)
        assert gc.get_freeze_count() == 0  # once: what is left later is collected
    finally:
        gc.enable()
        gc.unfreeze()
