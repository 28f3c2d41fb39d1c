"""The window among the others of the desktop: tray, place, keys, timers, requests of other starts."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QSystemTrayIcon

from kazeia_desktop.errors import NotRunningError, SettingsError
from kazeia_desktop.events import State, StateChanged
from kazeia_desktop.gui import geometry
from kazeia_desktop.gui.geometry import WindowPlace
from kazeia_desktop.gui.instance import InstanceServer
from kazeia_desktop.gui.shortcuts import Shortcuts
from kazeia_desktop.gui.words import Words
from kazeia_desktop.llm.tools.timers import Pending
from kazeia_desktop.pipeline.errands import Errands
from kazeia_desktop.runtime.single_instance import Place, SingleInstance, ask
from kazeia_desktop.settings.schema import Settings, ShortcutSettings
from kazeia_desktop.settings.store import Value
from tests.fakes.fake_engine import FakeHost
from tests.gui.conftest import Opened, Opener

pytestmark = pytest.mark.gui

TRAY: dict[str, Value] = {"system.keep_in_tray": True}


@pytest.fixture
def a_tray(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The desktop has a tray; what it is told is kept."""
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", staticmethod(lambda: True))
    monkeypatch.setattr(QSystemTrayIcon, "supportsMessages", staticmethod(lambda: True))
    shown: dict[int, bool] = {}
    monkeypatch.setattr(QSystemTrayIcon, "show", lambda self: shown.update({id(self): True}))
    monkeypatch.setattr(QSystemTrayIcon, "hide", lambda self: shown.update({id(self): False}))
    monkeypatch.setattr(QSystemTrayIcon, "isVisible", lambda self: shown.get(id(self), False))
    monkeypatch.setattr(QSystemTrayIcon, "showMessage", lambda self, title, text, icon: told.append((title, text)))
    return told


def in_tray(opened: Opener, **values: Value) -> Opened:
    one = opened(values=values)
    one.window.desktop.tray.start()
    return one


# The tray


def test_without_a_tray_closing_quits(opened: Opener) -> None:
    one = opened(values=TRAY)
    one.window.desktop.tray.start()
    ended: list[bool] = []
    one.window.ended.connect(lambda: ended.append(True))
    assert not one.window.desktop.tray.is_there
    one.close()
    assert ended == [True] and one.engine.called("close")


def test_closing_quits_also_with_a_tray_unless_it_is_wanted_otherwise(
    opened: Opener, a_tray: list[tuple[str, str]]
) -> None:
    one = in_tray(opened)
    one.close()
    assert one.engine.called("close") and not one.window.desktop.tray.icon.isVisible()


def test_closing_hides_where_it_is_wanted_and_the_menu_quits(opened: Opener, a_tray: list[tuple[str, str]]) -> None:
    one = in_tray(opened, **TRAY)
    tray = one.window.desktop.tray
    one.window.close()
    assert not one.window.isVisible() and not one.engine.called("close")
    one.window.desktop.show_window(True)
    one.window.close()
    assert [text for _, text in a_tray] == ["Kazeia continue ici\u202f; le menu de cette icône quitte."]  # once
    tray.retranslate()
    assert tray.shown.text() == "Montrer la fenêtre"
    tray.shown.trigger()
    assert one.window.isVisible()
    tray.retranslate()
    assert tray.shown.text() == "Cacher la fenêtre"
    tray.shown.trigger()
    assert not one.window.isVisible()
    ended: list[bool] = []
    one.window.ended.connect(lambda: ended.append(True))
    tray.quit.trigger()
    one.closed = True
    assert ended == [True] and one.engine.called("close")


def test_the_icon_tells_the_state_and_its_menu_acts(opened: Opener, a_tray: list[tuple[str, str]]) -> None:
    one = in_tray(opened)
    tray = one.window.desktop.tray
    assert "À l'écoute" in tray.icon.toolTip() and not tray.stop.isEnabled() and tray.mute.isEnabled()
    before = tray.icon.icon().pixmap(64, 64).toImage()
    one.engine.emit(StateChanged(State.SPEAKING))
    one.until(lambda: "Je parle" in tray.icon.toolTip())
    assert tray.icon.icon().pixmap(64, 64).toImage() != before
    tray.stop.trigger()
    one.until(lambda: bool(one.engine.called("interrupt")))
    tray.mute.trigger()
    one.until(lambda: one.engine.called("set_muted") == [("set_muted", True)])
    assert one.window.presence.mute.isChecked() and tray.mute.isChecked()
    one.window.set_muted(False)
    assert not tray.mute.isChecked()
    tray.new.trigger()
    one.until(lambda: bool(one.engine.called("new_conversation")))


