"""Memory and processor over the last minutes: sampled once a second while it is seen, and only then."""

from collections import deque
from typing import Final

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QLabel, QVBoxLayout, QWidget

from kazeia_desktop.gui.activity.plot import SPAN_S, Plot
from kazeia_desktop.gui.activity.process_load import ProcessLoad, Sample
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words

PERIOD_MS: Final = 1000
_MB: Final = 1e6


class _Titled(QWidget):
    """A plot under its title, with its figures in words."""

    def __init__(self, tokens: Tokens, parent: QWidget) -> None:
        super().__init__(parent)
        self.title = QLabel(self)
        self.told = QLabel(self)
        self.told.setObjectName("quiet")
        self.told.setWordWrap(True)
        self.plot = Plot(tokens, self)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(GRID // 2)
        for part in (self.title, self.plot, self.told):
            box.addWidget(part)


class LoadView(QWidget):
    """Two plots, beside each other or, where it is narrow, one below the other."""

    def __init__(self, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._load = ProcessLoad()
        self.samples: deque[Sample] = deque(maxlen=round(1000 * SPAN_S / PERIOD_MS))
        self.memory = _Titled(tokens, self)
        self.cpu = _Titled(tokens, self)
        self._box = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(2 * GRID)
        for part in (self.memory, self.cpu):
            self._box.addWidget(part, 1, Qt.AlignmentFlag.AlignTop)
        self._timer = QTimer(self)
        self._timer.setInterval(PERIOD_MS)
        self._timer.setTimerType(Qt.TimerType.CoarseTimer)
        self._timer.timeout.connect(self.take)

    @property
    def sampling(self) -> bool:
        return self._timer.isActive()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._load.restart()
        self.take()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def take(self) -> None:
        """A sample now."""
        sample = self._load.sample()
        self.samples.append(sample)
        if sample.memory_bytes is not None:
            self.memory.plot.add(sample.at_s, sample.memory_bytes / _MB)
        if sample.cpu_percent is not None:
            self.cpu.plot.add(sample.at_s, sample.cpu_percent)
        self._tell()

    def set_narrow(self, narrow: bool) -> None:
        """One below the other where there is little room."""
        direction = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        self._box.setDirection(direction)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        for part in (self.memory, self.cpu):
            part.plot.dress(tokens)

    def retranslate(self) -> None:
        tr = self._words.tr
        self.memory.title.setText(tr("Memory"))
        self.memory.plot.set_unit(tr("MB"))
        self.cpu.title.setText(tr("Processor"))
        self.cpu.plot.set_unit("%")
        self._tell()

    def _tell(self) -> None:
        tr = self._words.tr
        memory, cpu = self.memory.plot.values, self.cpu.plot.values
        if memory:
            self.memory.told.setText(
                tr("{now} MB now; between {least} and {most} MB in these five minutes",
                   now=round(memory[-1]), least=round(min(memory)), most=round(max(memory)))
            )  # fmt: skip
        else:
            self.memory.told.setText(tr("This system does not tell how much memory an app takes."))
        if cpu:
            mean = sum(cpu) / len(cpu)
            self.cpu.told.setText(
                tr("{now} % of a core now; {mean} % on average, {most} % at most in these five minutes",
                   now=round(cpu[-1]), mean=round(mean), most=round(max(cpu)))
            )  # fmt: skip
        else:
            self.cpu.told.setText(tr("Measured once a second while this page is seen."))
        for part in (self.memory, self.cpu):
            part.plot.setAccessibleName(tr("{what}: {text}", what=part.title.text(), text=part.told.text()))
