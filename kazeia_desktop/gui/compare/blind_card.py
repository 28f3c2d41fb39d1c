"""Listening without knowing which is which."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton

from kazeia_desktop.gui.card import Card, say
from kazeia_desktop.gui.compare.blind import A, B, Blind, chance
from kazeia_desktop.gui.theme import Tokens
from kazeia_desktop.gui.words import Words

_SURE = 0.05


class BlindCard(Card):
    """Buttons for X and Y, what is preferred, and Reveal. `play_wanted`: a side is to be heard."""

    play_wanted = Signal(int, str)  # side, the letter under which it is heard

    def __init__(self, words: Words, tokens: Tokens, blind: Blind | None = None) -> None:
        super().__init__(words, tokens)
        self.blind = blind or Blind()
        self._revealed = False
        self.play_x, self.play_y = self.action(), self.action()
        self.like_x, self.like_y, self.like_none = self.action(), self.action(), self.action()
        self.reveal = self.action("primary")
        self.message.setObjectName("")
        self.play_x.clicked.connect(lambda: self.play_wanted.emit(self.blind.side(True), "X"))
        self.play_y.clicked.connect(lambda: self.play_wanted.emit(self.blind.side(False), "Y"))
        self.like_x.clicked.connect(lambda: self._prefer(True))
        self.like_y.clicked.connect(lambda: self._prefer(False))
        self.like_none.clicked.connect(lambda: self._prefer(None))
        self.reveal.clicked.connect(self._reveal)
        self.retranslate()

    def forget(self) -> None:
        """Other sounds: no round was played."""
        self.blind.forget()
        self._revealed = False
        self.retranslate()

    def _prefer(self, is_x: bool | None) -> None:
        if self._revealed:
            self.blind.forget()
            self._revealed = False
        self.blind.prefer(is_x)
        self.retranslate()
        self.play_x.setFocus()

    def _reveal(self) -> None:
        self._revealed = True
        self.retranslate()

    def _result(self) -> str:
        tr, blind, n = self.words.tr, self.blind, len(self.blind.rounds)
        if not n:
            return tr("X was {x}, Y was {y}.", x="AB"[blind.side(True)], y="AB"[blind.side(False)])
        told = tr(
            "A was preferred in {a} of {n} rounds, B in {b}, neither in {none}.",
            a=blind.liked(A), b=blind.liked(B), none=blind.liked(None), n=n,
        )  # fmt: skip
        by_round = ", ".join("AB"[one.x] for one in blind.rounds)
        sure = tr("That is hardly chance.") if chance(blind.rounds) < _SURE else tr("That could be chance.")
        return f"{told} {sure} {tr('X was, round by round: {sides}.', sides=by_round)}"

    def retranslate(self) -> None:
        """Write every text anew."""
        tr = self.words.tr
        self.title.setText(tr("Blind"))
        say(
            self.detail,
            tr("X and Y are A and B, drawn anew each round. Say which you prefer, as often as you like, then reveal."),
        )
        for button, text, told in (
            (self.play_x, tr("Play X"), tr("Play the sound of this round that is called X")),
            (self.play_y, tr("Play Y"), tr("Play the sound of this round that is called Y")),
            (self.like_x, tr("I prefer X"), tr("Note X as preferred and draw the next round")),
            (self.like_y, tr("I prefer Y"), tr("Note Y as preferred and draw the next round")),
            (self.like_none, tr("No difference"), tr("Note no preference and draw the next round")),
            (self.reveal, tr("Reveal"), tr("Tell which was which, and what was preferred")),
        ):
            _name(button, text, told)
        n = len(self.blind.rounds)
        if self._revealed:
            say(self.message, self._result())
        else:
            say(self.message, tr("Rounds noted: {n}.", n=n) if n else "")
        self.message.setAccessibleName(self.message.text())


def _name(button: QPushButton, text: str, told: str) -> None:
    button.setText(text)
    button.setAccessibleName(text)
    button.setToolTip(told)
