"""Every part of the window wears the style sheet, and a theme that is switched looks as if it had been there before."""

import pytest
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from kazeia_desktop.gui.pages.registry import PAGES
from kazeia_desktop.gui.theme import DARK, LIGHT, style_sheet
from kazeia_desktop.gui.wardrobe import Wardrobe
from tests.gui.conftest import Opened, Opener

pytestmark = pytest.mark.gui
PLAIN = ("Body", "PageStack", "SettingsPanel", "ColumnScroll", "ModelsPage", "ComparePage")
"""Classes of what only holds parts; so do plain widgets and a scroll area's own, by these names."""
PLAIN_NAMES = (
    "ground",
    "fieldsContent",
    "qt_scrollarea_viewport",
    "qt_scrollarea_hcontainer",
    "qt_scrollarea_vcontainer",
)


def everything(opened: Opener, theme: str) -> Opened:
    one = opened(values={"appearance.theme": theme})
    one.window.show_settings(True)
    one.until(lambda: one.window.panel.complete)
    for page in PAGES:
        one.window.show_page(page.name)
        one.settle()
    one.window.show_conversation()
    one.settle()
    return one


def test_every_widget_is_in_exactly_one_part_or_only_holds_parts(opened: Opener) -> None:
    one = everything(opened, "light")
    parts = set(one.window.wardrobe.parts)
    for widget in one.window.findChildren(QWidget):
        around: list[QWidget] = []
        inside: QWidget | None = widget
        while inside is not None:
            around += [inside] if inside in parts else []
            inside = inside.parentWidget()
        plain = type(widget).__name__ in PLAIN or widget.objectName() in PLAIN_NAMES
        held = widget.parentWidget()
        never_seen = held is not None and held.objectName() == "qt_scrollarea_hcontainer"
        assert len(around) == 1 or ((plain or never_seen) and not around), (widget, widget.objectName(), around)


def test_a_theme_that_was_switched_and_a_width_that_was_crossed_leave_nothing_behind(opened: Opener) -> None:
    one, fresh = opened(), opened(values={"appearance.theme": "dark"})
    for window in (one.window, fresh.window):
        window.show_settings(True)
    one.until(lambda: one.window.panel.complete and fresh.window.panel.complete)
    one.window.resize(700, 760)
    one.settle()
    one.window.change("appearance.theme", "dark")
    one.settle()
    one.window.resize(1300, 760)
    fresh.window.resize(1300, 760)
    one.settle()
    fresh.settle()
    assert one.window.updatesEnabled()
    for x, y in ((5, 300), (300, 300), (3, 20), (890, 400), (900, 400), (400, 10), (100, 755)):
        colors = [w.grab().toImage().pixelColor(x, y).name() for w in (one.window, fresh.window)]
        assert colors[0] == colors[1], (x, y)
    one.window.show_page("models")
    one.settle()
    assert {part.styleSheet() for part in one.window.wardrobe.parts} == {style_sheet(DARK, touch=False)}


def test_what_is_seen_is_dressed_first_and_the_picture_stays_until_then(opened: Opener) -> None:
    one = everything(opened, "light")
    window = one.window
    window.change("appearance.theme", "dark")
    assert not window.updatesEnabled() and not window.wardrobe.settled
    one.until(window.updatesEnabled)
    sheet = style_sheet(DARK, touch=False)
    assert window.header.styleSheet() == window.presence.styleSheet() == sheet
    one.settle()
    assert all(part.styleSheet() == sheet for part in window.wardrobe.parts)


def test_a_part_that_is_gone_is_forgotten(opened: Opener) -> None:
    one = opened()
    wardrobe = Wardrobe(one.window, "")
    part = QWidget()
    wardrobe.add(part)
    assert part in wardrobe.parts
    part.deleteLater()
    one.until(lambda: not isValid(part))
    assert not wardrobe.parts
    wardrobe.change(style_sheet(LIGHT, touch=False))
    assert wardrobe.settled
