"""Finding words in thousands of messages, a little at a time."""

import time
import unicodedata
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal

from kazeia_desktop.gui.transcript import Transcript

_SLICE_S: Final = 0.006
_TELL_S: Final = 0.06
MOST_FOUND: Final = 2000
"""Places that are counted; who finds more writes more."""


class _Fold(dict[int, int]):
    """One character for one: lower case, without its accents."""

    def __missing__(self, code: int) -> int:
        plain = unicodedata.normalize("NFD", chr(code))[0].lower()
        self[code] = ord(plain) if len(plain) == 1 else code
        return self[code]


_FOLD: Final = _Fold()


def folded(text: str) -> str:
    """The text without case and accents, each character where it was. Expects NFC, as everything that is shown."""
    return text.translate(_FOLD)


def places(text: str, wanted: str) -> tuple[tuple[int, int], ...]:
    """Where `wanted` (folded) is in the text: start and end of each."""
    found, at, there = [], 0, folded(text)
    while wanted and (at := there.find(wanted, at)) >= 0:
        found.append((at, at + len(wanted)))
        at += len(wanted)
    return tuple(found)


class MessageSearch(QObject):
    """Looks through a transcript in slices of a few milliseconds, newest first.

    Attributes:
        marks: row -> places in its text, of what was found so far.
        done: whether all was looked through.
    """

    changed = Signal()

    def __init__(self, transcript: Transcript, parent: QObject, now: Callable[[], float] = time.perf_counter) -> None:
        super().__init__(parent)
        self._transcript = transcript
        self._now = now
        self._wanted = ""
        self._row = -1
        self._n = 0
        self._told_s = 0.0
        self.marks: dict[int, tuple[tuple[int, int], ...]] = {}
        self.done = True
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._go_on)

    def look_for(self, text: str) -> None:
        """Begin anew; `changed` tells of what is found."""
        self._wanted = folded(text.strip())
        self._row = self._transcript.rowCount() - 1
        self._n = 0
        self.marks = {}
        self.done = not self._wanted
        if self.done:
            self._timer.stop()
            self.changed.emit()
        else:
            self._timer.start()

    @property
    def n_found(self) -> int:
        return self._n

    def _go_on(self) -> None:
        until = self._now() + _SLICE_S
        self._row = min(self._row, self._transcript.rowCount() - 1)
        while self._row >= 0 and self._n < MOST_FOUND:
            found = places(self._transcript.message(self._row).text, self._wanted)
            if found:
                self.marks[self._row] = found
                self._n += len(found)
            self._row -= 1
            if self._now() >= until:
                break
        if self._row < 0 or self._n >= MOST_FOUND:
            self.done = True
            self._timer.stop()
        now_s = self._now()
        if self.done or now_s - self._told_s >= _TELL_S:
            self._told_s = now_s
            self.changed.emit()
