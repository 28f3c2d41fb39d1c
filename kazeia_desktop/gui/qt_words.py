"""Qt's own words in the window's language: the menu of a text field, the dialog that chooses a file."""

from typing import Final

from PySide6.QtCore import QLibraryInfo, QLocale, QTranslator
from PySide6.QtWidgets import QApplication

_LEFT_OUT: Final = {
    "fr": {
        "Look in:": "Regarder dans\u00a0:",
        "&Look in:": "&Regarder dans\u00a0:",
        "Files of type:": "Fichiers de type\u00a0:",
        "Files of &type:": "Fichiers de &type\u00a0:",
        "Folder": "Dossier",
    }
}
"""What Qt's own French does not have."""


class _LeftOut(QTranslator):
    """Words that Qt's catalogue of a language lacks; asked after it."""

    def __init__(self, parent: QApplication) -> None:
        super().__init__(parent)
        self.words: dict[str, str] = {}

    def translate(self, context: str, source: str, disambiguation: str | None = None, n: int = -1) -> str | None:
        """None: not known here ("" would be shown)."""
        return self.words.get(source)

    def isEmpty(self) -> bool:
        return False


class QtWords:
    """Of one application; `use` switches them live."""

    def __init__(self, app: QApplication) -> None:
        self._app = app
        self._left_out = _LeftOut(app)
        self._own = QTranslator(app)

    def use(self, language: str) -> None:
        """Speak "fr" or "en". Every widget is told by a LanguageChange event."""
        for translator in (self._left_out, self._own):
            self._app.removeTranslator(translator)
        self._left_out.words = _LEFT_OUT.get(language, {})
        folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        if language in _LEFT_OUT:
            self._app.installTranslator(self._left_out)
        if self._own.load(QLocale(language), "qtbase", "_", folder):
            self._app.installTranslator(self._own)  # the last one is asked first
