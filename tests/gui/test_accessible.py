"""Every control of the window, the panels and every page: name and description, reached by Tab, seen when it has the
focus, large enough for a finger. New pages are walked as soon as they are in the registry."""

from collections.abc import Callable, Iterable, Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QRadioButton,
    QScrollBar,
    QTextEdit,
    QWidget,
)

from kazeia_desktop.events import Failed, State, StateChanged
from kazeia_desktop.gui import teller
from kazeia_desktop.gui.pages.registry import PAGES
from kazeia_desktop.gui.settings_panel.field import SettingField
from kazeia_desktop.gui.theme import NARROW_PX, TOUCH_PX
from tests.fakes.fake_engine import FakeHost
from tests.gui.conftest import Opened, Opener

pytestmark = pytest.mark.gui

CONTROLS = (
    QAbstractButton, QLineEdit, QPlainTextEdit, QTextEdit, QComboBox, QAbstractSpinBox, QAbstractSlider,
    QAbstractItemView,
)  # fmt: skip
INNER = (QLineEdit, QComboBox, QAbstractSpinBox)
"""Controls whose own parts (a clear button, a list) are theirs."""
MOST_TABS = 1500


def conversation(one: Opened) -> None:
    one.engine.exchange("Bonjour", "Bonjour à vous.")
    one.until(lambda: one.window.transcript.rowCount() == 2)


def failing(one: Opened) -> None:
    one.engine.emit(StateChanged(State.HEARING))
    one.engine.emit(Failed("No words were understood. Please say it again.", {}, "settings", fatal=False))
    one.until(lambda: one.window.banner.isVisible())


def settings(one: Opened) -> None:
    one.window.show_settings(True)
    one.bot.waitUntil(lambda: one.window.panel.complete, timeout=20_000)
    one.bot.wait(300)


def conversations(one: Opened) -> None:
    one.window.body.open_sidebar(True)
    one.bot.wait(300)


def page(name: str) -> Callable[[Opened], None]:
    def show(one: Opened) -> None:
        one.window.show_page(name)
        one.bot.wait(300)

    return show


PLACES: dict[str, Callable[[Opened], None]] = {
    "conversation": conversation,
    "failing": failing,
    "settings": settings,
    "conversations": conversations,
    **{entry.name: page(entry.name) for entry in PAGES},
}


def controls(window: QWidget) -> Iterator[QWidget]:
    """Those that are there for the user now, scrolled out of sight or not."""
    for widget in window.findChildren(QWidget):
        if not isinstance(widget, CONTROLS) or not widget.isVisible() or _covered(widget):
            continue
        if isinstance(widget, (QHeaderView, QScrollBar)) or widget.objectName().startswith("qt_"):
            continue
        if isinstance(widget.parentWidget(), INNER) or isinstance(widget.window(), QComboBox):
            continue
        if widget.window() is window:
            yield widget


def _covered(widget: QWidget) -> bool:
    """Behind a drawer nothing can be reached, and nothing should."""
    above = widget
    while above.parentWidget() is not None:
        if not above.isEnabled() and above is not widget and not isinstance(above, CONTROLS):
            return True
        above = above.parentWidget()
    return False


def told(widget: QWidget) -> str:
    """For a message of a test: where the control is and what it says."""
    path = []
    above: QWidget | None = widget
    while above is not None and len(path) < 4:
        path.append(type(above).__name__ + (f"#{above.objectName()}" if above.objectName() else ""))
        above = above.parentWidget()
    text = widget.text() if isinstance(widget, QAbstractButton) else ""
    return f"{' < '.join(path)} {widget.accessibleName() or text!r}"


def tabbed(one: Opened) -> list[QWidget]:
    """Every control that the Tab key comes to until it comes round."""
    found: list[QWidget] = []
    for _ in range(MOST_TABS):
        QTest.keyClick(QApplication.focusWidget() or one.window, Qt.Key.Key_Tab)
        now = QApplication.focusWidget()
        if now is None or (found and now is found[0]):
            break
        found.append(now)
    return found


def spoken(widget: QWidget, what: QAccessible.Text) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    return interface.text(what) if interface is not None else ""


def opened_at(opened: Opener, place: str, width: int, host: FakeHost | None = None) -> Opened:
    one = opened(host)
    one.window.resize(width, 900)
    one.settle()
    PLACES[place](one)
    one.settle()
    return one


def none(problems: Iterable[str]) -> None:
    listed = sorted(set(problems))
    assert not listed, "\n".join(["", *listed])


