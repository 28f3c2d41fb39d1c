"""All conversations at once: asked inside the window, and then none of them is left."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from kazeia_desktop.memory.conversations import ConversationStore
from tests.gui.conftest import Opened, Opener
from tests.gui.test_conversations import keep, opened_list, titles
from tests.gui.test_conversations import kept as kept  # the fixture

pytestmark = pytest.mark.gui


def left(file: Path) -> int:
    store = ConversationStore(file)
    n = len(store.summaries())
    store.close()
    return n


def asked(one: Opened) -> None:
    part = one.window.sidebar.delete_all
    assert part.isVisible() and not part.ask.isVisible()
    part.button.click()
    assert part.ask.isVisible() and part.ask.no.hasFocus()


def test_no_is_the_answer_of_haste(opened: Opener, kept: Path) -> None:
    one = opened_list(opened)
    part = one.window.sidebar.delete_all
    for leave in (Qt.Key.Key_Return, Qt.Key.Key_Escape):
        asked(one)
        assert part.ask.text.text() == (
            "Supprimer pour toujours les 3 conversations\u202f? Rien ne les ramènera."
        )  # no dialog, and how many
        QTest.keyClick(part.ask.no, leave)
        assert not part.ask.isVisible(), leave
    one.settle()
    assert len(titles(one)) == 3 and left(kept) == 3


def test_none_is_left_after_yes(opened: Opener, kept: Path) -> None:
    one = opened_list(opened)
    one.window.sidebar.model.set_current(2)
    opened_anew: list[object] = []
    one.window._bridge.conversation_opened.connect(opened_anew.append)
    one.window._bridge._engine = None  # before the models are there: the files
    asked(one)
    one.window.sidebar.delete_all.ask.yes.click()
    one.until(lambda: titles(one) == [] and not one.window.sidebar.delete_all.isVisible())
    assert left(kept) == 0 and len(opened_anew) == 1
    assert one.window.sidebar.note.text() == "Toutes les conversations sont supprimées."
    assert one.window.sidebar.new.hasFocus()


def test_the_engine_forgets_what_it_has_open(opened: Opener, kept: Path, tmp_path: Path) -> None:
    one = opened_list(opened)
    store = ConversationStore(kept)
    called: list[str] = []

    class Kept:
        current = 2
        store: ConversationStore

        def delete_all(self) -> int:
            called.append("all")
            return self.store.delete_all()

    memory = Kept()
    memory.store = store
    one.engine.memory = memory  # type: ignore[assignment]
    asked(one)
    one.window.sidebar.delete_all.ask.yes.click()
    one.until(lambda: titles(one) == [])
    assert called == ["all"] and one.engine.called("new_conversation")
    one.engine.memory = None
    store.close()


def test_one_conversation_is_told_in_the_singular(opened: Opener, tmp_path: Path) -> None:
    keep(tmp_path / "data" / "conversations.db", ("Une recette", "De la farine."))
    one = opened(values={"privacy.keep_conversations": True})
    one.window.body.open_sidebar(True)
    one.until(lambda: one.window.sidebar.delete_all.isVisible())
    asked(one)
    assert "la seule conversation" in one.window.sidebar.delete_all.ask.text.text()
