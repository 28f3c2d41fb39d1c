"""The conversation's microphone, closed while the window itself records or plays, then as the user wants it."""

from collections.abc import Callable

from kazeia_desktop.gui.bridge import EngineBridge


class QuietMicrophone:
    """One for the window; several parts may want quiet at once. Lives in the window's thread."""

    def __init__(self, bridge: EngineBridge) -> None:
        self._bridge = bridge
        self._wanted = 0

    def begin(self) -> Callable[[], None]:
        """Close the microphone; the returned call ends that, once."""
        self._wanted += 1
        if self._wanted == 1:
            self._bridge.hold_microphone(True)
        over = False

        def end() -> None:
            nonlocal over
            if over:
                return
            over = True
            self._wanted -= 1
            if self._wanted == 0:
                self._bridge.hold_microphone(False)

        return end
