"""Kazeia's own window, worked by a robot: run by test_robot_session.py.

Reads orders, one JSON object a line, and carries them out in the window's thread with key presses and mouse
clicks on what is seen. Writes what it saw, and what the engine told, the same way. No method of the engine
is called.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import psutil
from PySide6.QtCore import QAbstractItemModel, QEvent, QObject, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QScrollArea,
    QWidget,
)  # fmt: skip

from kazeia_desktop import app
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.level_bar import LevelBar
from kazeia_desktop.gui.main_window import MainWindow
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings

_TICK_MS: Final = 5
_LOOK_MS: Final = 50
_SCHEDSTAT: Final = Path("/proc/thread-self/schedstat")
_WRITING = threading.Lock()


def tell(**record: object) -> None:
    line = json.dumps(record, ensure_ascii=False) + "\n"
    with _WRITING:
        sys.stdout.write(line)
        sys.stdout.flush()


class RobotWindow(MainWindow):
    """The window that `kazeia` opens, which tells when it was first painted and what the engine tells it."""

    def __init__(self, bridge: EngineBridge, settings: Settings, paths: Paths | None = None) -> None:
        super().__init__(bridge, settings, paths)
        bridge.state_changed.connect(lambda state: tell(event="state_changed", state=str(state)))
        bridge.user_text.connect(lambda turn_id, text: tell(event="user_text", turn=turn_id, text=text))
        bridge.clause_started.connect(lambda turn_id, text: tell(event="clause_started", turn=turn_id, text=text))
        bridge.turn_ended.connect(
            lambda e: tell(event="turn_ended", turn=e.turn_id, reply=e.reply, reason=e.reason, metrics=dict(e.metrics))
        )
        bridge.failed.connect(lambda e: tell(event="failed", template=e.template, values=str(e.values)))
        bridge.notice.connect(lambda e: tell(event="notice", template=e.template, values=str(e.values)))
        self.hands = Hands(self)
        self._painted = False

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.UpdateRequest and not self._painted and self.isVisible():
            self._painted = True
            since_s = time.time() - psutil.Process().create_time()
            tell(event="painted", ms=round(1000 * since_s), cpu_ms=round(1000 * time.process_time()))
        return done


class Hands(QObject):
    """Carries out orders, one after the other, each from an event of its own."""

    arrived = Signal(object)

    def __init__(self, window: RobotWindow) -> None:
        super().__init__(window)
        self._window = window
        self._longest_ms = 0.0
        self._last_s = own_s()
        self._levels: dict[str, int] = {}
        tick = QTimer(self)
        tick.setTimerType(Qt.TimerType.PreciseTimer)
        tick.timeout.connect(self._tick)
        tick.start(_TICK_MS)
        look = QTimer(self)
        look.timeout.connect(self._look)
        look.start(_LOOK_MS)
        self.arrived.connect(lambda order: QTimer.singleShot(0, self, lambda: self._obey(order)))
        threading.Thread(target=self._read, name="robot", daemon=True).start()

    def _read(self) -> None:
        """Not through sys.stdin, whose lock a thread that waits would hold when the program ends."""
        held = b""
        while piece := os.read(0, 65536):
            held += piece
            *lines, held = held.split(b"\n")
            for line in lines:
                self.arrived.emit(json.loads(line))

    def _tick(self) -> None:
        """How long the event loop was away at most; the turns that other programs took do not count."""
        now_s = own_s()
        self._longest_ms = max(self._longest_ms, 1000 * (now_s - self._last_s))
        self._last_s = now_s

    def _look(self) -> None:
        """The highest level that was seen on each meter; who has the keyboard."""
        if QApplication.activeWindow() is None and self._window.isVisible():
            # As a window manager does at the start and when a dialog is closed: this display has none.
            (QApplication.activeModalWidget() or self._window).activateWindow()
        for bar in self._window.findChildren(LevelBar):
            if bar.isVisible():
                self._levels[name_of(bar)] = max(self._levels.get(name_of(bar), 0), bar.level)

    def _obey(self, order: dict[str, Any]) -> None:
        number = order.pop("order")
        do = order.pop("do")
        try:
            acts, found = getattr(self, f"do_{do}")(**order)
        except LookupError as error:
            tell(event="answer", order=number, wrong=str(error))
            return
        # A menu or a dialog that opens takes orders in an event loop of its own: the answer does not wait for it.
        QTimer.singleShot(0, self, acts)
        tell(event="answer", order=number, found=found)
        self._last_s = own_s()

    # Orders: each finds what is meant, and returns what is then to be done, and what it found

    def do_click(self, name: str, kind: str = "", within: str = "") -> tuple[Callable[[], None], object]:
        widget = find(name, kind, within)
        bring_into_view(widget)
        return click_at(widget, click_place(widget)), rect_of(widget)

    def do_choose(self, text: str) -> tuple[Callable[[], None], object]:
        """Click a row of a list that is seen."""
        for view in (widget for widget in visible() if isinstance(widget, QAbstractItemView)):
            model: QAbstractItemModel = view.model()
            for row in range(model.rowCount()):
                index = model.index(row, 0)
                if text in str(model.data(index) or ""):
                    view.scrollTo(index)
                    place = view.visualRect(index).center()
                    return click_at(view.viewport(), place), str(model.data(index))
        raise LookupError(f"no list shows {text!r}")

    def do_menu(self, name: str) -> tuple[Callable[[], None], object]:
        """Click an entry of the menu that is open."""
        menu = QApplication.activePopupWidget()
        if not isinstance(menu, QMenu):
            raise LookupError("no menu is open")
        for action in menu.actions():
            if action.text().replace("&", "") == name:
                return click_at(menu, menu.actionGeometry(action).center()), name
        raise LookupError(f"the menu has {[action.text() for action in menu.actions()]}")

    def do_key(self, keys: str, times: int = 1) -> tuple[Callable[[], None], object]:
        combination = QKeySequence(keys)[0]  # type: ignore[index]
        key, modifiers = combination.key(), combination.keyboardModifiers()

        def press() -> None:
            for _ in range(times):
                QTest.keyClick(self._keyboard(), key, modifiers)

        return press, name_of(self._keyboard())

    def do_type(self, text: str) -> tuple[Callable[[], None], object]:
        def press() -> None:
            for letter in text:  # QTest.keyClicks knows no accents
                code = ord(letter.upper())
                key = Qt.Key(code) if code < 0x100 else Qt.Key.Key_unknown
                plain = Qt.KeyboardModifier.NoModifier
                QTest.sendKeyEvent(QTest.KeyAction.Click, self._keyboard(), key, letter, plain)

        return press, name_of(self._keyboard())

    def do_size(self, width: int, height: int) -> tuple[Callable[[], None], object]:
        return lambda: self._window.resize(width, height), None

    def do_picture(self, path: str) -> tuple[Callable[[], None], object]:
        area = QRect()
        for top in QApplication.topLevelWidgets():  # with the menu or the dialog that stands over it
            area = area.united(top.frameGeometry()) if top.isVisible() else area
        if not QGuiApplication.primaryScreen().grabWindow(0).copy(area).save(path):
            raise LookupError(f"{path} cannot be written")
        return lambda: None, path

    def do_see(self) -> tuple[Callable[[], None], object]:
        window = self._window
        focus = QApplication.focusWidget()
        rows = (window.transcript.message(row) for row in range(window.transcript.rowCount()))
        longest, self._longest_ms = self._longest_ms, 0.0
        levels, self._levels = self._levels, {}
        popup = QApplication.activePopupWidget()
        return lambda: None, {
            "state": str(window.presence.state),
            "focus": name_of(focus) if focus is not None else "",
            "messages": [
                {"who": str(m.speaker), "text": m.text, "settled": m.settled, "ended": m.ended} for m in rows
            ],
            "widgets": [seen(widget) for widget in visible()],
            "menu": [action.text() for action in popup.actions()] if isinstance(popup, QMenu) else [],
            "levels": levels,
            "longest_ms": round(longest),
        }  # fmt: skip

    def _keyboard(self) -> QWidget:
        """Who gets the keys now."""
        popup = QApplication.activePopupWidget()
        if popup is not None:
            return popup.focusWidget() or popup
        dialog = QApplication.activeModalWidget()
        if dialog is not None:
            return dialog.focusWidget() or dialog
        return self._window.focusWidget() or self._window


def own_s() -> float:
    """A clock of this thread that stands still while it wants to run and other programs have the processor."""
    waited_s = int(_SCHEDSTAT.read_text().split()[1]) / 1e9 if _SCHEDSTAT.exists() else 0.0
    return time.perf_counter() - waited_s


def visible() -> Iterator[QWidget]:
    """Every widget of which something is seen."""
    for top in QApplication.topLevelWidgets():
        if top.isVisible():
            yield from (
                w for w in (top, *top.findChildren(QWidget)) if w.isVisible() and not w.visibleRegion().isEmpty()
            )


def click_at(widget: QWidget, place: QPoint) -> Callable[[], None]:
    return lambda: QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=place)


def name_of(widget: QWidget) -> str:
    return widget.accessibleName() or text_of(widget) or widget.objectName()


def text_of(widget: QWidget) -> str:
    match widget:
        case QAbstractButton():
            return widget.text().replace("&", "")
        case QLabel() | QLineEdit():
            return widget.text()
        case QPlainTextEdit():
            return widget.toPlainText()
        case QComboBox():
            return widget.currentText()
        case _:
            return ""


def rect_of(widget: QWidget) -> tuple[int, int, int, int]:
    place = widget.mapToGlobal(QPoint(0, 0))
    return place.x(), place.y(), widget.width(), widget.height()


def seen(widget: QWidget) -> dict[str, object]:
    kind = next(c.__name__ for c in type(widget).__mro__ if c.__module__.startswith("PySide6"))
    checked = widget.isChecked() if isinstance(widget, QAbstractButton) else None
    return {
        "kind": kind, "name": name_of(widget), "text": text_of(widget), "on": widget.isEnabled(), "checked": checked,
        "place": rect_of(widget), "wrong": bool(widget.property("wrong")),
    }  # fmt: skip


def find(name: str, kind: str = "", within: str = "") -> QWidget:
    """A widget that is there and can be used, by its accessible name or its text.

    Raises:
        LookupError: none is.
    """
    fits = []
    for top in QApplication.topLevelWidgets():
        for widget in (top, *top.findChildren(QWidget)) if top.isVisible() else ():
            names = (widget.accessibleName(), text_of(widget))
            inside = not within or any(within in name_of(above) for above in above_of(widget))
            right_kind = not kind or any(c.__name__ == kind for c in type(widget).__mro__)
            if widget.isVisible() and widget.isEnabled() and name in names and right_kind and inside:
                fits.append(widget)
    if not fits:
        there = sorted({name_of(widget) for widget in visible() if isinstance(widget, QAbstractButton)})
        raise LookupError(f"nothing that can be used is called {name!r}; buttons: {there}")
    return min(fits, key=lambda widget: (not widget.focusPolicy(), isinstance(widget, QLabel)))


def above_of(widget: QWidget) -> Iterator[QWidget]:
    above = widget.parentWidget()
    while above is not None:
        yield above
        above = above.parentWidget()


def bring_into_view(widget: QWidget) -> None:
    """As one scrolls to what one wants to touch."""
    for above in above_of(widget):
        content = above.widget() if isinstance(above, QScrollArea) else None
        if isinstance(above, QScrollArea) and content is not None and content.isAncestorOf(widget):
            above.ensureWidgetVisible(widget)


def click_place(widget: QWidget) -> QPoint:
    """The middle of it; where a box or a list has its mark at the left, that."""
    area: QRect = widget.rect()
    return QPoint(min(area.width() // 2, 12), area.height() // 2) if widget.inherits("QCheckBox") else area.center()


def main(run: Callable[[], int] = app.main) -> int:
    app.MainWindow = RobotWindow  # type: ignore[attr-defined]
    code = run()
    left = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    tell(event="over", code=code, threads=[name for name in left if name != "robot"])
    return code


if __name__ == "__main__":
    sys.exit(main())
