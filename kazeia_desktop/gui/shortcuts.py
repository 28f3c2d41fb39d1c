"""The keys of the window, as the settings say: what they do, and what they are called."""

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from kazeia_desktop.gui.words import Words
from kazeia_desktop.settings.schema import ShortcutSettings

_ALSO: Mapping[str, Sequence[str]] = {"settings": ("Ctrl+,",)}
"""Keys of habit, beside the one that is chosen, unless they are chosen for something else."""


def keys_text(kept: str, words: Words) -> str:
    """What a shortcut of the settings is called: "Ctrl+Maj+N"; "" for none."""
    if not kept:
        return ""
    tr = words.tr
    head, sep, last = kept.rpartition("+") if not kept.endswith("++") else (kept[:-2], "+", "+")
    names = {
        "Shift": tr("Shift"), "Meta": tr("Super"), "Space": tr("Space"), "Esc": tr("Escape"), "Return": tr("Enter"),
        "Del": tr("Delete key"), "Ins": tr("Insert key"), "Backspace": tr("Backspace"), "Home": tr("Home"),
        "End": tr("End"), "PgUp": tr("Page up"), "PgDown": tr("Page down"), "Up": tr("Up"), "Down": tr("Down"),
        "Left": tr("Left"), "Right": tr("Right"),
    }  # fmt: skip
    parts = [*filter(None, head.split("+")), last] if sep else [last]
    return "+".join(names.get(part, part) for part in parts)


class Shortcuts(QObject):
    """Binds each key to what it does; bound anew when the settings change.

    Space, which writing needs, is nobody's shortcut: whoever gets it and has no use for it asks `is_interrupt`.
    """

    changed = Signal()  # the keys, so that tool tips are written anew

    def __init__(self, settings: ShortcutSettings, words: Words, window: QWidget) -> None:
        super().__init__(window)
        self._settings = settings
        self._words = words
        self._window = window
        self._acts: Mapping[str, Callable[[], None]] = {}
        self._bound: dict[str, QShortcut] = {}

    def bind(self, acts: Mapping[str, Callable[[], None]]) -> None:
        """What each key does, by the name of its setting."""
        self._acts = acts
        for name, act in acts.items():
            shortcut = self._bound[name] = QShortcut(self._window)
            shortcut.setAutoRepeat(False)
            shortcut.activated.connect(act)
        self._set_keys()

    def apply(self, settings: ShortcutSettings) -> None:
        """Take over changed keys."""
        if settings != self._settings:
            self._settings = settings
            self._set_keys()
            self.changed.emit()

    def _set_keys(self) -> None:
        chosen: Mapping[str, str] = self._settings.model_dump()
        for name, shortcut in self._bound.items():
            keys = [chosen[name], *(alias for alias in _ALSO.get(name, ()) if alias not in chosen.values())]
            shortcut.setKeys([QKeySequence(one) for one in keys if one not in ("", "Space")])

    def is_interrupt(self, event: QKeyEvent) -> bool:
        """Whether a key that nobody wanted is Space, and Space interrupts."""
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        return plain and event.key() == Qt.Key.Key_Space and self.space_interrupts

    @property
    def space_interrupts(self) -> bool:
        return self._settings.interrupt == "Space"

    def keys(self, name: str) -> str:
        """What the key of a setting is called in the current language; "" for none."""
        return keys_text(getattr(self._settings, name), self._words)

    def with_keys(self, told: str, name: str) -> str:
        """A tool tip that names the key: "Settings (F1)"."""
        keys = self.keys(name)
        return self._words.tr("{what} ({keys})", what=told, keys=keys) if keys else told
