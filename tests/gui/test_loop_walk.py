"""The event loop is never away while everything in the window is opened; tools/measure_loop.py walks the real one."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QDialog

from kazeia_desktop.events import ConversationOpened, Exchange
from kazeia_desktop.gui.pages.registry import PAGES
from kazeia_desktop.gui.voices import device_choice
from kazeia_desktop.settings.schema import SECTION_TITLES
from kazeia_desktop.settings.store import with_value
from tests.gui.conftest import LoopWatch, Opened, Opener
from tests.gui.test_models_page import install

pytestmark = pytest.mark.gui
LONGEST_MS = 3 * 50.0
"""Three times what is promised: a busy machine's caches are not ours."""


@pytest.fixture
def one(opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    monkeypatch.setenv("KAZEIA_HOME", str(tmp_path))
    monkeypatch.setattr(device_choice.DeviceChoice, "_list", lambda *_: ("Micro USB",))
    made = opened()
    install(made.window._paths, "whisper-base")
    return made


class Walk:
    """Does one thing after the other and keeps how long the loop was away in each."""

    def __init__(self, one: Opened) -> None:
        self._one = one
        self._watch = LoopWatch()
        self.found: dict[str, float] = {}

    def step(self, name: str, do: Callable[[], object], wait_ms: int = 120) -> None:
        self._watch.restart()
        do()
        self._one.bot.wait(wait_ms)
        self.found[name] = self._watch.longest_ms

    def check(self) -> None:
        late = {name: round(ms) for name, ms in self.found.items() if ms >= LONGEST_MS}
        assert not late, late


def test_every_page_at_first_sight_and_again(one: Opened) -> None:
    for page in PAGES:
        page.load()
    walk = Walk(one)
    for again in ("", " again"):
        for page in PAGES:
            walk.step(f"{page.name}{again}", partial(one.window.show_page, page.name), 400)
    walk.step("conversation", one.window.show_conversation)
    walk.check()


def test_settings_their_sections_and_their_search(one: Opened) -> None:
    walk = Walk(one)
    panel = one.window.panel
    walk.step("opened", lambda: one.window.show_settings(True), 50)
    one.until(lambda: panel.complete)
    for section in SECTION_TITLES:
        walk.step(section, partial(panel.show_section, section))
    for text in ("v", "vo", "voix", "", "zzz", ""):
        walk.step(f"search {text!r}", partial(panel.search.setText, text))
    walk.step("shut", lambda: one.window.show_settings(False), 300)
    walk.step("opened again", lambda: one.window.show_settings(True), 300)
    for language in ("en", "fr"):
        settings = with_value(one.window._settings, "appearance.language", language)
        walk.step(f"in {language}", partial(one.window.apply, settings))
    walk.check()


def test_theme_and_width_with_the_settings_and_all_pages_made(one: Opened) -> None:
    window = one.window
    window.show_settings(True)
    one.until(lambda: window.panel.complete)
    for page in PAGES:
        window.show_page(page.name)
        one.bot.wait(300)
    window.show_conversation()
    walk = Walk(one)

    def settled(name: str, do: Callable[[], object]) -> None:
        def do_all() -> None:
            do()
            one.settle()

        walk.step(name, do_all)

    for name in ("", "models", "compare"):
        if name:
            window.show_page(name)
            one.bot.wait(300)
        for theme in ("dark", "light", "contrast", "light"):
            settled(f"{theme} {name}", partial(window.change, "appearance.theme", theme))
        for width in (800, 1300):
            settled(f"{width} {name}", partial(window.resize, width, 760))
    walk.check()


def shut_dialogs() -> None:
    for top in QApplication.topLevelWidgets():
        if isinstance(top, QDialog):
            top.reject()


def test_dialogs_that_ask_for_files(one: Opened) -> None:
    for name in ("activity", "voices", "models"):
        one.window.show_page(name)
    pages = one.window.pages
    openers = {
        "figures": pages["activity"].export.click,  # type: ignore[attr-defined]
        "recording": pages["voices"].add._choose,  # type: ignore[attr-defined]
        "model": pages["models"].own.folder.click,  # type: ignore[attr-defined]
    }
    walk = Walk(one)
    for name, opener in openers.items():
        walk.step(name, opener, 250)
        walk.step(f"{name} shut", shut_dialogs)
    walk.check()


def test_five_thousand_messages(one: Opened) -> None:
    answer = "Il faut battre les œufs **avant** d'ajouter le lait. "
    said = tuple(Exchange(n + 1, f"Question {n} ?", answer * (1 + n % 4)) for n in range(2500))
    walk = Walk(one)
    walk.step("opened", lambda: one.engine.emit(ConversationOpened(1, "Des crêpes", said)), 400)
    assert one.window.transcript.rowCount() == 5000
    bar = one.window.chat.verticalScrollBar()

    def scroll(part: float) -> None:
        bar.setValue(round(part * bar.maximum()))

    for part in (0.0, 0.5, 1.0):
        walk.step(f"at {part}", partial(scroll, part))
    walk.step("find", one.window.messages.find.open_bar)
    walk.step("found", partial(one.window.messages.find.field.setText, "œufs"), 400)
    for width in (1200, 900, 640, 1280):
        walk.step(f"width {width}", partial(one.window.resize, width, 760), 250)
    for theme in ("dark", "light", "contrast"):
        settings = with_value(one.window._settings, "appearance.theme", theme)
        walk.step(theme, partial(one.window.apply, settings), 250)
    walk.check()


def test_the_app_makes_threads_give_way_soon() -> None:
    program = (
        "import sys; from kazeia_desktop import app;"
        "app.MainWindow.start = lambda self: (print(sys.getswitchinterval()), self.quit());"
        "sys.exit(app.main())"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert float(ran.stdout) <= 0.001, ran.stderr
