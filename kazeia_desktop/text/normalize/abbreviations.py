"""Abbreviations and acronyms in full."""

import re
from typing import Final

from kazeia_desktop.text.normalize.words import word_set

_NAME: Final = r"(?=\s*[A-ZÀ-ÖØ-Ý])"

_FULL: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "fr": (
        (r"\bav\. ?J\.?-? ?C\b\.?(?! ?-)", "avant Jésus-Christ"),
        (r"\bapr?\. ?J\.?-? ?C\b\.?", "après Jésus-Christ"),
        (r"\bJ\.-C\.", "Jésus-Christ"),
        (r"\b[Pp]\. ?ex\.", "par exemple"),
        (r"\b[Pp]ar ex\.", "par exemple"),
        (r"\b[Ee]x\. ?:", "exemple :"),
        (r"\b(?:c\.-?à\.?-?d\.?|càd\b|cad\b)", "c'est-à-dire"),
        (r"\bN\.?B\.? ?:", "nota bene :"),
        (r"\bP\.?-?S\.? ?:", "post-scriptum :"),
        (rf"\bMM\.{_NAME}", "messieurs"),
        (rf"\bM\.{_NAME}", "monsieur"),
        (rf"\bMr\b\.?{_NAME}", "monsieur"),
        (r"\bMme\b\.?", "madame"),
        (r"\bMmes\b", "mesdames"),
        (r"\bMlle\b\.?", "mademoiselle"),
        (r"\bMlles\b", "mesdemoiselles"),
        (r"\bMgr\b\.?", "monseigneur"),
        (r"\bDrs\b\.?", "docteurs"),
        (r"\bDr\b\.?", "docteur"),
        (rf"\bPr\b\.?{_NAME}", "professeur"),
        (rf"\bMe{_NAME}(?=\s)", "maître"),
        (r"\bSt(?=[ -][A-ZÀ-Ý])\.?", "saint"),
        (r"\bSte(?=[ -][A-ZÀ-Ý])\.?", "sainte"),
        (r"\b[nN](?:°s|os) ?(?=\d)", "numéros "),
        (r"\b[nN](?:°|o\.?) ?(?=\d)", "numéro "),
        (r"\b[nN]°", "numéro"),
        (r"\bpp\. ?(?=\d)", "pages "),
        (r"\bp\. ?(?=\d)", "page "),
        (r"\b[cC]hap\. ?(?=[\dIVXLC])", "chapitre "),
        (r"\b[aA]rt\. ?(?=[\dLRIVX])", "article "),
        (r"\b[fF]ig\. ?(?=\d)", "figure "),
        (r"\b[vV]ol\. ?(?=[\dIVXLC])", "volume "),
        (r"\b[éeÉE]d\. ?(?=\w)", "édition "),
        (r"\b[tT][ée]l\.? ?(?=:|\d|\+)", "téléphone "),
        (r"\b[aA]v\.(?= (?:de|du|des|d')\b|\s[A-ZÀ-Ý])", "avenue"),
        (r"\b(?:bd|bld|Bd|Bld|boul)\b\.?(?= \S)", "boulevard"),
        (r"\benv\.(?= )", "environ"),
        (r"\bapprox\.", "approximativement"),
        (r"\betc\b\.*…?", "et cetera"),
        (r"\b[cC]f\.?(?= )", "voir"),
        (r"\b[vV]s\.?(?=\s)", "contre"),
        (r"\bmin\.(?= |$)", "minimum"),
        (r"\bmax\.(?= |$)", "maximum"),
        (r"\b(?:SVP|svp|s\.v\.p\.)", "s'il vous plaît"),
        (r"\bR\.?-?V\.?-?D\b|\b(?:RDV|rdv)\b", "rendez-vous"),
        (r"\bhab\.(?=/| |$)", "habitants"),
        (r"\bqqch\b", "quelque chose"),
        (r"\bqqn\b", "quelqu'un"),
        (r"\bpdt\b", "pendant"),
        (r"\bC#", "C dièse"),
        (r"\bF#", "F dièse"),
        (r"\bC\+\+", "C plus plus"),
        (r"\bet/ou\b", "et ou"),
        (r"\b([a-zà-ÿ]{2,})\((?:e|ne|le|se)\)(s?)", r"\1\2"),
        (r"\b([a-zà-ÿ]{2,})\((s|x|es)\)", r"\1\2"),
        (r"\b([a-zà-ÿ]{3,})·(?:e|ne|le|se)(?:·(s))?\b", r"\1\2"),
    ),
    "en": (
        (r"\b[eE]\.g\.,?", "for example,"),
        (r"\b[iI]\.e\.,?", "that is,"),
        (r"\betc\b\.*…?", "et cetera"),
        (rf"\bMr\b\.?{_NAME}", "mister"),
        (rf"\bMrs\b\.?{_NAME}", "missus"),
        (rf"\bMs\b\.?{_NAME}(?=\s)", "miss"),
        (rf"\bDr\b\.?{_NAME}", "doctor"),
        (rf"\bProf\b\.?{_NAME}", "professor"),
        (rf"\bGen\.{_NAME}", "general"),
        (rf"\bSt\b\.?{_NAME}(?=\s)", "saint"),
        (r"(?<=[a-z]) St\.", " street"),
        (r"\bJr\b\.?", "junior"),
        (r"\bSr\b\.?(?!\w)", "senior"),
        (r"\b[nN](?:o\.|°) ?(?=\d)", "number "),
        (r"\bpp\. ?(?=\d)", "pages "),
        (r"\bp\. ?(?=\d)", "page "),
        (r"\b[cC]h(?:ap)?\. ?(?=[\dIVXLC])", "chapter "),
        (r"\b[fF]ig\. ?(?=\d)", "figure "),
        (r"\b[vV]ol\. ?(?=[\dIVXLC])", "volume "),
        (r"\b[sS]ec\. ?(?=\d)", "section "),
        (r"\b[vV]s\b\.?", "versus"),
        (r"\b[cC]f\.?(?= )", "see"),
        (r"\b[aA]pprox\.", "approximately"),
        (r"\b[mM]in\.(?= |$)", "minimum"),
        (r"\b[mM]ax\.(?= |$)", "maximum"),
        (r"\b[dD]ept\.", "department"),
        (r"\b[gG]ovt\.", "government"),
        (r"\bInc\.", "incorporated"),
        (r"\bLtd\b\.?", "limited"),
        (r"\bCorp\.", "corporation"),
        (r"\bN\.?B\.? ?:", "note:"),
        (r"\b(\d{1,4}) ?B\.? ?C\.? ?E\b\.?", r"\1 B C E"),
        (r"\bB\.?C\b\.?", "B C"),
        (r"\bA\.D\.", "A D"),
        (r"\bPh\.? ?D\b\.?", "P H D"),
        (r"\bw/o\b", "without"),
        (r"\bw/(?=\s?\w)", "with "),
        (r"\bC#", "C sharp"),
        (r"\bF#", "F sharp"),
        (r"\bC\+\+", "C plus plus"),
        (r"\band/or\b", "and or"),
        (r"\b([a-z]{2,})\((s|es)\)", r"\1\2"),
    ),
}
_COMPILED: Final = {
    language: tuple((re.compile(pattern), full) for pattern, full in rules) for language, rules in _FULL.items()
}
_DOTTED: Final = re.compile(r"\b((?:[A-ZÀ-Ý]\.-?){2,12})([A-ZÀ-Ý]\b(?!['’]))?")
_CAPITALS: Final = re.compile(r"(?<![\w'’.-])[A-Z]{2,6}(s?)(?![^\W\d_]|['’]\w|-[a-z])")
_SPELLED: Final = {
    "fr": word_set(
        "IA API USA UE URL USB GPU CPU UI UX IP OS IBM SQL PIB EDF ADN ARN AG OMS ONG IRM OGM EU UK US AI IT"
    ),
    "en": word_set("AI API USA EU UK URL USB GPU CPU UI UX IP OS IBM SQL UN CEO CIA FBI FAQ NYU UCLA DIY"),
}
"""Acronyms with vowels that are spelled all the same."""
_VOWELS: Final = frozenset("AEIOUY")


def speak_abbreviations(text: str, language: str) -> str:
    """Abbreviations of `text` in full, and dotted initials as letters."""
    for pattern, full in _COMPILED[language]:
        text = pattern.sub(full, text)
    return _DOTTED.sub(_letters, text)


def _letters(match: re.Match[str]) -> str:
    letters = [c for c in match[0] if c.isalpha()]
    at_end = not match[2] and match.end() == len(match.string)
    return " ".join(letters) + ("." if at_end else "")


def spell_acronyms(text: str, language: str) -> str:
    """ "SNCF" as "S N C F"; what has vowels is a word, like "ONU", unless it is known to be spelled."""
    letters = [c for c in text if c.isalpha()]
    if len(letters) > 12 and sum(c.isupper() for c in letters) > 0.7 * len(letters):
        return text  # everything is in capitals: those are words
    return _CAPITALS.sub(lambda m: _spell(m[0], m[1], language), text)


def _spell(word: str, ending: str, language: str) -> str:
    name = word.removesuffix("s") if ending else word
    if name in _SPELLED[language] or _VOWELS.isdisjoint(name):
        return " ".join(name)
    return word
