"""One thing in a list of the pages: what it is, what is wrong with it, what can be done, and a question before harm."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from kazeia_desktop.gui.flow import FlowLayout
from kazeia_desktop.gui.theme import GRID, Tokens
from kazeia_desktop.gui.words import Words

_WIDEST: Final = 960
"""A line of text that is longer is not read with ease."""


class _Label(QLabel):
    """Wraps within its own greatest width: Qt asks for the height at the width of the layout, however wide that is."""

    def heightForWidth(self, width: int) -> int:
        return super().heightForWidth(min(width, self.maximumWidth()))


class _Column(QVBoxLayout):
    """Of a widget with a greatest width; as `_Label`."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._owner = parent

    def heightForWidth(self, width: int) -> int:
        return super().heightForWidth(min(width, self._owner.maximumWidth()))

    def minimumHeightForWidth(self, width: int) -> int:
        return super().minimumHeightForWidth(min(width, self._owner.maximumWidth()))


def plain_label(name: str = "", parent: QWidget | None = None) -> QLabel:
    """A label that wraps and never reads its text as markup."""
    label = _Label(parent)
    if name:
        label.setObjectName(name)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def say(label: QLabel, text: str) -> None:
    """Show a text; without one the label takes no place."""
    label.setText(text)
    label.setVisible(bool(text))


def restyle(widget: QWidget, name: str) -> None:
    """Give a widget another name in the style sheet: "primary", "quiet", "fieldError", or "" for the plain look."""
    if widget.objectName() != name:
        widget.setObjectName(name)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def describe(control: QWidget, text: str) -> None:
    """What a control is for, for the mouse and for screen readers."""
    control.setToolTip(text)
    control.setAccessibleDescription(text)


def take_back(widget: QWidget | None) -> bool:
    """Escape: of the parts around `widget`, the first that asks something or waits for a text leaves it as it was.

    Such a part has a method `take_back`, which says whether there was something.
    """
    while widget is not None:
        own: Callable[[], bool] | None = getattr(widget, "take_back", None)
        if own is not None and own():
            return True
        widget = widget.parentWidget()
    return False


class Card(QFrame):
    """Title and badge, details, a message, the actions; `ask` puts a question in the place of the actions.

    Attributes:
        column: where a subclass adds its own parts, between the details and the message.
    """

    def __init__(self, words: Words, tokens: Tokens, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words, self.tokens = words, tokens
        self.setObjectName("card")
        self.setMaximumWidth(_WIDEST)
        self.title = plain_label("section")
        self.badge = plain_label("badge")
        self.badge.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.badge.setWordWrap(False)
        self.detail = plain_label("quiet")
        self.message = plain_label("fieldError")
        self.message.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.buttons: list[QPushButton] = []
        self._actions = QWidget()
        self._flow = FlowLayout(self._actions)
        self._question = QWidget()
        self._asked = plain_label()
        self.yes, self.no = QPushButton(), QPushButton()
        self.yes.setObjectName("danger")
        self.yes.setText(words.tr("Delete"))
        self.no.setText(words.tr("No, keep it"))
        flow = FlowLayout()
        flow.addWidget(self.yes)
        flow.addWidget(self.no)
        asked = QVBoxLayout(self._question)
        asked.setContentsMargins(0, 0, 0, 0)
        asked.setSpacing(GRID)
        asked.addWidget(self._asked)
        asked.addLayout(flow)
        self._confirmed: Callable[[], None] = lambda: None
        self._asker: QWidget | None = None
        self.yes.clicked.connect(self._confirm)
        self.no.clicked.connect(self.dismiss)
        head = QHBoxLayout()
        head.setSpacing(GRID)
        head.addWidget(self.title, 1)
        head.addWidget(self.badge)
        self.column = QVBoxLayout()
        self.column.setSpacing(GRID)
        box = _Column(self)
        box.setContentsMargins(2 * GRID, GRID + 4, 2 * GRID, GRID + 4)
        box.setSpacing(GRID)
        box.addLayout(head)
        box.addWidget(self.detail)
        box.addLayout(self.column)
        box.addWidget(self.message)
        box.addWidget(self._actions)
        box.addWidget(self._question)
        for label in (self.badge, self.detail, self.message):
            label.hide()
        self._question.hide()

    def action(self, name: str = "") -> QPushButton:
        """Another button at the end of the actions. name: of its style."""
        button = QPushButton()
        button.setObjectName(name)
        self._flow.addWidget(button)
        self.buttons.append(button)
        return button

    def ask(self, question: str, yes: str, confirmed: Callable[[], None]) -> None:
        """Ask before something that cannot be undone; the focus is on the answer that changes nothing."""
        self._asker = self.window().focusWidget() if self.window() else None
        self._asked.setText(question)
        describe(self.yes, question)
        describe(self.no, self.words.tr("Nothing is changed"))
        self.yes.setText(yes)
        self.no.setText(self.words.tr("No, keep it"))
        self.yes.setAccessibleName(f"{yes} ({question})")
        self._confirmed = confirmed
        self._actions.hide()
        self._question.show()
        self.no.setFocus()

    def dismiss(self) -> None:
        """No: the actions are back."""
        self._question.hide()
        self._actions.show()
        if self._asker is not None and self._asker.isVisible():
            self._asker.setFocus()

    def take_back(self) -> bool:
        """Escape: no to the question, where there is one."""
        asked = self.asking
        if asked:
            self.dismiss()
        return asked

    @property
    def asking(self) -> bool:
        """Whether a question stands in the place of the actions."""
        return not self._question.isHidden()

    def _confirm(self) -> None:
        self.dismiss()
        self._confirmed()

    @property
    def controls(self) -> tuple[QWidget, ...]:
        """What takes the focus, in the order of the Tab key."""
        return (*self.buttons, self.yes, self.no)
