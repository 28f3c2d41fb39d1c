"""The conversation's microphone, closed while the window itself records or plays, and put back as it was."""

from collections.abc import Callable

from kazeia_desktop.gui.bridge import EngineBridge


class QuietMicrophone:
    """One for the window; several parts may want quiet at once. Lives in the window's thread."""

    def __init__(self, bridge: EngineBridge) -> None:
        self._bridge = bridge
        self._wanted = 0
        self._was_muted = False

    def begin(self) -> Callable[[], None]:
        """Close the microphone; the returned call ends that, once."""
        if self._wanted == 0:
            self._was_muted = self._bridge.muted
            self._bridge.set_muted(True)
        self._wanted += 1
        over = False

        def end() -> None:
            nonlocal over
            if over:
                return
            over = True
            self._wanted -= 1
            if self._wanted == 0 and not self._was_muted:
                self._bridge.set_muted(False)

        return end
