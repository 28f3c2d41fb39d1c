"""In which form the window is met: colours, language, size."""

import os
from dataclasses import dataclass
from typing import Final

from kazeia_desktop.settings.store import Value
from kazeia_desktop.translations import translate


@dataclass(frozen=True)
class Form:
    """size: of the window, px; None: as it opens."""

    language: str
    theme: str
    size: tuple[int, int] | None

    def __call__(self, template: str, **values: object) -> str:
        """What the window says for an English sentence of its own."""
        return translate(template, self.language, **values)

    def of(self, pair: tuple[str, str]) -> str:
        """The text of a (French, English) pair of the settings schema."""
        return pair[0] if self.language == "fr" else pair[1]

    def number(self, value: float) -> str:
        """As it is written in a field."""
        return str(value).replace(".", "," if self.language == "fr" else ".")

    @property
    def locale(self) -> str:
        """Of the person's system."""
        return "fr_FR.UTF-8" if self.language == "fr" else "en_US.UTF-8"

    @property
    def settings(self) -> dict[str, Value]:
        return {"appearance.theme": self.theme}


FORMS: Final = {
    "desktop": Form("fr", "light", None),
    "tablet": Form("en", "dark", (800, 1100)),
}


def wanted_form() -> Form:
    """The one that KAZEIA_ROBOT_FORM names; on a desktop, in French, where it names none."""
    return FORMS[os.environ.get("KAZEIA_ROBOT_FORM", "desktop")]
