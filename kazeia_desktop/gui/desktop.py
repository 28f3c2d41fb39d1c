"""The window among the others of the desktop: shown, hidden, ended, remembered; the tray; what others ask of it."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtWidgets import QApplication

from kazeia_desktop.errors import SettingsError
from kazeia_desktop.events import Failed, Notice, State, TurnEnded
from kazeia_desktop.gui import geometry
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.geometry import WindowPlace
from kazeia_desktop.gui.jobs import Jobs
from kazeia_desktop.gui.tray import Tray
from kazeia_desktop.gui.words import Words
from kazeia_desktop.paths import Paths
from kazeia_desktop.runtime.autostart import renew, start_at_login
from kazeia_desktop.runtime.global_shortcut import GlobalShortcut, session_bus
from kazeia_desktop.runtime.single_instance import Answer
from kazeia_desktop.settings.schema import Settings

if TYPE_CHECKING:
    from kazeia_desktop.gui.main_window import MainWindow

_log = logging.getLogger(__name__)

_SAVE_MS = 2000
"""After the window was last moved."""


class Desktop(QObject):
    """What the window and the desktop have to do with each other.

    Attributes:
        tray: optional; nothing depends on it.
        bus: where the session bus is, for the key of the whole desktop.
        autostart: changes what starts with the session; called in a job.
    """

    def __init__(
        self,
        window: "MainWindow",
        bridge: EngineBridge,
        jobs: Jobs,
        words: Words,
        paths: Paths,
        settings: Callable[[], Settings],
    ) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._jobs = jobs
        self._words = words
        self._file = paths.window_file
        self._settings = settings
        self._quitting = False
        self._told_hidden = False
        self._asked: set[int] = set()
        self._place: WindowPlace | None = None
        self.autostart: Callable[[bool], None] = start_at_login
        self.bus = session_bus()
        self._key: GlobalShortcut | None = None
        self.tray = Tray(words, window)
        self.tray.show_wanted.connect(self.show_window)
        self.tray.mute_wanted.connect(window.set_muted)
        self.tray.stop_wanted.connect(bridge.interrupt)
        self.tray.new_wanted.connect(window.new_conversation)
        self.tray.quit_wanted.connect(self.quit)
        bridge.state_changed.connect(self.tray.set_state)
        bridge.user_text.connect(lambda turn, _text: self._asked.add(turn))
        bridge.turn_ended.connect(self._turn_ended)
        self._save = QTimer(self)
        self._save.setSingleShot(True)
        self._save.setInterval(_SAVE_MS)
        self._save.timeout.connect(self._save_place)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.commitDataRequest.connect(self._session_ends)

    # Shown and hidden

    def appear(self, place: WindowPlace, hidden: bool) -> None:
        """Open the window where it was; hidden only where a tray can show it again."""
        window = self._window
        fits = geometry.fitting(place, geometry.usable_screens(), window.smallest)
        if fits is not None:
            window.setGeometry(fits)
        self._place = place
        window.body.open_sidebar(place.sidebar and not window.narrow)
        self.tray.start()
        self._take_key(self._settings().system.global_shortcut)
        if self._settings().system.start_at_login:
            self._jobs.run("autostart", lambda _token, _report: renew(), failed=self._no_autostart)
        if hidden and self.tray.is_there:
            return
        if place.maximized:
            window.showMaximized()
        else:
            window.show()

    def show_window(self, shown: bool) -> None:
        """Show the window in front of the others, or hide it; without a tray it is made small instead."""
        window = self._window
        if shown:
            if window.isMinimized():
                window.showNormal()
            window.show()
            window.raise_()
            window.activateWindow()
        elif self.tray.is_there:
            window.hide()
        else:
            window.showMinimized()
        self.tray.retranslate()

    def hide(self) -> None:
        """The window was closed but goes on in the tray; that is told once."""
        self._window.hide()
        if not self._told_hidden:
            self._told_hidden = True
            self.tray.tell("Kazeia", self._words.tr("Kazeia goes on here; quit by this icon's menu."))

    @property
    def hides(self) -> bool:
        """Whether closing the window only hides it."""
        return self._settings().system.keep_in_tray and self.tray.is_there and not self._quitting

    @Slot()
    def quit(self) -> None:
        """End the app, whatever closing the window means."""
        self._quitting = True
        self._window.close()

    def _session_ends(self) -> None:
        self._quitting = True

    def serve(self, request: str) -> Answer:
        """Do what another start of Kazeia or a command asks; see `cli.running`. Returns what is so then."""
        window, state = self._window, self._window.presence.state
        match request:
            case "show":
                self.show_window(True)
            case "quit":
                QTimer.singleShot(0, self.quit)
                return {"state": "closed"}
            case "toggle" if window.presence.mute.isEnabled() and state not in (State.LOADING, State.ERROR):
                muted = not window.presence.mute.isChecked()
                window.set_muted(muted)
                state = State.MUTED if muted else State.LISTENING
            case "toggle":
                self.show_window(not (window.isVisible() and window.isActiveWindow()))
        return {"state": state.value, "window": "shown" if window.isVisible() else "hidden"}

    # Remembered

    def moved(self) -> None:
        """The window has another place, or something was opened in it."""
        if self._place is not None:
            self._save.start()

    def close(self) -> None:
        """The window closes."""
        if self._place is not None:
            self._save_place()
        self._save.stop()
        self.tray.close()
        self._take_key("")

    def _save_place(self) -> None:
        window = self._window
        frame = window.normalGeometry() if window.isMaximized() else window.geometry()
        place = WindowPlace(
            frame.x(), frame.y(), frame.width(), frame.height(), window.isMaximized(), window.body.sidebar_open
        )
        if place != self._place:
            self._place = place
            self._jobs.run("place", lambda _token, _report: geometry.save(self._file, place))

    # Settings and news

    def apply(self, old: Settings, new: Settings) -> None:
        """Take over what belongs to the system."""
        wanted = new.system.start_at_login
        if wanted != old.system.start_at_login:
            self._jobs.run("autostart", lambda _token, _report: self.autostart(wanted), failed=self._no_autostart)

        if new.system.global_shortcut != old.system.global_shortcut:
            self._take_key(new.system.global_shortcut)

    def _take_key(self, keys: str) -> None:
        """Hold this key of the whole desktop in place of the one before; "" for none."""
        if self._key is not None:
            self._key.close()
            self._key = None
        if keys:
            self._key = GlobalShortcut(
                self.bus,
                keys,
                self._words.tr("Microphone on or off"),
                lambda: self._jobs.post(self._pressed),
                lambda: self._jobs.post(self._no_key),
            )

    def _pressed(self) -> None:
        self.serve("toggle")

    def _no_key(self) -> None:
        self._bridge.notice.emit(
            Notice("This desktop gives no key to Kazeia: bind one to `kazeia toggle` in its own settings.", {})
        )

    def _no_autostart(self, error: Exception) -> None:
        if isinstance(error, SettingsError):
            self._bridge.failed.emit(Failed(error.template, error.values, "", fatal=False))

    def retranslate(self) -> None:
        self.tray.retranslate()

    @Slot(object)
    def _turn_ended(self, ended: TurnEnded) -> None:
        """Somebody who does not see the window hears of what rings, and of replies where that is wanted."""
        asked = ended.turn_id in self._asked
        self._asked.discard(ended.turn_id)
        wanted = self._settings().system.notifications
        if ended.reason != "done" or not ended.reply or wanted == "off" or (asked and wanted != "all"):
            return
        if not self._window.isVisible() or self._window.isMinimized():
            self.tray.tell("Kazeia", ended.reply)
