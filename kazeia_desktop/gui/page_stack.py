"""The middle of the window: the conversation, or one of the pages in its place."""

import itertools

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from kazeia_desktop.gui.pages.page import Page, PageContext
from kazeia_desktop.gui.pages.registry import entry
from kazeia_desktop.gui.theme import Tokens
from kazeia_desktop.settings.schema import Settings


class PageStack(QStackedWidget):
    """Makes each page when it is first shown, and tells those that exist what changes.

    Args:
        conversation: what is shown when no page is.
    """

    changed = Signal()  # what is shown
    made = Signal(object)  # QWidget: a part of a page, see `Page.parts`

    def __init__(self, conversation: QWidget, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._conversation = conversation
        self._tokens = tokens
        self._narrow = False
        self.pages: dict[str, Page] = {}
        self.addWidget(conversation)

    @property
    def page(self) -> Page | None:
        """The page that is seen; None: the conversation."""
        shown = self.currentWidget()
        return shown if isinstance(shown, Page) else None

    def show_page(self, name: str, context: PageContext, before: QWidget, after: QWidget) -> None:
        """Show a page; see `pages.registry`. In the order of the Tab key it stands between two controls."""
        page = self.pages.get(name)
        if page is None:
            page = self.pages[name] = entry(name).make(context, self._tokens)
            page.back_wanted.connect(self.show_conversation)
            page.set_narrow(self._narrow)
            for part in page.parts:
                self.made.emit(part)
            page.made.connect(self.made)
            self.addWidget(page)
            for first, second in itertools.pairwise((before, *page.tab_order, after)):
                QWidget.setTabOrder(first, second)
        self.leave()
        self.setCurrentWidget(page)
        page.prepare()
        page.first_focus.setFocus()
        self.changed.emit()

    def show_conversation(self) -> None:
        """Back from a page."""
        self.leave()
        self.setCurrentWidget(self._conversation)
        self._conversation.setFocus()
        self.changed.emit()

    def leave(self) -> None:
        """The page that is seen will not be seen any more."""
        if self.page is not None:
            self.page.leave()

    def settings_changed(self, settings: Settings) -> None:
        """Tell every page."""
        for page in self.pages.values():
            page.settings_changed(settings)

    def set_narrow(self, narrow: bool) -> None:
        """Whether the window is narrow."""
        self._narrow = narrow
        for page in self.pages.values():
            page.set_narrow(narrow)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self._tokens = tokens
        for page in self.pages.values():
            page.dress(tokens)

    def retranslate(self) -> None:
        for page in self.pages.values():
            page.retranslate()
