"""Presence: one state at a time, the waveform of what is said, and stop and mute in reach wherever one is."""

import sys
import time

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication

from kazeia_desktop.events import Level, State, StateChanged
from kazeia_desktop.gui import motion
from kazeia_desktop.gui.level_meter import STEPS, Waveform
from kazeia_desktop.gui.pages.registry import PAGES
from kazeia_desktop.gui.theme import TOUCH_PX
from tests.gui.conftest import Opened, Opener

pytestmark = pytest.mark.gui

PLACES = ["", *(page.name for page in PAGES)]


def speaking(one: Opened) -> Opened:
    one.engine.emit(StateChanged(State.SPEAKING))
    one.until(lambda: one.window.presence.state is State.SPEAKING)
    return one


def go_to(one: Opened, place: str) -> None:
    if place:
        one.window.show_page(place)
    one.settle()


# The waveform


def test_the_waveform_shows_the_voice_and_only_while_it_speaks(opened: Opener) -> None:
    one = opened()
    wave = one.window.presence.wave
    assert not wave.isVisible()
    speaking(one)
    assert wave.isVisible()
    for rms in (0.2, 0.05, 0.2):
        one.engine.emit(Level(rms))
        one.settle()
    loud, quiet = max(wave.levels), min(wave.levels)
    assert len(wave.levels) == 3 and STEPS >= loud > quiet > 0
    one.engine.emit(StateChanged(State.LISTENING))
    one.until(lambda: not wave.isVisible())
    assert not wave.levels


def test_the_waveform_is_drawn_only_when_something_moves(opened: Opener) -> None:
    one = speaking(opened())
    wave = one.window.presence.wave
    one.settle()
    for _ in range(10):  # silence
        one.engine.emit(Level(0.0))
        one.settle()
    drawn = wave.paints
    one.bot.wait(100)
    assert wave.paints == drawn
    one.engine.emit(Level(0.2))
    one.until(lambda: wave.paints == drawn + 1)


def test_the_newest_is_at_the_right(opened: Opener) -> None:
    one = opened()
    wave = Waveform(one.window.tokens)
    wave.resize(120, 24)
    for level in (0, 0, 0, STEPS):
        wave.add(level)
    picture = wave.grab().toImage()
    scale = picture.width() / 120
    ground = picture.pixel(0, 0)
    top = [x for x in range(picture.width()) if picture.pixel(x, round(4 * scale)) != ground]
    assert top and min(top) > 110 * scale


def test_less_movement_is_honoured_whether_set_or_asked_by_the_system(opened: Opener) -> None:
    one = speaking(opened())
    presence, meter = one.window.presence, one.window.presence.meter
    for still in (True, False):
        one.window.change("appearance.reduced_motion", still)
        assert presence.wave.isVisible() is not still and meter.still is still
    one.window.set_system_still(True)
    assert not presence.wave.isVisible() and meter.still and one.window.body.reduced_motion
    one.settle()
    drawn = meter.paints
    for rms in (0.2, 0.1, 0.3):
        one.engine.emit(Level(rms))
    one.settle()
    assert meter.paints == drawn
    one.window.set_system_still(False)
    assert presence.wave.isVisible()


@pytest.mark.parametrize(
    ("platform", "answers", "still"),
    [
        ("linux", {"reduced-motion": "(<uint32 1>,)"}, True),
        ("linux", {"reduced-motion": "(<uint32 0>,)", "enable-animations": "false"}, False),
        ("linux", {"enable-animations": "(<false>,)"}, True),
        ("linux", {"enable-animations": "true"}, False),
        ("linux", {}, False),
        ("darwin", {"reduceMotion": "1"}, True),
        ("darwin", {"reduceMotion": "0"}, False),
    ],
)
def test_each_system_is_asked_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch, platform: str, answers: dict[str, str], still: bool
) -> None:
    monkeypatch.setattr(motion, "_ask", lambda command: answers.get(command[-1], ""))
    assert motion.system_reduces_motion(platform) is still


