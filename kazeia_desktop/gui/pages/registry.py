"""The pages there are, in the order of the menu. Each is imported when it is first shown."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from kazeia_desktop.gui.pages.page import Page, PageContext
from kazeia_desktop.gui.theme import Tokens
from kazeia_desktop.gui.words import Words


@dataclass(frozen=True, slots=True)
class Entry:
    """A page in the menu, under `title`."""

    name: str
    title: Callable[[Words], str]
    make: Callable[[PageContext, Tokens], Page]

    def load(self) -> None:
        """Import it, from any thread."""
        import_module(f"kazeia_desktop.gui.pages.{self.name.replace('-', '_')}_page")


def _activity(context: PageContext, tokens: Tokens) -> Page:
    from kazeia_desktop.gui.pages.activity_page import ActivityPage

    return ActivityPage(context, tokens)


def _voices(context: PageContext, tokens: Tokens) -> Page:
    from kazeia_desktop.gui.pages.voices_page import VoicesPage

    return VoicesPage(context, tokens)


def _models(context: PageContext, tokens: Tokens) -> Page:
    from kazeia_desktop.gui.pages.models_page import ModelsPage

    return ModelsPage(context, tokens)


def _first_run(context: PageContext, tokens: Tokens) -> Page:
    from kazeia_desktop.gui.pages.first_run_page import FirstRunPage

    return FirstRunPage(context, tokens)


def _compare(context: PageContext, tokens: Tokens) -> Page:
    from kazeia_desktop.gui.pages.compare_page import ComparePage

    return ComparePage(context, tokens)


PAGES: Final[tuple[Entry, ...]] = (
    Entry("activity", lambda words: words.tr("Activity"), _activity),
    Entry("voices", lambda words: words.tr("Voices"), _voices),
    Entry("models", lambda words: words.tr("Models"), _models),
    Entry("compare", lambda words: words.tr("Compare voices"), _compare),
    Entry("first-run", lambda words: words.tr("First steps"), _first_run),
)


def entry(name: str) -> Entry:
    """The page of that name."""
    return next(page for page in PAGES if page.name == name)
