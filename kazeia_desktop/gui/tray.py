"""The icon in the tray: what Kazeia is doing, the menu, and news when the window is hidden. Optional everywhere."""

from typing import Final

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QMenu, QSystemTrayIcon, QWidget

from kazeia_desktop.events import State
from kazeia_desktop.gui import icons
from kazeia_desktop.gui.presence_bar import BUSY
from kazeia_desktop.gui.quiet_microphone import Use
from kazeia_desktop.gui.states import UNUSED, state_word, use_word
from kazeia_desktop.gui.theme import DARK, state_color
from kazeia_desktop.gui.words import Words

_SIZE: Final = 64
_MESSAGE_CHARACTERS: Final = 200
_LOOKS: Final = 20
_LOOK_MS: Final = 3000
"""A tray may come later than an app that starts with the session."""


class Tray(QObject):
    """Shows itself where there is a tray. `is_there` tells whether the window may be hidden."""

    show_wanted = Signal(bool)
    mute_wanted = Signal(bool)
    stop_wanted = Signal()
    new_wanted = Signal()
    quit_wanted = Signal()

    def __init__(self, words: Words, window: QWidget) -> None:
        super().__init__(window)
        self._words = words
        self._window = window
        self._state = State.LOADING
        self._muted = False
        self._use: Use | None = None
        self._has_microphone = False
        self.icon = QSystemTrayIcon(self)
        self.menu = QMenu(window)
        self.shown = self.menu.addAction("")
        self.shown.triggered.connect(lambda: self.show_wanted.emit(not self._window_is_seen()))
        self.menu.addSeparator()
        self.mute = self.menu.addAction("")
        self.mute.setCheckable(True)
        self.mute.triggered.connect(self.mute_wanted)
        self.stop = self.menu.addAction("")
        self.stop.triggered.connect(self.stop_wanted)
        self.new = self.menu.addAction("")
        self.new.triggered.connect(self.new_wanted)
        self.menu.addSeparator()
        self.quit = self.menu.addAction("")
        self.quit.triggered.connect(self.quit_wanted)
        self.menu.aboutToShow.connect(self.retranslate)
        self.icon.setContextMenu(self.menu)
        self.icon.activated.connect(self._touched)
        self.icon.messageClicked.connect(lambda: self.show_wanted.emit(True))
        self._looks = 0
        self._look = QTimer(self)
        self._look.setInterval(_LOOK_MS)
        self._look.timeout.connect(self._appear)
        self.set_state(State.LOADING)

    def start(self) -> None:
        """Appear, now or when the tray comes."""
        self._appear()
        if not self.icon.isVisible():
            self._look.start()

    def _appear(self) -> None:
        self._looks += 1
        if QSystemTrayIcon.isSystemTrayAvailable():
            self.icon.show()
        if self.icon.isVisible() or self._looks > _LOOKS:
            self._look.stop()

    @property
    def is_there(self) -> bool:
        """Whether there is a tray that shows the icon."""
        return self.icon.isVisible() and QSystemTrayIcon.isSystemTrayAvailable()

    def close(self) -> None:
        """The app ends."""
        self._look.stop()
        self.icon.hide()

    def set_state(self, state: State) -> None:
        """What Kazeia is doing."""
        self._state = state
        if state is State.IDLE:
            self._has_microphone = False
        elif state in (State.LISTENING, State.HEARING, State.MUTED):
            self._has_microphone = True
        self.icon.setIcon(_icon(state))
        self.retranslate()

    def set_use(self, use: Use | None) -> None:
        """What the window itself does with microphone or loudspeaker."""
        self._use = use
        self.retranslate()

    def set_muted(self, muted: bool) -> None:
        self._muted = muted
        self.retranslate()

    def tell(self, title: str, text: str) -> None:
        """A notification; where the system shows none, nothing."""
        if self.is_there and QSystemTrayIcon.supportsMessages():
            short = text if len(text) <= _MESSAGE_CHARACTERS else text[:_MESSAGE_CHARACTERS].rstrip() + "…"
            self.icon.showMessage(title, short, icons.app_icon())

    def retranslate(self) -> None:
        tr = self._words.tr
        use = self._use if self._state in UNUSED else None
        told = state_word(self._state, self._words) if use is None else use_word(use, self._words)
        self.icon.setToolTip(f"Kazeia\n{told}")
        self.shown.setText(tr("Hide the window") if self._window_is_seen() else tr("Show the window"))
        self.mute.setText(tr("Microphone off"))
        self.mute.setChecked(self._muted)
        self.mute.setEnabled(self._has_microphone)
        self.stop.setText(tr("Stop"))
        self.stop.setEnabled(self._state in BUSY)
        self.new.setText(tr("New conversation"))
        self.quit.setText(tr("Quit Kazeia"))

    def _window_is_seen(self) -> bool:
        return self._window.isVisible() and not self._window.isMinimized()

    def _touched(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason is QSystemTrayIcon.ActivationReason.Trigger:
            self.show_wanted.emit(not (self._window_is_seen() and self._window.isActiveWindow()))


def _icon(state: State) -> QIcon:
    """Kazeia's own icon with the drawing of the state in its corner, readable on any panel."""
    pixmap = QPixmap(_SIZE, _SIZE)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.drawPixmap(0, 0, icons.icon("kazeia", "#000000", _SIZE).pixmap(_SIZE, _SIZE).scaled(_SIZE, _SIZE))
    badge = _SIZE // 2 + 4
    place = _SIZE - badge
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(Qt.GlobalColor.black)
    painter.drawEllipse(place, place, badge, badge)
    inner = badge - 12
    icons.icon(f"state-{state.value}", state_color(DARK, state), inner).paint(
        painter, place + 6, place + 6, inner, inner
    )
    painter.end()
    return QIcon(pixmap)
