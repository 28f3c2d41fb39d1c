"""One rule for the width of what pages show, and edges that stay where they are without a scroll bar too."""

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from kazeia_desktop.events import Failed
from kazeia_desktop.gui.column_scroll import ColumnScroll
from kazeia_desktop.gui.header import _Menu
from kazeia_desktop.gui.pages.registry import PAGES
from kazeia_desktop.gui.pages.voices_page import VoicesPage
from kazeia_desktop.gui.theme import GRID, PAGE_PX
from kazeia_desktop.gui.voices.row import language_name
from kazeia_desktop.gui.words import Words
from tests.gui.conftest import Opener

pytestmark = pytest.mark.gui
GUI = Path(__file__).parent.parent.parent / "kazeia_desktop" / "gui"
TEN = ("chinese", "english", "french", "german", "italian", "japanese", "korean", "portuguese", "russian", "spanish")


@pytest.mark.parametrize(("width", "widest", "seen"), [(400, None, 368), (700, 880, 668), (1000, 880, 880)])
def test_a_scroll_bar_moves_no_edge(qtbot: QtBot, width: int, widest: int | None, seen: int) -> None:
    area = ColumnScroll("chat", "ground", widest=widest)
    qtbot.addWidget(area)
    tall = QWidget()
    area.column.addWidget(tall)
    area.setStyleSheet("QScrollArea { border: none; } QScrollBar:vertical { width: 12px; }")
    area.resize(width, 300)
    area.show()
    edges = set()
    for height in (100, 900):
        tall.setMinimumHeight(height)
        qtbot.wait(30)
        assert area.verticalScrollBar().isVisible() is (height > 300)
        left = tall.mapTo(area, QPoint(0, 0)).x()
        edges.add((left, left + tall.width()))
    assert edges == {((width - seen) // 2, (width + seen) // 2)}


def test_every_page_has_the_same_edges(opened: Opener) -> None:
    one = opened()
    for width in (1280, 1600, 700):
        one.window.resize(width, 800)
        edges = set()
        for page in PAGES:
            one.window.show_page(page.name)
            shown = one.window.page
            assert shown is not None
            one.settle()
            margins = shown.column.contentsMargins()
            edges.add((margins.left(), shown.content.width() - margins.right(), shown.back.x() + GRID))
        assert len(edges) == 1, edges
        ((left, right, arrow),) = edges
        assert right - left == min(PAGE_PX, width - 4 * GRID) and left == arrow
        assert left == width - right


@pytest.mark.parametrize("width", [800, 1280])
def test_the_badges_of_the_settings_end_where_the_search_ends(opened: Opener, width: int) -> None:
    one = opened()
    one.window.resize(width, 900)
    one.window.show_settings(True)
    panel = one.window.panel
    one.until(lambda: panel.complete)
    for needle in ("", "thème"):
        panel.search.setText(needle)
        one.settle()
        badge = panel.fields["appearance.theme"].badge
        ends = {part.mapTo(panel, QPoint(part.width(), 0)).x() for part in (badge, panel.search)}
        assert len(ends) == 1, (needle, ends)


@pytest.mark.parametrize("width", [500, 1280])
def test_the_menu_of_pages_stays_inside_the_window(opened: Opener, width: int) -> None:
    one = opened()
    one.window.resize(width, 700)
    one.window.move(10, 10)
    one.settle()
    header = one.window.header
    assert isinstance(header._menu, _Menu)
    for place in (header.pages.mapToGlobal(QPoint(0, 30)), one.window.mapToGlobal(QPoint(width - 2, 40))):
        header._menu.popup(place)
        one.until(header._menu.isVisible)
        right = one.window.mapFromGlobal(header._menu.pos()).x() + header._menu.width()
        assert 0 < right <= width - GRID
        header._menu.hide()


def test_languages_are_named_in_the_window_s_language() -> None:
    assert [language_name(code, Words("fr")) for code in ("fr", "chinese", "sichuan_dialect")] == [
        "français", "chinois", "chinois du Sichuan",
    ]  # fmt: skip
    assert [language_name(code, Words("en")) for code in ("en", "japanese", "klingon")] == [
        "English", "Japanese", "Klingon",
    ]  # fmt: skip
    for code in TEN:
        assert language_name(code, Words("fr")) != code.capitalize()


def test_the_window_writes_in_no_script_that_a_latin_font_lacks() -> None:
    """What models and users write is theirs; what the window itself says is seen everywhere."""
    foreign = re.compile(r"[^\x00-\u024f\u2000-\u206f\u20ac\u2212]")
    for file in GUI.rglob("*.py"):
        assert not foreign.findall(file.read_text("utf-8")), file


@pytest.mark.parametrize(
    ("template", "values", "told"),
    [
        (
            "The model {name} is not complete: {file} is missing. Run `kazeia models get {name}`.",
            {"name": "whisper-base", "file": "model.bin"},
            "Le modèle whisper-base est incomplet\u202f: model.bin manque.",
        ),
        (
            "The file {file} is missing: run `kazeia models get {name}`.",
            {"name": "whisper-base", "file": "model.bin"},
            "Le fichier model.bin manque.",
        ),
    ],
)
def test_the_banner_names_no_command_where_its_button_does_the_same(
    opened: Opener, template: str, values: dict[str, object], told: str
) -> None:
    one = opened()
    one.engine.emit(Failed(template, values, "models", fatal=False))
    one.until(one.window.banner.isVisible)
    assert one.window.banner.text.text() == told
    assert one.window.banner.action.text() == "Télécharger les modèles"


def test_the_menu_of_pages_opens_by_enter_and_leads_to_a_page(opened: Opener) -> None:
    one = opened()
    header = one.window.header
    header.pages.setFocus()
    seen: list[bool] = []

    def choose() -> None:
        seen.append(header._menu.isVisible())
        QTest.keyClick(header._menu, Qt.Key.Key_Down)
        QTest.keyClick(header._menu, Qt.Key.Key_Return)

    QTimer.singleShot(200, choose)
    QTest.keyClick(header.pages, Qt.Key.Key_Return)  # until the menu is closed
    assert seen == [True]
    one.until(lambda: one.window.page is not None)


def test_in_the_smallest_window_nothing_is_wider_than_it(opened: Opener) -> None:
    one = opened()
    one.window.resize(*one.window.smallest)
    for page in PAGES:
        one.window.show_page(page.name)
        shown = one.window.page
        assert shown is not None
        one.bot.wait(300)  # what is looked up is there
        area = shown.scroll_area
        if isinstance(shown, VoicesPage):
            shown.add.show()
            shown.add._form.show()
            one.settle()
        assert shown.content.width() <= area.viewport().width(), page.name
    header = one.window.header
    assert header.private.width() >= header.private.sizeHint().width() and not header.voice.isVisible()
