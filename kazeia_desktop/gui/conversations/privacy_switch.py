"""Whether conversations are kept, said plainly, with the switch that changes it."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words


class PrivacySwitch(QFrame):
    """Asks for a change; shows what counts."""

    wanted = Signal(bool)  # whether to keep conversations

    def __init__(self, keeps: bool, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._tokens = tokens
        self.setObjectName("card")
        self.icon = QLabel(self)
        self.icon.setFixedSize(20, 20)
        self.told = QLabel(self)
        self.told.setWordWrap(True)
        self.switch = QCheckBox(self)
        self.switch.setChecked(keeps)
        self.switch.clicked.connect(self.wanted)
        top = QHBoxLayout()
        top.setSpacing(GRID)
        top.addWidget(self.icon)
        top.addWidget(self.told, 1)
        box = QVBoxLayout(self)
        box.setContentsMargins(GRID + 4, GRID, GRID + 4, 0)
        box.setSpacing(0)
        box.addLayout(top)
        box.addWidget(self.switch)
        self.dress(tokens)
        self.retranslate()

    def show_keeps(self, keeps: bool) -> None:
        """What the settings say."""
        self.switch.setChecked(keeps)
        self.retranslate()

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        self.retranslate()

    def retranslate(self) -> None:
        tr, keeps = self._words.tr, self.switch.isChecked()
        self.icon.setPixmap(icons.icon("check" if keeps else "private", self._tokens.text, 20).pixmap(20, 20))
        self.told.setText(tr("Kept, on this machine only.") if keeps else tr("Private: nothing is kept."))
        self.switch.setText(tr("Keep conversations"))
        self.switch.setAccessibleDescription(self.told.text())
        self.switch.setToolTip(
            tr("What is kept stays until you delete it.")
            if keeps
            else tr("What is said is forgotten when Kazeia closes or a new conversation begins.")
        )
