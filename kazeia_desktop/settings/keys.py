"""Keyboard shortcuts as text, read without a window: "ctrl + maj + n" is "Ctrl+Shift+N"."""

import re
from collections.abc import Mapping
from typing import Final

from kazeia_desktop.settings.base import Unfit

_MODIFIERS: Final = ("Ctrl", "Alt", "Shift", "Meta")
_SAME: Final[Mapping[str, str]] = {
    "control": "Ctrl", "strg": "Ctrl", "maj": "Shift", "super": "Meta", "win": "Meta", "cmd": "Meta",
    "escape": "Esc", "echap": "Esc", "échap": "Esc", "espace": "Space", "suppr": "Del", "delete": "Del",
    "inser": "Ins", "insert": "Ins", "entree": "Return", "entrée": "Return", "enter": "Return",
    "pageup": "PgUp", "pagedown": "PgDown", "début": "Home", "fin": "End",
    "haut": "Up", "bas": "Down", "gauche": "Left", "droite": "Right",
}  # fmt: skip
_NAMED: Final = (
    "Esc", "Space", "Return", "Del", "Ins", "Backspace", "Home", "End", "PgUp", "PgDown", "Up", "Down", "Left",
    "Right", "Pause", "Menu",
)  # fmt: skip
_ALONE: Final = ("Esc", "Pause", "Ins")
"""Keys that no text needs: they may stand without Ctrl or Alt, as F1 to F24 do."""
_EDITING: Final = frozenset(f"Ctrl+{key}" for key in "ACVXYZ")
_BY_NAME: Final = {**{name.casefold(): name for name in (*_MODIFIERS, *_NAMED)}, **_SAME}


def canonical(text: str, may_be_space: bool = False) -> str:
    """A shortcut in the form that is kept; "" for none.

    Args:
        text: modifiers and one key, joined by "+"; names in English or French, case does not matter.
        may_be_space: Space alone is allowed.
    Raises:
        Unfit: it is no shortcut, or one that writing needs.
    """
    text = text.strip()
    if not text:
        return ""
    parts = [part.strip() for part in re.split(r"\+(?!\s*$)", text)]
    names = [_name(part) for part in parts]
    modifiers, key = names[:-1], names[-1]
    if not key or key in _MODIFIERS or len(set(modifiers)) < len(modifiers) or not set(modifiers) <= set(_MODIFIERS):
        raise Unfit("{text!r} is no keyboard shortcut: write it as Ctrl+N, Ctrl+Shift+F or F1.", text=text)
    made = "+".join([*(one for one in _MODIFIERS if one in modifiers), key])
    alone = not set(modifiers) - {"Shift"}
    if alone and not (key in _ALONE or re.fullmatch(r"F\d+", key) or (made == "Space" and may_be_space)):
        raise Unfit("{text!r} is needed for writing: add Ctrl or Alt.", text=text)
    if made in _EDITING:
        raise Unfit("{text!r} is needed for editing text: choose another shortcut.", text=text)
    return made


def _name(part: str) -> str:
    """A modifier's or key's own name; "" where there is none of that name."""
    low = part.casefold()
    if low in _BY_NAME:
        return _BY_NAME[low]
    if re.fullmatch(r"f([1-9]|1\d|2[0-4])", low) or re.fullmatch(r"[a-z0-9]", low):
        return low.upper()
    return part if re.fullmatch(r"[-+,./;=\[\]]", part) else ""
