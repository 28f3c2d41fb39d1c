"""What can be done with messages, and thousands of them."""

import itertools
from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QHideEvent
from PySide6.QtWidgets import QApplication

from kazeia_desktop.events import (
    ClauseStarted,
    ConversationOpened,
    Exchange,
    ReplyDelta,
    State,
    StateChanged,
    TurnEnded,
    TurnsRemoved,
)
from kazeia_desktop.gui.bubble import Bubble
from kazeia_desktop.gui.message_actions import Action
from tests.gui.conftest import LoopWatch, Opened, Opener

pytestmark = pytest.mark.gui

LATE_MS, NEVER_MS = 50.0, 150.0


def talk(one: Opened, *pairs: tuple[str, str]) -> None:
    rows = one.window.transcript.rowCount()
    for question, answer in pairs:
        one.engine.exchange(question, answer)
    one.until(lambda: one.window.transcript.rowCount() == rows + 2 * len(pairs))
    one.until(lambda: one.window.transcript.message(rows + 2 * len(pairs) - 1).ended != "")
    one.settle()


def texts(one: Opened) -> list[str]:
    return [message.text for message in one.window.transcript.messages]


def menu_of(one: Opened, bubble: Bubble) -> dict[str, Callable[[], None]]:
    bubble.more.click()
    menu = one.window.messages.menu
    assert menu is not None
    found = {action.text(): action.trigger for action in menu.actions() if action.text()}
    menu.close()
    return found


# Doing


def test_the_menu_has_what_can_be_done(opened: Opener) -> None:
    one = opened()
    talk(one, ("Un", "Premier."), ("Deux", "Second."))
    bubbles = one.window.chat.bubbles
    assert list(menu_of(one, bubbles[0])) == ["Copier ce message", "Modifier et renvoyer", "Supprimer cet échange"]
    assert list(menu_of(one, bubbles[1])) == ["Copier ce message", "Réécouter", "Supprimer cet échange"]
    assert list(menu_of(one, bubbles[3])) == [
        "Copier ce message", "Réécouter", "Répondre à nouveau", "Supprimer cet échange",
    ]  # fmt: skip
    menu_of(one, bubbles[3])["Copier ce message"]()
    assert QGuiApplication.clipboard().text() == "Second."


def test_hearing_again(opened: Opener) -> None:
    one = opened()
    talk(one, ("Un", "Premier."))
    menu_of(one, one.window.chat.bubbles[1])["Réécouter"]()
    one.until(lambda: one.engine.called("replay") == [("replay", 1, "Premier.")])
    one.until(lambda: one.window.chat.bubbles[1].fate.text() == "Réécoute en cours")
    assert one.window.presence.state is State.SPEAKING
    one.engine.emit(ClauseStarted(2, 0, "Premier."))
    one.engine.emit(TurnEnded(2, "Premier.", "done", {}))
    one.until(lambda: one.window.chat.bubbles[1].fate.text() == "")
    assert texts(one) == ["Un", "Premier."]


def test_of_an_interrupted_reply_what_was_heard_is_heard_again(opened: Opener) -> None:
    one = opened()
    turn = one.engine.hears("Raconte")
    one.engine.replies(turn, "Un. Deux.", ["Un."])
    one.engine.ends(turn, "Un.", "interrupted")
    turn = one.engine.hears("Raconte")
    one.engine.replies(turn, "Un. Deux.", [])
    one.engine.ends(turn, "", "interrupted")
    one.until(lambda: one.window.transcript.rowCount() == 4 and one.window.transcript.message(3).ended != "")
    one.settle()
    one.window.messages.do(Action.REPLAY, 1)
    one.until(lambda: one.engine.called("replay") == [("replay", 1, "Un.")])
    assert Action.REPLAY not in one.window.messages.of(3)


def test_answering_anew_takes_the_place(opened: Opener) -> None:
    one = opened()
    talk(one, ("Un", "Premier."), ("Deux", "Second."))
    one.window.messages.do(Action.REGENERATE, 1)  # not the last: nothing happens
    one.window.messages.do(Action.REGENERATE, 3)
    one.until(lambda: texts(one) == ["Un", "Premier.", "Deux"])
    assert one.engine.called("regenerate") == [("regenerate",)]
    one.engine.emit(ReplyDelta(3, "Autrement."))
    one.until(lambda: texts(one)[-1] == "Autrement.")


