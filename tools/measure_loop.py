"""How long the window's event loop is away while everything in it is opened, on real models and a sound server.

    xvfb-run -a .venv/bin/python tools/measure_loop.py [--stacks] [--only WORD]

Needs pulseaudio and the starter models. One line a step: the longest time away in it, by the clock of the window's
thread that stands still while other programs have the processor. --stacks also tells what every thread did at the
moments that were too long.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

LATE_MS = 50
_TICK_MS = 4
_SCHEDSTAT = Path("/proc/thread-self/schedstat")
_FRAMES = 9
EXCHANGES = 2500
Step = tuple[str, Callable[[], object], Callable[[], bool] | float]
"""Name, what is done, then: until what, or for how many seconds."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stacks", action="store_true")
    parser.add_argument("--only", default="", help="steps whose name has this word")
    parser.add_argument("--drive", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        return drive(options.stacks, options.only)
    from kazeia_desktop.paths import Paths
    from kazeia_desktop.settings.schema import Settings
    from kazeia_desktop.settings.store import SettingsStore, with_value
    from tests.device.virtual_audio import virtual_audio

    models = Paths.from_environment().models_dir
    with virtual_audio() as audio, tempfile.TemporaryDirectory() as home:
        for folder in ("data", "config"):
            (Path(home) / folder).mkdir()
        (Path(home) / "data" / "models").mkdir()
        for model in models.iterdir():
            (Path(home) / "data" / "models" / model.name).symlink_to(model.resolve())
        settings = Settings()
        values = {"privacy.keep_conversations": True, "llm.threads": 1, "appearance.language": "fr"}
        for key, value in {**values, "appearance.theme": "light"}.items():
            settings = with_value(settings, key, value)
        SettingsStore(Path(home) / "config" / "settings.toml").save(settings)
        keep_long_conversation(Path(home) / "data" / "conversations.db")
        environment = {**audio.environment, "KAZEIA_HOME": home}
        words = [sys.executable, __file__, "--drive", *(["--stacks"] if options.stacks else [])]
        return subprocess.run([*words, "--only", options.only], env=environment, cwd=ROOT, check=False).returncode


def keep_long_conversation(file: Path) -> None:
    from kazeia_desktop.memory.conversations import ConversationStore

    store = ConversationStore(file)
    first = store.add(
        None, "Comment fait-on les crêpes ?", "Avec de la **farine**, des œufs et du lait.", "fr"
    ).result()
    for n in range(1, EXCHANGES):
        answer = f"Réponse {n}. " + "Il faut battre les œufs avant d'ajouter le lait. " * (1 + n % 4)
        store.add(first, f"Question {n}, et ensuite ?", answer + "\n\n- un\n- deux" * (n % 5 == 0), "fr")
    store.add(None, "Le canal de Nantes", "Il est long de 364 kilomètres.", "fr").result()
    store.close()


def own_s() -> float:
    """A clock of this thread that stands still while it wants to run and others have the processor."""
    waited_s = int(_SCHEDSTAT.read_text().split()[1]) / 1e9 if _SCHEDSTAT.exists() else 0.0
    return time.perf_counter() - waited_s


def drive(stacks: bool, only: str) -> int:
    """In the window's process."""
    from PySide6.QtCore import QEvent, QObject, Qt, QTimer

    from kazeia_desktop import app
    from kazeia_desktop.gui.main_window import MainWindow

    class Walker(QObject):
        """Takes the steps one after the other; times each."""

        def __init__(self, window: MainWindow) -> None:
            super().__init__(window)
            self.steps = walk(window)
            self.name, self.until = "before the first picture", 0.5
            self.began_s = time.monotonic()
            self.longest_ms, self.last_s = 0.0, own_s()
            self.beat_s = time.monotonic()
            self.told: list[dict[str, object]] = []
            self.startTimer(_TICK_MS, Qt.TimerType.PreciseTimer)
            self.watched = threading.get_ident()
            if stacks:
                threading.Thread(target=self.watch, name="stacks", daemon=True).start()

        def timerEvent(self, event: QEvent) -> None:
            now_s = own_s()
            self.longest_ms = max(self.longest_ms, 1000 * (now_s - self.last_s))
            self.last_s = now_s
            self.beat_s = time.monotonic()
            self.look()

        def look(self) -> None:
            took_s = time.monotonic() - self.began_s
            over = took_s >= self.until if isinstance(self.until, float) else (took_s > 60 or self.until())
            if not over:
                return
            mark = " <--" if self.longest_ms > LATE_MS else ""
            sys.stdout.write(f"{self.longest_ms:5.0f} ms  {self.name} ({took_s:.1f} s){mark}\n")
            sys.stdout.flush()
            self.longest_ms = 0.0
            while (step := next(self.steps, None)) is not None:
                self.name, do, self.until = step
                if only in self.name or self.name == "models load":
                    break
            else:
                os._exit(0)
            self.began_s = time.monotonic()
            QTimer.singleShot(0, do)

        def watch(self) -> None:
            seen = 0.0
            while True:
                time.sleep(0.005)
                beat_s = self.beat_s
                if beat_s == seen or time.monotonic() - beat_s < 0.03:
                    continue
                seen = beat_s
                rows = [f"    away {1000 * (time.monotonic() - beat_s):.0f} ms in {self.name!r}"]
                names = {thread.ident: thread.name for thread in threading.enumerate()}
                for ident, frame in sys._current_frames().items():
                    if names.get(ident) in ("stacks", "robot"):
                        continue
                    calls = traceback.extract_stack(frame)[-_FRAMES:]
                    told = " < ".join(f"{Path(c.filename).name}:{c.lineno} {c.name}" for c in reversed(calls))
                    if "wait" not in told[:60] and "worker.py" not in told[:20]:
                        rows.append(f"      {names.get(ident)}: {told}")
                sys.stdout.write("\n".join(rows) + "\n")

    class Walked(MainWindow):
        def start(self) -> None:
            super().start()
            self.walker = Walker(self)

    app.MainWindow = Walked  # type: ignore[misc]
    sys.argv[1:] = []
    return app.main()


def walk(window: object) -> Iterator[Step]:
    from PySide6.QtWidgets import QApplication, QDialog

    from kazeia_desktop.events import State
    from kazeia_desktop.gui.main_window import MainWindow
    from kazeia_desktop.gui.pages.registry import PAGES
    from kazeia_desktop.settings.schema import SECTION_TITLES

    assert isinstance(window, MainWindow)

    def shut() -> None:
        for top in QApplication.topLevelWidgets():
            if isinstance(top, QDialog) and top.isVisible():
                top.reject()

    rests = lambda: window.presence.state in (State.LISTENING, State.ERROR)  # noqa: E731
    yield "models load", lambda: None, rests
    yield "after loading", lambda: None, 2.0
    yield "settings open the first time", lambda: window.show_settings(True), lambda: window.panel.complete
    yield "settings: choices arrive", lambda: None, 1.0
    for section in SECTION_TITLES:
        yield f"settings: {section}", lambda section=section: window.panel.show_section(section), 0.3
    for text in ("v", "vo", "voix", "", "zzz", ""):
        yield f"settings: search {text!r}", lambda text=text: window.panel.search.setText(text), 0.3
    yield "settings close", lambda: window.show_settings(False), 0.6
    yield "settings open again", lambda: window.show_settings(True), 1.0
    yield "settings close again", lambda: window.show_settings(False), 0.6
    for again in ("", " again"):
        for page in PAGES:
            yield f"page {page.name}{again}", lambda name=page.name: window.show_page(name), 1.5
            if page.name == "first-run":
                steps = window.pages["first-run"]
                for at in range(len(steps.steps)):  # type: ignore[attr-defined]
                    yield f"first steps {at + 1}{again}", lambda at=at, page=steps: page.show_step(at), 1.0  # type: ignore[attr-defined]
            if page.name == "voices":
                voices = window.pages["voices"]
                yield f"voices: form{again}", voices._open_form, 1.0  # type: ignore[attr-defined]
                yield f"voices: file dialog{again}", voices.add.file.click, 1.5  # type: ignore[attr-defined]
                yield f"voices: file dialog shut{again}", shut, 0.5
            if page.name == "models":
                part = window.pages["models"].own  # type: ignore[attr-defined]
                yield f"models: folder dialog{again}", part.folder.click, 1.5
                yield f"models: folder dialog shut{again}", shut, 0.5
            if page.name == "activity":
                yield f"activity: export dialog{again}", window.pages["activity"].export.click, 1.5  # type: ignore[attr-defined]
                yield f"activity: export dialog shut{again}", shut, 0.5
    yield "back to the conversation", window.show_conversation, 0.5
    yield "list of conversations", lambda: window.body.open_sidebar(True), 1.0
    rows = window.sidebar.model
    yield "search conversations", lambda: window.sidebar.search.setText("farine"), 1.5
    yield "search over", lambda: window.sidebar.search.setText(""), 1.0
    long_one = lambda: next(r.conversation.id for r in rows.rows if r.conversation and "crêpes" in r.title)  # noqa: E731
    many = lambda: window.transcript.rowCount() > EXCHANGES  # noqa: E731
    yield "5,000 messages open", lambda: window.conversations.open(long_one()), many
    yield "5,000 messages settle", lambda: None, 2.0
    bar = window.chat.verticalScrollBar()
    for part in (0.0, 0.5, 1.0):
        yield f"5,000 messages at {part}", lambda part=part: bar.setValue(round(part * bar.maximum())), 0.4
    yield "find in 5,000 messages", lambda: window.messages.find.open_bar(), 0.4
    yield "find: letters", lambda: window.messages.find.field.setText("oeufs"), 1.0
    yield "find over", window._escape, 0.4
    for width in (1200, 800, 640, 430, 900, 1280):
        yield f"width {width}", lambda width=width: window.resize(width, 760), 0.6
    for theme in ("dark", "light", "contrast"):
        yield f"theme {theme}, 5,000 messages", lambda theme=theme: window.change("appearance.theme", theme), 0.8
    yield "settings open beside", lambda: window.show_settings(True), 1.0
    for theme in ("dark", "light"):
        yield f"theme {theme}, settings open", lambda theme=theme: window.change("appearance.theme", theme), 1.5
    for width in (800, 1280):
        yield f"width {width}, settings open", lambda width=width: window.resize(width, 760), 1.5
    yield "settings close beside", lambda: window.show_settings(False), 0.6
    for language in ("en", "fr"):
        yield f"language {language}", lambda to=language: window.change("appearance.language", to), 0.8
    yield "new conversation", window.new_conversation, 1.0
    yield "list closes", lambda: window.body.open_sidebar(False), 0.6
    yield "a question", lambda: window.presence.sent.emit("Bonjour, qui es-tu ?"), 1.0
    yield "its answer", lambda: None, rests
    yield "after the answer", lambda: None, 2.0


if __name__ == "__main__":
    sys.exit(main())
