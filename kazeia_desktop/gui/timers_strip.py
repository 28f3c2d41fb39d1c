"""Timers and alarms that will ring, small above the presence bar, each with a way to cancel it."""

import datetime
import math
import time
from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.jobs import Jobs
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words
from kazeia_desktop.llm.tools.timers import ALARM, Pending

_SHOWN: Final = 3
_TICK_MS: Final = 1000


class _Chip(QFrame):
    """One timer or alarm."""

    def __init__(self, pending: Pending, parent: QWidget) -> None:
        super().__init__(parent)
        self.pending = pending
        self.setObjectName("card")
        self.icon = QLabel(self)
        self.icon.setFixedSize(18, 18)
        self.text = QLabel(self)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.cancel = QToolButton(self)
        self.cancel.setObjectName("chip")
        self.cancel.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        box = QHBoxLayout(self)
        box.setContentsMargins(GRID + 2, 2, 4, 2)
        box.setSpacing(GRID - 2)
        box.addWidget(self.icon)
        box.addWidget(self.text)
        box.addWidget(self.cancel)


class TimersStrip(QWidget):
    """Hidden while nothing is pending. Asks the engine after each turn, counts by itself in between."""

    def __init__(
        self,
        bridge: EngineBridge,
        jobs: Jobs,
        words: Words,
        tokens: Tokens,
        now: Callable[[], float] = time.time,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._jobs = jobs
        self._words = words
        self._tokens = tokens
        self._now = now
        self.chips: list[_Chip] = []
        self._more = QLabel(self)
        self._more.setObjectName("quiet")
        self._box = QHBoxLayout(self)
        self._box.setContentsMargins(2 * GRID, GRID // 2, 2 * GRID, GRID)
        self._box.setSpacing(GRID)
        self._box.addWidget(self._more)
        self._box.addStretch(1)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._tick = QTimer(self)
        self._tick.setInterval(_TICK_MS)
        self._tick.timeout.connect(self._count)
        bridge.turn_ended.connect(self.refresh)
        bridge.ready.connect(self.refresh)
        self.hide()

    def refresh(self) -> None:
        """Ask the engine what is pending."""
        if self._bridge.engine is not None:
            self._jobs.run("timers", lambda _token, _report: self._ask(), self.show_pending)

    def _ask(self) -> list[Pending]:
        engine = self._bridge.engine
        errands = None if engine is None else engine.errands
        return [] if errands is None else errands.pending()

    def show_pending(self, pending: Sequence[Pending]) -> None:
        """Show these, the next first."""
        for chip in self.chips:
            self._box.removeWidget(chip)
            chip.deleteLater()
        self.chips = []
        for at, one in enumerate(pending[:_SHOWN]):
            chip = _Chip(one, self)
            chip.cancel.clicked.connect(lambda _checked, gone=one: self._cancel(gone))
            self._box.insertWidget(at, chip)
            self.chips.append(chip)
        hidden = len(pending) - len(self.chips)
        self._more.setText(self._words.tr("and {n} more", n=hidden) if hidden > 0 else "")
        self._more.setVisible(hidden > 0)
        self.setVisible(bool(pending))
        if pending:
            self._tick.start()
        else:
            self._tick.stop()
        self.dress(self._tokens)
        self.retranslate()

    def _cancel(self, gone: Pending) -> None:
        def work() -> list[Pending]:
            engine = self._bridge.engine
            if engine is not None and engine.errands is not None:
                engine.errands.cancel([gone])
            return self._ask()

        self._jobs.run("timers", lambda _token, _report: work(), self.show_pending)

    def _count(self) -> None:
        if any(chip.pending.due_s < self._now() - 1 for chip in self.chips):
            self.refresh()  # it rang, or somebody speaks
        if self.window().isVisible():
            self.retranslate()

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        for chip in self.chips:
            name = "alarm" if chip.pending.kind == ALARM else "timer"
            chip.icon.setPixmap(icons.icon(name, tokens.text, 18).pixmap(18, 18))
            chip.cancel.setIcon(icons.icon("close", tokens.text, 14))

    def retranslate(self) -> None:
        tr = self._words.tr
        for chip in self.chips:
            one = chip.pending
            if one.kind == ALARM:
                due = datetime.datetime.fromtimestamp(one.due_s)
                told = tr("Alarm at {time}", time=due.strftime("%H:%M"))
            else:
                told = tr("Timer {left}", left=_left(one.due_s - self._now()))
            text = tr("{what}: {text}", what=told, text=one.label) if one.label else told
            if text != chip.text.text():
                chip.text.setText(text)
            chip.cancel.setToolTip(tr("Cancel it"))
            chip.cancel.setAccessibleName(tr("Cancel “{what}”", what=told if one.kind == ALARM else one.label or told))


def _left(seconds: float) -> str:
    """4:05, or 1:04:05."""
    whole = max(0, math.ceil(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, seconds_left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{seconds_left:02}" if hours else f"{minutes}:{seconds_left:02}"
