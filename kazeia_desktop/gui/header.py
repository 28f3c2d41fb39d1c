"""Along the top: the conversations, the voice that speaks, the other pages, the settings."""

from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QToolButton, QWidget

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.pages.registry import PAGES
from kazeia_desktop.gui.shortcuts import Shortcuts
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words

_ICON = 20
_VOICE_PX = 560
"""From this width on the voice is named."""


class _Menu(QMenu):
    """Below its button, and inside the window: where the button is at the right edge, it opens to the left."""

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        button = self.parentWidget()
        assert button is not None
        window = button.window()
        left, right = (window.mapToGlobal(QPoint(x, 0)).x() for x in (GRID, window.width() - GRID))
        self.move(max(left, min(self.x(), right - self.width())), self.y())


class Header(QWidget):
    """Emits what the user wants to see."""

    page_wanted = Signal(str)
    settings_wanted = Signal(bool)
    conversations_wanted = Signal(bool)

    def __init__(self, words: Words, tokens: Tokens, shortcuts: Shortcuts, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._shortcuts = shortcuts
        self._voice = ""
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.name = QLabel("Kazeia", self)
        self.name.setObjectName("title")
        self.voice = QLabel(self)
        self.voice.setObjectName("quiet")
        self.voice.setTextFormat(Qt.TextFormat.PlainText)
        self.conversations = self._tool()
        self.conversations.setCheckable(True)
        self.conversations.clicked.connect(self.conversations_wanted)
        self.private = QToolButton(self)
        self.private.setObjectName("chip")
        self.private.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.private.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.private.clicked.connect(lambda: self.conversations_wanted.emit(True))
        self.settings = self._tool()
        self.settings.setCheckable(True)
        self.settings.clicked.connect(self.settings_wanted)
        self.pages = self._tool()
        self.pages.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = _Menu(self.pages)
        for page in PAGES:
            self._menu.addAction("").triggered.connect(partial(self.page_wanted.emit, page.name))
        self.pages.setMenu(self._menu)
        self.pages.setVisible(bool(PAGES))
        box = QHBoxLayout(self)
        box.setContentsMargins(GRID, GRID // 2, GRID, GRID // 2)
        box.setSpacing(GRID)
        box.addWidget(self.conversations)
        box.addWidget(self.name)
        box.addWidget(self.voice)
        box.addStretch(1)
        box.addWidget(self.private)
        box.addWidget(self.pages)
        box.addWidget(self.settings)
        self.dress(tokens)
        self.retranslate()

    def _tool(self) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName("flat")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where there is little room the voice is left out: that nothing is kept is more to know."""
        super().resizeEvent(event)
        self.voice.setVisible(event.size().width() >= _VOICE_PX)

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        """The controls in the order of the Tab key."""
        return (self.conversations, self.private, self.pages, self.settings)

    def set_voice(self, name: str) -> None:
        """Who speaks; "" where replies are not spoken."""
        self._voice = name
        self.voice.setText(self._words.tr("Voice: {name}", name=name) if name else "")

    def set_keeps(self, keeps: bool) -> None:
        """Whether conversations are kept; that they are not is always seen."""
        self.private.setVisible(not keeps)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self.conversations.setIcon(icons.icon("conversations", tokens.text, _ICON))
        self.private.setIcon(icons.icon("private", tokens.quiet, 16))
        self.settings.setIcon(icons.icon("settings", tokens.text, _ICON))
        self.pages.setIcon(icons.icon("menu", tokens.text, _ICON))

    def retranslate(self) -> None:
        tr = self._words.tr
        keyed = self._shortcuts.with_keys
        self.conversations.setToolTip(keyed(tr("Conversations"), "conversations"))
        self.conversations.setAccessibleName(tr("Conversations"))
        self.private.setText(tr("Nothing is kept"))
        self.private.setAccessibleName(tr("Private: nothing is kept."))
        self.private.setToolTip(
            tr("What is said is forgotten when Kazeia closes or a new conversation begins.")
        )  # fmt: skip
        self.settings.setToolTip(keyed(tr("Settings"), "settings"))
        self.settings.setAccessibleName(tr("Settings"))
        self.pages.setToolTip(tr("More pages"))
        self.pages.setAccessibleName(tr("More pages"))
        for action, page in zip(self._menu.actions(), PAGES, strict=True):
            action.setText(page.title(self._words))
        self.set_voice(self._voice)
