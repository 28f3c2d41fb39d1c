"""The window: header, conversation, presence bar and settings, joined to the engine by the bridge."""

import itertools
import logging
import time
from collections.abc import Mapping
from functools import partial
from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import (
    QCloseEvent,
    QKeyEvent,
    QMoveEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QMainWindow, QPushButton, QToolButton, QVBoxLayout, QWidget

from kazeia_desktop.events import State
from kazeia_desktop.gui import icons
from kazeia_desktop.gui.banner import ErrorBanner, NoticeLine
from kazeia_desktop.gui.body import Body
from kazeia_desktop.gui.bridge import CLOSE_S, EngineBridge
from kazeia_desktop.gui.card import take_back
from kazeia_desktop.gui.chat_view import ChatView
from kazeia_desktop.gui.conversations.controller import ConversationController
from kazeia_desktop.gui.conversations.delete_all import Eraser
from kazeia_desktop.gui.conversations.keeper import Keeper
from kazeia_desktop.gui.conversations.sidebar import Sidebar
from kazeia_desktop.gui.desktop import Desktop
from kazeia_desktop.gui.header import Header
from kazeia_desktop.gui.jobs import Jobs
from kazeia_desktop.gui.message_actions import MessageActions
from kazeia_desktop.gui.page_stack import PageStack
from kazeia_desktop.gui.pages.page import Page, PageContext
from kazeia_desktop.gui.presence_bar import BUSY, PresenceBar
from kazeia_desktop.gui.quiet_microphone import QuietMicrophone
from kazeia_desktop.gui.settings_panel.panel import SettingsPanel
from kazeia_desktop.gui.shortcuts import Shortcuts
from kazeia_desktop.gui.teller import Teller
from kazeia_desktop.gui.theme import GRID, NARROW_PX, Tokens, body_font, palette, style_sheet, tokens_for
from kazeia_desktop.gui.timers_strip import TimersStrip
from kazeia_desktop.gui.transcript import Transcript
from kazeia_desktop.gui.wardrobe import Wardrobe
from kazeia_desktop.gui.words import Words, resolve_language
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import Value, with_value

_log = logging.getLogger(__name__)

_SIZE: Final = (1080, 760)
_SMALLEST: Final = (420, 480)


class MainWindow(QMainWindow):
    """Knows the engine only through `bridge`, which it closes with itself.

    Args:
        bridge: not yet started; `start` does.
        settings: as stored.
        paths: where the pages find models, voices and conversations; None: where the environment says.
    """

    language_changed = Signal(str)
    ended = Signal()  # closed for good

    def __init__(self, bridge: EngineBridge, settings: Settings, paths: Paths | None = None) -> None:
        super().__init__()
        self._bridge = bridge
        self._paths = paths or Paths.from_environment()
        self.jobs = Jobs(self)
        self._settings = settings
        self._words = Words(resolve_language(settings.appearance.language))
        self._tokens = tokens_for(settings.appearance.theme)
        self._narrow = False
        QApplication.setPalette(palette(self._tokens))  # before anything wears the sheet, which builds on it
        self.wardrobe = Wardrobe(self, style_sheet(self._tokens, touch=False))
        self._system_still = False  # the system asks for less movement
        self.ended_in_time = True  # whether every thread was gone when the window closed

        words, tokens = self._words, self._tokens
        self.setWindowTitle("Kazeia")
        self.setWindowIcon(icons.app_icon())
        self.setFont(body_font())
        self.transcript = Transcript(self)
        self.chat = ChatView(self.transcript, words, tokens)
        self.messages = MessageActions(self.chat, self.transcript, bridge, words, tokens)
        self.banner = ErrorBanner(words, tokens)
        self.notice = NoticeLine(words)
        self.shortcuts = Shortcuts(settings.shortcuts, words, self)
        self.presence = PresenceBar(words, tokens)
        self.panel = SettingsPanel(settings, words, tokens)
        self.header = Header(words, tokens, self.shortcuts)
        self.timers = TimersStrip(bridge, self.jobs, words, tokens)
        keeper = Keeper(bridge, self.jobs, self._paths, words, self)
        self.sidebar = Sidebar(keeper, settings.privacy.keep_conversations, self.shortcuts, words, tokens)
        self._eraser = Eraser(bridge, self.jobs, self._paths, self)
        self.sidebar.delete_all.agreed.connect(self._eraser.erase)
        self._eraser.erased.connect(self.sidebar.erased)
        self._eraser.failed.connect(keeper.failed)
        self.stack = PageStack(self.chat, tokens)
        self._context = PageContext(
            words, bridge, self.jobs, self._paths, lambda: self._settings, self.change, self.show_page,
            self.change_all,
        )  # fmt: skip
        self.panel.use(self._context)
        QuietMicrophone.of(self._context).changed.connect(self.presence.set_use)
        self.desktop = Desktop(self, bridge, self.jobs, words, self._paths, lambda: self._settings)
        QuietMicrophone.of(self._context).changed.connect(self.desktop.tray.set_use)
        self._teller = Teller(
            self, bridge, self.transcript, self.chat, self.presence, self.header, self.banner, self.notice, words
        )
        self._build()
        self._connect()
        self._dress()
        self.retranslate()
        self.resize(*_SIZE)
        self.setMinimumSize(*_SMALLEST)
        self._take_appearance()
        self._take_privacy()
        self.chat.setFocus()

    def _build(self) -> None:
        main = QWidget()
        main.setObjectName("ground")
        column = QVBoxLayout(main)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        held = QWidget()
        held.setObjectName("ground")
        margin = QVBoxLayout(held)
        margin.setContentsMargins(2 * GRID, GRID, 2 * GRID, 0)
        margin.addWidget(self.banner)
        self.banner.shown.connect(held.setVisible)
        column.addWidget(self.header)
        column.addWidget(held)
        column.addWidget(self.stack, 1)
        column.addWidget(self.timers)
        column.addWidget(self.notice)
        held.hide()
        self.body = Body(main, self.panel, self.presence, self.sidebar)
        self.wardrobe.add(
            self.header, self.banner, self.chat, self.timers, self.notice, self.presence, self.sidebar,
            *self.panel.parts, self.body.scrim, self.desktop.tray.menu,
        )  # fmt: skip
        self.stack.made.connect(self.wardrobe.add)
        self.panel.made.connect(self.wardrobe.add)
        self.setCentralWidget(self.body)
        self.conversations = ConversationController(
            self._bridge, self.sidebar, self.body, self.chat, self.transcript, self
        )
        self.conversations.opened.connect(self.show_conversation)
        order = (
            *self.header.tab_order, *self.sidebar.tab_order, self.banner.action, self.banner.close_button, self.chat,
            *self.chat.tab_order, *self.presence.tab_order, self.panel.search, self.panel.close_button,
        )  # fmt: skip
        for first, second in itertools.pairwise(order):
            QWidget.setTabOrder(first, second)

    def _connect(self) -> None:
        bridge, presence = self._bridge, self.presence
        presence.sent.connect(bridge.send_text)
        presence.stop_wanted.connect(bridge.interrupt)
        presence.send_now_wanted.connect(bridge.send_now)
        presence.mute_wanted.connect(self.set_muted)
        self.banner.action_wanted.connect(self._help)
        self.header.settings_wanted.connect(self.show_settings)
        self.header.page_wanted.connect(self.show_page)
        self.header.conversations_wanted.connect(self.body.open_sidebar)
        self.body.sidebar_toggled.connect(self.header.conversations.setChecked)
        self.body.sidebar_toggled.connect(self.desktop.moved)
        self.sidebar.new_wanted.connect(self.new_conversation)
        self.sidebar.keep_wanted.connect(partial(self.change, "privacy.keep_conversations"))
        self.body.panel_toggled.connect(self._panel_toggled)
        self.panel.close_wanted.connect(lambda: self.show_settings(False))
        self.panel.settings_changed.connect(self.apply)
        self.panel.choices_wanted.connect(bridge.request_choices)
        self.panel.measured_wanted.connect(bridge.request_measured)

        bridge.setting_changed.connect(self.change)
        bridge.choices_ready.connect(self.panel.set_choices)
        bridge.measured_ready.connect(self.panel.set_measured)

        hints = QApplication.styleHints()
        hints.colorSchemeChanged.connect(self._scheme_changed)
        hints.accessibility().contrastPreferenceChanged.connect(self._scheme_changed)
        self.shortcuts.changed.connect(self.retranslate)
        self.shortcuts.bind(
            {
                "interrupt": bridge.interrupt,
                "stop": self._escape,
                "mute": self._toggle_mute,
                "new": self.new_conversation,
                "conversations": self.conversations.toggle,
                "find": self._find,
                "search": self.conversations.search,
                "settings": self._toggle_settings,
                "quit": self.quit,
            }
        )

    def start(self) -> None:
        """Load the models behind the window."""
        self._bridge.start()
        if self._settings.privacy.keep_conversations:
            self.conversations.find_last()

    # What the user does

    def set_muted(self, muted: bool) -> None:
        self.presence.set_muted(muted)
        self.desktop.tray.set_muted(muted)
        self._bridge.set_muted(muted)

    def _toggle_mute(self) -> None:
        if self.presence.mute.isEnabled():
            self.set_muted(not self.presence.mute.isChecked())

    def show_settings(self, opened: bool, section: str = "") -> None:
        """Open or close the panel; at a section of the schema, when one is named."""
        self.body.open_panel(opened)
        if opened and section:
            self.panel.show_section(section)

    def show_page(self, name: str) -> None:
        """Show a page in the place of the conversation; see `pages.registry`."""
        self.stack.show_page(name, self._context, self.header.settings, self.presence.field)

    def show_conversation(self) -> None:
        """Back from a page."""
        self.stack.show_conversation()

    @property
    def page(self) -> Page | None:
        """The page that is seen; None: the conversation."""
        return self.stack.page

    @property
    def pages(self) -> dict[str, Page]:
        """The pages that were shown so far, by name."""
        return self.stack.pages

    @Slot()
    def new_conversation(self) -> None:
        """Begin anew; what was kept stays."""
        self.show_conversation()
        self.conversations.new()
        self.presence.field.setFocus()

    @Slot()
    def quit(self) -> None:
        """End the app, whatever closing the window means."""
        self.desktop.quit()

    def _find(self) -> None:
        if self.page is not None:
            self.show_conversation()
        self.messages.find.open_bar()

    def _toggle_settings(self) -> None:
        self.show_settings(not self.body.panel_open)

    def _panel_toggled(self, opened: bool) -> None:
        self.header.settings.setChecked(opened)
        if opened:
            self.panel.prepare()
            self.panel.search.setFocus()
        else:
            self.chat.setFocus()

    def _escape(self) -> None:
        if self.presence.state in BUSY:
            self._bridge.interrupt()
        elif take_back(self.focusWidget()) or self.body.close_drawer():
            pass
        elif self.body.panel_open:
            self.show_settings(False)
        elif self.page is not None:
            self.show_conversation()
        elif not self.messages.cancel():
            self._bridge.interrupt()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys that no control wanted: Space interrupts; letters go to the text field."""
        text = event.text()
        plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier)
        focus = self.focusWidget()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and isinstance(focus, (QPushButton, QToolButton)):
            if not event.isAutoRepeat():
                focus.click()
        elif self.shortcuts.is_interrupt(event):
            if not event.isAutoRepeat():
                self._bridge.interrupt()
        elif plain and text and text.isprintable() and self._takes_letters():
            self.presence.field.setFocus()
            self.presence.field.insert(text)
        else:
            super().keyPressEvent(event)

    def _takes_letters(self) -> bool:
        return self.page is None and self.presence.field.isEnabled() and not self.panel.hasFocus()

    def _help(self, action: str) -> None:
        match action:
            case "models":
                self._bridge.fetch_models()
            case "settings":
                self.show_settings(True)
            case "devices":
                self.show_settings(True, "audio")
            case "retry" if self.presence.state is State.ERROR:
                self._bridge.rebuild()
            case "retry" if self._teller.last_said:
                self._bridge.send_text(self._teller.last_said)

    # Settings

    @Slot(object)
    def apply(self, settings: Settings) -> None:
        """Take over, save and pass on changed settings."""
        old, self._settings = self._settings, settings
        self._bridge.apply(settings)
        self.stack.settings_changed(settings)
        self.desktop.apply(old, settings)
        self.shortcuts.apply(settings.shortcuts)
        if old.privacy.keep_conversations != settings.privacy.keep_conversations:
            self._take_privacy()
        if old.appearance != settings.appearance:
            self._take_appearance()

    @Slot(str, float)
    def change(self, key: str, value: Value) -> None:
        """Set one setting from elsewhere than the panel.

        Raises:
            SettingsError: the value does not fit.
        """
        self.change_all({key: value})

    def change_all(self, values: Mapping[str, Value]) -> None:
        """Set several settings, which the engine takes over together.

        Raises:
            SettingsError: a value does not fit; none is set.
        """
        changed = self._settings
        for key, value in values.items():
            changed = with_value(changed, key, value)
        if changed != self._settings:
            self.panel.take(changed)
            self.apply(changed)

    def set_system_still(self, still: bool) -> None:
        """Whether the system asks for less movement; see `gui.motion`."""
        self._system_still = still
        self._take_appearance()

    def _take_appearance(self) -> None:
        appearance = self._settings.appearance
        still = appearance.reduced_motion or self._system_still
        self.presence.set_still(still)
        self.body.reduced_motion = still
        language = resolve_language(appearance.language)
        if language != self._words.language:
            self._words.language = language
            self.language_changed.emit(language)
            self.retranslate()
        self._scheme_changed()

    def _take_privacy(self) -> None:
        keeps = self._settings.privacy.keep_conversations
        self.header.set_keeps(keeps)
        self.conversations.set_keeps(keeps)

    @Slot()
    def _scheme_changed(self) -> None:
        tokens = tokens_for(self._settings.appearance.theme)
        if tokens is not self._tokens:
            self._tokens = tokens
            self._dress()

    # Theme, language, geometry

    @property
    def settled(self) -> bool:
        """Whether all that is done in turns is done: pages and settings made, dressed, and worded anew."""
        return self.wardrobe.settled and self.stack.settled and self.panel.settled

    @property
    def tokens(self) -> Tokens:
        return self._tokens

    def _dress(self) -> None:
        tokens = self._tokens
        QApplication.setPalette(palette(tokens))
        self.wardrobe.change(style_sheet(tokens, self._narrow), curtain=True)
        for part in (
            self.header, self.sidebar, self.chat, self.stack, self.banner, self.timers, self.presence, self.panel,
        ):  # fmt: skip
            part.dress(tokens)

    def retranslate(self) -> None:
        """Write every text anew in the current language."""
        self.presence.use(self.shortcuts)
        for part in (
            self.header, self.sidebar, self.chat, self.stack, self.banner, self.timers, self.notice, self.panel,
            self.desktop, self._teller,
        ):  # fmt: skip
            part.retranslate()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.desktop.moved()
        narrow = self.width() < NARROW_PX
        if narrow is not self._narrow:
            self._narrow = narrow
            self.body.set_narrow(narrow)
            self.stack.set_narrow(narrow)
            self.wardrobe.change(style_sheet(self._tokens, narrow))

    @property
    def narrow(self) -> bool:
        return self.width() < NARROW_PX

    @property
    def smallest(self) -> tuple[int, int]:
        return _SMALLEST

    def moveEvent(self, event: QMoveEvent) -> None:
        super().moveEvent(event)
        self.desktop.moved()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.desktop.hides:
            event.ignore()
            self.desktop.hide()
            return
        self.desktop.close()
        self.hide()
        deadline = time.monotonic() + CLOSE_S
        self.stack.leave()
        engine_ended = self._bridge.close()
        self.ended_in_time = self.jobs.close(deadline) and engine_ended
        event.accept()
        self.ended.emit()