def test_editing_in_place(opened: Opener) -> None:
    one = opened()
    talk(one, ("Un", "Premier."), ("Deux", "Second."))
    menu_of(one, one.window.chat.bubbles[0])["Modifier et renvoyer"]()
    bubble = one.window.chat.bubbles[0]
    assert bubble.editor is not None and bubble.editor.field.hasFocus()
    assert bubble.height() > 120 and one.window.chat.bubbles[1].y() > bubble.geometry().bottom()
    one.bot.keyClicks(bubble.editor.field, " et demi")
    one.bot.keyClick(bubble.editor.field, Qt.Key.Key_Return)
    one.until(lambda: one.engine.called("edit") == [("edit", 1, "Un et demi")])
    one.until(lambda: texts(one) == ["Un et demi"])
    assert one.window.chat.bubbles[0].editor is None


def test_escape_leaves_the_message_as_it_was(opened: Opener) -> None:
    one = opened()
    talk(one, ("Un", "Premier."))
    one.window.messages.do(Action.EDIT, 0)
    bubble = one.window.chat.bubbles[0]
    assert bubble.editor is not None
    bubble.editor.field.setPlainText("   ")
    assert not bubble.editor.send.isEnabled()
    one.bot.keyClick(bubble.editor.field, Qt.Key.Key_Escape)
    assert bubble.editor is None and bubble.text.isVisible() and not one.engine.called("edit")


def test_a_message_that_is_edited_stays_when_one_scrolls(opened: Opener) -> None:
    one = opened()
    talk(one, *[("Une question", "Une réponse. " * 20)] * 20)
    one.window.messages.do(Action.EDIT, 0)
    bubble = one.window.chat.bubble_at(0)
    assert bubble is not None and bubble.editor is not None
    bubble.editor.field.setPlainText("presque fini")
    one.window.chat.follow()
    one.window.chat.verticalScrollBar().setValue(0)
    assert one.window.chat.bubble_at(0) is bubble and bubble.editor.field.toPlainText() == "presque fini"


@pytest.mark.parametrize("yes", [True, False])
def test_deleting_asks_first(opened: Opener, yes: bool) -> None:
    one = opened()
    talk(one, ("Un", "Premier."), ("Deux", "Second."))
    menu_of(one, one.window.chat.bubbles[1])["Supprimer cet échange"]()
    question = one.window.messages.question
    assert question is not None and question.isVisible()
    wanted = "Supprimer" if yes else "Annuler"
    next(button for button in question.buttons() if button.text() == wanted).click()
    if yes:
        one.until(lambda: texts(one) == ["Deux", "Second."])
    else:
        one.settle()
        assert len(texts(one)) == 4 and not one.engine.called("delete_turn")


def test_what_another_engine_was_told_can_be_copied_and_heard_only(opened: Opener) -> None:
    one = opened()
    talk(one, ("Un", "Premier."))
    one.window.transcript.new_engine()
    assert one.window.messages.of(0) == [Action.COPY]
    assert one.window.messages.of(1) == [Action.COPY, Action.REPLAY]
    one.window.messages.do(Action.REPLAY, 1)
    one.until(lambda: one.engine.called("replay") == [("replay", 0, "Premier.")])


def test_nothing_breaks_while_there_is_no_engine(opened: Opener) -> None:
    one = opened()
    talk(one, ("Un", "Premier."))
    one.window._bridge._engine = None
    for row, action in ((1, Action.REPLAY), (1, Action.REGENERATE), (0, Action.EDIT)):
        one.window.messages.do(action, row)
    one.window.chat.bubbles[0].edited.emit("Deux")
    one.settle()
    assert texts(one) == ["Un", "Premier."]


# Mouse, touch, keyboard


