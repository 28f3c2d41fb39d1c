"""Qt's own words follow the language of the window."""

import pytest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel
from pytestqt.qtbot import QtBot

from kazeia_desktop.gui.qt_words import QtWords

pytestmark = pytest.mark.gui


def labels(qtbot: QtBot) -> set[str]:
    dialog = QFileDialog()
    qtbot.addWidget(dialog)
    dialog.setOption(QFileDialog.Option.DontUseNativeDialog, True)
    dialog.show()
    return {label.text() for label in dialog.findChildren(QLabel)}


def test_the_file_dialog_speaks_french_and_english(qapp: QApplication, qtbot: QtBot) -> None:
    words = QtWords(qapp)
    try:
        words.use("fr")
        assert labels(qtbot) == {"&Regarder dans\u00a0:", "&Nom de fichier\u00a0:", "Fichiers de &type\u00a0:"}
        words.use("en")
        assert labels(qtbot) == {"&Look in:", "File &name:", "Files of &type:"}
        words.use("fr")
        assert "&Regarder dans\u00a0:" in labels(qtbot)
    finally:
        words.use("en")
