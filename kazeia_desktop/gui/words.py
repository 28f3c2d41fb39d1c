"""The language of the window: one object that every part of it is given."""

from collections.abc import Mapping

from PySide6.QtCore import QLocale

from kazeia_desktop import translations


class Words:
    """Fills English templates in the current language.

    Switching is `language = ...` followed by the window's `retranslate`, which asks every part to
    write its texts anew.
    """

    def __init__(self, language: str) -> None:
        self.language = language

    def tr(self, template: str, **values: object) -> str:
        """The sentence of `template` with `values`; see `translations.translate`."""
        return translations.translate(template, self.language, **values)

    def told(self, template: str, values: Mapping[str, object]) -> str:
        """A sentence that came with an event, whose template is not known here."""
        return translations.translate(template, self.language, **values)

    def of(self, pair: tuple[str, str]) -> str:
        """The text of a (French, English) pair of the settings schema."""
        return pair[0] if self.language == "fr" else pair[1]

    @property
    def locale(self) -> QLocale:
        """For numbers: 1,5 in French and 1.5 in English."""
        kind = QLocale.Language.French if self.language == "fr" else QLocale.Language.English
        locale = QLocale(kind)
        locale.setNumberOptions(QLocale.NumberOption.OmitGroupSeparator)
        return locale

    def seconds(self, milliseconds: float) -> str:
        """A duration for a chip: "850 ms" under a second, else "1,2 s" (no-break space before the unit)."""
        if milliseconds < 1000:
            return f"{round(milliseconds)}\u202fms"
        return f"{self.locale.toString(milliseconds / 1000, 'f', 1)}\u202fs"


def resolve_language(setting: str) -> str:
    """The language that `appearance.language` ("auto", "fr" or "en") means on this machine."""
    return translations.system_language() if setting == "auto" else setting