def test_a_program_that_is_missing_or_fails_says_nothing() -> None:
    assert motion._ask(("no-such-program-of-kazeia",)) == ""
    assert motion._ask((sys.executable, "-c", "print('1'); raise SystemExit(1)")) == ""
    assert motion._ask((sys.executable, "-c", "print('1')")) == "1"


# Stop and mute in reach


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("width", [1280, 800, 430])
def test_stop_and_mute_are_in_reach(opened: Opener, place: str, width: int) -> None:
    one = opened()
    one.window.resize(width, 700)
    go_to(one, place)
    speaking(one)
    for panel in (False, True):
        one.window.show_settings(panel)
        one.bot.wait(200)  # the drawer slides
        for button in (one.window.presence.stop, one.window.presence.mute):
            middle = button.mapTo(one.window, button.rect().center())
            assert one.window.rect().contains(middle) and button.isEnabled()
            assert one.window.childAt(middle) is button, f"covered by {one.window.childAt(middle)}"
            if width < 900:
                assert min(button.width(), button.height()) >= TOUCH_PX
        before = len(one.engine.called("interrupt"))
        one.bot.mouseClick(one.window.presence.stop, Qt.MouseButton.LeftButton, pos=QPoint(10, 10))
        one.until(lambda before=before: len(one.engine.called("interrupt")) == before + 1)


@pytest.mark.parametrize("place", PLACES)
def test_the_keys_work_everywhere(opened: Opener, place: str) -> None:
    """Space interrupts as soon as one is there, unless one has tabbed to a control; Escape stops; Ctrl+M mutes."""
    one = opened()
    go_to(one, place)
    for key in (Qt.Key.Key_Space, Qt.Key.Key_Escape):
        speaking(one)
        focused = QApplication.focusWidget()
        assert focused is not None
        before = len(one.engine.called("interrupt"))
        one.bot.keyClick(focused, key)
        one.until(lambda before=before: len(one.engine.called("interrupt")) == before + 1)
        assert QApplication.focusWidget() is focused  # and nothing else happened
        assert (one.window.page is not None) == bool(place)
    for where in (QApplication.focusWidget() or one.window, one.window.presence.field):
        where.setFocus()
        muted = one.window.presence.mute.isChecked()
        one.bot.keyClick(where, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier)
        wanted = ("set_muted", not muted or place == "first-run")  # closed while the first steps are seen
        one.until(lambda wanted=wanted: one.engine.called("set_muted")[-1:] == [wanted])
        assert one.window.presence.mute.isChecked() is not muted


def test_the_bar_grows_with_what_it_says(opened: Opener) -> None:
    one = opened()
    one.window.resize(430, 700)
    one.settle()
    presence, stack = one.window.presence, one.window.stack
    for state in State:
        one.engine.emit(StateChanged(state))
        one.until(lambda state=state: presence.state is state)
        one.settle()
        assert presence.height() >= presence.minimumSizeHint().height(), state
        above = stack.mapTo(one.window, QPoint(0, stack.height())).y()
        assert above <= presence.mapTo(one.window, QPoint(0, 0)).y(), state


def test_a_level_is_drawn_at_once(opened: Opener) -> None:
    """The ring answers within a frame of the screen when it was still before."""
    one = opened()
    meter = one.window.presence.meter
    one.bot.wait(100)
    before, started = meter.paints, time.monotonic()
    one.engine.emit(Level(0.1))
    one.until(lambda: meter.paints > before)
    assert time.monotonic() - started < 0.05


def test_there_is_room_to_write_beside_an_open_panel(opened: Opener) -> None:
    one = opened()
    presence = one.window.presence
    one.window.resize(1080, 760)
    one.settle()
    alone = presence.height()
    assert presence.field.width() >= 400
    one.window.show_settings(True)
    one.engine.emit(StateChanged(State.HEARING))  # one more button
    one.until(lambda: presence.send_now.isVisible())
    one.settle()
    assert presence.field.width() >= 400
    assert alone < presence.height() <= 2 * alone
    assert presence.geometry().bottom() == one.window.body.height() - 1
    one.window.show_settings(False)
    one.settle()
    assert presence.height() == alone
