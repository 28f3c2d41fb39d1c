"""How values and moments of the schema are called in the window."""

from kazeia_desktop.gui.engine import Choice
from kazeia_desktop.gui.words import Words
from kazeia_desktop.settings.schema import Apply


def literal_choice(value: str, words: Words) -> Choice:
    """A value of a Literal; one that has no name of its own is shown as it is."""
    tr = words.tr
    names = {
        "auto": tr("Automatic"),
        "fr": "Français",
        "en": "English",
        "light": tr("Light"),
        "dark": tr("Dark"),
        "contrast": tr("High contrast"),
        "alarms": tr("Timers and alarms"),
        "all": tr("Replies too"),
        "full": tr("Yes (full)"),
        "half": tr("No (half)"),
        "system": tr("The system's voice"),
        "kokoro": "Kokoro",
        "qwen3": tr("Kazeia's own voice"),
        "native": tr("Kazeia's kernels"),
        "llama": "llama.cpp",
        "whole": tr("Whole clause"),
        "streamed": tr("Word by word"),
        "off": tr("No"),
        "always": tr("Always"),
        "shift": tr("Answer at once"),
        "reread": tr("Read everything again"),
    }
    return Choice(value, names.get(value, value))


def unit_words(unit: str, words: Words) -> str:
    """A unit; most are the same in both languages."""
    return words.tr("MB") if unit == "MB" else unit


def apply_words(apply: Apply, words: Words) -> str:
    """When a changed setting takes effect."""
    tr = words.tr
    match apply:
        case Apply.NOW:
            return tr("takes effect now")
        case Apply.NEXT_CLAUSE:
            return tr("from the next clause")
        case Apply.NEXT_TURN:
            return tr("from the next reply")
        case Apply.RELOAD:
            return tr("loads anew")
