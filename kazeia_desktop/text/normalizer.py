"""What is displayed, as it is said: the last step before the voice."""

import re
from typing import Final

from kazeia_desktop.text.normalize.abbreviations import speak_abbreviations, spell_acronyms
from kazeia_desktop.text.normalize.addresses import speak_addresses
from kazeia_desktop.text.normalize.characters import clean
from kazeia_desktop.text.normalize.dates import speak_dates
from kazeia_desktop.text.normalize.figures import speak_codes, speak_fractions_and_ordinals, speak_relations
from kazeia_desktop.text.normalize.markdown import plain
from kazeia_desktop.text.normalize.maths import speak_maths
from kazeia_desktop.text.normalize.measures import speak_measures
from kazeia_desktop.text.normalize.roman import speak_roman
from kazeia_desktop.text.normalize.signs import join_figures, speak_signs, tidy
from kazeia_desktop.text.normalize.words import speak_left_over

_MAX_CHARACTERS: Final = 20_000
"""A clause is never this long; what is, is not language."""
_PAUSES: Final = frozenset(",;:")
_LONG_RUN: Final = re.compile(r"[^\W_]{61,}|\S{201,}")
"""An identifier, a key or noise: nobody says it."""


def normalize(clause: str, language: str) -> str:
    """The words to say for a clause as displayed.

    Args:
        clause: text of the reply, with whatever markdown, figures and signs it holds.
        language: "fr" or "en".
    Returns:
        One line of letters, spaces and , . ; : ? ! ' - … only, NFC. Empty when nothing is to be said.
    """
    text = plain(clean(clause[:_MAX_CHARACTERS]), language)
    pause = text.rstrip()[-1:]  # a clause that was cut at a comma is said as one that goes on
    text = speak_addresses(speak_maths(text, language), language)
    text = _LONG_RUN.sub(" ", text)
    text = speak_abbreviations(text, language)
    # Dates and phones before ranges and units: what is left of them would look like figures of another kind.
    text = speak_codes(speak_dates(text, language), language)
    text = speak_measures(speak_relations(text, language), language)
    text = speak_fractions_and_ordinals(speak_roman(text, language), language)
    text = spell_acronyms(text, language)
    text = speak_left_over(join_figures(text), language)
    spoken = tidy(speak_signs(text, language))
    return spoken + pause if pause in _PAUSES and spoken and spoken[-1].isalpha() else spoken
