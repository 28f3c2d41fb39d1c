"""First sight of an empty conversation: what to do, and what runs on which part of the machine."""

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from kazeia_desktop.events import State
from kazeia_desktop.gui.states import capital, part_word
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words


class Welcome(QWidget):
    """One line that says what to do; under it the progress of loading, or what runs where, and the offer to go on with
    the last conversation.
    """

    go_on_wanted = Signal()

    def __init__(self, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._state = State.LOADING
        self._placement: Mapping[str, str] = {}
        self._progress_text = ""
        self._line = QLabel(self)
        self._line.setObjectName("welcome")
        self._detail = QLabel(self)
        self._detail.setObjectName("quiet")
        for label in (self._line, self._detail):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self._last = ""
        self.go_on = QPushButton(self)
        self.go_on.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.go_on.clicked.connect(self.go_on_wanted)
        self.go_on.hide()
        box = QVBoxLayout(self)
        box.setSpacing(2 * GRID)
        box.addStretch(3)
        box.addWidget(self._line)
        box.addWidget(self._detail)
        box.addWidget(self.go_on, 0, Qt.AlignmentFlag.AlignHCenter)
        box.addStretch(4)
        self.dress(tokens)
        self.retranslate()

    def dress(self, tokens: Tokens) -> None:
        """Nothing here has a colour of its own."""

    def set_state(self, state: State) -> None:
        self._state = state
        self.retranslate()

    def offer(self, title: str) -> None:
        """Offer to go on with the last conversation; "" for none."""
        self._last = title
        self.go_on.setVisible(bool(title))
        self.retranslate()

    def set_progress(self, text: str) -> None:
        """What is being loaded."""
        self._progress_text = text
        self.retranslate()

    def set_placement(self, placement: Mapping[str, str]) -> None:
        """Part -> what runs where."""
        self._placement = placement
        self.retranslate()

    def retranslate(self) -> None:
        tr = self._words.tr
        self.go_on.setText(tr("Continue “{title}”", title=self._last.replace("&", "&&")))
        match self._state:
            case State.LOADING:
                line = tr("Kazeia is getting ready")
            case State.ERROR:
                line = tr("Kazeia cannot start")
            case State.IDLE:
                line = tr("Write, I will answer")
            case State.MUTED:
                line = tr("The microphone is off: write, or switch it on")
            case _:
                line = tr("Speak, I am listening")
        self._line.setText(line)
        if self._state is State.LOADING:
            detail = self._progress_text
        elif self._state is State.ERROR:
            detail = ""
        else:
            detail = "\n".join(
                tr("{what}: {text}", what=capital(part_word(part, self._words)), text=where)
                for part, where in self._placement.items()
                if where
            )
        self._detail.setText(detail)
