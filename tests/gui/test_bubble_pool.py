"""Bubbles are made before they are needed, and used again."""

import pytest
from PySide6.QtWidgets import QAbstractScrollArea
from pytestqt.qtbot import QtBot

from kazeia_desktop.gui.bubble import Bubble
from kazeia_desktop.gui.bubble_pool import BubblePool
from kazeia_desktop.gui.theme import DARK, LIGHT
from kazeia_desktop.gui.transcript import Message, Speaker
from kazeia_desktop.gui.words import Words

pytestmark = pytest.mark.gui

WIDTHS = (400, False)


def test_bubbles_are_made_ahead_used_again_and_bounded(qtbot: QtBot) -> None:
    view = QAbstractScrollArea()
    qtbot.addWidget(view)
    shown: list[Bubble] = []
    made: list[Bubble] = []
    pool = BubblePool(view, Words("fr"), LIGHT, lambda: shown, made.append)
    pool.fill(WIDTHS)
    qtbot.waitUntil(lambda: len(made) == 6)
    first = pool.take(Message(1, Speaker.USER, "Bonjour"), WIDTHS)
    assert first in made and first.message.text == "Bonjour" and len(made) == 6
    pool.give_back(first)
    again = pool.take(Message(2, Speaker.USER, "Encore"), WIDTHS)
    assert again is first and again.message.text == "Encore" and first.isHidden()
    shown += [again, *(pool.take(Message(n, Speaker.USER, str(n)), WIDTHS) for n in range(3, 12))]
    assert len(made) == 6 + 7
    pool.dress(DARK)
    pool.retranslate()
    for bubble in shown:
        pool.give_back(bubble)
    kept = {id(pool.take(Message(n, Speaker.USER, str(n)), WIDTHS)) for n in range(20, 26)}
    assert kept <= {id(bubble) for bubble in made[:13]}, "so many are kept"
    pool.take(Message(30, Speaker.USER, "neu"), WIDTHS)
    assert len(made) == 14, "and no more"
