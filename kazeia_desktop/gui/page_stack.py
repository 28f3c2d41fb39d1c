"""The middle of the window: the conversation, or one of the pages in its place."""

import itertools
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from kazeia_desktop.gui.pages.page import Page, PageContext
from kazeia_desktop.gui.pages.registry import entry
from kazeia_desktop.gui.theme import Tokens
from kazeia_desktop.gui.turns import Turns
from kazeia_desktop.settings.schema import Settings


class PageStack(QStackedWidget):
    """Makes each page when it is first shown, in turns, and tells those that exist what changes.

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
        self._turns = Turns(self)
        self._unready: set[Page] = set()  # their parts are still being dressed
        self._translated = Turns(self)
        self.addWidget(conversation)

    @property
    def settled(self) -> bool:
        """Whether every page is whole and speaks the current language."""
        return self._turns.settled and self._translated.settled

    @property
    def page(self) -> Page | None:
        """The page that is seen; None: the conversation."""
        shown = self.currentWidget()
        return shown if isinstance(shown, Page) else None

    def show_page(self, name: str, context: PageContext, before: QWidget, after: QWidget) -> None:
        """Show a page; see `pages.registry`. In the order of the Tab key it stands between two controls."""
        page = self.pages.get(name) or self._make(name, context, before, after)
        self.leave()
        self.setCurrentWidget(page)
        page.setFocus()
        if page not in self._unready:
            self._enter(page)
        self.changed.emit()

    def _make(self, name: str, context: PageContext, before: QWidget, after: QWidget) -> Page:
        """A page whose title alone is there: to dress, lay out and paint all of it at once would hold up the window."""
        page = self.pages[name] = entry(name).make(context, self._tokens)
        page.back_wanted.connect(self.show_conversation)
        page.set_narrow(self._narrow)
        page.setUpdatesEnabled(False)  # nobody wants to see it undressed
        page.scroll_area.hide()
        self.addWidget(page)
        for first, second in itertools.pairwise((before, *page.tab_order, after)):
            QWidget.setTabOrder(first, second)
        self._unready.add(page)
        self._turns.add(*(partial(self.made.emit, part) for part in page.parts), partial(self._complete, page))
        page.made.connect(self.made)
        return page

    def _complete(self, page: Page) -> None:
        page.scroll_area.show()
        page.setUpdatesEnabled(True)
        self._unready.discard(page)
        if self.page is page:
            self._turns.add(partial(self._enter, page))

    def _enter(self, page: Page) -> None:
        if self.page is page:
            page.prepare()
            if self.window().focusWidget() is page:
                page.first_focus.setFocus()

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
        """The page that is seen now, the others in turns."""
        self._translated.clear()
        for page in self.pages.values():
            if page is self.page:
                page.retranslate()
            else:
                self._translated.add(page.retranslate)
