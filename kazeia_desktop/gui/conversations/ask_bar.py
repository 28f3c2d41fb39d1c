"""A question inside the window, in the place of a dialog: delete this?"""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from kazeia_desktop.gui.theme import GRID
from kazeia_desktop.gui.words import Words


class AskBar(QFrame):
    """One question, two answers. Escape and leaving it unanswered mean no.

    Attributes:
        yes, no: the buttons. The focus goes to `no`: Enter pressed in haste deletes nothing.
    """

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._act: Callable[[], None] | None = None
        self._title = ""
        self.setObjectName("banner")
        self.text = QLabel(self)
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.yes, self.no = QPushButton(self), QPushButton(self)
        for button in (self.no, self.yes):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.yes.clicked.connect(self._agree)
        self.no.clicked.connect(self.dismiss)
        buttons = QHBoxLayout()
        buttons.setSpacing(GRID)
        buttons.addStretch(1)
        buttons.addWidget(self.no)
        buttons.addWidget(self.yes)
        box = QVBoxLayout(self)
        box.setContentsMargins(GRID + 4, GRID, GRID + 4, GRID)
        box.setSpacing(GRID)
        box.addWidget(self.text)
        box.addLayout(buttons)
        self.hide()

    def ask_to_delete(self, title: str, act: Callable[[], None]) -> None:
        """Ask whether to delete what is called `title`; `act` is called when the answer is yes."""
        self._title, self._act = title, act
        self.retranslate()
        self.show()
        self.no.setFocus()

    def dismiss(self) -> None:
        """No."""
        self._act = None
        self.hide()

    def _agree(self) -> None:
        act, self._act = self._act, None
        self.hide()
        if act is not None:
            act()

    def take_back(self) -> bool:
        """Escape, see `card.take_back`: no."""
        asked = self._act is not None
        if asked:
            self.no.click()
        return asked

    def retranslate(self) -> None:
        tr = self._words.tr
        self.text.setText(tr("Delete “{title}” for good?", title=self._title))
        self.yes.setText(tr("Delete"))
        self.no.setText(tr("Keep"))
