"""The list of conversations, on a real store and a fake engine."""

import datetime
import json
import time
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QFileDialog, QLineEdit

from kazeia_desktop.events import ConversationOpened
from kazeia_desktop.gui.conversations.days import heading, moment
from kazeia_desktop.gui.conversations.model import ConversationList
from kazeia_desktop.gui.words import Words
from kazeia_desktop.memory.conversations import ConversationStore, Found, Summary
from kazeia_desktop.memory.facts import LIMIT, FactsNote
from kazeia_desktop.settings.store import Value
from tests.fakes.fake_engine import FakeHost
from tests.gui.conftest import LoopWatch, Opened, Opener

pytestmark = pytest.mark.gui

DAY = 86_400
KEEP: dict[str, Value] = {"privacy.keep_conversations": True}


def keep(file: Path, *said: tuple[str, str], ago_s: float = 0.0) -> None:
    store = ConversationStore(file, now=lambda: time.time() - ago_s)
    for question, answer in said:
        store.add(None, question, answer, "fr").result()
    store.close()


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Three conversations: 1 ten days ago, 2 yesterday, 3 now."""
    file = tmp_path / "data" / "conversations.db"
    keep(file, ("Une recette de crêpes", "Farine, œufs, lait."), ago_s=10 * DAY)
    keep(file, ("Le canal de Nantes", "Il est long de 364 kilomètres."), ago_s=DAY)
    keep(file, ("Préparer la randonnée", "Un coupe-vent et de l'eau."))
    return file


def titles(one: Opened) -> list[str]:
    return [row.title for row in one.window.sidebar.model.rows if row.conversation is not None]


def opened_list(opened: Opener, **more: Value) -> Opened:
    one = opened(values=KEEP | more)
    one.window.body.open_sidebar(True)
    one.until(lambda: len(titles(one)) == 3)
    return one


def choose(one: Opened, conversation: int) -> None:
    view, model = one.window.sidebar.view, one.window.sidebar.model
    view.setFocus()
    view.setCurrentIndex(model.index(model.row_of(conversation)))


# Days


@pytest.mark.parametrize(
    ("day", "french", "english"),
    [
        ((2026, 11, 30), "Aujourd'hui", "Today"), ((2026, 11, 29), "Hier", "Yesterday"),
        ((2026, 11, 24), "Mardi", "Tuesday"), ((2026, 11, 23), "Novembre", "November"),
        ((2026, 6, 2), "Juin", "June"), ((2025, 12, 31), "Décembre 2025", "December 2025"),
        ((2026, 12, 1), "Aujourd'hui", "Today"),  # the clock was set back
    ],
)  # fmt: skip
def test_headings(day: tuple[int, int, int], french: str, english: str) -> None:
    now_s = datetime.datetime(2026, 11, 30, 0, 5).timestamp()
    then_s = datetime.datetime(*day, 23, 55).timestamp()
    assert heading(then_s, now_s, Words("fr")) == french
    assert heading(then_s, now_s, Words("en")) == english


def test_moments() -> None:
    now_s = datetime.datetime(2026, 11, 30, 9).timestamp()
    assert moment(now_s, now_s, Words("fr")) == "09:00"
    assert moment(now_s - 30 * DAY, now_s, Words("fr")) == "31/10"


def test_rows_stand_under_their_days_and_the_current_one_is_told() -> None:
    now_s = datetime.datetime(2026, 11, 30, 12).timestamp()
    model = ConversationList(Words("en"), now=lambda: now_s)
    found = [Found(Summary(n, f"Title {n}", "en", t, t, 2), "", "") for n, t in ((3, now_s), (2, now_s - DAY))]
    model.show_found(found, current=2)
    assert [row.title for row in model.rows] == ["Today", "Title 3", "Yesterday", "Title 2"]
    assert model.flags(model.index(0)) == Qt.ItemFlag.NoItemFlags
    told = model.data(model.index(3), Qt.ItemDataRole.AccessibleTextRole)
    assert told == "Title 2, open now, 12:00"


def test_an_excerpt_begins_shortly_before_what_was_searched() -> None:
    model = ConversationList(Words("en"))
    text = "one two three four five six coupe-vent seven"
    model.show_found([Found(Summary(1, "Title", "fr", 0, 0, 2), "user", text)], None, "coupe")
    assert model.rows[1].excerpt == "…five six coupe-vent seven"


# The list


def test_kept_conversations_are_listed_by_day(opened: Opener, kept: Path) -> None:
    one = opened_list(opened)
    rows = [row.title for row in one.window.sidebar.model.rows]
    assert (
        rows[0] == "Aujourd'hui" and rows[1] == "Préparer la randonnée" and rows[2:4] == ["Hier", "Le canal de Nantes"]
    )
    assert one.window.sidebar.view.isVisible() and not one.window.sidebar.empty.isVisible()


def test_looking_it_up_does_not_hold_up_the_window(opened: Opener, tmp_path: Path) -> None:
    file = tmp_path / "data" / "conversations.db"
    keep(file, *((f"Question {n}", f"Réponse {n}") for n in range(300)))
    one = opened(values=KEEP)
    watch = LoopWatch()
    one.window.body.open_sidebar(True)
    one.until(lambda: len(titles(one)) == 300)
    assert watch.longest_ms < 50


def test_searching_finds_words_without_accents_and_shows_where(opened: Opener, kept: Path) -> None:
    one = opened_list(opened)
    one.bot.keyClicks(one.window.sidebar.search, "oeufs")
    one.until(lambda: titles(one) == ["Une recette de crêpes"])
    assert "œufs" in one.window.sidebar.model.rows[1].excerpt
    one.window.sidebar.search.setText("hippopotame")
    one.until(lambda: titles(one) == [])
    one.until(lambda: one.window.sidebar.empty.isVisible())
    assert "hippopotame" in one.window.sidebar.empty.text()
    one.window.sidebar.search.clear()
    one.until(lambda: len(titles(one)) == 3)


def test_opening_one(opened: Opener, kept: Path) -> None:
    one = opened_list(opened)
    choose(one, 2)
    one.bot.keyClick(one.window.sidebar.view, Qt.Key.Key_Return)
    one.bot.keyClick(one.window.sidebar.view, Qt.Key.Key_Return)
    one.until(lambda: bool(one.engine.called("open_conversation")))
    one.settle()
    assert one.engine.called("open_conversation") == [("open_conversation", 2)]
    one.engine.emit(ConversationOpened(2, "Le canal de Nantes"))
    one.until(lambda: one.window.sidebar.model.current == 2)


def test_opened_by_a_click_but_not_by_the_three_dots(opened: Opener, kept: Path) -> None:
    one = opened_list(opened)
    view, model = one.window.sidebar.view, one.window.sidebar.model
    rect = view.visualRect(model.index(model.row_of(1)))
    one.bot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(rect.right() - 20, rect.center().y()))
    assert one.window.sidebar.menu.isVisible()
    one.window.sidebar.menu.close()
    one.settle()
    assert not one.engine.called("open_conversation")
    one.bot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    one.until(lambda: one.engine.called("open_conversation") == [("open_conversation", 1)])


def test_opened_before_the_models_are_there_it_is_told_to_the_engine_later(opened: Opener, kept: Path) -> None:
    host = FakeHost()
    host.hold.clear()
    one = opened(host, KEEP)
    heard: list[ConversationOpened] = []
    one.window._bridge.conversation_opened.connect(heard.append)
    one.window.body.open_sidebar(True)
    one.until(lambda: len(titles(one)) == 3)
    one.window.conversations.open(3)
    one.until(lambda: one.window.sidebar.model.current == 3)
    assert [(e.question, e.answer) for e in heard[0].exchanges] == [
        ("Préparer la randonnée", "Un coupe-vent et de l'eau.")
    ]
    host.hold.set()
    one.until(lambda: bool(host.engines) and host.engine.called("open_conversation") == [("open_conversation", 3)])


def test_a_new_conversation_by_its_key(opened: Opener, kept: Path) -> None:
    one = opened_list(opened)
    one.window.sidebar.model.set_current(3)
    one.bot.keySequence(one.window, QKeySequence("Ctrl+N"))
    one.until(lambda: bool(one.engine.called("new_conversation")) and one.window.sidebar.model.current is None)
    assert one.window.presence.field.hasFocus()


def test_renaming_in_place(opened: Opener, kept: Path) -> None:
    one = opened_list(opened)
    choose(one, 2)
    one.bot.keyClick(one.window.sidebar.view, Qt.Key.Key_F2)
    editor = one.window.sidebar.view.findChild(QLineEdit)
    assert isinstance(editor, QLineEdit) and editor.text() == "Le canal de Nantes"
    editor.setText("À  vélo")
    one.bot.keyClick(editor, Qt.Key.Key_Return)
    one.until(lambda: "À vélo" in titles(one))


def test_deleting_asks_first_and_enter_in_haste_keeps(opened: Opener, kept: Path) -> None:
    one = opened_list(opened)
    choose(one, 2)
    sidebar = one.window.sidebar
    one.bot.keyClick(sidebar.view, Qt.Key.Key_Delete)
    assert sidebar.ask.isVisible() and "Le canal de Nantes" in sidebar.ask.text.text() and sidebar.ask.no.hasFocus()
    one.bot.keyClick(sidebar.ask.no, Qt.Key.Key_Space)
    assert not sidebar.ask.isVisible()
    one.settle()
    assert len(titles(one)) == 3
    choose(one, 2)
    one.bot.keyClick(sidebar.view, Qt.Key.Key_Delete)
    sidebar.ask.yes.click()
    one.until(lambda: len(titles(one)) == 2)
    assert "Le canal de Nantes" not in titles(one)


@pytest.mark.parametrize("ending", ["md", "json"])
def test_exporting(opened: Opener, kept: Path, tmp_path: Path, ending: str) -> None:
    one = opened_list(opened)
    choose(one, 1)
    file = tmp_path / f"crêpes.{ending}"
    one.bot.keySequence(one.window.sidebar.view, QKeySequence("Ctrl+E"))
    dialog = one.window.sidebar.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    dialog.fileSelected.emit(str(file))
    dialog.close()
    one.until(file.exists)
    text = file.read_text("utf-8")
    assert "Farine, œufs, lait." in text
    assert ending == "md" or json.loads(text)["title"] == "Une recette de crêpes"
    one.until(lambda: str(file) in one.window.sidebar.note.text())


def test_what_cannot_be_written_is_told_in_a_line(opened: Opener, kept: Path, tmp_path: Path) -> None:
    one = opened_list(opened)
    one.window.sidebar.keeper.export(1, tmp_path / "nowhere" / "x.md")
    one.until(lambda: one.window.sidebar.note.isVisible())
    assert "ne peut pas être écrit" in one.window.sidebar.note.text()


def test_the_last_one_is_offered_to_go_on(opened: Opener, kept: Path) -> None:
    one = opened(values=KEEP)
    offer = one.window.chat.welcome.go_on
    one.until(lambda: not offer.isHidden())
    assert "Préparer la randonnée" in offer.text()
    offer.click()
    one.until(lambda: one.engine.called("open_conversation") == [("open_conversation", 3)])
    one.engine.emit(ConversationOpened(3, "Préparer la randonnée"))
    one.until(offer.isHidden)


def test_nothing_is_offered_in_private(opened: Opener, kept: Path) -> None:
    one = opened()
    one.settle()
    assert one.window.chat.welcome.go_on.isHidden()


# What is kept at all


def test_private_is_seen_and_switched(opened: Opener, tmp_path: Path) -> None:
    one = opened()
    header, sidebar = one.window.header, one.window.sidebar
    assert header.private.isVisible() and header.private.text() == "Rien n'est gardé"
    header.private.click()
    assert one.window.body.sidebar_open
    one.until(lambda: sidebar.empty.isVisible())
    assert sidebar.privacy.told.text() == "Privé\u202f: rien n'est gardé."
    sidebar.privacy.switch.click()
    one.until(lambda: bool(one.host.saved) and one.host.saved[-1].privacy.keep_conversations)
    assert not header.private.isVisible() and "Gardées" in sidebar.privacy.told.text()
    one.window.change("privacy.keep_conversations", False)
    assert not sidebar.privacy.switch.isChecked() and header.private.isVisible()


def test_the_note_is_read_and_written(opened: Opener, tmp_path: Path) -> None:
    note = FactsNote(tmp_path / "config" / "facts.md")
    note.write("Je m'appelle Jeanne.")
    one = opened()
    one.window.body.open_sidebar(True)
    sidebar, facts = one.window.sidebar, one.window.sidebar.facts
    sidebar.facts_button.click()
    one.until(lambda: facts.text.toPlainText() == "Je m'appelle Jeanne.")
    assert not facts.save.isEnabled()
    facts.text.setPlainText("x" * (LIMIT + 1))
    assert not facts.save.isEnabled()
    facts.text.setPlainText("J'habite à Rennes.")
    facts.save.click()
    one.until(lambda: sidebar.stack.currentIndex() == 0)
    assert note.text() == "J'habite à Rennes."


# Its place


def test_it_is_a_drawer_where_it_is_narrow(opened: Opener) -> None:
    one = opened()
    one.window.resize(800, 900)
    one.settle()
    one.window.header.conversations.click()
    assert one.window.body.sidebar_open and one.window.header.conversations.isChecked()
    assert one.window.sidebar.geometry().left() == 0 or one.window.sidebar.x() <= 0
    one.window.show_settings(True)
    assert not one.window.body.sidebar_open and one.window.body.panel_open
    one.bot.keyClick(one.window, Qt.Key.Key_Escape)
    assert not one.window.body.panel_open


def test_both_sides_fit_on_a_wide_window(opened: Opener) -> None:
    one = opened()
    one.window.resize(1280, 800)
    one.settle()
    one.window.body.open_sidebar(True)
    one.window.show_settings(True)
    assert one.window.body.sidebar_open and one.window.body.panel_open
    main = one.window.header.parentWidget()
    assert main is not None and main.width() >= 400 and main.x() == one.window.sidebar.width()
    one.window.resize(1000, 800)
    one.settle()
    assert one.window.body.sidebar_open != one.window.body.panel_open


def test_keys_open_and_search(opened: Opener, kept: Path) -> None:
    one = opened(values=KEEP)
    one.bot.keySequence(one.window, QKeySequence("Ctrl+L"))
    assert one.window.body.sidebar_open
    one.until(lambda: len(titles(one)) == 3)
    one.bot.keySequence(one.window, QKeySequence("Ctrl+Shift+F"))
    assert one.window.sidebar.search.hasFocus()
    one.bot.keySequence(one.window, QKeySequence("Ctrl+L"))
    assert not one.window.body.sidebar_open
