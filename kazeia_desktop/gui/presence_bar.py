"""Along the bottom: what Kazeia is doing, how to stop it, and where to write."""

from typing import Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from kazeia_desktop.events import State
from kazeia_desktop.gui import icons
from kazeia_desktop.gui.level_meter import LevelMeter, Waveform
from kazeia_desktop.gui.quiet_microphone import Use
from kazeia_desktop.gui.shortcuts import Shortcuts
from kazeia_desktop.gui.states import UNUSED, state_word, use_word
from kazeia_desktop.gui.theme import GRID, NARROW_PX, Tokens, state_color
from kazeia_desktop.gui.words import Words

_ICON: Final = 20
BUSY: Final = (State.THINKING, State.SPEAKING)
_LOOKS_LIKE: Final = {
    Use.PAUSE: State.MUTED, Use.TEST: State.LISTENING, Use.RECORD: State.LISTENING, Use.PLAY: State.SPEAKING,
}  # fmt: skip
"""Ring and colour while the window itself uses microphone or loudspeaker."""


class MessageField(QLineEdit):
    """Where one writes. While Kazeia is busy, Space in the empty field interrupts it."""

    interrupted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.busy = False
        self.space_interrupts = True
        self.setMaxLength(8000)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and self.space_interrupts and self.busy and not self.text():
            self.interrupted.emit()
        else:
            super().keyPressEvent(event)