def test_its_words_follow_the_language(opened: Opener, a_tray: list[tuple[str, str]]) -> None:
    one = in_tray(opened)
    one.window.change("appearance.language", "en")
    assert one.window.desktop.tray.quit.text() == "Quit Kazeia"


@pytest.mark.parametrize(
    ("wanted", "told"), [("off", []), ("alarms", ["C'est l'heure."]), ("all", ["C'est l'heure.", "Bonjour."])]
)
def test_news_when_the_window_is_hidden(
    opened: Opener, a_tray: list[tuple[str, str]], wanted: str, told: list[str]
) -> None:
    one = in_tray(opened, **{"system.notifications": wanted})
    one.engine.exchange("Allô ?", "Vue.")
    one.until(lambda: one.window.transcript.rowCount() == 2)
    one.window.desktop.show_window(False)
    one.engine.ends(77, "C'est l'heure.")  # nobody asked: it rang
    one.engine.exchange("Bonjour", "Bonjour.")
    one.until(lambda: one.window.transcript.rowCount() == 4)
    one.settle()
    assert [text for _, text in a_tray] == told


# The place


SCREENS = [QRect(0, 0, 1920, 1040), QRect(1920, 200, 1280, 800)]


@pytest.mark.parametrize(
    ("place", "fits"),
    [
        (WindowPlace(100, 60, 1000, 700), QRect(100, 60, 1000, 700)),
        (WindowPlace(2500, 300, 900, 600), QRect(2500, 300, 900, 600)),  # the other screen
        (WindowPlace(5000, 60, 1000, 700), None),  # that screen is gone
        (WindowPlace(100, -300, 1000, 700), None),  # its title could not be reached
        (WindowPlace(1900, 60, 1000, 700), None),
        (WindowPlace(0, 0, 4000, 3000), QRect(0, 0, 1920, 1040)),
        (WindowPlace(), None),
    ],
)
def test_a_place_is_used_where_a_screen_shows_it(place: WindowPlace, fits: QRect | None) -> None:
    assert geometry.fitting(place, SCREENS, (420, 480)) == fits


def test_a_place_is_kept_and_read(tmp_path: Path) -> None:
    file = tmp_path / "config" / "window.json"
    assert geometry.load(file) == WindowPlace()
    place = WindowPlace(10, 20, 900, 700, True, True)
    geometry.save(file, place)
    assert geometry.load(file) == place
    (tmp_path / "blocker").write_text("")
    geometry.save(tmp_path / "blocker" / "window.json", place)  # no trouble


@pytest.mark.parametrize("tree", [{"x": "1"}, {"x": True, "width": 1.5}, {"x": 10**12}, [], None])
def test_a_damaged_file_is_ignored(tmp_path: Path, tree: object) -> None:
    file = tmp_path / "window.json"
    record = {"version": 1, **tree} if isinstance(tree, dict) else tree
    file.write_text(json.dumps(record))
    assert geometry.load(file) == WindowPlace()


def test_the_window_opens_where_it_was(opened: Opener, tmp_path: Path) -> None:
    file = tmp_path / "config" / "window.json"
    one = opened()
    one.window.hide()
    one.window.desktop.appear(WindowPlace(30, 40, 700, 560), hidden=False)
    one.window.resize(1100, 600)
    one.window.body.open_sidebar(True)
    one.settle()
    one.close()
    kept = geometry.load(file)
    assert (kept.width, kept.height, kept.sidebar, kept.maximized) == (1100, 600, True, False)


def test_it_stays_hidden_only_where_a_tray_can_show_it(opened: Opener, a_tray: list[tuple[str, str]]) -> None:
    one = opened()
    one.window.hide()
    one.window.desktop.appear(WindowPlace(), hidden=True)
    assert not one.window.isVisible()


