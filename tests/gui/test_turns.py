"""Work in turns: in order, never long at a time; and the pages and words that are made so."""

import time

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from kazeia_desktop.gui.pages.compare_page import ComparePage
from kazeia_desktop.gui.turns import Turns
from tests.gui.conftest import LoopWatch, Opener

pytestmark = pytest.mark.gui


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each time the page Compare was prepared, whether it was seen then."""
    seen: list[bool] = []
    monkeypatch.setattr(ComparePage, "prepare", lambda page: seen.append(page.isVisible()))
    return seen


def test_pieces_are_done_in_order_and_none_at_once(qtbot: QtBot) -> None:
    parent = QObject()
    turns, did, ended = Turns(parent), [], []
    turns.done.connect(lambda: ended.append(list(did)))
    turns.add(*(lambda n=n: did.append(n) for n in range(50)))
    turns.add(lambda: turns.add(lambda: did.append(51)), lambda: did.append(50))
    assert not did and not turns.settled
    qtbot.waitUntil(lambda: turns.settled)
    assert did == list(range(52))
    qtbot.wait(10)
    assert ended == [did]


def test_the_loop_turns_between_slow_pieces(qtbot: QtBot) -> None:
    parent = QObject()
    turns, watch = Turns(parent), LoopWatch()
    turns.add(*[lambda: time.sleep(0.006)] * 40)
    qtbot.waitUntil(lambda: turns.settled)
    assert watch.longest_ms < 100, "two pieces a turn, not 240 ms"


def test_a_piece_that_fails_keeps_no_other_undone(qtbot: QtBot) -> None:
    parent = QObject()
    turns, did = Turns(parent), []
    with qtbot.captureExceptions() as failed, qtbot.waitSignal(turns.done):
        turns.add(lambda: 1 // 0, lambda: did.append(1), lambda: 1 // 0)
    assert did == [1] and len(failed) == 2


def test_what_was_cleared_is_not_done(qtbot: QtBot) -> None:
    parent = QObject()
    turns, did = Turns(parent), []
    turns.add(lambda: did.append(1))
    turns.clear()
    assert turns.settled
    turns.add(lambda: did.append(2))
    qtbot.waitUntil(lambda: turns.settled)
    assert did == [2]


def test_a_page_that_is_left_before_it_is_whole_is_whole_when_it_is_shown_again(
    opened: Opener, prepared: list[bool]
) -> None:
    one = opened()
    one.window.show_page("compare")
    page = one.window.page
    assert page is not None and not page.scroll_area.isVisible()
    one.window.show_conversation()
    one.settle()
    assert not prepared
    one.window.show_page("compare")
    one.window.show_page("compare")
    one.settle()
    assert page is one.window.page and page.scroll_area.isVisible() and page.updatesEnabled()
    assert prepared == [True, True]
    assert {part.styleSheet() for part in page.parts} == {one.window.header.styleSheet()}


def test_a_page_that_is_left_and_shown_again_at_once_is_prepared_once(opened: Opener, prepared: list[bool]) -> None:
    one = opened()
    for _ in range(3):
        one.window.show_page("compare")
        one.window.show_conversation()
    one.window.show_page("compare")
    one.settle()
    assert prepared == [True]


def test_pages_and_settings_that_are_not_seen_speak_the_new_language_too(opened: Opener) -> None:
    one = opened()
    one.window.show_settings(True)
    one.until(lambda: one.window.panel.complete)
    for name in ("models", "compare"):
        one.window.show_page(name)
        one.settle()
    one.window.show_settings(False)
    for language, words in (("en", "Models"), ("fr", "Modèles")):
        one.window.change("appearance.language", language)
        one.window.change("appearance.language", "fr" if language == "en" else "en")
        one.window.change("appearance.language", language)
        one.settle()
        assert one.window.pages["models"].title.text() == words
        field = one.window.panel.fields["llm.temperature"]
        assert field.title.text() == ("Temperature" if language == "en" else "Température")
        assert one.window.panel._scroll.updatesEnabled()