@pytest.mark.parametrize("place", PLACES)
def test_each_control_says_what_it_is_and_what_it_is_for(opened: Opener, place: str) -> None:
    one = opened_at(opened, place, 1280)
    nameless = [told(c) for c in controls(one.window) if not spoken(c, QAccessible.Text.Name).strip()]
    bare = [
        told(c)
        for c in controls(one.window)
        if not (c.toolTip() or c.accessibleDescription() or spoken(c, QAccessible.Text.Description)).strip()
    ]
    none([f"no name: {c}" for c in nameless] + [f"no description: {c}" for c in bare])


@pytest.mark.parametrize("width", [1280, 800])
@pytest.mark.parametrize("place", PLACES)
def test_each_control_is_reached_by_tab_alone(opened: Opener, place: str, width: int) -> None:
    one = opened_at(opened, place, width)
    reached = tabbed(one)
    missed = [
        c
        for c in controls(one.window)
        if c.isEnabled() and c not in reached and not _grouped(c, reached) and not _steps_a_number(c)
    ]
    none(told(c) for c in missed)


def _grouped(control: QWidget, reached: list[QWidget]) -> bool:
    """Of radio buttons the arrows choose: one of them is reached."""
    return isinstance(control, QRadioButton) and any(
        isinstance(other, QRadioButton) and other.parentWidget() is control.parentWidget() for other in reached
    )


def _steps_a_number(control: QWidget) -> bool:
    """Plus and minus are for fingers: in the field beside them the arrow keys do the same."""
    field = control.parentWidget()
    return isinstance(field, SettingField) and control in field.editor.extras


@pytest.mark.parametrize("place", PLACES)
def test_the_focus_is_seen(opened: Opener, place: str) -> None:
    """A control looks different while it has the focus."""
    one = opened_at(opened, place, 1280)
    unseen = []
    for control in tabbed(one):
        control.clearFocus()
        before = _picture(control)
        control.setFocus(Qt.FocusReason.TabFocusReason)
        if control.hasFocus() and _picture(control) == before:
            unseen.append(told(control))
    none(unseen)


def _picture(control: QWidget) -> QImage:
    return control.grab().toImage()


@pytest.mark.parametrize("width", [800, 430])
@pytest.mark.parametrize("place", PLACES)
def test_targets_are_large_enough_for_a_finger(opened: Opener, place: str, width: int) -> None:
    assert width < NARROW_PX
    one = opened_at(opened, place, width)
    none(
        f"{control.width()} x {control.height()}: {told(control)}"
        for control in controls(one.window)
        if min(control.width(), control.height()) < TOUCH_PX
    )


@pytest.mark.parametrize("width", [1280, 800, 430])
@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_wider_than_the_window(opened: Opener, place: str, width: int) -> None:
    one = opened_at(opened, place, width)
    wide = []
    for control in controls(one.window):
        left = control.mapTo(one.window, control.rect().topLeft()).x()
        if left < 0 or left + control.width() > one.window.width():
            wide.append(f"{left} to {left + control.width()}: {told(control)}")
    none(wide)


def test_final_replies_and_errors_are_announced(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    announced: list[str] = []

    class Reader:
        """What QAccessible is where a screen reader listens."""

        @staticmethod
        def isActive() -> bool:
            return True

        @staticmethod
        def updateAccessibility(event: object) -> None:
            announced.append(event.message())  # type: ignore[attr-defined]

    monkeypatch.setattr(teller, "QAccessible", Reader)
    one = opened()
    turn = one.engine.hears("Bonjour")
    one.engine.replies(turn, "Bonjour à vous.", ["Bonjour à vous."])
    one.settle()
    assert announced == []  # not piece by piece
    one.engine.ends(turn, "Bonjour à vous.")
    one.until(lambda: announced == ["Bonjour à vous."])
    failing(one)
    assert announced[1:] == ["Aucun mot n'a été compris. Veuillez répéter."] or len(announced) == 2


def test_the_walk_finds_controls_and_what_is_wrong_with_them(opened: Opener, qtbot: object) -> None:
    """The tests above can fail: a bare button is found."""
    one = opened()
    before = len(list(controls(one.window)))
    assert before >= 5
    bad = QCheckBox(one.window)
    bad.setGeometry(10, 60, 20, 20)
    bad.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    bad.show()
    assert len(list(controls(one.window))) == before + 1
    assert not spoken(bad, QAccessible.Text.Name) and bad not in tabbed(one)
    assert isinstance(one.window.chat, QAbstractScrollArea)
