"""The French of every sentence that Kazeia shows: English template in, sentence out.

One catalogue serves errors, the window and the command line (docs/adr/0002). The English text is
the key; `fr/` holds the French, one file an area. A test collects every template in the source and
fails when one has no French.
"""

import functools
import importlib.resources
import locale
import os
import tomllib
from typing import Final

LANGUAGES: Final = ("fr", "en")


@functools.cache
def _catalogue(language: str) -> dict[str, str]:
    if language == "en":
        return {}
    messages: dict[str, str] = {}
    for area in importlib.resources.files(__package__).joinpath(language).iterdir():
        if area.name.endswith(".toml"):
            messages.update(tomllib.loads(area.read_text("utf-8")))
    return messages


class _Comma(float):
    """A number as it is written in French, where the template does not say how."""

    def __format__(self, spec: str) -> str:
        written = super().__format__(spec)
        return written if spec else written.replace(".", ",")


def translate(template: str, language: str, /, **values: object) -> str:
    """Fill `template` with `values`, in `language`.

    Args:
        template: English text with `{name}` fields as in `str.format`.
        language: "fr" or "en"; a template without a translation stays English.
    """
    sentence = _catalogue(language).get(template, template)
    if language == "fr":
        values = {name: _Comma(value) if isinstance(value, float) else value for name, value in values.items()}
    return sentence.format(**values) if values else sentence


def is_known(template: str) -> bool:
    """Whether `template` is a sentence of Kazeia's own: every one of them has its French."""
    return template in _catalogue("fr")


def system_language() -> str:
    """ "fr" where the system's locale is French, else "en"."""
    spoken = (os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or "") or (
        locale.getlocale()[0] or ""
    )
    return "fr" if spoken.lower().startswith("fr") else "en"
