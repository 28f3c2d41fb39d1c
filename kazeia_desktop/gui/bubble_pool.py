"""The bubbles that draw no message now: making one takes milliseconds, giving one another message does not."""

import itertools
from collections.abc import Callable, Iterable
from typing import Final

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QAbstractScrollArea

from kazeia_desktop.gui.bubble import Bubble
from kazeia_desktop.gui.theme import Tokens
from kazeia_desktop.gui.transcript import Message, Speaker
from kazeia_desktop.gui.words import Words

_POOLED: Final = 6
_WARM: Final = 3
_WARM_MS: Final = 40
"""So many bubbles of each speaker are made before they are needed, one at a time."""


class BubblePool(QObject):
    """Hands out bubbles and takes them back.

    Args:
        view: bubbles are children of its viewport.
        shown: the bubbles that draw messages now.
        join: told of each new one.
    """

    def __init__(
        self,
        view: QAbstractScrollArea,
        words: Words,
        tokens: Tokens,
        shown: Callable[[], Iterable[Bubble]],
        join: Callable[[Bubble], None],
    ) -> None:
        super().__init__(view)
        self._view = view
        self._words = words
        self._tokens = tokens
        self._shown = shown
        self._join = join
        self._widths = (0, False)
        self._free: dict[Speaker, list[Bubble]] = {speaker: [] for speaker in Speaker}
        self._timer = QTimer(self)
        self._timer.setInterval(_WARM_MS)
        self._timer.timeout.connect(self._make_one)

    def take(self, message: Message, widths: tuple[int, bool]) -> Bubble:
        """A bubble for the message.

        Args:
            widths: see Bubble.set_width.
        """
        free = self._free[message.speaker]
        if not free:
            return self._made(message, widths)
        bubble = free.pop()
        bubble.set_width(*widths)
        bubble.bind(message)
        return bubble

    def give_back(self, bubble: Bubble) -> None:
        """It draws no message any more."""
        bubble.end_edit()
        bubble.hide()
        free = self._free[bubble.message.speaker]
        if len(free) < _POOLED:
            free.append(bubble)
        else:
            bubble.deleteLater()

    def fill(self, widths: tuple[int, bool]) -> None:
        """Make some before they are needed."""
        self._widths = widths
        self._timer.start()

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme, in all that exist."""
        self._tokens = tokens
        for bubble in self._all():
            bubble.dress(tokens)

    def retranslate(self) -> None:
        """Write every text anew, in all that exist."""
        for bubble in self._all():
            bubble.retranslate()

    def _all(self) -> Iterable[Bubble]:
        return itertools.chain(self._shown(), *self._free.values())

    def _made(self, message: Message, widths: tuple[int, bool]) -> Bubble:
        bubble = Bubble(message, self._words, self._tokens, self._view.viewport())
        self._join(bubble)
        bubble.set_width(*widths)
        return bubble

    def _make_one(self) -> None:
        for speaker, free in self._free.items():
            there = len(free) + sum(bubble.message.speaker is speaker for bubble in self._shown())
            if there < _WARM:
                bubble = self._made(Message(0, speaker, "…"), self._widths)
                bubble.hide()
                free.append(bubble)
                return
        self._timer.stop()
