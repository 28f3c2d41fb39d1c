"""A conversion in a request: "combien font 5 kilomètres en miles" is 5 km in mi."""

import functools
import re
from fractions import Fraction
from typing import Final

from kazeia_desktop.llm.tools.numbers import fold
from kazeia_desktop.llm.tools.units import UNITS, convert

_TOKEN: Final = re.compile(r"[^\W\d_]+|\d+|\S")
_DEGREES: Final = "degrees"  # of which scale the other side says
_FILLERS: Final = {
    "fr": re.compile(
        r"combien|convert\w*|conversion|font|fait|faire|ca|c|est|ce|que|qu|vaut|valent|represente\w*|equival\w*|correspond"
        r"\w*|y|a|t|il|dans|en|de|d|des|du|les?|la|l|un|une|pour|moi|s|te|vous|plait|stp|peux|tu|pouvez|pourrais|me|dire|"
        r"dis|donne|quel\w*|sont|et|alors|kazeia|voudrais|savoir|je|environ|transforme\w*|passe|temperature|vitesse|"
        r"distance|longueur|mesure|pese|j|taille|poids|hauteur"
    ),
    "en": re.compile(
        r"how|many|much|are|is|there|in|into|to|as|of|convert\w*|what|whats|s|the|please|can|could|you|tell|me|i|an?|and|"
        r"equals?|make|does|do|hey|kazeia|ok|so|want|know|for|about|go|tall|long|far|heavy|hot|cold|big|fast|wide|high|when|it|conversion|expressed|equivalent"
    ),
}
_TARGET_BEFORE: Final = {"fr": r"(?:en|combien de|combien d ')", "en": r"(?:to|into|in|how many)"}


@functools.cache
def _names(language: str) -> tuple[re.Pattern[str], dict[str, str], dict[str, str]]:
    """A pattern for a unit, its signs by name, and its signs by written sign."""
    names: dict[str, str] = {}
    signs: dict[str, str] = {}
    for unit in UNITS.values():
        for name in (*unit.names[language], *unit.also[language]):
            names[_spaced(name)] = unit.sign
        signs.setdefault(_spaced(unit.sign), unit.sign)
    for word in ("degre", "degres") if language == "fr" else ("degree", "degrees"):
        names[word] = _DEGREES
    names[_spaced("°")] = _DEGREES
    either = sorted({**names, **signs}, key=len, reverse=True)
    one = "|".join(re.escape(name) for name in either)
    return re.compile(rf"(?<!\w)(?:{one})(?!\w)"), names, signs


def _spaced(text: str) -> str:
    """As `numbers.with_digits` leaves it."""
    return " ".join(_TOKEN.findall(fold(text)))


def unit_words(plain: str, language: str) -> int:
    """How many names of units `plain` has; signs count after a number only."""
    pattern, names, _ = _names(language)
    return sum(
        found[0] in names or re.search(r"\d $", plain[: found.start()]) is not None for found in pattern.finditer(plain)
    )


def conversion_in(plain: str, language: str) -> tuple[Fraction, str, str] | None:
    """(value, source, target) that `plain` asks for, when it asks for nothing else.

    "5 pieds 10 pouces en mètres" is one value; 5.8333 ft.
    """
    pattern, names, signs = _names(language)
    numbered: list[tuple[Fraction, str]] = []
    targets: list[str] = []
    rest: list[str] = []
    at = 0
    scan = re.compile(rf"(?P<sign>(?:- |moins |minus )?)(?P<n>\d+(?:\.\d+)?|\ban?(?= \w)) (?P<unit>{pattern.pattern})")
    while at < len(plain):
        if plain[at] == " ":
            at += 1
        elif (found := scan.match(plain, at)) is not None:
            name = found["unit"]
            value = Fraction(found["n"] if found["n"][0].isdigit() else 1) * (-1 if found["sign"] else 1)
            numbered.append((value, names.get(name) or signs[name]))
            at = found.end()
        elif (found := pattern.match(plain, at)) is not None and (
            found[0] in names or re.search(rf"\b{_TARGET_BEFORE[language]} $", plain[:at])
        ):
            targets.append(names.get(found[0]) or signs[found[0]])
            at = found.end()
        else:
            word = _TOKEN.match(plain, at)
            rest.append(word[0] if word else plain[at])
            at = word.end() if word else at + 1
    fillers = _FILLERS[language]
    if len(targets) != 1 or not numbered or any(re.match(r"\w", w) and not fillers.fullmatch(w) for w in rest):
        return None
    return _joined(numbered, targets[0])


def _joined(numbered: list[tuple[Fraction, str]], target: str) -> tuple[Fraction, str, str] | None:
    source = numbered[0][1]
    if source == _DEGREES:
        source = "°F" if target == "°C" else "°C"
    if target == _DEGREES:
        target = "°F" if source == "°C" else "°C"
    total = Fraction(0)
    try:
        if UNITS[source].kind != UNITS[target].kind or source == target:
            return None
        for value, sign in numbered:
            one = source if sign == _DEGREES else sign
            if len(numbered) > 1 and UNITS[one].kind == "temperature":
                return None
            total += convert(value, one, source)
    except (KeyError, ValueError):
        return None
    return total, source, target