class PresenceBar(QWidget):
    """Ring, state, waveform, mute, stop, send now, text field, send. Emits what the user wants."""

    sent = Signal(str)
    stop_wanted = Signal()
    send_now_wanted = Signal()
    mute_wanted = Signal(bool)

    def __init__(self, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._tokens = tokens
        self._state = State.LOADING
        self._use: Use | None = None
        self._half_duplex = False
        self._narrow = False
        self._has_microphone = True
        self._waiting = False  # a text will be sent when the models are there
        self._progress_text = ""
        self._shortcuts: Shortcuts | None = None
        self.setObjectName("presence")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

        self.meter = LevelMeter(tokens, self)
        self.wave = Waveform(tokens, self)
        self.wave.hide()
        self.meter.spoke.connect(self.wave.add)
        self.word = QLabel(self)
        self.word.setObjectName("stateWord")
        self.hint = QLabel(self)
        self.hint.setObjectName("quiet")
        self.hint.setTextFormat(Qt.TextFormat.PlainText)
        self.hint.setWordWrap(True)
        self.mute = self._tool(checkable=True)
        self.mute.clicked.connect(self.mute_wanted)
        self.stop = self._tool()
        self.stop.clicked.connect(self.stop_wanted)
        self.send_now = QPushButton(self)
        self.send_now.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.send_now.clicked.connect(self.send_now_wanted)
        self.field = MessageField(self)
        self.field.returnPressed.connect(self._send)
        self.field.interrupted.connect(self.stop_wanted)
        self.field.textChanged.connect(lambda _: self._show_state())
        self.send = QPushButton(self)
        self.send.setObjectName("primary")
        self.send.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.send.clicked.connect(self._send)
        self.progress = QProgressBar(self)
        self.progress.setTextVisible(False)
        self.progress.setRange(0, 100)

        first = QHBoxLayout()
        first.setSpacing(GRID + 4)
        first.addWidget(self.word)
        first.addWidget(self.wave, 1)
        said = QVBoxLayout()
        said.setSpacing(0)
        said.addStretch(1)
        said.addLayout(first)
        said.addWidget(self.hint)
        said.addStretch(1)
        self._said = QWidget(self)
        self._said.setLayout(said)
        self._said.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        said.setContentsMargins(0, 0, 0, 0)
        self._buttons = QWidget(self)
        buttons = QHBoxLayout(self._buttons)
        buttons.setContentsMargins(0, 0, 0, 0)
        buttons.setSpacing(GRID)
        for button in (self.send_now, self.mute, self.stop):
            buttons.addWidget(button)
        self._writing = QWidget(self)
        writing = QHBoxLayout(self._writing)
        writing.setContentsMargins(0, 0, 0, 0)
        writing.setSpacing(GRID)
        writing.addWidget(self.field, 1)
        writing.addWidget(self.send)

        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self.progress)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(2 * GRID, GRID + 2, 2 * GRID, GRID + 2)
        self._grid.setHorizontalSpacing(GRID + 4)
        self._grid.setVerticalSpacing(GRID)
        box.addLayout(self._grid)
        self._lay_out(False)
        self.dress(tokens)
        self.retranslate()

    def _tool(self, checkable: bool = False) -> QToolButton:
        button = QToolButton(self)
        button.setCheckable(checkable)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        """The controls in the order of the Tab key."""
        return (self.field, self.send, self.send_now, self.mute, self.stop)

    # Geometry

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Two rows where one leaves no room to write: on a tablet, and beside an open panel."""
        super().resizeEvent(event)
        narrow = event.size().width() < NARROW_PX
        if narrow is not self._narrow:
            self._lay_out(narrow)

    def _lay_out(self, narrow: bool) -> None:
        self._narrow = narrow
        for part in (self.meter, self._said, self._writing, self._buttons):
            self._grid.removeWidget(part)
        self._grid.addWidget(self.meter, 0, 0)
        self._grid.addWidget(self._said, 0, 1)
        if narrow:
            self._said.setMinimumWidth(120)
            self._said.setMaximumWidth(16777215)
            self._grid.addWidget(self._buttons, 0, 2)
            self._grid.addWidget(self._writing, 1, 0, 1, 3)
        else:
            self._said.setFixedWidth(230)
            self._grid.addWidget(self._writing, 0, 2)
            self._grid.addWidget(self._buttons, 0, 3)
        self._grid.setColumnStretch(1, 1 if narrow else 0)
        self._grid.setColumnStretch(2, 0 if narrow else 1)

    # Theme and language

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        self.meter.dress(tokens)
        self.wave.dress(tokens)
        self._show_state()

    def retranslate(self) -> None:
        tr = self._words.tr
        self.field.setPlaceholderText(tr("Write a message"))
        self.field.setAccessibleName(tr("Message"))
        self.send.setText(tr("Send"))
        self.send.setToolTip(tr("Send the message (Enter)"))
        self.send_now.setText(tr("Send now"))
        self.send_now.setToolTip(tr("Answer at once, without waiting for a pause"))
        self.field.setAccessibleDescription(tr("Enter sends it"))
        self.stop.setAccessibleName(tr("Stop"))
        self.stop.setToolTip(self._with_keys(tr("Stop"), "stop"))
        self.progress.setAccessibleName(tr("Progress of loading"))
        self.meter.setAccessibleName(tr("Sound level"))
        self.wave.setAccessibleName(tr("How loud the voice is"))
        self._show_state()

    def use(self, shortcuts: Shortcuts) -> None:
        """The keys as they are now: for tool tips, and whether Space interrupts."""
        self._shortcuts = shortcuts
        self.field.space_interrupts = shortcuts.space_interrupts
        self.retranslate()

    def _with_keys(self, told: str, name: str) -> str:
        return told if self._shortcuts is None else self._shortcuts.with_keys(told, name)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._said.updateGeometry()

    # What is shown

    def set_state(self, state: State) -> None:
        if state is State.IDLE:
            self._has_microphone = False
        elif state in (State.LISTENING, State.HEARING, State.MUTED):
            self._has_microphone = True
        if state not in (State.LOADING, State.ERROR):
            self._waiting = False
        self._state = state
        self._show_state()

    def set_use(self, use: Use | None) -> None:
        """What the window itself does with microphone or loudspeaker: more true than that the microphone is off."""
        self._use = use
        self._show_state()

    def set_still(self, still: bool) -> None:
        """Whether less movement is wanted: the ring still follows voices, but nothing travels."""
        self.meter.still = still
        self._show_state()

    def set_half_duplex(self, half: bool) -> None:
        """Whether the microphone is closed while Kazeia speaks."""
        self._half_duplex = half
        self._show_state()

    def set_muted(self, muted: bool) -> None:
        self.mute.setChecked(muted)
        self._show_state()

    def set_progress(self, text: str, fraction: float) -> None:
        """What is being loaded; fraction in [0, 1]."""
        self._progress_text = text
        self.progress.setValue(round(100 * fraction))
        self._show_state()

    @property
    def state(self) -> State:
        return self._state

    def _show_state(self) -> None:
        tr, tokens, state = self._words.tr, self._tokens, self._state
        use = self._use if state in UNUSED else None
        seen = state if use is None else _LOOKS_LIKE[use]
        self.meter.set_state(seen)
        color = state_color(tokens, seen)
        word = state_word(state, self._words) if use is None else use_word(use, self._words)
        self.word.setText(word)
        self.word.setStyleSheet(f"color: {color}")
        self.word.setAccessibleName(tr("State: {state}", state=word))
        hint = self._hint() if use is None else tr("The conversation does not listen meanwhile.")
        self.hint.setText(hint)
        self.hint.setVisible(bool(hint))
        muted = self.mute.isChecked()
        self.mute.setIcon(icons.icon("microphone-off" if muted else "microphone", tokens.text, _ICON))
        told = tr("Switch the microphone on") if muted else tr("Switch the microphone off")
        self.mute.setAccessibleName(told)
        self.mute.setToolTip(self._with_keys(told, "mute") if self._has_microphone else tr("There is no microphone"))
        self.mute.setEnabled(self._has_microphone)
        busy = state in BUSY
        self.stop.setEnabled(busy)
        moving = state is State.SPEAKING and not self.meter.still
        if not moving:
            self.wave.clear()
        self.wave.setVisible(moving)
        self.stop.setIcon(icons.icon("stop", tokens.text if busy else tokens.outline, _ICON))
        self.send_now.setVisible(state is State.HEARING)
        self.field.busy = busy
        self.send.setEnabled(bool(self.field.text().strip()) and state is not State.ERROR)
        self.progress.setVisible(state is State.LOADING)

    def _hint(self) -> str:
        tr = self._words.tr
        match self._state:
            case State.LOADING:
                return tr("Your message leaves when Kazeia is ready.") if self._waiting else self._progress_text
            case State.SPEAKING if self._half_duplex:
                return self._interrupts()
            case State.SPEAKING if self.mute.isChecked() or not self._has_microphone:
                return self._interrupts()
            case State.SPEAKING:
                return tr("Speak over it to interrupt")
            case State.THINKING:
                return self._interrupts()
            case State.IDLE:
                return tr("There is no microphone")
            case _:
                return ""

    def _interrupts(self) -> str:
        tr = self._words.tr
        keys = tr("Space") if self._shortcuts is None else self._shortcuts.keys("interrupt")
        return tr("{keys} or Stop interrupts", keys=keys) if keys else tr("Stop interrupts")

    def _send(self) -> None:
        text = self.field.text().strip()
        if not text or self._state is State.ERROR:
            return
        if self._state is State.LOADING:
            self._waiting = True
        self.field.clear()
        self.sent.emit(text)
        self._show_state()
