"""Texts that wrap within a greatest width get the lines they need, however wide the page is."""

import pytest
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from kazeia_desktop.gui.card import Card, plain_label, say
from kazeia_desktop.gui.theme import tokens_for
from kazeia_desktop.gui.words import Words

pytestmark = pytest.mark.gui


@pytest.mark.parametrize("width", [700, 1080, 1500, 2400])
def test_no_line_is_cut_in_a_list_that_scrolls(qtbot: QtBot, width: int) -> None:
    area = QScrollArea()
    qtbot.addWidget(area)
    area.setWidgetResizable(True)
    page = QWidget()
    column = QVBoxLayout(page)
    cards = []
    for _ in range(12):
        card = Card(Words("fr"), tokens_for("light"))
        for button in ("Écouter l'enregistrement", "Recommencer l'enregistrement", "Choisir un fichier…") * 2:
            card.action().setText(button)
        say(card.detail, "Un texte de plusieurs lignes. " * 9)
        column.addWidget(card)
        cards.append(card)
    column.addStretch(1)
    area.setWidget(page)
    area.resize(width, 500)
    area.show()
    qtbot.wait(50)
    for card in cards:
        assert card.width() <= 960
        assert card.detail.height() >= card.detail.heightForWidth(card.detail.width())
        assert all(button.geometry().bottom() <= button.parentWidget().height() for button in card.buttons)


def test_a_label_with_a_greatest_width_gets_its_lines(qtbot: QtBot) -> None:
    area = QScrollArea()
    qtbot.addWidget(area)
    area.setWidgetResizable(True)
    page = QWidget()
    column = QVBoxLayout(page)
    labels = [plain_label() for _ in range(30)]
    for label in labels:
        label.setMaximumWidth(200)
        label.setText("L'avez-vous entendu ? Sinon, montez le volume.")
        column.addWidget(label)
    area.setWidget(page)
    area.resize(1000, 300)
    area.show()
    qtbot.wait(50)
    assert all(label.height() >= label.heightForWidth(label.width()) > label.fontMetrics().height() for label in labels)
