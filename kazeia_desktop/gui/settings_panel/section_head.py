"""Above the settings of a section: its title, the way back to its defaults, and what was measured of it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words
from kazeia_desktop.settings.schema import SECTION_TITLES


class SectionHead(QWidget):
    """Title and hint of a section. `back_wanted` asks for its defaults, `undo_wanted` to take that back."""

    back_wanted = Signal(str)
    undo_wanted = Signal(str)

    def __init__(self, section: str, words: Words, tokens: Tokens, first: bool) -> None:
        super().__init__()
        self.section = section
        self._words = words
        self._undoes = False
        self.title = QLabel(self)
        self.title.setObjectName("section")
        self.reset = QToolButton(self)
        self.reset.setObjectName("chip")
        self.reset.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.reset.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.reset.clicked.connect(lambda: (self.undo_wanted if self._undoes else self.back_wanted).emit(section))
        keep = self.reset.sizePolicy()
        keep.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(keep)
        self.reset.hide()
        self.hint = QLabel(self)
        self.hint.setObjectName("quiet")
        self.hint.setWordWrap(True)
        self.hint.setTextFormat(Qt.TextFormat.PlainText)
        self.hint.hide()
        row = QHBoxLayout()
        row.setSpacing(GRID)
        row.addWidget(self.title, 1)
        row.addWidget(self.reset)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0 if first else GRID, 0, 0)
        box.setSpacing(GRID // 2)
        box.addLayout(row)
        box.addWidget(self.hint)
        self.dress(tokens)
        self.retranslate()

    def show_state(self, changed: bool, undoes: bool) -> None:
        """changed: a setting differs from its default; undoes: going back can be taken back."""
        self._undoes = undoes
        self.reset.setVisible(changed or undoes)
        self.retranslate()

    def show_hint(self, text: str) -> None:
        """What was measured; "" for nothing."""
        self.hint.setText(text)
        self.hint.setVisible(bool(text))
        self.setAccessibleDescription(text)

    def dress(self, tokens: Tokens) -> None:
        """Take over the colours of a theme."""
        self.reset.setIcon(icons.icon("reset", tokens.quiet, 16))

    def retranslate(self) -> None:
        words = self._words
        title = words.of(SECTION_TITLES[self.section])
        self.title.setText(title)
        self.setAccessibleName(title)
        if self._undoes:
            self.reset.setText(words.tr("Undo"))
            told = words.tr("Take back the defaults of “{title}”", title=title)
        else:
            self.reset.setText(words.tr("Defaults"))
            told = words.tr("Back to all the defaults of “{title}”", title=title)
        self.reset.setToolTip(told)
        self.reset.setAccessibleName(told)
