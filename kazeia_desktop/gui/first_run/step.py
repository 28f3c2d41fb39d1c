"""What every step has."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from kazeia_desktop.gui.card import plain_label
from kazeia_desktop.gui.pages.page import PageContext
from kazeia_desktop.gui.theme import GRID, Tokens


class Step(QWidget):
    """Title, text, and what a subclass adds to `column`."""

    next_wanted = Signal()
    changed = Signal()  # what `next_text` says, or what `primary` is

    def __init__(self, context: PageContext, tokens: Tokens) -> None:
        super().__init__()
        self.context = context
        self.tokens = tokens
        self.title = plain_label("welcome")
        self.text = plain_label()
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(2 * GRID)
        self.column.addWidget(self.title)
        self.column.addWidget(self.text)

    @property
    def controls(self) -> tuple[QWidget, ...]:
        """What takes the focus, in the order of the Tab key."""
        return ()

    @property
    def primary(self) -> QPushButton | None:
        """The button that is pressed by Enter and has the focus at first; None: the one that leads on."""
        return None

    @property
    def leads(self) -> tuple[QPushButton, ...]:
        """Those that `primary` may be; once pressed, the focus goes to the next one."""
        return ()

    @property
    def settled(self) -> bool:
        """Whether it is known what can be done; before, Enter does nothing."""
        return True

    @property
    def next_text(self) -> str:
        """What the button says that leads on."""
        return self.context.words.tr("Continue")

    def enter(self) -> None:
        """It is seen now."""

    def leave(self) -> None:
        """It is no longer seen."""

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self.tokens = tokens

    def retranslate(self) -> None:
        """Write every text anew."""
