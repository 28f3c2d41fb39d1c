"""The conversation's microphone, closed while the window itself records or plays, then as the user wants it."""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from kazeia_desktop.gui.bridge import EngineBridge

if TYPE_CHECKING:
    from kazeia_desktop.gui.pages.page import PageContext


class Use(StrEnum):
    """What the window does meanwhile, which the presence bar says; see `states.use_word`."""

    PAUSE = "pause"
    TEST = "test"
    RECORD = "record"
    PLAY = "play"


class QuietMicrophone(QObject):
    """One for the window; several parts may want quiet at once, the last one is told. Lives in the window's thread."""

    changed = Signal(object)  # Use; None: the conversation has its microphone again

    def __init__(self, bridge: EngineBridge) -> None:
        super().__init__()
        self._bridge = bridge
        self._uses: list[tuple[object, Use]] = []

    @classmethod
    def of(cls, context: "PageContext") -> "QuietMicrophone":
        """The window's."""
        return context.shared(cls, lambda: cls(context.bridge))

    @property
    def use(self) -> Use | None:
        """What the window does now instead of listening."""
        return self._uses[-1][1] if self._uses else None

    def begin(self, use: Use = Use.PLAY) -> Callable[[], None]:
        """Close the microphone; the returned call ends that, once."""
        mark = object()
        self._uses.append((mark, use))
        if len(self._uses) == 1:
            self._bridge.hold_microphone(True)
        self.changed.emit(self.use)

        def end() -> None:
            kept = [one for one in self._uses if one[0] is not mark]
            if len(kept) == len(self._uses):
                return
            self._uses = kept
            if not kept:
                self._bridge.hold_microphone(False)
            self.changed.emit(self.use)

        return end
