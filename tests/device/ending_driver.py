"""Kazeia's own window, brought into one state on real models: run by test_ending.py and tools/measure_close.py.

    python tests/device/ending_driver.py STATE

Writes "there" when the state is reached; whoever started it then ends it. "close" on its standard input closes the
window as its frame does.
"""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[2]))

from PySide6.QtCore import QObject, QTimer, Signal

from kazeia_desktop import __main__, app
from kazeia_desktop.events import State
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.main_window import MainWindow
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.cancel import CancelToken
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import Value

LOADING: Final = ("audio", "vad", "stt", "llm", "tts")
STATES: Final = (
    *(f"loading:{part}" for part in LOADING), "listening", "hearing", "thinking", "speaking", "reloading:stt",
    "reloading:llm", "reloading:tts", "converting", "downloading", "recording", "comparing", "stuck",
)  # fmt: skip
STORY: Final = "Raconte une très longue histoire de marins, de tempêtes et de phares, avec beaucoup de détails."


class Driven(MainWindow):
    """Goes to the state, then says so."""

    def __init__(self, bridge: EngineBridge, settings: Settings, paths: Paths | None = None) -> None:
        super().__init__(bridge, settings, paths)
        self.wanted, self._told = sys.argv[1], False
        sys.argv[1:] = []
        self.orders = Orders(self)
        bridge.load_progress.connect(self._loads)
        bridge.state_changed.connect(self._changes)

    def tell(self, after_ms: int = 0) -> None:
        if not self._told:
            self._told = True
            QTimer.singleShot(after_ms, lambda: os.write(1, b"there\n"))

    def _loads(self, part: str, _fraction: float) -> None:
        if self.wanted == f"loading:{part}":
            self.tell(30)

    def _changes(self, state: State) -> None:
        if state is State.LISTENING and not self._told:
            QTimer.singleShot(0, lambda: getattr(self, f"go_{self.wanted.partition(':')[0]}", lambda: None)())
        if self.wanted == state.value:
            self.tell(200 if state is not State.LISTENING else 1500)
        elif self.wanted == "hearing" and state is State.LISTENING:
            os.write(1, b"listens\n")

    # What leads to each state

    def go_thinking(self) -> None:
        self.presence.sent.emit(STORY)

    go_speaking = go_thinking

    def go_reloading(self) -> None:
        if self._told:
            return
        changes: dict[str, tuple[str, Value]] = {
            "stt": ("stt.precision", "float32"), "llm": ("llm.n_ctx", 2048), "tts": ("tts.engine", "kokoro"),
        }  # fmt: skip
        key, value = changes[self.wanted.partition(":")[2]]
        if key == "tts.engine":
            self.change("tts.voice", "")
            self.change("tts.engine", "system" if self._settings.tts.engine != "system" else "kokoro")
        else:
            self.change(key, value)
        self.tell(120)

    def go_converting(self) -> None:
        def convert(token: CancelToken, report: Callable[[object], None]) -> None:
            from kazeia_desktop.models.convert.convert import convert as run
            from kazeia_desktop.models.convert.official import OfficialSource
            from tests.fakes.micro_voice import write_checkpoint

            folder = self._paths.data_dir / "checkpoint"
            write_checkpoint(folder)
            while True:
                run(OfficialSource(folder), self._paths.data_dir / "converted", "q8_0", cancel=token)

        self.jobs.run("convert", convert)
        self.tell(1500)

    def go_downloading(self) -> None:
        """From a server that sends nothing after its first bytes."""
        import http.server

        class Silent(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "100000000")
                self.end_headers()
                self.wfile.write(b"x" * 1000)
                self.wfile.flush()
                threading.Event().wait(60)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/model.gguf"

        def fetch(token: CancelToken, report: Callable[[object], None]) -> None:
            import urllib.request

            with urllib.request.urlopen(url, timeout=60) as answer:
                while answer.read(65536):
                    token.raise_if_set()

        self.jobs.run("download", fetch)
        self.tell(700)

    def go_recording(self) -> None:
        self.show_page("voices")
        voices: Any = self.pages["voices"]
        voices._open_form()
        voices.add.record.start()
        self.tell(700)

    def go_comparing(self) -> None:
        self.show_page("compare")
        page: Any = self.pages["compare"]
        QTimer.singleShot(800, page.make_both)
        self.tell(1500)

    def go_stuck(self) -> None:
        """A library that does not come back, and a child of a job's that would compute on."""
        import subprocess

        def run(*_: object) -> None:
            subprocess.run([sys.executable, "-c", "import time; time.sleep(47.11)"], check=False)

        self.jobs.run("stuck", run)
        self.tell(500)


class Orders(QObject):
    """Closes the window when told to."""

    arrived = Signal()

    def __init__(self, window: Driven) -> None:
        super().__init__(window)
        self.arrived.connect(window.close)
        threading.Thread(target=self._read, name="orders", daemon=True).start()

    def _read(self) -> None:
        while line := os.read(0, 64):
            if b"close" in line:
                self.arrived.emit()


if __name__ == "__main__":
    app.MainWindow = Driven  # type: ignore[attr-defined]
    sys.exit(__main__.main([]))