def test_tools_are_there_under_the_mouse_in_a_wide_window(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    one = opened()
    talk(one, ("Un", "Premier."))
    tools, bubble = one.window.messages.tools, one.window.chat.bubbles[1]
    monkeypatch.setattr(Bubble, "underMouse", lambda self: self is bubble)
    bubble.pointed.emit(True)
    assert tools.isVisible() and tools.geometry().right() <= bubble.geometry().x() + bubble.more.x()
    seen = [action for action, button in tools.buttons.items() if button.isVisible()]
    assert seen == [Action.COPY, Action.REPLAY, Action.REGENERATE]
    tools.buttons[Action.REPLAY].click()
    one.until(lambda: bool(one.engine.called("replay")))
    monkeypatch.setattr(Bubble, "underMouse", lambda self: False)
    bubble.pointed.emit(False)
    one.until(lambda: not tools.isVisible())
    one.window.resize(800, 700)
    bubble.pointed.emit(True)
    assert not tools.isVisible() and bubble.more.isVisible()
    one.settle()
    assert bubble.more.height() >= 44


def test_a_new_conversation_begins_with_the_mouse_on_a_message(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message that is hidden brings the mouse to the one below it."""
    one = opened()
    talk(one, ("Un", "Premier."), ("Deux", "Second."))
    bubbles = list(one.window.chat.bubbles)
    monkeypatch.setattr(Bubble, "underMouse", lambda self: True)

    def hidden(self: Bubble, event: QHideEvent) -> None:
        for bubble in bubbles:
            bubble.pointed.emit(True)

    monkeypatch.setattr(Bubble, "hideEvent", hidden)
    one.window.new_conversation()
    one.until(lambda: one.window.transcript.rowCount() == 0)
    one.settle()
    assert not one.window.messages.tools.isVisible()


def test_the_menu_key_opens_the_menu(opened: Opener) -> None:
    one = opened()
    talk(one, ("Un", "Premier."))
    bubble = one.window.chat.bubbles[1]
    bubble.text.setFocus()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(1, 1), bubble.text.mapToGlobal(QPoint(1, 1)))
    QApplication.sendEvent(bubble.text, event)
    menu = one.window.messages.menu
    assert menu is not None and menu.isVisible()
    menu.close()
    bubble.text.setSelection(0, 4)
    QApplication.sendEvent(bubble.text, event)
    menu = one.window.messages.menu
    assert menu is not None
    menu.actions()[0].trigger()
    assert QGuiApplication.clipboard().text() == "Prem"
    menu.close()


def test_ctrl_up_and_down_go_from_message_to_message(opened: Opener) -> None:
    one = opened()
    talk(one, *[(f"Question {n}", f"Réponse {n}. " * 15) for n in range(15)])
    chat = one.window.chat
    chat.setFocus()
    rows = []
    for _ in range(29):
        one.bot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Up, Qt.KeyboardModifier.ControlModifier)
        row = chat.focused_row()
        assert row is not None
        bubble = chat.bubble_at(row)
        assert bubble is not None and bubble.y() < chat.viewport().height() and bubble.geometry().bottom() > 0
        rows.append(row)
    assert rows == list(range(rows[0], rows[0] - 29, -1))[: rows[0] + 1] + [0] * (28 - rows[0])


def test_tab_goes_on_through_messages_that_did_not_exist(opened: Opener) -> None:
    one = opened()
    talk(one, *[(f"Question {n}", f"Réponse {n}. " * 15) for n in range(15)])
    chat = one.window.chat
    chat.verticalScrollBar().setValue(0)
    chat.setFocus()
    seen: list[int] = []
    for _ in range(60):
        one.bot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        row = chat.focused_row()
        if row is not None and row not in seen:
            seen.append(row)
    assert seen[:12] == list(range(12))


def test_home_and_end(opened: Opener) -> None:
    one = opened()
    talk(one, *[("Question", "Réponse. " * 30)] * 12)
    chat, bar = one.window.chat, one.window.chat.verticalScrollBar()
    one.bot.keyClick(chat, Qt.Key.Key_Home)
    assert bar.value() == 0 and not chat.following
    one.bot.keyClick(chat, Qt.Key.Key_End)
    assert bar.value() == bar.maximum() and chat.following


# What is shown


def test_a_block_of_code_is_copied_by_its_link(opened: Opener) -> None:
    one = opened()
    talk(one, ("Code ?", "Voici.\n```py\nx = 1\ny = 2\n```\nEt\n```\nz\n```"))
    label = one.window.chat.bubbles[1].text
    label.linkActivated.emit("copy:0")
    assert QGuiApplication.clipboard().text() == "x = 1\ny = 2"
    label.linkActivated.emit("copy:1")
    assert QGuiApplication.clipboard().text() == "z"


def test_who_begins_to_speak_sees_it(opened: Opener) -> None:
    one = opened()
    talk(one, ("Un", "Premier."))
    one.engine.emit(StateChanged(State.HEARING))
    one.until(lambda: one.window.transcript.rowCount() == 3)
    assert "vous parlez…" in one.window.chat.bubbles[2].shown_html()
    one.engine.emit(StateChanged(State.LISTENING))  # it was a cough
    one.until(lambda: one.window.transcript.rowCount() == 2)
    turn = one.engine.hears("Deux")
    one.until(lambda: texts(one) == ["Un", "Premier.", "Deux"])
    assert one.window.transcript.message(2).turn_id == turn


def test_chips_that_do_not_fit_are_left_out(opened: Opener) -> None:
    one = opened()
    talk(one, ("Un", "Premier."))
    chip = one.window.chat.bubbles[1].chip
    assert len(chip.shown) == 4
    chip.fit(150)
    assert chip.shown == ["1er son 1,8\u202fs"]
    chip.fit(10_000)
    assert len(chip.shown) == 4


def test_a_conversation_that_is_taken_up_is_shown(opened: Opener) -> None:
    one = opened()
    talk(one, ("Un", "Premier."))
    one.engine.emit(ConversationOpened(3, "Autre", (Exchange(4, "Avant", "Réponse d'avant."),)))
    one.until(lambda: texts(one) == ["Avant", "Réponse d'avant."])
    assert one.window.messages.of(0) == [Action.COPY, Action.EDIT, Action.DELETE]
    one.engine.emit(ConversationOpened(None, ""))
    one.until(lambda: texts(one) == [])
    assert one.window.chat.welcome.isVisible()


def test_a_conversation_that_is_taken_up_shows_what_it_took_and_what_was_stopped(opened: Opener) -> None:
    one = opened()
    took = {"stt_ms": 300.0, "first_audio_ms": 1800.0}
    turns = (
        Exchange(4, "Avant", "Réponse d'…", "interrupted", took, 1_700_000_000.0),
        Exchange(5, "Et puis ?", "", "interrupted", {}, 1_700_000_060.0),
    )
    one.engine.emit(ConversationOpened(3, "Autre", turns))
    one.until(lambda: texts(one) == ["Avant", "Réponse d'…", "Et puis ?"])
    one.settle()
    asked, answer, unanswered = one.window.chat.bubbles
    assert [b.fate.text() for b in (asked, answer, unanswered)] == ["", "Interrompu", "Interrompu"]
    assert answer.chip.shown == ["parole 300\u202fms", "1er son 1,8\u202fs"]
    assert asked.chip.isHidden() and unanswered.chip.isHidden()
    answer.chip.click()
    assert answer.breakdown.text().startswith("14/11/2023\u00a0") and "1,8\u202fs" in answer.breakdown.text()
    assert "avant toute réponse" in unanswered.fate.toolTip() and unanswered.fate.isVisible()
    assert one.window.messages.of(2) == [Action.COPY, Action.REGENERATE, Action.EDIT, Action.DELETE]


def test_what_is_seen_stays_when_what_is_above_is_removed(opened: Opener) -> None:
    one = opened()
    talk(one, *[(f"Question {n}", f"Réponse {n}. " * 15) for n in range(15)])
    chat = one.window.chat
    chat.verticalScrollBar().setValue(chat.verticalScrollBar().maximum() // 2)
    row = chat.row_of(chat.bubbles[len(chat.bubbles) // 2])
    assert row is not None
    bubble = chat.bubble_at(row)
    assert bubble is not None
    message = bubble.message
    before = bubble.y()
    one.engine.emit(TurnsRemoved(1, 1))
    one.until(lambda: one.window.transcript.rowCount() == 28)
    now = chat.bubble_at(row - 2)
    assert now is not None and now.message is message and abs(now.y() - before) <= 1


# Searching


def find(one: Opened, text: str) -> str:
    bar = one.window.messages.find
    bar.open_bar()
    bar.field.setText(text)
    one.bot.waitUntil(lambda: not bar._typing.isActive() and bar.search.done, timeout=5000)
    one.settle()
    return bar.count.text()


def test_search(opened: Opener) -> None:
    one = opened()
    talk(one, *[(f"Question {n}", "Un été à la mer. " + "Réponse. " * 40) for n in range(10)])
    one.window.chat.setFocus()
    one.bot.keyClick(one.window.chat, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    bar = one.window.messages.find
    assert bar.isVisible() and bar.field.hasFocus()
    assert find(one, "ETE") == "10 sur 10"
    one.bot.keyClick(bar.field, Qt.Key.Key_Return)
    assert bar.count.text() == "1 sur 10"
    first = one.window.chat.bubble_at(1)
    assert first is not None and "background-color:#FFBF47" in first.shown_html() and first.y() >= -first.height()
    one.bot.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert bar.count.text() == "10 sur 10"
    assert find(one, "zanzibar") == "aucun résultat"
    one.bot.keyClick(bar.field, Qt.Key.Key_Escape)
    assert not bar.isVisible() and one.window.chat.hasFocus()
    assert "background-color" not in one.window.chat.bubbles[-1].shown_html()


def test_search_follows_what_is_said(opened: Opener) -> None:
    one = opened()
    talk(one, ("Un", "La mer."))
    assert find(one, "mer") == "1 sur 1"
    talk(one, ("Deux", "La mer encore."))
    one.until(lambda: one.window.messages.find.count.text() == "1 sur 2")
    one.engine.emit(TurnsRemoved(1, 1))
    one.until(lambda: one.window.messages.find.count.text() == "1 sur 1")


def test_escape_stops_the_voice_before_it_closes_the_search(opened: Opener) -> None:
    one = opened()
    talk(one, ("Un", "La mer."))
    find(one, "mer")
    one.engine.emit(StateChanged(State.SPEAKING))
    one.until(lambda: one.window.presence.state is State.SPEAKING)
    one.bot.keyClick(one.window.messages.find.field, Qt.Key.Key_Escape)
    one.until(lambda: len(one.engine.called("interrupt")) == 1)
    assert one.window.messages.find.isVisible()


# Thousands


def test_ten_thousand_messages_never_keep_the_window_away(opened: Opener) -> None:
    one = opened()
    one.bot.wait(700)  # bubbles are made ahead
    said = "Le vent se lève sur la mer et nous rentrons. " * 5
    turns = tuple(Exchange(n, f"Question {n}", f"{n} {said[: n * 7 % 200]}") for n in range(1, 5001))
    one.window.resize(1000, 760)
    one.settle()
    chat, bar = one.window.chat, one.window.chat.verticalScrollBar()
    watch = LoopWatch()
    late: dict[str, list[float]] = {}

    def step(name: str, act: Callable[[], object]) -> None:
        watch.restart()
        act()
        one.bot.wait(20)
        late.setdefault(name, []).append(watch.longest_ms)

    for _ in range(3):
        step("open", lambda: one.engine.emit(ConversationOpened(1, "x", turns)))
    one.until(lambda: one.window.transcript.rowCount() == 10_000)
    assert bar.value() == bar.maximum() and len(chat.bubbles) < 40
    last = chat.bubbles[-1]
    assert last.message is one.window.transcript.message(9_999) and last.geometry().bottom() < chat.viewport().height()
    for n in range(8):
        step("page", lambda: bar.setValue(bar.value() - bar.pageStep()))
        step("jump", lambda n=n: bar.setValue(bar.maximum() * n // 8))
    chat.follow()
    for n in range(5):
        step("append", lambda n=n: one.window.transcript.user_text(5001 + n, said))
    for n in range(4):
        step("resize", lambda n=n: one.window.resize(1000 + 40 * n, 760))
    assert bar.value() == bar.maximum()
    assert all(min(times) <= LATE_MS and max(times) <= NEVER_MS for times in late.values()), late


def test_every_message_is_reached_by_scrolling(opened: Opener) -> None:
    one = opened()
    turns = tuple(Exchange(n, f"Question {n}", f"Réponse {n}. " * (1 + n % 30)) for n in range(1, 101))
    one.window.transcript.show_conversation(turns)
    chat, bar = one.window.chat, one.window.chat.verticalScrollBar()
    bar.setValue(0)
    seen: set[int] = set()
    for _ in range(400):
        view = chat.viewport().height()
        for bubble in chat.bubbles:
            if bubble.y() < view and bubble.geometry().bottom() > 0:
                row = chat.row_of(bubble)
                assert row is not None and bubble.message is one.window.transcript.message(row)
                seen.add(row)
        boxes = sorted((bubble.geometry() for bubble in chat.bubbles), key=lambda box: box.top())
        assert all(a.bottom() < b.top() for a, b in itertools.pairwise(boxes))
        if bar.value() == bar.maximum():
            break
        bar.setValue(bar.value() + bar.pageStep() // 2)
    assert seen == set(range(200))