def test_without_a_tray_it_is_never_hidden(opened: Opener) -> None:
    one = opened()
    one.window.hide()
    one.window.desktop.appear(WindowPlace(), hidden=True)
    assert one.window.isVisible()


# What others ask


def test_requests(opened: Opener) -> None:
    one = opened()
    serve = one.window.desktop.serve
    assert serve("toggle") == {"state": "muted", "window": "shown"}
    one.until(lambda: one.window.presence.state is State.MUTED)
    assert serve("toggle")["state"] == "listening"
    one.until(lambda: one.engine.called("set_muted") == [("set_muted", True), ("set_muted", False)])
    one.window.hide()
    assert serve("show")["window"] == "shown" and one.window.isVisible()
    assert serve("nonsense")["state"] == "listening"
    ended: list[bool] = []
    one.window.ended.connect(lambda: ended.append(True))
    assert serve("quit") == {"state": "closed"}
    one.until(lambda: bool(ended))
    one.closed = True


def test_without_a_microphone_toggle_shows_and_hides(opened: Opener, a_tray: list[tuple[str, str]]) -> None:
    host = FakeHost(rest=State.IDLE)
    one = opened(host)
    one.window.desktop.tray.start()
    one.window.hide()
    assert one.window.desktop.serve("toggle")["window"] == "shown"
    assert not host.engine.called("set_muted")


def test_the_socket_is_served_by_the_event_loop(opened: Opener, tmp_path: Path) -> None:
    one = opened()
    place = Place(tmp_path / "run", "test")
    instance = SingleInstance.claim(place)
    assert instance is not None
    server = InstanceServer(instance, one.window.desktop.serve, one.window)
    silent, _ = place.connect(1.0)
    answers: list[object] = []
    one.window.jobs.run("ask", lambda _token, _report: ask(place, "toggle"), answers.append)
    one.until(lambda: bool(answers))
    assert answers == [{"state": "muted", "window": "shown"}]
    server.close()
    assert silent.recv(10) == b""
    silent.close()
    with pytest.raises(NotRunningError):
        ask(place, "show")


# Settings of the system


def test_starting_with_the_session_is_set_in_a_job_and_a_refusal_is_told(opened: Opener) -> None:
    one = opened()
    asked: list[bool] = []
    one.window.desktop.autostart = asked.append
    one.window.change("system.start_at_login", True)
    one.until(lambda: asked == [True])

    def refuse(_enabled: bool) -> None:
        raise SettingsError(
            "Starting with the session cannot be changed ({reason}): use the system's own settings.", reason="non"
        )

    one.window.desktop.autostart = refuse
    one.window.change("system.start_at_login", False)
    one.until(lambda: one.window.banner.isVisible())
    assert "ne peut pas être changé (non)" in one.window.banner.text.text()


def test_a_desktop_that_gives_no_key_is_told(opened: Opener) -> None:
    one = opened()
    one.window.desktop.bus = "unix:path=/nowhere"
    one.window.change("system.global_shortcut", "Ctrl+Alt+K")
    one.until(lambda: one.window.notice.isVisible())
    assert "kazeia toggle" in one.window.notice.text.text()


