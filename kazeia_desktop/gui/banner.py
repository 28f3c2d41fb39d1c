"""What went wrong, inside the window, with the button that helps; and quiet news."""

import re
from collections.abc import Mapping
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from kazeia_desktop.events import Failed, Notice
from kazeia_desktop.gui import icons
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words

_NOTICE_MS: Final = 20_000
_COMMAND: Final = re.compile(r"\s*[.:]\s[^.:]*kazeia models get[^.]*\.$")
"""The sentence that names a command for the terminal: here the button does the same."""


class ErrorBanner(QFrame):
    """The last error. Never a modal: the conversation stays in reach."""

    action_wanted = Signal(str)  # retry, models, settings, devices
    shown = Signal(bool)

    def __init__(self, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._error: Failed | None = None
        self.setObjectName("banner")
        self._icon = QLabel(self)
        self._icon.setFixedSize(24, 24)
        self.text = QLabel(self)
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.action = QPushButton(self)
        self.action.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.action.clicked.connect(self._act)
        self.close_button = QToolButton(self)
        self.close_button.setObjectName("flat")
        self.close_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.close_button.clicked.connect(self.dismiss)
        box = QHBoxLayout(self)
        box.setContentsMargins(2 * GRID, GRID, GRID, GRID)
        box.setSpacing(GRID + 4)
        box.addWidget(self._icon)
        box.addWidget(self.text, 1)
        box.addWidget(self.action)
        box.addWidget(self.close_button)
        self.hide()
        self.dress(tokens)
        self.retranslate()

    @property
    def error(self) -> Failed | None:
        """What is shown."""
        return self._error

    def show_error(self, error: Failed) -> None:
        self._error = error
        self.retranslate()
        self.show()
        self.shown.emit(True)

    def dismiss(self) -> None:
        self._error = None
        self.hide()
        self.shown.emit(False)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._icon.setPixmap(icons.icon("state-error", tokens.error, 24).pixmap(24, 24))
        self.close_button.setIcon(icons.icon("close", tokens.text, 18))

    def retranslate(self) -> None:
        tr = self._words.tr
        self.close_button.setToolTip(tr("Hide this message"))
        self.close_button.setAccessibleName(tr("Hide this message"))
        error = self._error
        if error is None:
            return
        told = self._words.told(error.template, error.values)
        if error.action == "models":
            told = _COMMAND.sub(".", told)
        self.text.setText(told)
        self.text.setAccessibleName(tr("Error: {text}", text=told))
        labels: Mapping[str, str] = {
            "retry": tr("Try again"),
            "models": tr("Fetch the models"),
            "settings": tr("Open the settings"),
            "devices": tr("Choose a device"),
        }
        label = labels.get(error.action, "")
        self.action.setText(label)
        self.action.setToolTip(tr("What helps against this error"))
        self.action.setVisible(bool(label))

    def _act(self) -> None:
        if self._error is not None:
            action = self._error.action
            self.dismiss()
            self.action_wanted.emit(action)


class NoticeLine(QWidget):
    """One quiet line; leaves by itself."""

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._notice: Notice | None = None
        self.text = QLabel(self)
        self.text.setObjectName("quiet")
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        box = QHBoxLayout(self)
        box.setContentsMargins(2 * GRID, GRID // 2, 2 * GRID, GRID // 2)
        box.addWidget(self.text, 1)
        self._leave = QTimer(self)
        self._leave.setSingleShot(True)
        self._leave.setInterval(_NOTICE_MS)
        self._leave.timeout.connect(self.hide)
        self.hide()

    def show_notice(self, notice: Notice) -> None:
        self._notice = notice
        self.retranslate()
        self.show()
        self._leave.start()

    def retranslate(self) -> None:
        if self._notice is not None:
            self.text.setText(self._words.told(self._notice.template, self._notice.values))
