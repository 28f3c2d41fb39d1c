"""A keyboard shortcut is set by pressing it."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QKeyCombination, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QLineEdit, QToolButton

from kazeia_desktop.gui import icons
from kazeia_desktop.gui.settings_panel.editors import Editor, Value
from kazeia_desktop.gui.shortcuts import keys_text
from kazeia_desktop.gui.theme import Tokens
from kazeia_desktop.gui.words import Words

_ICON: Final = 14
_ENTER: Final = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_TAB: Final = (Qt.Key.Key_Tab, Qt.Key.Key_Backtab)
_MODIFIERS: Final = (
    Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr, Qt.Key.Key_Super_L,
    Qt.Key.Key_Super_R, Qt.Key.Key_CapsLock, Qt.Key.Key_NumLock,
)  # fmt: skip
_HELD: Final = (
    Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.MetaModifier,
)  # fmt: skip


def is_keys(key: str) -> bool:
    """Whether a setting is a keyboard shortcut."""
    return key.startswith("shortcuts.") or key == "system.global_shortcut"


class _KeyField(QLineEdit):
    """Shows the keys. It waits for new ones after Enter, Space or a click, and then takes every key but Tab."""

    caught = Signal(str)  # as QKeySequence writes them; "" for none
    waits = Signal(bool)
    held = Signal(str)  # modifiers that are down while it waits

    def __init__(self) -> None:
        super().__init__()
        self.waiting = False
        self.setReadOnly(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)

    def wait(self, waiting: bool) -> None:
        """Begin or end waiting for keys."""
        if waiting != self.waiting:
            self.waiting = waiting
            self.waits.emit(waiting)

    def event(self, event: QEvent) -> bool:
        """While it waits, the keys are nobody else's shortcut."""
        wanted = self.waiting and isinstance(event, QKeyEvent) and Qt.Key(event.key()) not in _TAB
        if wanted and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = Qt.Key(event.key()), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        plain = modifiers == Qt.KeyboardModifier.NoModifier
        event.accept()
        if event.isAutoRepeat():
            return
        if self.waiting and key in _MODIFIERS:
            self._tell_held(modifiers)
        elif self.waiting and plain and key == Qt.Key.Key_Escape:
            self.wait(False)
        elif plain and key in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete):
            self._end("")
        elif self.waiting:
            keys = QKeySequence(QKeyCombination(modifiers, key)).toString(QKeySequence.SequenceFormat.PortableText)
            if keys:  # a key that Qt does not know is not "none"
                self._end(keys)
        elif plain and (key in _ENTER or key == Qt.Key.Key_Space):
            self.wait(True)
        elif not (event.text() and event.text().isprintable()):  # letters are not for the conversation here
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if self.waiting and Qt.Key(event.key()) in _MODIFIERS:
            self._tell_held(event.modifiers())
        super().keyReleaseEvent(event)

    def _tell_held(self, modifiers: Qt.KeyboardModifier) -> None:
        names = QKeySequence(QKeyCombination(modifiers, Qt.Key.Key_A)).toString(
            QKeySequence.SequenceFormat.PortableText
        )
        self.held.emit(names[:-1])

    def _end(self, keys: str) -> None:
        self.wait(False)
        self.caught.emit(keys)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self.wait(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.wait(False)


class KeysEditor(Editor):
    """Keys that are refused are not kept: the ones before are shown again, and the field says why."""

    def __init__(self, words: Words) -> None:
        self.field = _KeyField()
        super().__init__(self.field)
        self._words = words
        self._kept = ""
        self._caught: str | None = None  # while it is told
        self.clear = QToolButton()
        self.clear.clicked.connect(lambda: self._take(""))
        self.field.caught.connect(self._take)
        self.field.waits.connect(self._wait)
        self.field.held.connect(self._show_held)

    @property
    def extras(self) -> Sequence[QToolButton]:
        return (self.clear,)

    def dress(self, tokens: Tokens) -> None:
        self.clear.setIcon(icons.icon("close", tokens.text, _ICON))

    def retranslate(self, words: Words, title: str) -> None:
        self._words = words
        told = words.tr("No shortcut for “{title}”", title=title)
        self.clear.setAccessibleName(told)
        self.clear.setToolTip(told)
        self.field.setToolTip(words.tr("Enter or a click, then the new keys. Backspace: none."))
        self._show()

    def value(self) -> str:
        """As QKeySequence writes it, which the schema reads."""
        return self._kept if self._caught is None else self._caught

    def show_value(self, value: Value) -> None:
        self._kept = str(value)
        self._show()

    def _take(self, keys: str) -> None:
        if keys != self._kept:
            self._caught = keys
            self.edited.emit()
            self._caught = None
        self._show()

    def _wait(self, waiting: bool) -> None:
        tr = self._words.tr
        self.hinted.emit(tr("Press the new keys. Escape: as before. Backspace: none.") if waiting else "")
        self._show()

    def _show_held(self, names: str) -> None:
        self.field.setText(f"{keys_text(names + 'A', self._words)[:-1]}…" if names else "")

    def _show(self) -> None:
        tr, waiting = self._words.tr, self.field.waiting
        self.field.setText("" if waiting else keys_text(self._kept, self._words))
        self.field.setPlaceholderText(tr("Press the keys…") if waiting else tr("None"))
        self.clear.setEnabled(bool(self._kept))