def test_a_key_of_the_desktop_toggles_and_goes_with_the_window(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[FakeKey] = []

    def hold(*given: Any) -> FakeKey:  # noqa: ANN401
        held.append(FakeKey(*given))
        return held[-1]

    monkeypatch.setattr("kazeia_desktop.gui.desktop.GlobalShortcut", hold)
    one = opened()
    one.window.change("system.global_shortcut", "Ctrl+Alt+K")
    assert held[0].keys == "Ctrl+Alt+K"
    held[0].pressed()
    one.until(lambda: one.engine.called("set_muted") == [("set_muted", True)])
    one.window.change("system.global_shortcut", "Ctrl+Alt+J")
    assert held[0].closed and not held[1].closed
    one.close()
    assert held[1].closed


class FakeKey:
    """Stands for runtime.global_shortcut.GlobalShortcut."""

    def __init__(self, bus: str, keys: str, title: str, pressed: Callable[[], None], refused: object) -> None:
        self.keys, self.pressed, self.closed = keys, pressed, False

    def close(self) -> None:
        self.closed = True


# Keys


def test_keys_are_bound_anew_and_named_in_tool_tips(opened: Opener) -> None:
    one = opened()
    assert one.window.header.settings.toolTip() == "Réglages (F1)"
    assert one.window.presence.stop.toolTip() == "Arrêter (Échap)"
    assert one.window.presence.mute.toolTip().endswith("(Ctrl+M)")
    one.window.change("shortcuts.mute", "Ctrl+Shift+K")
    assert one.window.presence.mute.toolTip().endswith("(Ctrl+Maj+K)")
    one.bot.keySequence(one.window, QKeySequence("Ctrl+M"))
    one.settle()
    assert not one.engine.called("set_muted")
    one.bot.keySequence(one.window, QKeySequence("Ctrl+Shift+K"))
    one.until(lambda: bool(one.engine.called("set_muted")))
    one.window.change("shortcuts.settings", "")
    assert one.window.header.settings.toolTip() == "Réglages"
    one.bot.keySequence(one.window, QKeySequence("Ctrl+,"))
    assert one.window.body.panel_open


def test_interrupting_by_another_key_than_space(opened: Opener) -> None:
    one = opened()
    one.window.change("shortcuts.interrupt", "F4")
    one.engine.emit(StateChanged(State.SPEAKING))
    one.until(lambda: one.window.presence.state is State.SPEAKING)
    assert "F4 ou Arrêter" in one.window.presence.hint.text() or one.window.presence.hint.text()
    one.window.chat.setFocus()
    one.bot.keyClick(one.window.chat, Qt.Key.Key_Space)
    one.settle()
    assert not one.engine.called("interrupt")
    one.bot.keyClick(one.window, Qt.Key.Key_F4)
    one.until(lambda: len(one.engine.called("interrupt")) == 1)


def test_every_setting_of_a_key_has_its_name(opened: Opener) -> None:
    one = opened()
    settings = ShortcutSettings(new="Ctrl++", find="Alt+PgUp", quit="Meta+Del")
    shortcuts = Shortcuts(settings, Words("fr"), one.window)
    assert shortcuts.keys("new") == "Ctrl++"
    assert shortcuts.keys("find") == "Alt+Page précédente"
    assert shortcuts.keys("quit") == "Super+Suppr"
    assert shortcuts.keys("interrupt") == "Espace"


# Timers


def test_timers_are_seen_count_and_can_be_cancelled(opened: Opener, tmp_path: Path) -> None:
    one = opened()
    strip = one.window.timers
    assert not strip.isVisible()
    errands = Errands(tmp_path / "alarms.json", Settings())
    tea = Pending("timer", time.time() + 245, 600, "thé")
    errands._timers.add(tea)
    errands._timers.add(Pending("alarm", time.time() + 9000))
    one.engine.errands = errands
    try:
        one.engine.exchange("Minuteur", "C'est parti.")
        one.until(lambda: len(strip.chips) == 2)
        assert strip.isVisible() and strip.chips[0].text.text() == "Minuteur 4:05\u202f: thé"
        assert strip.chips[1].text.text().startswith("Alarme à ")
        strip._now = lambda: time.time() + 100
        strip._count()
        assert strip.chips[0].text.text() == "Minuteur 2:25\u202f: thé"
        assert strip.chips[0].cancel.accessibleName() == "Annuler «\u202fthé\u202f»"
        strip.chips[0].cancel.click()
        one.until(lambda: len(strip.chips) == 1)
        assert [pending.kind for pending in errands.pending()] == ["alarm"]
        strip.chips[0].cancel.click()
        one.until(lambda: not strip.isVisible())
    finally:
        errands.close()


def test_more_timers_than_there_is_room_for(opened: Opener) -> None:
    one = opened()
    now_s = time.time()
    one.window.timers.show_pending([Pending("timer", now_s + 60 * n, 60) for n in range(1, 6)])
    assert len(one.window.timers.chips) == 3 and one.window.timers._more.text() == "et 2 autres"
    one.window.timers.show_pending([])
