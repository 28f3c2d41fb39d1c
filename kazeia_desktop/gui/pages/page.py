"""What every page has: a title, a way back, and the parts of the window that it may use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.activity.record import Activity
from kazeia_desktop.gui.bridge import EngineBridge
from kazeia_desktop.gui.column_scroll import ColumnScroll
from kazeia_desktop.gui.jobs import Jobs
from kazeia_desktop.gui.theme import GRID, PAGE_PX, Tokens
from kazeia_desktop.gui.words import Words
from kazeia_desktop.paths import Paths
from kazeia_desktop.settings.schema import Settings
from kazeia_desktop.settings.store import Value

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageContext:
    """What a page may use of the window.

    settings: the newest. change: sets one setting ("section.field"), saves it and lets the engine take it over;
    raises SettingsError where the value does not fit. show_page: opens another page by its name. change_all: sets
    several settings, which the engine takes over together. activity: figures of
    the turns since the window was opened.
    """

    words: Words
    bridge: EngineBridge
    jobs: Jobs
    paths: Paths
    settings: Callable[[], Settings]
    change: Callable[[str, Value], None]
    show_page: Callable[[str], None]
    change_all: Callable[[Mapping[str, Value]], None]
    activity: Activity = field(init=False)
    _shared: dict[type, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "activity", Activity(self.bridge))

    def shared(self, kind: type[T], make: Callable[[], T]) -> T:
        """The one object of `kind` that all pages of this window use; made when it is first asked for."""
        found = self._shared.get(kind)
        if not isinstance(found, kind):
            found = self._shared[kind] = make()
        return found


class Page(QWidget):
    """A page under its title. A subclass adds its parts to `column`, overrides the methods below as it needs
    (calling them here where they do something), and calls `dress` and `retranslate` at the end of its `__init__`.
    """

    back_wanted = Signal()
    made = Signal(object)  # QWidget: one more of `parts`, in its place
    in_parts: ClassVar[bool] = False
    """Of a page with very many widgets: what stands in it wears the style sheet; the palette paints the page."""

    def __init__(self, context: PageContext, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.context = context
        self.tokens = tokens
        self.setObjectName("ground")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.title = QLabel(self)
        self.title.setObjectName("title")
        self.back = QToolButton(self)
        self.back.setObjectName("flat")
        self.back.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.back.clicked.connect(self.back_wanted)
        self._head = QHBoxLayout()
        self._head.setSpacing(GRID)
        self._head.addWidget(self.back)
        self._head.addWidget(self.title, 1)
        self.scroll_area = ColumnScroll("chat", "ground", GRID, PAGE_PX, self)
        self.scroll_area.setFrameShape(ColumnScroll.Shape.NoFrame)
        self.content, self.column = self.scroll_area.content, self.scroll_area.column
        self.column.setSpacing(2 * GRID)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addLayout(self._head)
        box.addWidget(self.scroll_area, 1)

    def title_text(self) -> str:
        """The page's title in the current language."""
        raise NotImplementedError

    @property
    def parts(self) -> tuple[QWidget, ...]:
        """What wears the style sheet; see `gui.wardrobe`."""
        if not self.in_parts:
            return (self,)
        inside = self.content.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return self.back, self.title, *inside, self.scroll_area.verticalScrollBar()

    @property
    def tab_order(self) -> tuple[QWidget, ...]:
        """The controls in the order of the Tab key."""
        return (self.back,)

    @property
    def first_focus(self) -> QWidget:
        """What has the focus when the page is shown: no control, so that Space interrupts."""
        return self

    def prepare(self) -> None:
        """The page is about to be seen: look up what may have changed (in jobs)."""

    def leave(self) -> None:
        """The page is no longer seen: stop what only makes sense while it is."""

    def settings_changed(self, settings: Settings) -> None:
        """The settings changed, here or elsewhere."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The arrow of the way back stands above the left edge of what is below."""
        super().resizeEvent(event)
        side = max(2 * GRID, (self.width() - PAGE_PX) // 2)
        self._head.setContentsMargins(side - GRID, GRID // 2, side, GRID // 2)

    def set_narrow(self, narrow: bool) -> None:
        """Whether the window is narrow (a tablet held upright)."""

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self.tokens = tokens
        self.back.setIcon(icons.icon("back", tokens.text, 20))

    def retranslate(self) -> None:
        """Write every text anew in the current language."""
        tr = self.context.words.tr
        self.title.setText(self.title_text())
        self.setAccessibleName(self.title_text())
        self.back.setToolTip(tr("Back to the conversation (Escape)"))
        self.back.setAccessibleName(tr("Back to the conversation"))
